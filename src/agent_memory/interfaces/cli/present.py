"""How results look, by their type. A type that is not named here shows its fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_type_hints

from pydantic import BaseModel

from agent_memory.app.operations import Operation
from agent_memory.interfaces.cli import PROGRAM, vectors
from agent_memory.interfaces.cli.blocks import Block, Card, Column, Interval, Note, Sentence, Table, Under, Verbatim
from agent_memory.interfaces.cli.cleaning import one_line
from agent_memory.interfaces.cli.output import shown
from agent_memory.models.answer import FromPage, Hit, Recalled
from agent_memory.models.bundle import MemoryBundle
from agent_memory.models.context import Context
from agent_memory.models.record import Record, Status
from agent_memory.models.size import counted, sized

if TYPE_CHECKING:
    from agent_memory.app.namespaces.records import Written

Presenter = Callable[[Any], list[Block]]

ID = Column("id", Under.NARROW, "cyan", whole=True, order=0, short=True)
TEXT = Column("text")
TEXTS = ("content", "text", "claim", "description", "thought", "entity")  # fields that read best as the last column
LONGEST = 300  # characters of a text, where there are several; `show` prints all of one
SHORT = 20  # what is no longer is not wrapped
NOTHING = Note("nothing")
GOES_ON = Note(f"… marks a text that was shortened: `{PROGRAM} show ID` prints all of it")


def is_empty(result: Any) -> bool:
    """Whether there is nothing to show."""
    if isinstance(result, MemoryBundle):
        return not result.to_context_string()
    if isinstance(result, Context):
        return not result.text
    return result is None or (isinstance(result, list | Recalled) and len(result) == 0)


def present(operation: Operation, result: Any, *, why: bool = False, nothing: Note = NOTHING) -> list[Block]:
    """Blocks to write. `why` adds the reasons to the hits of a recall; `nothing` stands for an empty answer."""
    gives = get_type_hints(operation.function).get("return")
    if result is None and gives in (None, type(None)):
        return [Note("done")]
    if is_empty(result):
        return [nothing, *(_left_out(result.damaged) if isinstance(result, MemoryBundle) else _searched(result))]
    if own := presenter(OPERATIONS, operation.name):
        return own(result)
    if isinstance(result, Recalled):
        return recalled(result, why=why)
    if isinstance(result, list):
        return listed(result)
    if isinstance(result, str):
        return [Verbatim(result)]
    if shape := presenter(PRESENTERS, type(result).__name__):
        return shape(result)
    if isinstance(result, BaseModel):
        return mapping(_fields(result))
    return mapping(result) if isinstance(result, dict) else [Sentence(shown(result))]


def presenter(table: Mapping[str, str], name: str) -> Presenter | None:
    """What one of the tables below has for it; its module is loaded now."""
    if name not in table:
        return None
    module, _, function = table[name].rpartition(".")
    found: Presenter = getattr(import_module(f"agent_memory.interfaces.cli.{module}"), function)
    return found


def record(one: Record) -> list[Block]:
    known: list[tuple[str, object]] = [
        ("id", one.id),
        ("kind", one.kind),
        ("version", one.version),
        ("status", one.status),
        ("valid", Interval(one.valid_from, one.valid_to)),
        ("recorded", Interval(one.recorded_at, one.recorded_to)),
        ("key", one.key and one.key.replace("\x1f", " · ")),
        ("conversation", one.conversation_id),
        ("repository", one.repository),
        ("importance", one.importance),
        ("confidence", one.confidence),
        ("source", one.source),
        ("scope", " / ".join((one.scope.tenant, one.scope.user, one.scope.agent))),
        ("payload", one.payload or None),
    ]
    return [Card([field for field in known if field[1] is not None], one.text)]


def records(found: list[Record]) -> list[Block]:
    pages = [FromPage.of(one) for one in found]
    columns = (
        ID,
        Column("kind", style="magenta"),
        Column("valid from"),
        Column("version", right=True, label=True, order=2),
        Column("status"),
        *([Column("page", Under.ALWAYS)] if any(pages) else []),
        TEXT,
    )
    rows: list[tuple[object, ...]] = [
        (
            one.id,
            one.kind,
            one.valid_from,
            one.version,
            Status(one.status).value,
            *([str(page or "")] if any(pages) else []),
            one.text,
        )
        for one, page in zip(found, pages, strict=True)
    ]
    return _cut(Table(columns, rows, LONGEST))


def history(versions: list[Record]) -> list[Block]:
    columns = (
        Column("version", right=True, label=True, style="cyan"),
        Column("valid", label=True, order=2),
        Column("recorded", label=True, order=2),
        Column("status"),
        TEXT,
    )
    rows: list[tuple[object, ...]] = [
        (
            one.version,
            Interval(one.valid_from, one.valid_to),
            Interval(one.recorded_at, one.recorded_to),
            Status(one.status).value,
            one.text,
        )
        for one in versions
    ]
    return [Table(columns, rows)]


def recalled(found: Recalled, *, why: bool = False) -> list[Block]:
    """Relevance is the number that means something by itself; the score, which orders the hits, is one of the reasons.
    What does not fit is grey, and if nothing does, it says so."""
    paged, over = any(hit.page for hit in found), any(hit.held_until for hit in found)
    cold = any(hit.archived for hit in found)
    columns = (
        Column("relevance", right=True, style="green", label=True, order=2),
        Column("kind", style="magenta"),
        Column("when"),
        ID,
        *([Column("held", Under.ALWAYS)] if over else []),
        *([Column("archived", Under.ALWAYS)] if cold else []),
        *([Column("page", Under.ALWAYS)] if paged else []),
        *([Column("why", Under.ALWAYS)] if why else []),
        TEXT,
    )
    rows: list[tuple[object, ...]] = [
        (
            f"{hit.relevance:.2f}",
            hit.kind,
            hit.record.valid_from,
            hit.id,
            *([f"held until {shown(hit.held_until)}" if hit.held_until else ""] if over else []),
            *(["of an archived conversation" if hit.archived else ""] if cold else []),
            *([str(hit.page or "")] if paged else []),
            *([reasons(hit)] if why else []),
            hit.text,
        )
        for hit in found
    ]
    compared = [Note(f"meaning was compared in {found.space}")] if why and found.space else []
    faint = frozenset(place for place in range(len(found)) if not found.fits(place))
    nothing = [Note("nothing fits well; the nearest are:")] if len(faint) == len(rows) else []
    return [*nothing, *_cut(Table(columns, rows, LONGEST, faint)), *compared, *_searched(found)]


def _searched(found: Any) -> list[Block]:
    if not isinstance(found, Recalled):
        return []
    searched = counted(found.searched, "memory", "memories")
    said = f"{len(found)} of {searched}, {found.milliseconds:.0f} ms, receipt {found.receipt_id}"
    said += "; approximate: too many memories to look at each" if found.approximate else ""
    if found.pending:
        said += f"; {vectors.searched_without(found.pending)}"
    said += f"; {_damaged(found.damaged)}" if found.damaged else ""
    if found.reranked:
        one = found.reranked
        said += f"; {len(one.scores)} of {one.candidates} reranked{f' by {one.by}' if one.by else ''}"
        said += f": {one.trouble}" if one.trouble else ""
    if found.trace is None:
        return [Note(said)]
    from agent_memory.interfaces.cli.tracing import trace

    return [Note(said), *trace(found.trace)]


def _damaged(rows: int) -> str:
    return f"damaged rows left out: {rows} (`{PROGRAM} verify` names them)"


def _left_out(rows: int) -> list[Block]:
    return [Note(_damaged(rows))] if rows else []


def receipt(body: dict[str, Any]) -> list[Block]:
    from agent_memory.interfaces.cli import tracing

    plain = {name: value for name, value in body.items() if name != "trace"}
    return [*mapping(plain), *tracing.read(body.get("trace"))]


def _cut(table: Table) -> list[Block]:
    """With a hint, if any text is longer than is shown."""
    goes_on = any(len(one_line(shown(row[-1]))) > LONGEST for row in table.rows)
    return [table, GOES_ON] if goes_on else [table]


def reasons(hit: Hit) -> str:
    """What each channel added to the score, the words and dates that matched, how near the meaning is, who says the
    same."""
    why = hit.why
    parts = [f"score {hit.score:.2f}: " + " + ".join(f"{name} {added:.2f}" for name, added in why.channels.items())]
    if why.words:
        parts.append(f"words: {', '.join(why.words)}")
    if why.dates:
        named = (f"{one.words} ({one.start:%Y-%m-%d %H:%M} to {one.end:%Y-%m-%d %H:%M} UTC)" for one in why.dates)
        parts.append(f"dates: {', '.join(named)}")
    if why.entities:
        parts.append(f"entities: {', '.join(why.entities)}")
    if why.similarity is not None:
        parts.append(f"similarity {why.similarity:.2f}")
    if why.exact_key:
        parts.append("exact key")
    if why.read_as != "question":
        parts.append(f"read as {why.read_as}")
    if hit.repeats:
        parts.append(f"{len(hit.repeats)} more {'says' if len(hit.repeats) == 1 else 'say'} the same")
    return " · ".join(parts)


def written(one: Written) -> list[Block]:
    held = [Note(f"it takes effect when somebody approves it: `{PROGRAM} review`")] if one.effect == "held" else []
    alike = [Note(f"says nearly the same as {', '.join(one.alike)}, or contradicts it")] if one.alike else []
    return [Sentence(f"{one.effect} {one.id} (version {one.version})", "green"), *held, *alike]


def several(found: list[Written]) -> list[Block]:
    return [block for one in found for block in written(one)]


def bundle(one: MemoryBundle) -> list[Block]:
    return [Sentence(one.to_context_string()), *_left_out(one.damaged)]


def context(one: Context) -> list[Block]:
    from agent_memory.interfaces.cli.rules.trusting import hint

    reasons = Counter(left.reason for left in one.left_out)
    left = f", {len(one.left_out)} left out ({', '.join(f'{why} {n}' for why, n in sorted(reasons.items()))})"
    counted = f"{one.total_tokens} of {one.max_tokens} tokens by {one.counter}"
    said = f"{counted}: {len(one.rules) + len(one.preferences) + len(one.chunks)} shown{left if one.left_out else ''}"
    remark = Note(f"{said}, receipt {one.receipt_id}")
    return [Verbatim(one.text), remark, *_left_out(one.damaged), *hint(one.untrusted)]


def listed(result: list[Any]) -> list[Block]:
    """A list of one kind of thing: its own table, or one made of its fields."""
    if shape := presenter(LISTS, type(result[0]).__name__):
        return shape(result)
    if isinstance(result[0], BaseModel):
        result = [_fields(one) for one in result]
    if not isinstance(result[0], dict):
        return [Sentence(shown(one)) for one in result]
    names = sorted(dict.fromkeys(name for one in result for name in one), key=lambda name: name in TEXTS)
    names = [name for name in names if any(one.get(name) not in (None, [], {}) for one in result)] or names
    columns = tuple(_column(name, [one.get(name) for one in result]) for name in names)
    rows = [tuple(one.get(name) for name in names) for one in result]
    return _cut(Table(columns, rows, LONGEST)) if "id" in names else [Table(columns, rows)]


def _column(name: str, values: list[Any]) -> Column:
    if name == "id":
        return ID._replace(under=Under.NEVER, short=False)
    if name.endswith("_id"):
        return Column(name, whole=True, label=True)
    return Column(name, wraps=any(len(shown(value)) > SHORT for value in values), label=True)


def mapping(fields: Mapping[str, Any]) -> list[Block]:
    """Values first; lists and mappings inside it follow, each under its name."""
    flat = [(name, _measured(name, value)) for name, value in fields.items() if not _nested(value)]
    blocks: list[Block] = [Card(flat)] if flat else []
    for name, value in fields.items():
        if _nested(value):
            blocks += [Sentence(f"\n{name}", "bold"), *(mapping(value) if isinstance(value, dict) else listed(value))]
    return blocks or [NOTHING]


def _measured(name: str, value: Any) -> Any:
    """Sizes as people read them, whatever they are called."""
    sizes = isinstance(value, int) and (name.startswith("bytes_") or name.endswith("_bytes"))
    return sized(value) if sizes else value


def _nested(value: Any) -> bool:
    return (isinstance(value, dict) and bool(value)) or (
        isinstance(value, list) and bool(value) and isinstance(value[0], dict | BaseModel)
    )


def _fields(one: BaseModel) -> dict[str, Any]:
    """`held` is worth saying where it is so."""
    found = {name: getattr(one, name) for name in type(one).model_fields if name != "embedding"}
    return {name: value for name, value in found.items() if name != "held" or value}


OPERATIONS: Mapping[str, str] = {
    "records.history": "present.history",
    "receipts.get": "present.receipt",
    "rules.propose": "rules.proposals.proposed",
    "rules.propose_rule": "rules.proposals.learned",
    "rules.approve": "rules.proposals.approved",
    "rules.reject": "rules.proposals.rejected",
    "govern.scan": "redacted.scanned",
    "govern.check": "redacted.checked",
    "review.list": "reviewing.waiting",
    "review.show": "reviewing.held",
    "review.edit": "reviewing.held",
    "review.approve": "reviewing.approved",
    "review.policy": "reviewing.policy",
    "review.set_policy": "reviewing.policy",
    "review.reject": "reviewing.rejected",
}
"""Operations whose results mean more than their type says: which function of which module shows them."""

PRESENTERS: Mapping[str, str] = {
    "Record": "present.record",
    "Written": "present.written",
    "Forgotten": "erasures.forgotten",
    "BudgetReport": "budgets.report",
    "BudgetState": "budgets.kept",
    "Swept": "erasures.swept",
    "ErasedTenant": "erasures.tenant",
    "Verification": "proofs.verification",
    "Origins": "origins.tree",
    "VectorRecalled": "vectors.recalled",
    "MemoryBundle": "present.bundle",
    "Context": "present.context",
    "Replay": "replays.replayed",
    "Linted": "rules.findings.linted",
    "Begun": "rules.findings.begun",
    "Rulebook": "rules.versions.rulebook",
    "Prefix": "rules.prompts.prefix",
    "AppliedRules": "rules.prompts.applied",
    "TrustedRepository": "rules.trusting.newly",
    "FollowedPages": "rules.trusting.followed",
    "SyncedFiles": "userfiles.synced",
    "Pruned": "upkeep.pruned",
    "Consolidation": "upkeep.merged",
    "Extraction": "upkeep.extracted",
    "Fact": "upkeep.fact",
    "Ingested": "documents.ingested",
    "SyncedFolder": "documents.synced",
}
"""The same for types, by the name of the class, so that who shows one does not load all of them."""

LISTS: Mapping[str, str] = {
    "Record": "present.records",
    "AuditLine": "audits.lines",
    "JournalLine": "journal.lines",
    "RuleChange": "rules.versions.changes",
    "RuleRevision": "rules.versions.revisions",
    "Proposal": "rules.proposals.waiting",
    "JobReport": "jobs.reported",
    "Document": "documents.listed",
    "FoundChunk": "documents.found",
    "Written": "present.several",
}
