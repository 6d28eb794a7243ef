"""From pages to what holds in a folder: a page is about the folder that it stands in, and of rules with one id the
nearest holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent_memory.core.rules.codes import Notes
from agent_memory.core.rules.place import beside
from agent_memory.models.rules import Finding, Layer, Page, Rule, Rulebook, Severity, Version


def merged(pages: Sequence[Page], version: Version) -> Rulebook:
    """What holds where these pages do, the farthest first: of rules with one id, those of the nearest place."""
    nearest: dict[str, tuple[Layer, str]] = {}
    for page in pages:
        nearest |= {rule.id: (Layer(page.layer), beside(page.path)) for rule in page.rules}
    return Rulebook(
        rules=[
            rule for page in pages for rule in page.rules if nearest[rule.id] == (Layer(page.layer), beside(page.path))
        ],
        entries=[entry for page in pages for entry in page.entries],
        pages=[page.path for page in pages],
        findings=[finding for page in pages for finding in page.findings] + duplicates(pages) + loosened(pages),
        version=version,
    )


def duplicates(pages: Iterable[Page]) -> list[Finding]:
    """Ids that were given twice on pages that stand side by side, where none is nearer than the other."""
    seen: dict[tuple[Layer, str, str], Rule] = {}
    found: list[Finding] = []
    for page in pages:
        notes = Notes(page.path)
        made = {(one.line, one.column) for one in page.findings if one.code == "made-id"}
        for rule in page.rules:
            if (rule.at.line, rule.at.column) in made:
                continue
            first = seen.setdefault((Layer(page.layer), beside(page.path), rule.id), rule)
            if first.at.path != page.path:
                said = f"{rule.id!r} is also the id of a rule at {first.at.path}:{first.at.line}"
                notes.say("duplicate-id", (rule.at.line - 1, rule.at.column - 1), said)
        found += notes.findings
    return found


def loosened(pages: Iterable[Page]) -> list[Finding]:
    """Rules that take the place of a stricter one that is farther away: nearer wins, and nobody should miss it."""
    strictest: dict[str, Rule] = {}
    found: list[Finding] = []
    for page in pages:
        notes = Notes(page.path)
        for rule in page.rules:
            before = strictest.get(rule.id)
            if before is None or _strictness(rule) >= _strictness(before):
                strictest[rule.id] = rule
            elif beside(before.at.path) != beside(page.path) or before.at.layer != rule.at.layer:
                said = f"{rule.id!r} ({rule.severity}) takes the place of ({before.severity}) at {before.at}"
                notes.say("loosened", (rule.at.line - 1, rule.at.column - 1), said)
        found += notes.findings
    return found


def _strictness(rule: Rule) -> int:
    if rule.broken is not None or rule.severity in (Severity.DENY, Severity.REQUIRE):
        return 2
    return int(rule.severity == Severity.WARN)
