"""Front matter: a few lines of YAML before the Markdown. It is data of strangers: bounded, and read without aliases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agent_memory.core.rules.codes import Notes

LONGEST = 16_384  # characters
DEEPEST = 10
FENCE, ENDS = "---", ("---", "...")


@dataclass(frozen=True)
class Front:
    """What it says, and how many lines of the page it takes."""

    values: dict[str, Any]
    lines: int = 0


def front(lines: list[str], notes: Notes) -> Front:
    """A broken one is a finding, and says nothing; the page below it is still read."""
    taken = front_lines(lines)
    if not taken:
        if len(lines) > 1 and lines[0].rstrip() == FENCE and lines[1].strip():  # otherwise it is a rule across the page
            notes.say("front-matter", (0, 0), "the front matter has no end: close it with a line `---`")
        return Front({})
    text = "\n".join(lines[1 : taken - 1])
    if len(text) > LONGEST:
        notes.say("front-matter", (0, 0), f"the front matter is longer than {LONGEST} characters: cut it")
        return Front({}, taken)
    return Front(_values(text, notes), taken)


def front_lines(lines: list[str]) -> int:
    """How many lines it takes, with those that begin and end it; 0: there is none."""
    if not lines or lines[0].rstrip() != FENCE:
        return 0
    return next((number + 1 for number, line in enumerate(lines[1:], 1) if line.rstrip() in ENDS), 0)


def _values(text: str, notes: Notes) -> dict[str, Any]:
    import yaml

    try:
        if (refused := _refused(yaml.parse(text, Loader=yaml.SafeLoader))) is not None:
            notes.say("front-matter", *refused)
            return {}
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        said = getattr(error, "problem", None) or "it holds a character that YAML does not have"
        where = (mark.line + 1, mark.column) if mark else (0, 0)
        notes.say("front-matter", where, f"the front matter is not YAML: {said}")
        return {}
    except (ValueError, ArithmeticError, RecursionError) as error:
        said = " ".join(str(error).split())[:200]
        notes.say("front-matter", (0, 0), f"the front matter cannot be read: {said}")
        return {}
    if found is None:
        return {}
    if not isinstance(found, dict):
        notes.say("front-matter", (0, 0), "the front matter is not a mapping: write `name: value` lines")
        return {}
    return {str(name): value for name, value in found.items()}


def _refused(events: Iterator[Any]) -> tuple[tuple[int, int], str] | None:
    """Where it holds what could make a few lines endless, and what that is."""
    import yaml

    depth = 0
    for event in events:
        where = (event.start_mark.line + 1, event.start_mark.column)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent):
            return where, "aliases are not understood in front matter: write the value out"
        if depth > DEEPEST:
            return where, "the front matter is nested too deeply: flatten it"
    return None
