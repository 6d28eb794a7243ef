"""`memory.episodic`: conversations and their turns. C2."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack, cast

from agent_memory.app.client import Client
from agent_memory.app.namespaces.asking import Moments, Where, asked, own_user
from agent_memory.app.operations import Namespace, Permission, ResourceSlot, ToolSlot, operation
from agent_memory.core.recall.bundle import turn_shown
from agent_memory.core.recall.live import live
from agent_memory.core.recall.recall import recall
from agent_memory.core.recall.receipt import Question
from agent_memory.core.talk.append import append
from agent_memory.core.working.desk import beside
from agent_memory.core.write.commit import Revision, commit, commit_after_reading
from agent_memory.models.draft import Draft
from agent_memory.models.errors import NotFound
from agent_memory.models.kinds.conversation import Conversation, Role, Turn
from agent_memory.models.limits import Few, RecordText
from agent_memory.models.model import Name
from agent_memory.models.recipe import MEANING
from agent_memory.models.record import Record
from agent_memory.ports.changes import Expect
from agent_memory.ports.records import Filter, RecordStore, View

MOST_TURNS = 10_000


class Episodic(Namespace):
    """Conversations, and their turns in order, each linked to the one before."""

    @operation(
        "episodic.store_turn",
        "POST /turns",
        permission=Permission.WRITE,
        mcp=[ToolSlot("conversation", "turns", "store")],
    )
    def store_turn(self, turn: Turn) -> Turn:
        """Store a turn; the same conversation and index again corrects it."""
        return stored_turn(self._client, turn)

    @operation("episodic.store_turn_log", "POST /turns/log", permission=Permission.WRITE)
    def store_turn_log(self, turn: Turn) -> Turn:
        """The same as store_turn: one store serves as log and as memory."""
        return stored_turn(self._client, turn)

    @operation("episodic.append", "POST /conversations/{conversation_id}/turns", permission=Permission.WRITE)
    def append(
        self,
        conversation_id: Name,
        role: Role,
        content: RecordText,
        metadata: dict[str, Any] | None = None,
        token_count: int | None = None,
        idempotency_key: str | None = None,
    ) -> Turn:
        """Store the next turn of a conversation; its index is the one after the last, also when several write."""
        turn = Turn(
            conversation_id=conversation_id,
            index=0,
            role=role,
            content=content,
            timestamp=self._client.clock.now(),
            token_count=token_count,
            metadata=metadata or {},
        )
        return appended_turn(self._client, turn, idempotency_key)

    @operation("episodic.vector_search", "POST /turns/near")
    def vector_search(
        self,
        query_embedding: list[float],
        top_k: int = 10,
        user_id: str | None = None,
        time_window_hours: float | None = None,
        **at: Unpack[Moments],
    ) -> list[dict[str, Any]]:
        """Turns nearest to a vector."""
        own_user(self._client, user_id)
        where: Where = {"kinds": ["turn"]}
        if time_window_hours is not None:
            where["time_window_hours"] = time_window_hours
        view, chosen = asked(self._client, where, at)
        question = Question("", view, chosen, top_k, MEANING, query_embedding)
        found = recall(self._client.runtime.recalling, question)
        return [
            {**turn_shown(hit.record), "score": hit.why.similarity} for hit in found if hit.why.similarity is not None
        ]

    @operation(
        "episodic.get_conversation",
        "GET /conversations/{conversation_id}",
        mcp=[
            ToolSlot("conversation", "turns", "conversation"),
            ResourceSlot("memory://conversations/{conversation_id}"),
        ],
    )
    def get_conversation(self, conversation_id: str, **at: Unpack[Moments]) -> list[Turn]:
        """A whole conversation, in order."""
        view, chosen = asked(self._client, {"kinds": ["turn"], "conversation_id": conversation_id}, at)
        records = self._client.runtime.store.records.find(view, chosen, limit=MOST_TURNS, oldest_first=True)
        return sorted((Turn.of(record) for record in records), key=lambda turn: turn.index)

    @operation("episodic.conversations", "GET /conversations", mcp=[ToolSlot("conversation", "turns", "conversations")])
    def conversations(
        self, archived: bool | None = False, limit: Few = 20, **at: Unpack[Moments]
    ) -> list[Conversation]:
        """The conversations, the one that began last first: title, user, times, and whether they are consolidated.
        Those that are archived are asked for with `archived`; null asks for all."""
        fields = {} if archived is None else {"archived": archived}
        view, chosen = asked(self._client, {"kinds": ["conversation"], "fields": fields}, at)
        records = self._client.runtime.store.records
        return [timed(records, view, one) for one in records.find(view, chosen, limit=limit)]

    @operation(
        "episodic.update_conversation",
        "PATCH /conversations/{conversation_id}",
        permission=Permission.WRITE,
        mcp=[ToolSlot("conversation", "turns", "update")],
    )
    def update_conversation(
        self,
        conversation_id: Name,
        title: Name | None = None,
        archived: bool | None = None,
        consolidated: bool | None = None,
    ) -> Conversation:
        """Give a conversation a title, or say that it is archived or consolidated; what is left out stays."""
        client, records = self._client, self._client.runtime.store.records
        given = {"title": title, "archived": archived, "consolidated": consolidated}
        changes = {name: value for name, value in given.items() if value is not None}

        def read() -> Revision:
            old = client.own("conversation", key=conversation_id)
            if old is None:
                raise NotFound(
                    f"no conversation {conversation_id!r} of this user's own",
                    hint="it begins when its first turn is stored",
                    field="conversation_id",
                )
            payload = {**old.payload, **changes}
            draft = replace(Draft.of(old), text=payload.get("title") or conversation_id, payload=payload)
            return Revision(draft, Expect(old.version, id=old.id), client.author())

        commit_after_reading(client.runtime.writing, read, client.now())
        stored = client.own("conversation", key=conversation_id)
        return timed(records, client.view(), cast("Record", stored))

    @operation("episodic.get_recent_turns", "GET /turns/recent", mcp=[ToolSlot("conversation", "turns", "recent")])
    def get_recent_turns(
        self, user_id: str | None = None, hours: float = 24, limit: int = 50, **at: Unpack[Moments]
    ) -> list[dict[str, Any]]:
        """Turns of the last hours, the newest first, without those of archived conversations."""
        own_user(self._client, user_id)
        view, chosen = asked(self._client, {"kinds": ["turn"], "time_window_hours": hours}, at)
        return [turn_shown(record) for record in live(self._client.runtime.store.records, view, chosen, limit=limit)]


def stored_turn(client: Client, turn: Turn) -> Turn:
    """Durable, and on the desk of this client's conversation."""
    applied = commit(client.runtime.writing, [turn.draft()], client.author(), client.now())
    return _at_hand(client, turn.model_copy(update={"id": applied.outcomes[0].id}))


def appended_turn(client: Client, turn: Turn, idempotency_key: str | None = None) -> Turn:
    """The same, after the last turn of its conversation, whatever its `index` says."""
    return _at_hand(client, append(client.runtime.writing, client.view(), client.author(), turn, idempotency_key))


def _at_hand(client: Client, stored: Turn) -> Turn:
    with beside():
        client.working.add_turn(stored.model_dump(mode="json", exclude={"embedding"}))
    return stored


def timed(records: RecordStore, view: View, record: Record) -> Conversation:
    """With the times of its first and last turns; they may have been stored in any order."""
    where = Filter(kinds=("turn",), conversation_id=record.conversation_id)
    first, last = (records.find(view, where, limit=1, oldest_first=one) for one in (True, False))
    times = {"started_at": first[0].valid_from, "last_turn_at": last[0].valid_from} if first and last else {}
    return Conversation.of(record).model_copy(update=times)
