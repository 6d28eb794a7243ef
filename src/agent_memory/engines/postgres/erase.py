"""Forgetting: no row, no index entry, no trace beside the records tells what was erased. What is left of it in the
server's files, until they are rewritten, nobody reaches by SQL."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from agent_memory.engines.postgres import debts, desk, namespaces, reading, storage
from agent_memory.engines.postgres.connection import PostgresSession, Row
from agent_memory.engines.postgres.present import columns
from agent_memory.ledger import repeats
from agent_memory.ledger.reading import spelled
from agent_memory.ledger.rows import Gone
from agent_memory.ledger.seals import checksum
from agent_memory.ledger.traces import ENTRY, Traces, words
from agent_memory.models.record import SHARED, Scope

_ROWS = (
    *("hold_large", "erase_large_words", "erase_large_vectors"),  # whoever adds to them has done so, or waits
    *("erase_fields", "erase_pending", "erase_vectors", "erase_contents", "erase_versions", "erase_links"),
    *("erase_accesses", "erase_accessed", "erase_receipts_showing"),
)  # contents are known by their versions: these go after them


def erase(session: PostgresSession, gone: Sequence[Gone], scopes: Mapping[Scope, int], now: int) -> None:
    """Delete everything of these records. Their journal lines stay: they hold numbers and salted digests, and the salts
    go now. Tombstones keep the ids, so that an import cannot bring them back unnoticed."""
    records = {"records": [one.place.record for one in gone]}
    traces = _traces(gone, session.rows("words_of", records))
    for statement in _ROWS:
        session.send(statement, records)
    stones = ((one.place.record, one.place.id, scopes[one.place.scope], one.line) for one in gone)
    session.send("insert_tombstones", columns("records ids scopes lines", stones))
    for scope, left in traces.items():
        _forget(session, scope, left)
    debts.incur(session, {scope: sorted(left.ids) for scope, left in traces.items()}, gone[0].line, now)
    desk.sweep(session, now)
    storage.owe(session, now)


def _traces(gone: Sequence[Gone], known: Sequence[Row]) -> Mapping[Scope, Traces]:
    contents: defaultdict[int, list[list[bytes]]] = defaultdict(list)
    for record, terms in known:
        contents[record].append(words(terms, ENTRY))
    traces: defaultdict[Scope, Traces] = defaultdict(Traces)
    for (record, id, scope), _, new in gone:
        traces[scope].add(id, contents[record] + [words(one.hashes) for one in new])
    return traces


def _forget(session: PostgresSession, scope: Scope, traces: Traces) -> None:
    """Receipts that asked in the same words, answered requests, working sets, vectors of callers."""
    whose: dict[str, Any] = {"user": scope.user, "agent": scope.agent, "all": SHARED}
    asked, answers = session.send("asked", whose), session.send("answers_of", whose)
    named = {"tenant": scope.tenant, "ids": spelled(sorted(traces.ids))}
    explained = session.send("reads_explained", named)
    if receipts := [*traces.asking(asked)]:
        session.send("erase_receipts", {"receipts": receipts})
    request, text = repeats.FORGOTTEN
    told = [
        (scope, key, checksum(scope, key, request, at, text))
        for scope, key, at, answer in answers
        if repeats.wrote(answer, traces.ids)
    ]
    if told:
        session.send("forget_answers", columns("scopes keys seals", told))
    desk.forget(session, scope, traces.ids)
    namespaces.forget(session, scope, traces.ids)
    reading.forget(session, explained, traces.ids)
