"""What a user's rules and preferences come to in a clone: a page of its own, and settings of git."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent_memory.core.rules.keys import GIT_CONFIG, is_setting
from agent_memory.core.rules.page import read
from agent_memory.core.rules.written import markdown
from agent_memory.models.kinds.person import Preference
from agent_memory.models.rules import Rule

PAGE = "rules.md"
HEAD = """# Rules of this clone

Written by `agent-memory rules apply` from your own pages, and written anew each time: change those instead.

## Rules

"""
GIT = "git"
MEANT = {("merge style", "rebase"): ("pull.rebase", "true"), ("merge style", "merge"): ("pull.rebase", "false")}
"""Preferences that have no name of git's own."""


@dataclass
class CloneSettings:
    """What to set in the clone, and what of the wishes cannot be set there, and why."""

    config: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


def page(rules: Sequence[Rule]) -> str:
    return HEAD + "".join(markdown(rule) for rule in rules)


def together(own: Sequence[Rule], remembered: Mapping[str, str]) -> list[Rule]:
    """Rules of the pages that are here, and those that were seen on one's pages elsewhere: of each text the one rule
    that it is said to be."""
    known = {rule.id for rule in own}
    others: list[Rule] = []
    for name, text in remembered.items():
        found = read(PAGE, f"## Rules\n\n{text}").rules
        if name not in known and [rule.id for rule in found] == [name]:
            others += found
    return [*own, *others]


def settings(rules: Sequence[Rule], preferences: Sequence[Preference]) -> CloneSettings:
    """A rule wins over a preference. Only settings that cannot make git run anything are taken."""
    made = CloneSettings()
    for one in preferences:
        named = f"{one.domain}: {one.name}"
        if one.domain.casefold() != GIT:
            made.skipped[named] = "is not a setting of git: prompts and contexts show it"
        elif (key := GIT_CONFIG.get(one.name.casefold())) is not None:
            if is_setting(said := _said(one.value)):
                made.config[key] = said
            else:
                made.skipped[named] = "is not a value that git could be given"
        elif (meant := MEANT.get((one.name.casefold(), str(one.value).casefold()))) is not None:
            made.config[meant[0]] = meant[1]
        else:
            made.skipped[named] = "is not a setting that a page may set in a clone: prompts and contexts show it"
    for rule in rules:
        made.config.update(rule.git_config)
    return made


def _said(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
