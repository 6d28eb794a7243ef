"""Models that are asked only as much as is allowed, and whose every call is counted. All of the product's calls go
through here.

Promises: before a call is made, it is counted, and what it may use is set aside: an estimate of the prompt, the most
that the answer may have, what both cost and, where time is limited, how long an answer may take. What does not fit into
a budget is refused, and nobody is asked. Afterwards, what the service says that it used takes its place, or our own
estimate where it says nothing. A call that the service turned away gives everything back but its count; one whose
answer was lost may have been charged, and keeps it. A stream ends when the time that was set aside for it is over.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from itertools import chain, islice
from typing import NamedTuple, TypeVar

from agent_memory.core.govern.days import midnight, today, zone_named
from agent_memory.core.govern.shape import misfit
from agent_memory.models.errors import (
    AgentMemoryError,
    BudgetExceeded,
    InvalidInput,
    PartMissing,
    StoreError,
    Unfinished,
)
from agent_memory.ports.chat import ChatAnswer, ChatModel, ChatRequest
from agent_memory.ports.clock import Clock
from agent_memory.ports.reranker import Reranker
from agent_memory.ports.spans import asked_of_model, tell
from agent_memory.ports.spending import (
    Account,
    Hold,
    Reserved,
    SpendingLimit,
    SpendingStore,
    Used,
    check_run,
    repeating,
    spender,
)

CHAT, EMBEDDING, RERANK = "chat", "embedding", "rerank"
"""Kinds of models. The first is also the operation in which an agent of ours asks one."""
MOST_TOKENS, MOST_MONEY = 2**40, 2**50  # of one call, whatever a service says
FRAME = 8  # tokens that mark where a message begins and ends
UNITS = {"calls": 1, "tokens": 1, "money": 1_000_000, "millis": 1000}
"""In how many parts each measure is counted."""
SETTINGS = {"calls": "AGENT_MEMORY_CHAT_CALLS_A_DAY", "tokens": "AGENT_MEMORY_CHAT_TOKENS_A_DAY"}


T = TypeVar("T")


class TokenPrice(NamedTuple):
    """Of a million tokens that a model reads, and that it writes."""

    prompt: float
    completion: float = 0.0

    def of(self, prompt: int, completion: int) -> int:
        """In millionths, never rounded down."""
        return math.ceil(prompt * self.prompt + completion * self.completion)


class SpendingTerms(NamedTuple):
    """`limits` are those that the settings make, `zone` is where days begin, `prices` are by model. `unpriced`: what
    has no price is asked although money is limited. `longest` is how many seconds an answer may take,
    `named` the zone that the settings want, if they do."""

    limits: Sequence[SpendingLimit] = ()
    zone: tzinfo = UTC
    prices: Mapping[str, TokenPrice] = {}
    unpriced: bool = False
    longest: float = 0.0
    named: str | None = None


class MeteredCall(NamedTuple):
    """A call that may be made: on which account, what was set aside, what it costs, and until when it may last."""

    account: Account
    hold: Hold
    price: TokenPrice | None
    prompt: int
    begun: float
    until: float


class ModelMeter:
    """Counts for one store; `count` estimates the tokens of a text."""

    def __init__(
        self,
        spending: SpendingStore | None,
        clock: Callable[[], Clock],
        count: Callable[[str], int],
        terms: SpendingTerms = SpendingTerms(),  # noqa: B008 - a value
    ) -> None:
        self._spending = spending
        self._clock = clock
        self.count = count
        self._said = terms
        self._zone: tzinfo | None = None  # as the store keeps it, which is for good

    @property
    def terms(self) -> SpendingTerms:
        """As the settings say them, with the zone that all processes of the store share."""
        said = self._said
        if self._spending is None:
            return said
        if self._zone is None and (kept := self._spending.zone(said.named)) is not None:
            if said.named not in (None, kept):
                raise InvalidInput(
                    f"AGENT_MEMORY_BUDGET_ZONE: the days of this store begin in {kept}, not in {said.named}",
                    hint="leave it unset: the store keeps the zone for all of its processes",
                    field="budget_zone",
                )
            self._zone = zone_named(kept)
        return said if self._zone is None else said._replace(zone=self._zone)

    def account(self, kind: str, model: str) -> Account:
        """That of whoever asks now."""
        return Account(today(self._clock().now(), self.terms.zone), *spender(), kind=kind, model=model)

    def price(self, model: str, known: TokenPrice | None) -> TokenPrice | None:
        """The one of the settings, or else what is known of the model."""
        return self._said.prices.get(model, known)

    def reserve(self, account: Account, prompt: int, answer: int = 0, known: TokenPrice | None = None) -> MeteredCall:
        """`BudgetExceeded`, unless it was counted and what it may use is set aside."""
        price = self.price(account.model, known)
        money = (0 if self._said.unpriced else None) if price is None else price.of(prompt, answer)
        longest = math.ceil(self._said.longest * UNITS["millis"]) if account.kind == CHAT else 0
        hold = Hold(prompt + answer, money, millis=longest)
        check_run()
        found = self.kept().reserve(account, hold, self._said.limits)
        if not found.granted:
            raise exceeded(found, account, hold, answer, self._clock().now().astimezone(self.terms.zone))
        begun = time.monotonic()
        until = math.inf if found.millis is None else begun + found.millis / UNITS["millis"]
        aside = hold._replace(millis=(found.millis or 0) if longest else 0)
        return MeteredCall(account, aside, price, prompt, begun, until)

    def again(self, call: MeteredCall) -> None:
        """The service was busy, and is to be asked once more: that is a call, too."""
        found = self.kept().reserve(call.account, Hold(0), self._said.limits)
        if not found.granted:
            raise exceeded(found, call.account, Hold(0), 0, self._clock().now().astimezone(self.terms.zone))

    def settle(self, call: MeteredCall, prompt: int, completion: int = 0) -> None:
        prompt, completion = (min(max(0, one), MOST_TOKENS) for one in (prompt, completion))
        money = 0 if call.price is None else min(call.price.of(prompt, completion), MOST_MONEY)
        millis = math.ceil((time.monotonic() - call.begun) * UNITS["millis"])
        self.kept().settle(call.account, call.hold, Used(prompt, completion, money, millis))

    def failed(self, call: MeteredCall, error: AgentMemoryError) -> None:
        """What was lost on the way may have been charged."""
        if not isinstance(error, Unfinished):
            self.settle(call, 0)

    def kept(self) -> SpendingStore:
        if self._spending is None:
            raise PartMissing(
                "the engine of the store does not count what models use, so that none is asked",
                hint="use a store in SQLite or PostgreSQL, or a newer version of the engine",
            )
        return self._spending


class MeteredChat:
    """Around any other. `answer` is the most tokens of one for which nobody names a number; `known` is what is known of
    its price."""

    def __init__(self, chat: ChatModel, meter: ModelMeter, answer: int, known: TokenPrice | None = None) -> None:
        self._chat = chat
        self._meter = meter
        self._answer = answer
        self.known = known

    @property
    def model(self) -> str:
        return self._chat.model

    @property
    def service(self) -> str | None:
        """Who is asked, if it is a service."""
        return getattr(self._chat, "service", None)

    def complete(self, request: ChatRequest) -> ChatAnswer:
        request, call = self._reserve(request)
        with asked_of_model("chat", self.model, self.service):
            try:
                with repeating(lambda: self._meter.again(call)):
                    answer = self._chat.complete(request)
            except AgentMemoryError as error:
                self._meter.failed(call, error)
                raise
            used = self._settle(call, answer)
            tell(**{"gen_ai.usage.input_tokens": used[0], "gen_ai.usage.output_tokens": used[1]})
        return self._fitting(answer, request)

    def stream(self, request: ChatRequest) -> Iterator[str | ChatAnswer]:
        """Who stops listening has asked all the same: what was set aside stays so. One that goes on past what was set
        aside is cut off there."""
        request, call = self._reserve(request)
        pieces = 0
        try:
            told = iter(self._chat.stream(request))
            with repeating(lambda: self._meter.again(call)):
                first = list(islice(told, 1))
            for piece in chain(first, told):
                if isinstance(piece, ChatAnswer):
                    self._settle(call, piece)
                    yield self._fitting(piece, request)
                    return
                pieces += bool(piece)
                if (late := time.monotonic() > call.until) or pieces > (request.max_tokens or 0):
                    self._meter.settle(call, call.prompt, pieces)
                    raise _cut(call, self.model, late=late)
                yield piece
        except BudgetExceeded:
            raise
        except AgentMemoryError as error:
            if not pieces:
                self._meter.failed(call, error)
            raise
        raise Unfinished(f"{self.model} ended a stream without its answer", hint="try again")

    def _reserve(self, request: ChatRequest) -> tuple[ChatRequest, MeteredCall]:
        """The request with a bound for its answer, and what was set aside for it; `BudgetExceeded`."""
        prompt, answer = prompt_tokens(request, self._meter.count), request.max_tokens or self._answer
        call = self._meter.reserve(self._meter.account(CHAT, self.model), prompt, answer, self.known)
        return request._replace(max_tokens=answer), call

    def _settle(self, call: MeteredCall, answer: ChatAnswer) -> tuple[int, int]:
        prompt, completion = answer.usage
        if completion is None:
            texts = [answer.text, *(json.dumps(one.arguments) for one in answer.calls)]
            completion = sum(map(self._meter.count, texts))
        used = (call.prompt if prompt is None else prompt, completion)
        self._meter.settle(call, *used)
        return used

    def _fitting(self, answer: ChatAnswer, request: ChatRequest) -> ChatAnswer:
        """The answer, if it has the shape that was asked for. A call of a tool is an answer of another kind."""
        if request.schema is not None and not answer.calls and (why := misfit(answer.text, request.schema)):
            cut = answer.finish == "length"
            hint = "allow more tokens: it was cut off" if cut else "ask again, or ask a model that keeps to a schema"
            raise Unfinished(f"the answer of {self.model} does not have the shape that was asked for: {why}", hint=hint)
        return answer


class MeteredReranker:
    """Around one that is a service; what it reads is counted as tokens of prompts."""

    def __init__(self, reranker: Reranker, meter: ModelMeter, known: TokenPrice | None = None) -> None:
        self._reranker = reranker
        self._meter = meter
        self._known = known

    @property
    def name(self) -> str:
        return self._reranker.name

    @property
    def service(self) -> str | None:
        return getattr(self._reranker, "service", None)

    def score(self, query: str, texts: Sequence[str], seconds: float) -> Sequence[float]:
        count = self._meter.count
        read = sum(count(query) + count(text) for text in texts)
        model = getattr(self._reranker, "model", None) or self.name
        account = self._meter.account(RERANK, model)
        return charged(
            self._meter, account, read, self._known, lambda: (self._reranker.score(query, texts, seconds), None)
        )[0]


def charged(
    meter: ModelMeter, account: Account, prompt: int, known: TokenPrice | None, ask: Callable[[], tuple[T, int | None]]
) -> tuple[T, int | None]:
    """A call whose answer has no tokens: what came of it, and how many were read, if the service told. Where the store
    cannot count just now, nobody is asked."""
    try:
        call = meter.reserve(account, prompt, 0, known)
    except StoreError as error:
        raise PartMissing(f"{account.model} is not asked: that cannot be counted now: {error}") from error
    try:
        with repeating(lambda: meter.again(call)):
            made, tokens = ask()
    except AgentMemoryError as error:
        with suppress(StoreError):
            meter.failed(call, error)
        raise
    with suppress(StoreError):  # what was set aside stays so
        meter.settle(call, prompt if tokens is None else tokens)
    return made, tokens


def prompt_tokens(request: ChatRequest, count: Callable[[str], int]) -> int:
    """What the prompt has, by an estimate."""
    tools = [[one.name, one.description, dict(one.schema)] for one in request.tools]
    calls = [[call.name, call.arguments] for one in request.messages for call in one.calls]
    beside = [part for part in (tools, calls, request.schema) if part]
    texts = [*(one.content for one in request.messages), *(json.dumps(part, default=str) for part in beside)]
    return sum(count(text) + FRAME for text in texts)


def shown(amount: int, measure: str) -> str:
    """With its unit."""
    if measure in ("calls", "tokens"):
        return f"{amount:,} {measure.removesuffix('s') if amount == 1 else measure}"
    parts = f"{amount / UNITS[measure]:,.6f}".rstrip("0").rstrip(".")
    return f"{parts} in money" if measure == "money" else f"{parts} seconds"


def whose(budget: SpendingLimit, account: Account) -> str:
    """Which budget it is, in words."""
    if budget.kind:
        return "of chat models a day"
    if budget.per == "day":
        return "a day"
    named = f"the {budget.per} {getattr(account, budget.per)!r}"
    return f"of {named}" if budget.per == "run" else f"a day of {named}"


def exceeded(found: Reserved, account: Account, hold: Hold, answer: int, now: datetime) -> BudgetExceeded:
    """Why a call was not made, and what to do."""
    budget = found.by or SpendingLimit("day")
    limit: int = getattr(budget, found.measure)
    resets = None if budget.per == "run" else midnight(now, now.tzinfo or UTC)
    wait = "start another run" if resets is None else f"wait until {resets:%Y-%m-%d %H:%M %Z}"
    raise_it = SETTINGS[found.measure] if budget.kind else "this budget (`agent-memory budget set`)"
    if found.measure == "money" and hold.money is None:
        resets = None
        message = f"no price of {account.model} is known, and the money {whose(budget, account)} is limited"
        hint = (
            f"set AGENT_MEMORY_PRICES='{account.model}=IN/OUT' to what a million tokens of each cost, or "
            "AGENT_MEMORY_UNPRICED=allow"
        )
    else:
        wanted = {"tokens": hold.tokens, "money": hold.money or 0}.get(found.measure, 0)
        if wanted == 0 or (found.left == 0 and not budget.kind):
            message = f"the limit of {shown(limit, found.measure)} {whose(budget, account)} is reached"
        else:
            message = (
                f"this call may use {shown(wanted, found.measure)} (its prompt, about {hold.tokens - answer:,} tokens, "
                f"and an answer of up to {answer:,}), but only {shown(found.left, found.measure)} are left: the limit "
                f"is {shown(limit, found.measure)} {whose(budget, account)}"
            )
        first = "ask for a shorter answer (max_tokens)" if wanted > limit else wait
        hint = f"{first}, or raise {raise_it}; `agent-memory budget` shows what was used"
    wait_seconds = None if resets is None else (resets.astimezone(UTC) - now.astimezone(UTC)).total_seconds()
    error = BudgetExceeded(message, hint=hint, wait=wait_seconds)
    unit = UNITS[found.measure]
    error.limit, error.left = (limit, found.left) if unit == 1 else (limit / unit, found.left / unit)
    spent = budget.per == "run" and not (found.measure == "money" and hold.money is None)
    fits_alone = {"tokens": hold.tokens, "money": hold.money or 0}.get(found.measure, 0) <= limit
    error.resets_at, error.run_id = resets, account.run if spent and fits_alone else None
    return error


def _cut(call: MeteredCall, model: str, *, late: bool) -> BudgetExceeded:
    past = "the time that was left for it" if late else f"what was set aside for it, {call.hold.tokens:,} tokens"
    instead = "raise the budget" if late else "ask for a longer answer (max_tokens), or raise the budget"
    return BudgetExceeded(
        f"the answer of {model} was cut off: it went on past {past}",
        hint=f"{instead}; `agent-memory budget` shows what was used",
    )
