"""How rules look at a terminal: what holds, what changed and when."""

from __future__ import annotations

from agent_memory.interfaces.cli import PROGRAM
from agent_memory.interfaces.cli.blocks import Block, Column, Note, Sentence, Table, Under
from agent_memory.interfaces.cli.cleaning import one_line
from agent_memory.interfaces.cli.rules.trusting import hint
from agent_memory.models.rules import Check, Rule, Rulebook, RuleChange, RuleRevision, Version

SHORT = 10  # digits of a commit
WORDS = {"contains": "contains", "every_line": "every line", "having": "with", "branches": "branch", "unless": "unless"}
SIGNS = {"added": "+", "removed": "-", "changed": "~"}


def rulebook(book: Rulebook) -> list[Block]:
    """Rules and what else holds, with their places, errors in the pages, and which version it is."""
    columns = (
        Column("name", style="cyan", whole=True, order=0),
        Column("kind", style="magenta"),
        Column("place", Under.NARROW),
        Column("text"),
    )
    rows: list[tuple[object, ...]] = [
        *((rule.id, rule.severity, str(rule.at), rule.text) for rule in book.rules),
        *((entry.id, entry.section, str(entry.at), entry.title) for entry in book.entries),
    ]
    rows += [(one.id, "not trusted", f"{one.repository}, {one.page}", one.text) for one in book.quoted]
    errors = [Sentence(one_line(str(one)), "red") for one in book.findings if one.level == "error"]
    shown: list[Block] = [Table(columns, rows)] if rows else [Note(f"no rules: `{PROGRAM} rules init` begins a page")]
    trusted = f"; {book.repository} is trusted" if book.repository and book.is_trusted else ""
    return [
        *shown,
        *errors,
        Note(f"{_counted(book)}; {version(book.version)}{trusted}"),
        *hint(None if book.is_trusted or not book.quoted else book.repository),
    ]


def version(one: Version) -> str:
    """Which state of the pages it is, in words."""
    if one.commit is None:
        return f"version unknown: {one.why}"
    named = f"{one.ref} is " if one.ref else f"{one.branch} at " if one.branch else ""
    return f"{named}commit {one.commit[:SHORT]}{', and pages changed since' if one.dirty else ''}"


def changes(found: list[RuleChange]) -> list[Block]:
    columns = (
        Column("change", style="magenta"),
        Column("rule", style="cyan", whole=True, order=0),
        Column("text"),
    )
    return [Table(columns, [(one.change, one.rule, _difference(one)) for one in found])]


def revisions(found: list[RuleRevision]) -> list[Block]:
    columns = (
        Column("commit", style="cyan", whole=True, order=0),
        Column("at"),
        Column("author"),
        Column("rules", Under.NARROW, wraps=True),
        Column("subject"),
    )
    rows: list[tuple[object, ...]] = [
        (one.commit[:SHORT], one.at, one.author, _rules(one), one.subject) for one in found
    ]
    return [Table(columns, rows)]


def _counted(book: Rulebook) -> str:
    warnings = sum(one.level == "warning" for one in book.findings)
    said = f"rules: {len(book.rules)}, skills, examples and texts: {len(book.entries)}, pages: {len(book.pages)}"
    return f"{said}, warnings: {warnings} (`{PROGRAM} rules lint`)" if warnings else said


def _difference(one: RuleChange) -> str:
    if one.before is None or one.after is None:
        rule = one.after or one.before
        return "" if rule is None else f"({rule.severity}) {rule.text}"
    return "; ".join(_field(name, one.before, one.after) for name in one.fields)


def _field(name: str, before: Rule, after: Rule) -> str:
    return f"{name.replace('_', ' ')}: {_value(getattr(before, name))} → {_value(getattr(after, name))}"


def _value(value: object) -> str:
    """As on a page, in one line; what is not there is a dash."""
    if isinstance(value, Check):
        parts = [f"{value.subject} {', '.join(value.patterns)}".strip()]
        parts += [f"{word} {', '.join(said)}" for name, word in WORDS.items() if (said := getattr(value, name))]
        parts += [f"where {one.name} = {one.pattern}" for one in value.where]
        return ", ".join(parts)
    if isinstance(value, dict):
        return ", ".join(f"{name}={one}" for name, one in value.items()) or "–"
    return "–" if value is None else str(value)


def _rules(one: RuleRevision) -> str:
    if one.cut:
        return "unknown: the commit before is not in this clone"
    return " ".join(f"{sign}{id}" for kind, sign in SIGNS.items() for id in getattr(one, kind))
