"""Secrets in a store that were written before anybody looked for them: where they are, and taking them out for real.

A content cannot be changed. So a record with a secret is erased, physically and with its whole history, and what is
believed of it is written again without the secret, with its links: in one transaction, under the same id.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from agent_memory.core.govern.redact import Allowed, LocatedSecret
from agent_memory.core.govern.redaction import Redaction
from agent_memory.core.write.commit import How, Writing, connect, write
from agent_memory.core.write.normalise import SALT_BYTES
from agent_memory.core.write.wording import derive
from agent_memory.ledger.request import MOST_CHANGES
from agent_memory.models.errors import NotFound
from agent_memory.models.kinds.kind import Kind, canonical_json
from agent_memory.models.moment import to_micros
from agent_memory.models.record import Link, Record, Scope
from agent_memory.ports.changes import Author, Change, Connect, Content, Erase, Expect, Put, VersionState
from agent_memory.ports.feed import Cursor
from agent_memory.ports.progress import tell
from agent_memory.ports.records import View
from agent_memory.ports.store import Store

PAGE = 1000
MOST_RECEIPTS = 1_000_000
NAMED = ("key", "conversation_id", "repository", "source")


class Stain(NamedTuple):
    """A secret, where it is and, in a record, in which of its versions."""

    secret: LocatedSecret
    scope: Scope
    id: str | None = None
    version: int | None = None


class Scanning(NamedTuple):
    """Of one tenant: all of its users."""

    store: Store
    writing: Writing
    redaction: Redaction
    tenant: str
    now: int

    @property
    def allowed(self) -> Allowed:
        return self.redaction.known(self.tenant).allowed

    def records(self) -> Iterator[tuple[Scope, str, list[Stain]]]:
        """Records that hold a secret in any version, or in a link that starts there."""
        known = dict.fromkeys((line.scope, line.id) for line in self._lines() if line.kind and line.id)
        for number, (scope, id) in enumerate(known):
            if number % PAGE == 0:
                tell("scanning", number, len(known))
            if found := [*self._in_record(scope, id)]:
                yield scope, id, found

    def elsewhere(self) -> Iterator[Stain]:
        """In what was asked and in reasons. Nothing takes it from there: a receipt ends by itself, and a line of the
        journal stands for good."""
        for kept in self.store.receipts.since(self.tenant, 0, MOST_RECEIPTS):
            query = json.loads(kept.body).get("query") or ""
            yield from (Stain(one, kept.scope) for one in self._within("receipt", query))
        seen = set[int]()
        for scope in dict.fromkeys(line.scope for line in self._lines()):
            after = 0
            while page := self.store.records.journal(View(scope, self.now), after=after, limit=PAGE):
                for line in page:
                    if line.seq not in seen:
                        yield from (
                            Stain(one, scope, line.record_id) for one in self._within("reason", line.reason or "")
                        )
                    seen.add(line.seq)
                after = page[-1].seq

    def clean(self, scope: Scope, id: str, author: Author) -> bool:
        """Write a record anew without its secrets; says whether they are gone from the disk, too. `Changed` when
        somebody wrote it meanwhile."""
        records, view = self.store.records, View(scope, self.now)
        try:
            history = [one for one in records.history(view, id) if one.scope == scope]
        except NotFound:  # it was forgotten
            return True
        believed = sorted((one for one in history if one.recorded_to is None), key=lambda one: one.valid_from)
        changes: list[Change] = [Erase(id, scope=scope), *(self._again(one, len(believed) > 1) for one in believed)]
        if believed:
            changes += [connect(link) for link in records.links(view, [id])]
            changes += self._others(scope, id)
        known = self.redaction.known(self.tenant)
        clean = [self.redaction.change(one, known) for one in changes]
        only, by = Expect(max(one.version for one in history), id=id), author._replace(scope=scope, reviewed=True)
        scrubbed = write(self.writing, clean[:MOST_CHANGES], by, self.now, How(expect=[only], decides=True)).scrubbed
        for at in range(MOST_CHANGES, len(clean), MOST_CHANGES):
            write(self.writing, clean[at : at + MOST_CHANGES], by, self.now)
        return scrubbed

    def _others(self, scope: Scope, id: str) -> Iterator[Connect]:
        """Links of others to what they share with this scope; not to what somebody forgets meanwhile."""
        for other in dict.fromkeys(line.scope for line in self._lines()):
            if other != scope and scope in other.readable():
                wider = [one for one in other.readable() if one != other]
                known = {link.ends for one in wider for link in self.store.records.links(View(one, self.now), [id])}
                links = self.store.records.links(View(other, self.now), [id])
                theirs = [connect(link) for link in links if link.ends not in known]
                yield from (one._replace(scope=other, if_there=True) for one in theirs)

    def _again(self, record: Record, several: bool) -> Put:
        kind = self.writing.kinds.get(record.kind, Kind(record.kind, record.kind))
        state = VersionState(
            valid_from=to_micros(record.valid_from),
            valid_to=None if record.valid_to is None else to_micros(record.valid_to),
            position=record.payload.get(kind.position) if kind.position else None,
            status=record.status,
            importance=record.importance,
            confidence=record.confidence,
            source=record.source,
            key=record.key,
            conversation_id=record.conversation_id,
            repository=record.repository,
        )
        content = Content(record.text, canonical_json(record.payload), secrets.token_bytes(SALT_BYTES))
        made = derive(kind, record.text, record.payload, self.writing.wording.analyser)
        return Put(record.id, record.kind, content, state, made, succeeds=several, dated=True)

    def _in_record(self, scope: Scope, id: str) -> Iterator[Stain]:
        view = View(scope, self.now)
        try:
            history = [one for one in self.store.records.history(view, id) if one.scope == scope]
        except NotFound:  # it was forgotten
            return
        for one in history:
            yield from (Stain(found, scope, id, one.version) for found in self._in_version(one))
        for link in self.store.records.links(view, [id]) if history else ():
            if link.source_id == id:
                yield from (Stain(one, scope, id) for one in self._in_link(link))

    def _in_version(self, record: Record) -> Iterator[LocatedSecret]:
        kind = self.writing.kinds.get(record.kind)
        yield from self._within("text", record.text)
        yield from self._within("payload", record.payload, tuple(kind.payload.model_fields) if kind else ())
        for name in NAMED:
            yield from self._within(name, getattr(record, name) or "")

    def _in_link(self, link: Link) -> Iterator[LocatedSecret]:
        return self._within("link", {"type": link.type, "properties": link.properties})

    def _within(self, where: str, value: Any, ours: Sequence[str] = ()) -> Iterator[LocatedSecret]:
        found = self.redaction.redactor.located(value, self.allowed, ours)
        return (one._replace(where=f"{where}.{one.where}".rstrip(".")) for one in found)

    def _lines(self) -> Iterator[Any]:
        cursor = Cursor(self.tenant)
        while page := self.store.feed.lines(cursor, limit=PAGE):
            yield from page
            cursor = page[-1].cursor
