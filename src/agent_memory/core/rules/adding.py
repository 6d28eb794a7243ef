"""Adding a rule to a page that people write: at its end, and nothing else of it changes."""

from __future__ import annotations

import re

from agent_memory.core.rules.page import read
from agent_memory.core.rules.written import markdown
from agent_memory.models.errors import Conflict, InvalidInput
from agent_memory.models.rules import Place, Rule

HEADING = "## Rules"
TITLE = "# Procedures\n"
FORM = "write it as a page has it: **id** (severity) text, and its keys as a list below"
LONGEST_NAME = 40  # characters of the name that is made for a rule
_NOWHERE = Place(path="")


def advice(name: str, text: str) -> str | None:
    """A rule that advises, as a page has it, with an id made from this name; None where a page cannot hold it."""
    id = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:LONGEST_NAME].strip("-")
    rule = f"**{id}** (advise) {text}"
    try:
        proposed(rule)
    except InvalidInput:  # what somebody else said may hold anything
        return None
    return rule


def proposed(text: str) -> Rule:
    """The one rule that a text holds, with or without the dash of a list item; `InvalidInput` says what is wrong."""
    item = text.strip()
    if not item.startswith(("- ", "* ", "+ ")):
        item = "- " + item
    page = read("rule", f"{HEADING}\n\n{item}\n")
    wrong = [one for one in page.findings if one.level == "error" or one.code in ("made-id", "no-check")]
    if wrong:
        raise InvalidInput(f"rule: {wrong[0].message}", hint=FORM, field="rule")
    if len(page.rules) != 1:
        raise InvalidInput(f"rule: holds {len(page.rules)} rules", hint=FORM, field="rule")
    rule = _bare(page.rules[0])
    again = read("rule", f"{HEADING}\n\n{markdown(rule)}").rules
    if [_bare(one) for one in again] != [rule]:  # what somebody approves is what was proposed
        raise InvalidInput("rule: cannot be written to a page as it is", hint="say it in plainer words", field="rule")
    return rule


def ending(path: str, text: str, rule: Rule) -> str:
    """What to write at the end of a page so that it holds this rule too; nothing if it does already.

    `Conflict`: the page has another rule of that id, or ends in the middle of something.
    """
    before = read(path, text)
    for known in before.rules:
        if known.id == rule.id:
            if _bare(known) == _bare(rule):
                return ""
            raise Conflict(
                f"{known.at}: there is another rule {rule.id!r}",
                hint="change that one by hand, or propose yours under another id",
                field="rule",
            )
    apart = TITLE if not text.strip() else "" if text.endswith("\n") else "\n"
    for heading in ("", f"\n{HEADING}\n\n"):
        added = apart + heading + markdown(rule)
        after = read(path, text + added)
        if [*map(_bare, before.rules), _bare(rule)] == [*map(_bare, after.rules)] and len(before.entries) == len(
            after.entries
        ):
            return added
    raise Conflict(
        f"{path}: a rule cannot be added at its end", hint="if a code block is still open there, close it", field="rule"
    )


def _bare(rule: Rule) -> Rule:
    return rule.model_copy(update={"at": _NOWHERE})
