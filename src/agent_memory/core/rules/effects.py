"""Names for what a command does, however it is written: `command: @merge` holds every spelling that is listed here.

Each is a table of patterns, as a page could write them itself, and what is excepted from them.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from types import MappingProxyType

SHARED = ("main", "master", "trunk", "develop")
"""Branches that everybody builds on, by their usual names."""


@dataclass(frozen=True)
class GitEffect:
    patterns: tuple[str, ...]
    unless: tuple[str, ...] = ()


EFFECTS = MappingProxyType(
    {
        "@merge": GitEffect(
            (
                "git merge",  # and what `shell/meaning.py` finds to be one: pulls, and the commit of a merge
                *(f"git subtree {how}" for how in ("add", "merge", "pull")),
                "git flow * finish",
                "gh pr merge",
                "glab mr merge",
                "glab mr accept",
                "tea pulls merge",
                "tea pr merge",
                "hub merge",
                *(f"git checkout -B {name} *" for name in SHARED),
                *(f"git switch -C {name} *" for name in SHARED),
                *(f"git branch --force {name} *" for name in SHARED),
            ),
            (
                *(f"git merge {option}" for option in ("--abort", "--quit", "--ff-only", "--help", "-h")),
                *(f"gh pr merge {option}" for option in ("--rebase", "-r", "--disable-auto", "--help")),
                *(
                    f"glab mr {name} {option}"
                    for name in ("merge", "accept")
                    for option in ("--rebase", "-r", "--help")
                ),
                *(f"git checkout -B {name} */{name}" for name in SHARED),
                *(f"git switch -C {name} */{name}" for name in SHARED),
                *(f"git branch --force {name} */{name}" for name in SHARED),
            ),
        ),
        "@force-push": GitEffect(
            (
                *(f"git push {option}" for option in ("--force", "--force-with-lease", "--mirror")),
                *(f"git push * {name} --delete" for name in SHARED),
            ),
            ("git push --dry-run", "git push --help"),
        ),
    }
)


def is_effect(span: str) -> bool:
    return span.startswith("@")


def effect(span: str) -> GitEffect:
    """The effect of that name; ValueError names those that there are."""
    found = EFFECTS.get(span)
    if found is None:
        near = difflib.get_close_matches(span.lower(), EFFECTS, 1, 0.6)
        hint = f"did you mean `{near[0]}`?" if near else f"the names are {', '.join(EFFECTS)}"
        raise ValueError(f"there is no effect `{span[:60]}`: {hint}")
    return found


def named(text: str) -> list[str]:
    """The names of effects in a text, known or not: they may stand there without backticks."""
    return re.findall(r"(?<![\w@])@[\w-]+", text)
