"""`memory.models`: whether the chat model answers, what it was asked, and what that used. P19."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from agent_memory.app.operations import Namespace, Permission, operation
from agent_memory.core.govern.days import midnight, today
from agent_memory.ledger.spending import added
from agent_memory.models.limits import Few, Phrase, Tokens
from agent_memory.models.model import Name
from agent_memory.models.usage import ModelReply, ModelUsage, UsageReport
from agent_memory.ports.chat import ChatMessage, ChatRequest
from agent_memory.ports.spending import Account, DaySpending


class Models(Namespace):
    """Chat models, which are the store's own, and counted for all of it: so this is for whoever runs it."""

    @operation("models.ask", "POST /models/ask", permission=Permission.OPERATOR)
    def ask(
        self,
        prompt: Phrase,
        shape: dict[str, Any] | None = None,
        max_tokens: Tokens | None = None,
        run_id: Name | None = None,
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
        zone = runtime.meter.terms.zone
        since = today(now - timedelta(days=days - 1), zone)
        rows = [] if kept is None else _by_model(kept.since(since))
        now_used = [row for row in rows if row.day == today(now, zone)]
        return UsageReport(
            model=None if runtime.chat is None else runtime.chat.model,
            calls_a_day=settings.chat_calls_a_day,
            calls_left=max(0, settings.chat_calls_a_day - sum(row.calls for row in now_used)),
            tokens_a_day=settings.chat_tokens_a_day,
            tokens_left=max(0, settings.chat_tokens_a_day - sum(row.tokens for row in now_used)),
            resets_at=midnight(now, zone),
            usage=[_told(row) for row in sorted(rows, key=lambda row: row.day, reverse=True)],
        )


def _by_model(rows: Iterable[DaySpending]) -> list[DaySpending]:
    """What chat models used, whoever asked them."""
    sums: dict[Account, DaySpending] = {}
    for row in rows:
        if row.kind == "chat":
            account = Account(row.day, kind=row.kind, model=row.model)
            sums[account] = added(sums.get(account, DaySpending(*account)), row)
    return [*sums.values()]


def _told(row: DaySpending) -> ModelUsage:
    return ModelUsage(
        day=row.day,
        model=row.model,
        calls=row.calls,
        prompt_tokens=row.prompt,
        completion_tokens=row.completion,
        reserved_tokens=row.reserved,
        refused=row.refused,
    )
