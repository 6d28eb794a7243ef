"""A chat model that is asked only as much as is allowed, and whose every call is counted. All of the product's calls go
through it.

Promises: before a call is made, it is counted and its tokens are set aside: an estimate of the prompt, and the most
that the answer may have. What does not fit into the day is refused, and nobody is asked. Afterwards, what the service
says that it used takes their place, or our own estimate where it says nothing. A call that the service turned away
gives its tokens back, not its count; one whose answer was lost may have been charged, and keeps them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from agent_memory.core.govern.shape import misfit
from agent_memory.models.errors import AgentMemoryError, BudgetExceeded, PartMissing, Unfinished
from agent_memory.ports.chat import ChatAnswer, ChatModel, ChatRequest
from agent_memory.ports.clock import Clock
from agent_memory.ports.spans import asked_of_model, tell
from agent_memory.ports.spending import Most, SpendingStore

FRAME = 8  # tokens that mark where a message begins and ends


class ChatLimits(NamedTuple):
    """Of a day, and of an answer for which nobody names a number."""

    calls: int
    tokens: int
    answer: int


class _Hold(NamedTuple):
    """What was set aside for a call: of a day, for the prompt, and together with the answer."""

    day: str
    prompt: int
    tokens: int


class MeteredChat:
    """Around any other; `count` estimates the tokens of a text."""

    def __init__(
        self,
        chat: ChatModel,
        spending: SpendingStore | None,
        clock: Callable[[], Clock],
        limits: ChatLimits,
        count: Callable[[str], int],
    ) -> None:
        self._chat = chat
        self._spending = spending
        self._clock = clock
        self._limits = limits
        self._count = count

    @property
    def model(self) -> str:
        return self._chat.model

    @property
    def service(self) -> str | None:
        """Who is asked, if it is a service."""
        return getattr(self._chat, "service", None)

    def complete(self, request: ChatRequest) -> ChatAnswer:
        request, hold = self._reserve(request)
        with asked_of_model("chat", self.model, self.service):
            try:
                answer = self._chat.complete(request)
            except AgentMemoryError as error:
                self._failed(hold, error)
                raise
            used = self._settle(hold, answer)
            tell(**{"gen_ai.usage.input_tokens": used[0], "gen_ai.usage.output_tokens": used[1]})
        return self._fitting(answer, request)

    def stream(self, request: ChatRequest) -> Iterator[str | ChatAnswer]:
        """Who stops listening has asked all the same: what was set aside stays so."""
        request, hold = self._reserve(request)
        begun = False
        try:
            for piece in self._chat.stream(request):
                if isinstance(piece, ChatAnswer):
                    self._settle(hold, piece)
                    yield self._fitting(piece, request)
                    return
                begun = True
                yield piece
        except AgentMemoryError as error:
            if not begun:
                self._failed(hold, error)
            raise
        raise Unfinished(f"{self.model} ended a stream without its answer", hint="try again")

    def _reserve(self, request: ChatRequest) -> tuple[ChatRequest, _Hold]:
        """The request with a bound for its answer, and what was set aside for it; `BudgetExceeded`."""
        request = request._replace(max_tokens=request.max_tokens or self._limits.answer)
        prompt, now = self._prompt(request), self._clock().now()
        hold = _Hold(now.date().isoformat(), prompt, prompt + (request.max_tokens or 0))
        most = Most(self._limits.calls, self._limits.tokens)
        granted, left = self._kept().reserve(hold.day, self.model, hold.tokens, most)
        if not granted:
            raise _exceeded(most, left, hold, now)
        return request, hold

    def _kept(self) -> SpendingStore:
        if self._spending is None:
            raise PartMissing(
                "the engine of the store does not count what models use, so that none is asked",
                hint="use a store in SQLite or PostgreSQL, or a newer version of the engine",
            )
        return self._spending

    def _prompt(self, request: ChatRequest) -> int:
        tools = [[one.name, one.description, dict(one.schema)] for one in request.tools]
        calls = [[call.name, call.arguments] for one in request.messages for call in one.calls]
        beside = [part for part in (tools, calls, request.schema) if part]
        texts = [*(one.content for one in request.messages), *(json.dumps(part, default=str) for part in beside)]
        return sum(self._count(text) + FRAME for text in texts)

    def _settle(self, hold: _Hold, answer: ChatAnswer) -> tuple[int, int]:
        prompt, completion = answer.usage
        if completion is None:
            completion = sum(map(self._count, [answer.text, *(json.dumps(one.arguments) for one in answer.calls)]))
        used = (hold.prompt if prompt is None else prompt, completion)
        self._kept().settle(hold.day, self.model, hold.tokens, used)
        return used

    def _failed(self, hold: _Hold, error: AgentMemoryError) -> None:
        if not isinstance(error, Unfinished):
            self._kept().settle(hold.day, self.model, hold.tokens, (0, 0))

    def _fitting(self, answer: ChatAnswer, request: ChatRequest) -> ChatAnswer:
        """The answer, if it has the shape that was asked for. A call of a tool is an answer of another kind."""
        if request.schema is not None and not answer.calls and (why := misfit(answer.text, request.schema)):
            cut = answer.finish == "length"
            hint = "allow more tokens: it was cut off" if cut else "ask again, or ask a model that keeps to a schema"
            raise Unfinished(f"the answer of {self.model} does not have the shape that was asked for: {why}", hint=hint)
        return answer


def midnight(now: datetime) -> datetime:
    """When the next day begins."""
    return (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)


def _exceeded(most: Most, left: Most, hold: _Hold, now: datetime) -> BudgetExceeded:
    tokens, answer = hold.tokens, hold.tokens - hold.prompt
    tomorrow = midnight(now)
    if left.calls < 1:
        what, limit, rest = "calls", most.calls, 0
        message = f"the limit of {limit:,} calls of chat models a day is reached"
    else:
        what, limit, rest = "tokens", most.tokens, left.tokens
        message = (
            f"this call may use {tokens:,} tokens (its prompt, about {tokens - answer:,}, and an answer of up to "
            f"{answer:,}), but {rest:,} of {limit:,} a day are left"
        )
    wait = f"wait until {tomorrow:%Y-%m-%d %H:%M} UTC"
    first = wait if what == "calls" or tokens <= limit else "ask for a shorter answer (max_tokens)"
    error = BudgetExceeded(
        message,
        hint=f"{first}, or raise AGENT_MEMORY_CHAT_{what.upper()}_A_DAY; `agent-memory models usage` shows what was "
        "used",
        wait=(tomorrow - now).total_seconds(),
    )
    error.limit, error.left, error.resets_at = limit, rest, tomorrow
    return error
