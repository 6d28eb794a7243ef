"""`memory.models`: whether the chat model answers, what it was asked, and what that used. P19."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from agent_memory.app.operations import Namespace, Permission, operation
from agent_memory.core.govern.metering import midnight
from agent_memory.models.limits import Few, Phrase, Tokens
from agent_memory.models.usage import ModelReply, ModelUsage, UsageReport
from agent_memory.ports.chat import ChatMessage, ChatRequest


class Models(Namespace):
    """Chat models, which are the store's own, and counted for all of it: so this is for whoever runs it."""

    @operation("models.ask", "POST /models/ask", permission=Permission.OPERATOR)
    def ask(
        self,
        prompt: Phrase,
        shape: dict[str, Any] | None = None,
        max_tokens: Tokens | None = None,
    ) -> ModelReply:
        """Ask the chat model one thing, to see whether it answers.

        With a `shape` (JSON Schema), the text is JSON of that shape. The call counts like any other.
        """
        chat = self._client.runtime.require_chat()
        answer = chat.complete(ChatRequest([ChatMessage("user", prompt)], schema=shape, max_tokens=max_tokens))
        used = answer.usage
        return ModelReply(
            text=answer.text,
            model=chat.model,
            prompt_tokens=used.prompt,
            completion_tokens=used.completion,
            finish=answer.finish,
        )

    @operation("models.usage", "GET /models/usage", permission=Permission.OPERATOR)
    def usage(self, days: Few = 7) -> UsageReport:
        """What chat models were asked in the last days, what that used, and what is left today."""
        client = self._client
        runtime, settings, now = client.runtime, client.settings, client.clock.now()
        kept = runtime.store.spending
        rows = [] if kept is None else kept.since((now - timedelta(days=days - 1)).date().isoformat())
        today = [row for row in rows if row.day == now.date().isoformat()]
        return UsageReport(
            model=None if runtime.chat is None else runtime.chat.model,
            calls_a_day=settings.chat_calls_a_day,
            calls_left=max(0, settings.chat_calls_a_day - sum(row.calls for row in today)),
            tokens_a_day=settings.chat_tokens_a_day,
            tokens_left=max(0, settings.chat_tokens_a_day - sum(row.tokens for row in today)),
            resets_at=midnight(now),
            usage=[ModelUsage(**_words(row._asdict())) for row in sorted(rows, key=lambda row: row.day, reverse=True)],
        )


def _words(row: dict[str, object]) -> dict[str, object]:
    return {f"{name}_tokens" if name in ("prompt", "completion", "reserved") else name: row[name] for name in row}
