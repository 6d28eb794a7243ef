"""`memory.sessions`: conversations under a limit of tokens, behind `memory.session(…)`. E9."""

from __future__ import annotations

from contextlib import suppress

from agent_memory.app.namespaces.asking import Where, asked
from agent_memory.app.namespaces.episodic import appended_turn
from agent_memory.app.operations import Namespace, Permission, ToolSlot, operation
from agent_memory.app.registry import counting
from agent_memory.core.experience.finding import nearest
from agent_memory.core.talk.blocks import in_force, visible
from agent_memory.core.talk.paging import Paging, page_out
from agent_memory.core.talk.prompt import total
from agent_memory.core.talk.session import Limit, has_room, laid_out, written
from agent_memory.models.context import Counting
from agent_memory.models.errors import Busy, Changed
from agent_memory.models.kinds.conversation import Role, Turn
from agent_memory.models.limits import USUAL_TOKENS, Hits, Query, RecordText, SessionTokens
from agent_memory.models.model import Name
from agent_memory.models.session import FoundTurn, Rendered


class Sessions(Namespace):
    """A session is a conversation whose prompt never passes a limit: its oldest turns are paged out into a summary, and
    stay as they were said. All of it is in records: whoever names the conversation goes on with it."""

    @operation(
        "sessions.add",
        "POST /sessions/{conversation_id}/turns",
        permission=Permission.WRITE,
        mcp=[ToolSlot("conversation", "session", "add")],
    )
    def add(
        self,
        conversation_id: Name,
        role: Role,
        content: RecordText,
        limit_tokens: SessionTokens = USUAL_TOKENS,
        counter: Counting = "estimate",
    ) -> Turn:
        """Store the next turn of a conversation. When its prompt is three quarters full, the oldest turns are paged
        out."""
        paging, client = self._paging(conversation_id, limit_tokens, counter), self._client
        before = paging.talk()
        said = {"role": role, "content": content, "timestamp": client.clock.now()}
        turn = appended_turn(client, Turn(conversation_id=conversation_id, index=0, **said))
        if not has_room(before, paging.blocks, paging.limit, role, content):
            with suppress(Busy, Changed):  # the turn is stored: the next one pages out
                page_out(paging)
        return turn

    @operation(
        "sessions.render", "GET /sessions/{conversation_id}", mcp=[ToolSlot("conversation", "session", "render")]
    )
    def render(
        self, conversation_id: Name, limit_tokens: SessionTokens = USUAL_TOKENS, counter: Counting = "estimate"
    ) -> Rendered:
        """What to send to a model: blocks, a summary of what is paged out, and the newest turns, never more than
        `limit_tokens` together."""
        paging = self._paging(conversation_id, limit_tokens, counter)
        laid = laid_out(paging.talk(), paging.blocks, paging.limit)
        messages, head, turns, clipped = written(laid, paging.limit)
        summary = laid.head.summary
        return Rendered(
            conversation_id=conversation_id,
            messages=messages,
            total_tokens=total(messages, paging.limit.count),
            limit_tokens=limit_tokens,
            counter=counter if isinstance(counter, str) else "own",
            turns=[one.payload["index"] for one in turns],
            clipped=clipped,
            paged_out=summary.turns,
            summary_by=summary.made_by if summary.turns else None,
            blocks=[one.label for one in head.blocks],
            left_out=[one.label for one in paging.blocks if one not in head.blocks],
        )

    @operation("sessions.search", "POST /sessions/search", mcp=[ToolSlot("conversation", "session", "search")])
    def search(self, query: Query, conversation_id: Name | None = None, limit: Hits = 5) -> list[FoundTurn]:
        """Search what was said, word for word, also what is paged out: of one conversation, or of all."""
        where: Where = {"kinds": ["turn"]}
        if conversation_id is not None:
            where["conversation_id"] = conversation_id
        view, chosen = asked(self._client, where)
        hits = nearest(self._client.runtime.recalling, query, view, chosen, limit, "query")
        return [
            FoundTurn(
                id=one.record.id,
                conversation_id=one.record.conversation_id or "",
                index=one.record.payload["index"],
                role=one.record.payload["role"],
                content=one.record.text,
                timestamp=one.record.valid_from,
                relevance=one.relevance,
            )
            for one in hits
        ]

    def _paging(self, conversation_id: str, limit_tokens: int, counter: Counting) -> Paging:
        client, view = self._client, self._client.view()
        runtime, limit = client.runtime, Limit(limit_tokens, counting(counter))
        blocks = in_force(visible(runtime.store.records, view))
        chat = runtime.chat if client.caller.operates else None  # what `models.ask` needs: it spends the store's cap
        return Paging(runtime.writing, view, client.author(), conversation_id, blocks, limit, chat)
