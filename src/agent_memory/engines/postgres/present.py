"""The read step of a write: what the ledger wants to know, asked at once, under the lock of the tenant's head."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from agent_memory.engines.postgres.connection import PostgresSession, Row
from agent_memory.engines.postgres.feed import PostgresJobs
from agent_memory.engines.postgres.read import scoped
from agent_memory.engines.postgres.schema import check_version
from agent_memory.ledger import repeats
from agent_memory.ledger.codecs import plain
from agent_memory.ledger.journal import Head
from agent_memory.ledger.rows import (
    BelievedRecord,
    Descent,
    KeptAnswer,
    LinkRow,
    Present,
    RecordPlace,
    StoredVersion,
    Wanted,
)
from agent_memory.models.errors import Corrupt
from agent_memory.models.record import Scope, Status
from agent_memory.ports.changes import DERIVING, Content, VersionState, Vocabulary
from agent_memory.ports.embedder import Space


class PostgresLook:
    """At what a tenant has: sent when it is made, read by `present`, and one round trip with whatever was sent before.

    `tenant` is its number and `genesis` where its journal begins; `scopes` are the numbers of those that a write may
    name, `new` of them are not there yet; `spaces` are all there are. `stale`: there are answers that are over."""

    def __init__(self, session: PostgresSession, tenant: str, wanted: Wanted, now: int) -> None:
        self.session = session
        self.name = tenant
        self.wanted = wanted
        self.now = now
        self.stale = False
        self.tenant, self.genesis, self.founded = 0, b"", 0
        self.scopes: dict[Scope, int] = {}
        self.new: list[Scope] = []
        self.spaces: dict[Space, int] = {}
        self._ask()

    def _ask(self) -> None:
        send, wanted = self.session.send, self.wanted
        named = _named(wanted)
        self._head = send("lock_mine")
        self._version = send("version_held")
        send("lock_spaces")
        self._scopes = send("scopes_named", _pairs({*wanted.authors, *wanted.ids}))
        self._spaces, self._vocabulary = send("spaces"), send("written")
        self._held = send("held", named) if wanted.ids or wanted.keys else None
        self._standing = send("standing", named | {"types": [*wanted.types]}) if wanted.types else None
        own = named | {"own": [*wanted.deriving], "deriving": [*DERIVING]}
        self._descents = send("descents", own) if wanted.deriving else None
        self._rooted = send("rooted", own) if wanted.deriving else None
        self._forgotten = send("forgotten", _forgotten(wanted)) if wanted.forgotten else None
        self._answered = send("answered", _answered(wanted)) if wanted.answers else None
        oldest = {"oldest": self.now - repeats.LIVE}
        self._stale = send("anything_answered", oldest) if wanted.answers else None

    def present(self) -> Present:
        if (row := self._head.fetchone()) is None:
            self.session.make(self.name)  # it has never written, or was erased while this one waited
            self._ask()
            row = self._head.fetchone() or ()
        version, floor, at = self._version.fetchone() or (0, 0, 0)
        check_version(version, floor)
        self.session.watch.waited("head", (at - self.session.begun) / 1e6)
        self.tenant, *head, self.genesis, self.founded = row
        *known, (_, _, last) = self._scopes
        self.scopes = {self._scope(user, agent): number for user, agent, number in known}
        self.new = sorted(self.wanted.authors - self.scopes.keys(), key=lambda one: (one.user, one.agent))
        self.scopes |= {scope: last + place for place, scope in enumerate(self.new, 1)}
        self.spaces = {Space(*said): number for number, *said, _ in self._spaces}
        self.stale = any(stale for (stale,) in self._stale or ())
        return Present(
            Head(*head),
            self.scopes,
            tuple(self._records()),
            tuple(self._links()),
            tuple(self._derivation()),
            frozenset(record for (record,) in self._rooted or ()),
            frozenset((self.name, user, id) for user, id in self._forgotten or ()),
            {(self._scope(user, agent), key): KeptAnswer(*said) for user, agent, key, *said in self._answered or ()},
            tuple(self.spaces),
            {work: PostgresJobs(self.session).standing(work) for work in self.wanted.works},
            next((Vocabulary(*said) for said in self._vocabulary), None),
        )

    def _records(self) -> Iterator[BelievedRecord]:
        for (record, id, user, agent, kind), versions in groupby(self._held or (), lambda row: row[:5]):
            stored = tuple(_stored(*said) for _, _, _, _, _, *said in versions)
            yield BelievedRecord(RecordPlace(record, id, self._scope(user, agent)), kind, stored)

    def _links(self) -> Iterator[LinkRow]:
        """Those that stand between two of these records, in a scope that the writer may name."""
        for link, source, target, type, user, agent, *rest in self._standing or ():
            if (scope := self._scope(user, agent)) in self.scopes:
                yield LinkRow(link, source, target, type, scope, *rest)

    def _derivation(self) -> Iterator[Descent]:
        for record, id, number, user, agent, kind, target, link_user, link_agent, stands in self._descents or ():
            source = RecordPlace(record, id, self._scope(user, agent))
            self.scopes[source.scope] = number
            yield Descent(source, kind, target, self._scope(link_user, link_agent), stands)

    def _scope(self, user: str, agent: str) -> Scope:
        return scoped(self.name, user, agent)


def _stored(version: int, number: int, content: int, *said: Any) -> StoredVersion:
    text, encoded, codec, payload, salt, key, conversation, position, repository, *rest = said
    status, importance, confidence, source, valid_from, valid_to = rest
    if salt is None:  # not asked for
        return StoredVersion(version, number, content, None, VersionState(valid_from, key=key))
    try:
        body = Content(plain(text if codec is None else encoded, codec), payload, salt)
    except (TypeError, ValueError):
        raise Corrupt(f"content {content} cannot be read", hint="`agent-memory verify` names the damage") from None
    state = VersionState(
        valid_from=valid_from,
        valid_to=valid_to,
        key=key,
        conversation_id=conversation,
        position=position,
        repository=repository,
        status=Status(status),
        importance=importance,
        confidence=confidence,
        source=source,
    )
    return StoredVersion(version, number, content, body, state)


def _named(wanted: Wanted) -> dict[str, Any]:
    told = wanted.told
    ids = [(scope.user, scope.agent, id, id in told.get(scope, ())) for scope, ids in wanted.ids.items() for id in ids]
    keys = [(scope.user, scope.agent, *pair) for scope, pairs in wanted.keys.items() for pair in pairs]
    return columns("users agents ids told", ids) | columns("key_users key_agents kinds keys", keys)


def _forgotten(wanted: Wanted) -> dict[str, Any]:
    return columns("users ids", [(user, id) for (_, user), ids in wanted.forgotten.items() for id in ids])


def _answered(wanted: Wanted) -> dict[str, Any]:
    return columns("users agents keys", [(scope.user, scope.agent, key) for scope, key in wanted.answers])


def _pairs(scopes: Iterable[Scope]) -> dict[str, Any]:
    return columns("users agents", [(scope.user, scope.agent) for scope in scopes])


def columns(names: str, rows: Iterable[Row]) -> dict[str, Any]:
    """Rows as `unnest` wants them: a list for each column."""
    made = list(rows)
    lists = map(list, zip(*made, strict=True)) if made else ([] for _ in names.split())
    return dict(zip(names.split(), lists, strict=True))
