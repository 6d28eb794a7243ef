"""The verdict: which rules an action breaks. Pure: what it needs to know of files and git is brought to it.

Three answers, not two: of what is only known when it runs (`git $WHAT`), nobody can say that it is allowed, so it
counts against the action, and the violation says that it is not certain. A rule that cannot be used counts, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agent_memory.core.rules.answer import Answer
from agent_memory.core.rules.clone import NOWHERE, CloneState
from agent_memory.core.rules.meeting import Met, broken_by
from agent_memory.core.rules.unit import Unit, units
from agent_memory.models.rules import Action, Check, Finding, Rule, Severity, Subject, Verdict, Version, Violation

if TYPE_CHECKING:
    from agent_memory.core.rules.shell import Word

LONGEST_SHOWN = 300  # characters of the action that a violation repeats


def judge(
    rules: Iterable[Rule],
    action: Action,
    findings: Sequence[Finding] = (),
    version: Version | None = None,
    clone: CloneState = NOWHERE,
    fold: bool = False,
) -> Verdict:
    """Whether an action may be done. `action.path` begins at the root of the repository and has no `..`; `action.text`
    is what stands there or will. `clone` is what decides what a command of git means; `fold`: the file system takes `A`
    for `a`."""
    asked = [rule for rule in rules if concerns(rule, action.subject)]
    parts, doubt = units(action, clone, fold) if asked else ([], None)
    return _verdict(asked, action, parts, doubt, findings, version)


def judge_file(rules: Iterable[Rule], action: Action, file: Word, version: Version | None = None) -> Verdict:
    """Whether an action may write a file of whose path a part is known only when it runs."""
    asked = [rule for rule in rules if concerns(rule, Subject.PATH)]
    unit = Unit(Subject.PATH, None, None, str(file), action.branch, file=file)
    return _verdict(asked, action, [unit], None, (), version)


def _verdict(
    asked: Sequence[Rule],
    action: Action,
    parts: Sequence[Unit],
    doubt: str | None,
    findings: Sequence[Finding],
    version: Version | None,
) -> Verdict:
    found = [violation for rule in asked if (violation := _violation(rule, action, parts, doubt)) is not None]
    denied = [one for one in found if one.severity != Severity.WARN]
    return Verdict(
        allowed=not denied,
        violations=denied,
        warnings=[one for one in found if one.severity == Severity.WARN],
        doubt=doubt,
        checked=len(asked),
        findings=[one for one in findings if one.level == "error" or one.code == "loosened"],
        version=version or Version(why="nobody said which"),
    )


def concerns(rule: Rule, subject: Subject) -> bool:
    """Whether a rule is asked about such actions. One that is broken so far that nobody knows what it is about is
    asked about all of them."""
    if rule.severity == Severity.ADVISE:
        return False
    return rule.check.subject == subject if rule.check is not None else rule.broken is not None


def of_paths(rules: Iterable[Rule]) -> list[Rule]:
    """The rules about paths that hold whatever stands there: what is asked where nobody knows the content."""
    return [
        rule
        for rule in rules
        if concerns(rule, Subject.PATH) and rule.check and not (rule.check.contains or rule.check.every_line)
    ]


def wants_text(rules: Iterable[Rule], action: Action, fold: bool = False) -> bool:
    """Whether what stands at a path decides: a rule about this path has a condition on its content."""
    if action.path is None or action.text is not None:
        return False
    (unit,), _ = units(action, NOWHERE, fold)
    return any(
        rule.check is not None and (rule.check.contains or rule.check.every_line) and _may_be_about(rule.check, unit)
        for rule in rules
        if concerns(rule, Subject.PATH) and rule.broken is None
    )


def _may_be_about(check: Check, unit: Unit) -> bool:
    try:
        return not check.patterns or any(unit.meets(span) is not Answer.NO for span in check.patterns)
    except ValueError:
        return False  # a broken rule denies, whatever the file holds


def _violation(rule: Rule, action: Action, parts: Sequence[Unit], doubt: str | None) -> Violation | None:
    met = _met(rule, action, parts, doubt)
    if met.answer is Answer.NO:
        return None
    return Violation(
        rule=rule.id,
        severity=rule.severity,
        text=rule.text,
        matched=_short(met.matched),
        why=met.why,
        certain=met.answer is Answer.YES,
        because=rule.because,
        fix=rule.fix if met.undo is None else f"{met.undo}, then {rule.fix}" if rule.fix else met.undo,
        at=rule.at,
    )


def _met(rule: Rule, action: Action, parts: Sequence[Unit], doubt: str | None) -> Met:
    """The part of the action that breaks the rule for certain; else the first that may."""
    if rule.broken is not None or rule.check is None:
        return _unusable(rule, action, rule.broken or "it says nothing that can be checked")
    try:
        found = [broken_by(rule.check, rule.severity == Severity.REQUIRE, part) for part in parts]
    except ValueError as error:
        return _unusable(rule, action, str(error))
    best = max(found, key=lambda met: met.answer, default=Met(Answer.NO))
    if best.answer is Answer.NO and doubt is not None and rule.severity != Severity.WARN:
        return Met(Answer.MAYBE, action.command or " ".join(action.argv or ()), f"it cannot be understood: {doubt}")
    return best


def _unusable(rule: Rule, action: Action, problem: str) -> Met:
    """It denies what it is about, except the repair: the page itself can still be written."""
    if rule.check is None and action.path == rule.at.path:
        return Met(Answer.NO)
    return Met(Answer.MAYBE, _said(action), f"the rule cannot be used, so what it allows is unknown: {problem}")


def _said(action: Action) -> str:
    given = (action.command, action.commit_message, action.path, action.tool, action.label, action.text)
    return " ".join(action.argv) if action.argv else next(one for one in given if one is not None)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"
