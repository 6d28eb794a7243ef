"""`memory.session(…)`: one conversation, its limit and who counts, so that nobody has to say them with every call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_memory.models.context import Counting
from agent_memory.models.kinds.conversation import Role, Turn
from agent_memory.models.session import FoundTurn, Rendered

if TYPE_CHECKING:
    from agent_memory.app.namespaces import Sessions


class ChatSession:
    """A conversation whose prompt stays within `limit_tokens`. It keeps nothing itself: another one for the same
    conversation, in this process or a later one, goes on where this one is."""

    conversation_id: str
    limit_tokens: int
    counter: Counting

    def __init__(self, sessions: Sessions, conversation_id: str, limit_tokens: int, counter: Counting) -> None:
        self._sessions = sessions
        self.conversation_id = conversation_id
        self.limit_tokens = limit_tokens
        self.counter = counter

    def add(self, role: Role, content: str) -> Turn:
        """Store the next turn; when the prompt is three quarters full, the oldest turns are paged out."""
        return self._sessions.add(self.conversation_id, role, content, self.limit_tokens, self.counter)

    def render(self) -> Rendered:
        """What to send to a model: blocks, summary and the newest turns, never more than the limit."""
        return self._sessions.render(self.conversation_id, self.limit_tokens, self.counter)

    def search(self, query: str, limit: int = 5) -> list[FoundTurn]:
        """What was said in this conversation, word for word, also what is paged out."""
        return self._sessions.search(query, self.conversation_id, limit)
