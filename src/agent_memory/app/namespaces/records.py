"""`memory.records`: the envelope itself, for any kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypedDict, Unpack

from pydantic import Field

from agent_memory.app.namespaces.asking import Where, asked, got, looking_alike
from agent_memory.app.namespaces.sweeping import Sweeping
from agent_memory.app.operations import TABLE, Permission, ResourceSlot, ToolSlot, operation
from agent_memory.core.recall.live import live
from agent_memory.core.write.commit import (
    How,
    Revision,
    check_by_hand,
    commit,
    commit_after_reading,
    connect,
    item,
    once,
    write,
)
from agent_memory.core.write.forget import forget
from agent_memory.core.write.normalise import again
from agent_memory.models.draft import Draft
from agent_memory.models.errors import Changed, InvalidInput, NotFound
from agent_memory.models.kinds.kind import fold
from agent_memory.models.limits import Many, Named, RecordText
from agent_memory.models.model import Model, Moment, Name, Unit
from agent_memory.models.moment import from_micros, to_micros
from agent_memory.models.record import JournalLine, Link, Linked, Record, Status
from agent_memory.ports.changes import Amend, Applied, Connect, Disconnect, Effect, Expect, Outcome


class Fields(TypedDict, total=False):
    """What a new record can say beside its text and kind."""

    payload: dict[str, Any]
    id: Name
    key: Name
    conversation_id: Name
    repository: Name
    status: Status
    importance: Unit
    confidence: Unit
    source: Name
    valid_from: Moment
    valid_to: Moment
    links: list[Link]


class ChangeOptions(TypedDict, total=False):
    """Why a record is changed, and of which version the caller speaks."""

    reason: str
    if_version: int


class Written(Model):
    """What a write came to: `effect` is created, updated or unchanged; held, where it waits for review; or forgotten,
    where it was not written because what was forgotten should be passed over. `alike`, of one fact: the ids of facts
    about the same entities that say nearly the same, or contradict it."""

    id: str
    effect: str
    version: int
    seq: int
    recorded_at: Moment
    alike: list[Name] = Field(default_factory=list)


class Forgotten(Model):
    """`ids` went, those derived from them included. `scrubbed`: also from the log on the disk and from places outside,
    so that nothing is owed; otherwise the store remembers it, and later writes and the jobs try again."""

    ids: list[str]
    seq: int
    scrubbed: bool


class Records(Sweeping):
    """Write, read, list, relate and forget records of every kind."""

    @operation(
        "records.add",
        "POST /records",
        permission=Permission.WRITE,
        command="add",
        mcp=[ToolSlot("core", "save", "note"), ToolSlot("records", "add")],
    )
    def add(
        self,
        text: RecordText,
        kind: str = "observation",
        reason: str | None = None,
        idempotency_key: str | None = None,
        **fields: Unpack[Fields],
    ) -> Written:
        """Store one memory: durable, and findable, when this returns.

        The same key is the same thing: it gets a new version, or none if nothing changed.
        """
        drafts = [_draft(text, kind, fields)]
        return self._compared(self._commit(drafts, reason, How(once=once(idempotency_key, drafts)))[0], kind)

    @operation("records.add_many", "POST /records/batch", permission=Permission.WRITE)
    def add_many(
        self,
        records: list[dict[str, Any]],
        reason: str | None = None,
        idempotency_key: str | None = None,
        embed: bool = False,
        skip_forgotten: bool = False,
    ) -> list[Written]:
        """Store many memories in one transaction, all or none.

        Each is a dict with `text` and what `add` takes. Unless `embed` is set, their vectors are made later. With
        `skip_forgotten`, those with the id of something that was forgotten are passed over.
        """
        shape = TABLE["records.add"]
        drafts, listed = [], "records" if len(records) > 1 else ""
        for number, one in enumerate(records):
            with item(listed, number):
                drafts.append(_draft(**shape.bind((), one)))
        how = How(embed, once=once(idempotency_key, drafts), skip_forgotten=skip_forgotten, listed=listed)
        return self._commit(drafts, reason, how)

    @operation(
        "records.get",
        "GET /records/{id}",
        command="show",
        mcp=[ToolSlot("core", "get", "one"), ResourceSlot("memory://records/{id}")],
    )
    def get(self, id: str, as_of: Moment | None = None, valid_at: Moment | None = None) -> Record:
        """One record by its id, as it is now or as of a moment."""
        records, view = self._client.runtime.store.records, self._client.view(as_of, valid_at)
        found = records.get(view, [id])
        if not found:
            records.history(self._client.view(), id)  # where there never was one, it says so
            moment = " that held at that moment" if as_of or valid_at else ""
            raise NotFound(f"no record {id!r}{moment}", hint="`agent-memory history ID` shows all versions", field="id")
        return got(self._client, view, found[0])

    @operation("records.resolve", "GET /ids/{prefix}")
    def resolve(self, prefix: Name, limit: Named = 10) -> list[Record]:
        """Records whose id begins with these characters, in the order of their ids: each as it holds now, or
        as it was last believed if it does not."""
        records, view = self._client.runtime.store.records, self._client.view()
        ids = records.beginning(view, prefix, limit=limit)
        held = {one.id: one for one in records.get(view, ids)}
        return [held.get(id) or records.history(view, id)[-1] for id in ids]

    @operation("records.lookup", "GET /keys/{kind}")
    def lookup(self, kind: str, key: str, as_of: Moment | None = None, valid_at: Moment | None = None) -> Record | None:
        """Exact look-up by natural key; None if there is no such record. Keys are compared without case."""
        view = self._client.view(as_of, valid_at)
        records = self._client.runtime.store.records
        found = records.by_key(view, kind, key) or records.by_key(view, kind, fold(key))
        return None if found is None else got(self._client, view, found)

    @operation(
        "records.find",
        "GET /records",
        command="list",
        mcp=[ToolSlot("core", "recall", "list"), ToolSlot("records", "list")],
    )
    def find(
        self,
        kind: str | None = None,
        limit: Many = 50,
        after_id: str | None = None,
        oldest_first: bool = False,
        **where: Unpack[Where],
    ) -> list[Record]:
        """Records by kind, time, conversation or field: the newest first. `after_id` continues a page.

        Turns of archived conversations are left out, unless `conversation_id` names theirs."""
        view, chosen = asked(self._client, _of_kind(where, kind))
        records = self._client.runtime.store.records
        return live(records, view, chosen, limit=limit, after=after_id, oldest_first=oldest_first)

    @operation("records.versions", "GET /versions")
    def versions(
        self, kind: str | None = None, after_seq: int = 0, limit: Many = 500, **where: Unpack[Where]
    ) -> list[Linked]:
        """Every version that is believed, also of what held before or begins later, with the links that start at its
        record: in the order in which the store came to them. `after_seq` continues a page."""
        view, chosen = asked(self._client, _of_kind(where, kind), everywhere=True)
        return self._client.runtime.store.records.believed(view, chosen, after=after_seq, limit=limit)

    @operation(
        "records.history",
        "GET /records/{id}/history",
        command="history",
        mcp=[ToolSlot("core", "get", "history"), ToolSlot("records", "history")],
    )
    def history(self, id: str) -> list[Record]:
        """Every version of a record, in the order the store came to believe them."""
        return self._client.runtime.store.records.history(self._client.view(), id)

    @operation(
        "records.amend",
        "PATCH /records/{id}",
        permission=Permission.WRITE,
        command="amend",
        mcp=[ToolSlot("core", "save", "amend"), ToolSlot("records", "revise", "amend")],
    )
    def amend(
        self,
        id: str,
        status: Status | None = None,
        importance: Unit | None = None,
        confidence: Unit | None = None,
        valid_to: Moment | None = None,
        **condition: Unpack[ChangeOptions],
    ) -> Written:
        """Change a record's status, importance, confidence or end without touching its content: a new version of it.

        With `if_version` only if that is still its newest version; otherwise `Changed`, and nothing is written.
        """
        end = None if valid_to is None else to_micros(valid_to)
        change = Amend(id, status and Status(status), importance, confidence, end)
        client, author, expect = self._client, self._client.author(), []
        if_version = condition.get("if_version")
        if if_version is not None and (known := client.runtime.store.records.history(client.view(), id)):
            author = client.head(known[-1].kind, id)[1]
            expect = [Expect(if_version, id=id)]
        author = author._replace(reason=condition.get("reason"))
        applied = write(client.runtime.writing, [change], author, client.now(), How(expect=expect))
        return _written(applied.outcomes[0], applied)

    @operation(
        "records.edit",
        "PUT /records/{id}",
        permission=Permission.WRITE,
        command="edit",
        mcp=[ToolSlot("core", "save", "edit"), ToolSlot("records", "revise", "edit")],
    )
    def edit(
        self,
        id: str,
        text: RecordText | None = None,
        payload: dict[str, Any] | None = None,
        valid_from: Moment | None = None,
        reason: str | None = None,
        if_version: int | None = None,
    ) -> Written:
        """Correct a record: what is not given stays unchanged. `payload` changes the fields it names.

        With `if_version` only if that is still its newest version; otherwise `Changed`, and nothing is written.
        """

        def read() -> Revision:
            known = client.runtime.store.records.get(client.view(), [id])
            old, author = client.head(known[0].kind, id) if known else (None, client.author())
            if old is None:
                raise NotFound(f"no record {id!r} of this user's own", field="id")
            if if_version not in (None, old.version):
                raise Changed(
                    f"{id}: version {if_version} was expected, the store has {old.version}",
                    hint="read it again and repeat the change",
                    field="if_version",
                )
            draft = replace(
                again(old, client.runtime.kinds),
                text=old.text if text is None else text,
                payload={**old.payload, **(payload or {})},
                valid_from=valid_from or old.valid_from,
            )
            kinds.append(old.kind)
            return Revision(draft, Expect(old.version, id=id), author._replace(reason=reason))

        client, kinds = self._client, list[str]()
        applied = commit_after_reading(client.runtime.writing, read, client.now())
        return self._compared(_written(applied.outcomes[0], applied), kinds[-1])

    @operation(
        "records.forget",
        "POST /records/forget",
        permission=Permission.WRITE,
        command="forget",
        mcp=[ToolSlot("core", "forget", "ids")],
        erases=True,
        of_one="DELETE /records/{id}",
    )
    def forget(self, ids: list[str], reason: str | None = None, if_version: int | None = None) -> Forgotten:
        """Erase records for real, with what was derived from them alone: rows, words, vectors, links, receipts.

        With `if_version`, a single record is erased only if that is still its newest version; otherwise `Changed`.
        """
        if if_version is not None and len(set(ids)) != 1:
            raise InvalidInput(
                f"if_version: is about one record, and ids names {len(set(ids))}",
                hint="name one id, or leave if_version out",
                field="if_version",
            )
        client = self._client
        applied = forget(client.runtime.writing, ids, client.author(reason), client.now(), if_version)
        return Forgotten(ids=list(applied.erased), seq=applied.seq, scrubbed=applied.scrubbed)

    @operation("records.link", "POST /links", permission=Permission.WRITE, mcp=[ToolSlot("knowledge", "links", "add")])
    def link(self, link: Link, reason: str | None = None) -> str:
        """Connect two records by a typed edge; says whether it was created, updated or unchanged."""
        check_by_hand(link.type)
        return self._relate(connect(link), reason)

    @operation(
        "records.unlink", "POST /links/end", permission=Permission.WRITE, mcp=[ToolSlot("knowledge", "links", "end")]
    )
    def unlink(self, source_id: str, target_id: str, type: str, reason: str | None = None) -> str:
        """Take an edge away; its history stays."""
        check_by_hand(type)
        return self._relate(Disconnect(source_id, target_id, type), reason)

    @operation("records.links", "GET /records/{id}/links", mcp=[ToolSlot("knowledge", "links", "list")])
    def links(self, id: str, as_of: Moment | None = None, valid_at: Moment | None = None) -> list[Link]:
        """Edges that start or end at a record."""
        return self._client.runtime.store.records.links(self._client.view(as_of, valid_at), [id])

    @operation("records.journal", "GET /journal", command="journal", mcp=[ToolSlot("upkeep", "journal")])
    def journal(self, id: str | None = None, after: int = 0, limit: Many = 100) -> list[JournalLine]:
        """Who changed what, why and when: the lines that this reader may see."""
        return self._client.runtime.store.records.journal(self._client.view(), after=after, limit=limit, id=id)

    def _relate(self, change: Connect | Disconnect, reason: str | None) -> str:
        client = self._client
        applied = write(client.runtime.writing, [change], client.author(reason), client.now())
        return applied.outcomes[0].effect.value

    def _compared(self, written: Written, kind: str) -> Written:
        """With the facts that look like it, where it is one."""
        if self._client.runtime.kinds[kind].asserts != "fact":
            return written
        return written.model_copy(update={"alike": looking_alike(self._client, written.id)})

    def _commit(self, drafts: list[Draft], reason: str | None, how: How) -> list[Written]:
        client = self._client
        applied = commit(client.runtime.writing, drafts, client.author(reason), client.now(), how)
        records = [one for one in applied.outcomes if one.version or one.effect is Effect.FORGOTTEN]  # links apart
        return [_written(outcome, applied) for outcome in records[: len(drafts)]]  # what has them comes after them


def _of_kind(where: Where, kind: str | None) -> Where:
    """Which records a list considers; `kind` stands for one of `kinds`."""
    return where if kind is None else {**where, "kinds": [kind]}


def _draft(text: str, kind: str = "observation", fields: Fields | None = None, **more: Any) -> Draft:
    given: dict[str, Any] = {**(fields or {}), **more}
    given["links"] = tuple(given.get("links") or ())
    values = {name: value for name, value in given.items() if value is not None}
    return Draft(kind=kind, text=text, dated="valid_from" in values, **values)


def _written(outcome: Outcome, applied: Applied) -> Written:
    return Written.trusted(
        id=outcome.id,
        effect=outcome.effect.value,
        version=outcome.version,
        seq=applied.seq,
        recorded_at=from_micros(applied.at),
        alike=[],
    )
