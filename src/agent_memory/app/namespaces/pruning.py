"""What upkeep archives because nobody needs it, and what it leaves alone: a part of `memory.upkeep`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from agent_memory.app.operations import Namespace, Permission, ToolSlot, operation
from agent_memory.core.upkeep.pruning import ACTOR, PRUNED, RESTORED, Pruner, pins_of
from agent_memory.core.upkeep.quiet import QUIET, put_away, quiet
from agent_memory.core.write.commit import SELF, How, commit, until_settled, write
from agent_memory.ledger.request import own
from agent_memory.models.draft import Draft
from agent_memory.models.errors import InvalidInput, NotFound
from agent_memory.models.kinds.pin import PIN, Pin
from agent_memory.models.limits import Few
from agent_memory.models.model import Name, Text
from agent_memory.models.pruned import Pruned, PrunedRecord
from agent_memory.models.record import Link, Record, Scope, Status
from agent_memory.ports.changes import DERIVED_FROM, Amend, Author, Expect
from agent_memory.ports.records import Filter, View

PAGE = 500


class Pruning(Namespace):
    """Archiving what nobody needs, and keeping what somebody wants."""

    @operation(
        "upkeep.prune",
        "POST /prune",
        permission=Permission.WRITE,
        command="prune",
        mcp=[ToolSlot("upkeep", "prune")],
        shows=True,
    )
    def prune(self, dry_run: bool = True, limit: Few = 500) -> Pruned:
        """List what may be archived of this user's own, and why; without `dry_run`, archive it.

        It is what has an importance under 0.1, is older than 30 days and was accessed less than twice; entities whose
        salience has faded under 0.1, that were untouched for 30 days and that no fact is about; and conversations that
        nobody goes on with. `upkeep.restore` (`agent-memory restore-memory`) brings back what was archived. After
        a time of grace the job `cleanup` removes it, but no conversation. The job archives the same every day.
        """
        pruner, found = self._pruner(), list[PrunedRecord]()
        until = None if dry_run else pruner.moment + pruner.grace
        for scope, page in self._pages(pruner, Filter()):
            pins = pins_of(pruner.records, scope, pruner.now)
            silent = quiet(pruner, page, pins)[: limit - len(found)]
            if not dry_run:
                silent = put_away(pruner, scope, [one.record.id for one in silent], pins)
            found += [PrunedRecord.of(one.record, one.why) for one in silent]
            some = pruner.prunable(scope, page, pins)[: limit - len(found)]
            if not dry_run:
                some = pruner.archive(scope, [one.record.id for one in some], pins)
            found += [PrunedRecord.of(one.record, one.why, until) for one in some]
            if len(found) >= limit:
                break
        new = {one.id for one in found}
        archived = (one for one in self._archived(pruner) if one.id not in new)
        return Pruned(
            dry_run=dry_run, found=found, archived=[one for one, _ in zip(archived, range(limit), strict=False)]
        )

    @operation(
        "upkeep.restore",
        "POST /records/{id}/restore",
        permission=Permission.WRITE,
        command="restore-memory",
        mcp=[ToolSlot("upkeep", "restore")],
    )
    def restore(self, id: Name) -> Record:
        """Bring back a record that was pruned, or a conversation that was archived because nobody went on with it.

        It is left alone from then on, for as long as one that is new."""
        client = self._client

        def attempt(found: tuple[Record, Author]) -> None:
            old, author = found
            if old.kind == "conversation":
                draft = replace(Draft.of(old), payload={**old.payload, "archived": False})
                commit(client.runtime.writing, [draft], author, client.now(), How(expect=[Expect(old.version, id=id)]))
            else:
                how = How(expect=[Expect(old.version, id=id)])
                write(client.runtime.writing, [Amend(id, Status.ACTIVE)], author, client.now(), how)

        until_settled(attempt, lambda: self._restorable(id))
        return client.runtime.store.records.get(client.view(), [id])[0]

    @operation(
        "upkeep.pin",
        "POST /records/{id}/pin",
        permission=Permission.WRITE,
        command="pin",
        mcp=[ToolSlot("upkeep", "pin")],
    )
    def pin(self, id: Name, reason: Text | None = None) -> Pin:
        """Protect a record of this user's own: upkeep neither archives nor removes it. A pinned conversation keeps its
        turns as well, and a pinned turn keeps its conversation live."""
        client = self._client
        id = self._pinned_by(id)
        record, author = self._known(id)
        before = client.runtime.store.records.head(author.scope, PIN, key=id)
        if reason is None and before is not None and before.status == Status.ACTIVE:
            reason = before.payload.get("reason")
        payload = {"record_id": id} | ({} if reason is None else {"reason": reason})
        draft = Draft(
            kind=PIN,
            text=reason or f"pinned: {id}",
            payload=payload,
            source="user",
            links=(Link(source_id=SELF, target_id=record.id, type=DERIVED_FROM, weight=0),),
        )
        commit(client.runtime.writing, [draft], author._replace(reason=reason), client.now())
        stored = client.runtime.store.records.head(author.scope, PIN, key=id)
        if stored is None:
            raise NotFound(f"no pin of {id!r}", hint="a gate kept it out", field="id")
        return Pin.of(stored)

    @operation(
        "upkeep.unpin",
        "POST /records/{id}/unpin",
        permission=Permission.WRITE,
        command="unpin",
        mcp=[ToolSlot("upkeep", "unpin")],
    )
    def unpin(self, id: Name) -> bool:
        """Let upkeep have its way with a record again; whether it was pinned."""
        client, records = self._client, self._client.runtime.store.records
        id = self._pinned_by(id)
        for scope in own(client.scope):
            pin = records.head(scope, PIN, key=id)
            if pin is not None and pin.status == Status.ACTIVE:
                author = client.author()._replace(scope=scope)
                write(client.runtime.writing, [Amend(pin.id, Status.ARCHIVED)], author, client.now())
                return True
        return False

    @operation("upkeep.pins", "GET /pins", command="pins", mcp=[ToolSlot("upkeep", "pins")])
    def pins(self, limit: Few = 500) -> list[Pin]:
        """What is pinned, the latest first."""
        client = self._client
        found = client.runtime.store.records.find(client.view(), Filter(kinds=(PIN,)), limit=limit)
        return [Pin.of(one) for one in found]

    def _pinned_by(self, id: str) -> str:
        """What it pins, if it is a pin: after `pin ID` that is what `@last` names."""
        client = self._client
        for one in client.runtime.store.records.get(client.view(), [id]):
            if one.kind == PIN:
                return str(one.payload["record_id"])
        return id

    def _pruner(self) -> Pruner:
        client = self._client
        client.runtime.receipts.flush()
        return Pruner(client.runtime.writing, client.runtime.store.receipts, client.runtime.terms, client.now())

    def _pages(self, pruner: Pruner, where: Filter) -> Iterator[tuple[Scope, list[Record]]]:
        """The user's own, page by page, by their scope."""
        for scope in own(self._client.scope):
            view, after = View(scope, pruner.now), None
            while page := pruner.records.find(view, where, limit=PAGE, after=after):
                yield scope, [one for one in page if one.scope == scope]
                if len(page) < PAGE:
                    break
                after = page[-1].id

    def _archived(self, pruner: Pruner) -> Iterator[PrunedRecord]:
        """What was pruned before."""
        for scope, page in self._pages(pruner, Filter(statuses=(Status.ARCHIVED,))):
            for one in page:
                if why := pruner.pruned(scope, one):
                    yield PrunedRecord.of(one, why, one.recorded_at + pruner.grace)

    def _known(self, id: str) -> tuple[Record, Author]:
        """A record of this user's own, and in whose name it is changed."""
        client = self._client
        for one in client.runtime.store.records.get(client.view(), [id]):
            record, author = client.head(one.kind, id)
            if record is not None:
                return record, author
        raise NotFound(f"no record {id!r} of this user's own", hint="`agent-memory list` shows ids", field="id")

    def _restorable(self, id: str) -> tuple[Record, Author]:
        record, author = self._known(id)
        pruner = self._pruner()
        actor, reason = pruner.line(View(author.scope, pruner.now), record)
        archived = record.kind == "conversation" and record.payload.get("archived") is True
        if (
            not ((archived and reason == QUIET) or (record.status == Status.ARCHIVED and reason in PRUNED))
            or actor != ACTOR
        ):
            raise InvalidInput(
                f"id: {id!r} was not archived by upkeep",
                hint="`agent-memory prune --dry-run` lists what was pruned; `agent-memory amend ID --status active` "
                "brings back what somebody archived",
                field="id",
            )
        return record, author._replace(reason=RESTORED)
