"""Links in one write transaction: whose they are, and how they begin and end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_memory.engines.sqlite.journal import CONNECT, DISCONNECT
from agent_memory.engines.sqlite.seals import cut_seal, link_seal
from agent_memory.engines.sqlite.statements import SQL
from agent_memory.models.errors import NotFound
from agent_memory.models.record import Scope
from agent_memory.ports.changes import Connect, Disconnect, Effect, Key, Outcome

if TYPE_CHECKING:
    from agent_memory.engines.sqlite.write import Writer


class Linking:
    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.connection = writer.connection

    def connect(self, change: Connect) -> Outcome:
        try:
            ends = self._ends(change.source_id, change.target_id, change.type)
        except NotFound:
            named = {change.source_id, change.target_id}
            if change.if_there or (change.unless_forgotten and not named.isdisjoint(self.writer.forgotten)):
                return Outcome(Effect.UNCHANGED, "")
            raise
        source, target, kind, scope = ends
        old = self.connection.execute(SQL["current_link"], ends).fetchone()
        if old is not None:
            same = self.connection.execute(
                "select 1 from links where link = ? and weight = ? and properties = ?",
                (old[0], change.weight, change.properties),
            ).fetchone()
            if same:
                return Outcome(Effect.UNCHANGED, self.writer.id_of(source))
            self.connection.execute(SQL["end_link"], (self.writer.ledger.next, old[0]))
        between = (source, target, change.type)
        proof = link_seal(change.salt, between, change.weight, change.properties, old[0] if old else None)
        link = self.writer.ledger.append(CONNECT, scope, source, target, proof)
        values = (link, source, target, kind, scope, change.weight, change.properties, change.salt)
        self.connection.execute(SQL["insert_link"], values)
        return Outcome(Effect.UPDATED if old else Effect.CREATED, self.writer.id_of(source))

    def disconnect(self, change: Disconnect) -> Outcome:
        ends = self._ends(change.source_id, change.target_id, change.type)
        source, target, _, scope = ends
        old = self.connection.execute(SQL["current_link"], ends).fetchone()
        if old is None:
            return Outcome(Effect.UNCHANGED, self.writer.id_of(source))
        self.connection.execute(SQL["end_link"], (self.writer.ledger.next, old[0]))
        salt = self.connection.execute("select salt from links where link = ?", old).fetchone()[0]
        self.writer.ledger.append(DISCONNECT, scope, source, target, cut_seal(salt, old[0]))
        return Outcome(Effect.UPDATED, self.writer.id_of(source))

    def _ends(self, source: str | Key, target: str | Key, type: str) -> tuple[int, int, int, int]:
        """(source, target, type, scope) as numbers."""
        (first, here), (second, there) = self._place(source), self._place(target)
        return first, second, self.writer.names.number(type), self._narrower(here, there)

    def _place(self, end: str | Key) -> tuple[int, int]:
        if isinstance(end, str):
            return self.writer.find(end)
        record = self.writer.keyed(end.key, self.writer.names.number(end.kind))
        if record is None:
            raise NotFound(f"no {end.kind} with this key", field="key")
        return record, self.writer.scope

    def _narrower(self, one: int, other: int) -> int:
        """The scope of the two ends with fewer readers; never wider than the author's user, whose link it is."""
        here, there = (self.scope_of(number) for number in (one, other))
        chosen = one if there in here.readable() else other if here in there.readable() else self.writer.scope
        return chosen if self.scope_of(chosen).user == self.writer.author.scope.user else self.writer.scope

    def scope_of(self, number: int) -> Scope:
        row = self.connection.execute("select tenant, user, agent from scopes where scope = ?", (number,)).fetchone()
        return Scope(tenant=row[0], user=row[1], agent=row[2])
