"""How one part of an action meets one check: whether it is about it, excepted from it, and what it has or lacks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from agent_memory.core.rules import conventional
from agent_memory.core.rules.answer import Answer
from agent_memory.core.rules.text import CONVENTIONAL, matcher
from agent_memory.core.rules.unit import Unit
from agent_memory.models.rules import Argument, Check, Subject

LONGEST_LINE = 120
OPPOSITE = {Answer.NO: Answer.YES, Answer.MAYBE: Answer.MAYBE, Answer.YES: Answer.NO}


@dataclass(frozen=True)
class Met:
    """Whether a rule is broken, by which part of the action, what is wrong with that, and what takes it back."""

    answer: Answer
    matched: str = ""
    why: str | None = None
    undo: str | None = None


@dataclass(frozen=True)
class Condition:
    """Whether a condition holds; what can be said of it if it does, and if it does not."""

    answer: Answer
    held: str | None = None
    lacking: str | None = None


def broken_by(check: Check, required: bool, unit: Unit) -> Met:
    """Forbidden: broken by what it is about, if all conditions hold. Required: if not all of them do."""
    own = required and check.subject == Subject.COMMIT  # what a message must be is its own condition
    about = _any(_about(span, unit) for span in check.patterns) if check.patterns and not own else Answer.YES
    if about is Answer.NO or (required and unit.command is not None and unit.command.merges):
        return Met(Answer.NO)  # of a pull nobody requires what is required of a merge
    excepted = _any(unit.excepted(span) for span in check.unless)
    if excepted is Answer.YES:
        return Met(Answer.NO)
    conditions = [*(_message(check, unit) if own else ()), *_conditions(check, unit)]
    branch = list(_branch(check, unit))
    if required and conditions:  # it says where something is required, unless it is itself what is required
        about = min([about, *(one.answer for one in branch)])
    else:
        conditions += branch
    holds = min((one.answer for one in conditions), default=Answer.YES)
    answer = min(about, _not(excepted), _not(holds) if required else holds)
    if not own and CONVENTIONAL in check.patterns:
        conditions.append(Condition(Answer.YES, conventional.wrong(unit.text or "")))
    undo = None if unit.command is None else unit.command.undo
    return Met(answer, unit.shown, _why(conditions, required, unit) if answer is not Answer.NO else None, undo)


def _about(span: str, unit: Unit) -> Answer:
    """`conventional` is what a message should be, whatever the severity: it is about those that are not."""
    wanted = span == CONVENTIONAL and unit.subject == Subject.COMMIT
    return _not(unit.meets(span)) if wanted else unit.meets(span)


def _why(conditions: list[Condition], required: bool, unit: Unit) -> str | None:
    said = [one.lacking if required else one.held for one in conditions if not required or one.answer is not Answer.YES]
    return "; ".join(dict.fromkeys(one for one in [unit.unsure, *said] if one)) or None


def _message(check: Check, unit: Unit) -> Iterator[Condition]:
    """The forms that a required message may have: any of them."""
    if not check.patterns:
        return
    if check.patterns == (CONVENTIONAL,):
        problem = conventional.wrong(unit.text or "")
        yield Condition(Answer.YES if problem is None else Answer.NO, None, problem)
        return
    yield Condition(_any(unit.meets(span) for span in check.patterns), None, _missing(check.patterns))


def _conditions(check: Check, unit: Unit) -> Iterator[Condition]:
    if check.contains:
        yield _contains(check.contains, unit)
    if check.every_line:
        yield _every_line(check.every_line, unit)
    if check.having:
        found = _any(unit.has(span) for span in check.having)
        yield Condition(found, None, _missing(check.having))
    for name in dict.fromkeys(one.name for one in check.where):
        yield _where(name, [one for one in check.where if one.name == name], unit.arguments)


def _branch(check: Check, unit: Unit) -> Iterator[Condition]:
    if check.branches:
        on = unit.branch
        found = on is not None and any(matcher(span, "branch")(on) for span in check.branches)
        here = f"on the branch {on}" if on is not None else "on no branch"
        yield Condition(_sure(found), here, f"{here}, not on {_listed(check.branches)}")


def _contains(spans: tuple[str, ...], unit: Unit) -> Condition:
    if unit.text is None:
        return Condition(Answer.MAYBE, unit.blank, unit.blank)
    for span in spans:
        if matcher(span, "contains")(unit.text):
            return Condition(Answer.YES, f"it contains {_spanned(span)}{_where_in(span, unit.text)}")
    return Condition(Answer.MAYBE if unit.hidden else Answer.NO, None, _missing(spans))


def _where_in(span: str, text: str) -> str:
    find = matcher(span, "contains")
    return next((f" in line {number}" for number, line in _lines(text) if find(line)), "")


def _every_line(spans: tuple[str, ...], unit: Unit) -> Condition:
    """Blank lines say nothing, and lack nothing."""
    if unit.text is None:
        return Condition(Answer.MAYBE, unit.blank, unit.blank)
    finds = [matcher(span, "every line") for span in spans]
    for number, line in _lines(unit.text):
        if line.strip() and not any(find(line) for find in finds):
            return Condition(Answer.NO, None, f"line {number} lacks {_listed(spans)}: {_cut(line)}")
    return Condition(Answer.YES, f"every line has {_listed(spans)}")


def _where(name: str, wanted: list[Argument], arguments: dict[str, Any]) -> Condition:
    """One argument of a tool: any of its values, if it has several, in any of the forms."""
    values = [_as_text(value) for value in _reach(arguments, name.split("."))]
    found = any(matcher(one.pattern, "where")(value) for one in wanted for value in values)
    said = f"{name} is {_cut(values[0])}" if values else f"{name} is not given"
    return Condition(_sure(found), said, f"{said}, not {_listed(one.pattern for one in wanted)}")


def _reach(value: Any, names: list[str]) -> Iterator[Any]:
    if isinstance(value, list):
        for one in value:
            yield from _reach(one, names)
    elif not names:
        yield value
    elif isinstance(value, dict):
        for size in range(len(names), 0, -1):  # a name may itself have dots in it
            key = ".".join(names[:size])
            if key in value:
                yield from _reach(value[key], names[size:])


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _any(answers: Iterable[Answer]) -> Answer:
    return max(answers, default=Answer.NO)


def _sure(found: bool) -> Answer:
    return Answer.YES if found else Answer.NO


def _not(answer: Answer) -> Answer:
    return OPPOSITE[answer]


def _lines(text: str) -> Iterator[tuple[int, str]]:
    return ((number, line.removesuffix("\r")) for number, line in enumerate(text.split("\n"), 1))


def _missing(spans: Iterable[str]) -> str:
    return f"it lacks {_listed(spans)}"


def _listed(spans: Iterable[str]) -> str:
    return " or ".join(_spanned(span) for span in spans)


def _spanned(span: str) -> str:
    return span if span == CONVENTIONAL else f"`{span}`"


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"
