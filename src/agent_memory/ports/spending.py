"""What models were asked, and what that used: counted by day, spender and model, for a whole store and all its
processes; and the budgets that limit it.

A call is counted, and what it may use is set aside, before it is made; what it used takes its place afterwards. Of a
process that died meanwhile it stays set aside, and counts as used. Money is counted in millionths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, Protocol


class Account(NamedTuple):
    """What is counted together: a day (as in 2026-03-02), who asked in which operation, and a model of a kind: `chat`,
    `embedding` or `rerank`. Empty is nobody and nothing; where accounts are summed, all."""

    day: str
    tenant: str = ""
    user: str = ""
    agent: str = ""
    run: str = ""
    operation: str = ""
    kind: str = ""
    model: str = ""


class DaySpending(NamedTuple):
    """Of one account. `reserved` tokens and `held` money are set aside for calls that have not ended, or never will."""

    day: str
    tenant: str = ""
    user: str = ""
    agent: str = ""
    run: str = ""
    operation: str = ""
    kind: str = ""
    model: str = ""
    calls: int = 0
    prompt: int = 0
    completion: int = 0
    reserved: int = 0
    money: int = 0
    held: int = 0
    millis: int = 0
    refused: int = 0

    @property
    def account(self) -> Account:
        return Account(*self[:8])

    @property
    def tokens(self) -> int:
        return self.prompt + self.completion + self.reserved


class Amount(NamedTuple):
    calls: int = 0
    tokens: int = 0
    money: int = 0
    millis: int = 0


class SpendingLimit(NamedTuple):
    """At most so much for each `per`: the `day` of the store, or a `tenant`, `user`, `agent` or `operation` in a day,
    or a `run` on all its days. `who` names one of them, and then takes the place of the budget for each. Those of
    users, agents and runs are of one tenant. None: no limit. `kind` is for those that the settings make."""

    per: str
    tenant: str = ""
    who: str = ""
    calls: int | None = None
    tokens: int | None = None
    money: int | None = None
    millis: int | None = None
    kind: str = ""


class Hold(NamedTuple):
    """What a call may use. Money None: nobody knows, so that it is refused where money is limited. `millis` is the
    longest that it may last; 0: nobody knows, and no time is set aside."""

    tokens: int
    money: int | None = 0
    calls: int = 1
    millis: int = 0


class Used(NamedTuple):
    prompt: int = 0
    completion: int = 0
    money: int = 0
    millis: int = 0


class Standing(NamedTuple):
    """A budget, and what is used of it."""

    budget: SpendingLimit
    used: Amount

    def left(self, measure: str) -> int | None:
        """None: no limit; never less than nothing."""
        limit = getattr(self.budget, measure)
        return None if limit is None else max(0, limit - getattr(self.used, measure))


class Reserved(NamedTuple):
    """Whether it was; otherwise `by` which budget not, by which `measure` of it, and what is `left` of that. `millis`
    is the time that the call has, where time is limited: so much was set aside, if it said how long it may last."""

    granted: bool
    by: SpendingLimit | None = None
    measure: str = ""
    left: int = 0
    millis: int | None = None


class SpendingStore(Protocol):
    def reserve(self, account: Account, hold: Hold, settings: Sequence[SpendingLimit]) -> Reserved:
        """Count a call and set aside what it may use, if that is within every budget that concerns the account: those
        of the store, and those that the `settings` make. Else count a refusal. Durable when it returns; of several
        processes at once, none gets what another has."""
        ...

    def settle(self, account: Account, hold: Hold, used: Used) -> None:
        """Of a call that was counted: so much was `used` of what was set aside."""
        ...

    def since(self, day: str) -> list[DaySpending]:
        """From that day on, in order."""
        ...

    def standing(self, account: Account, settings: Sequence[SpendingLimit]) -> list[Standing]:
        """Every budget that concerns the account."""
        ...

    def limit(self, budget: SpendingLimit) -> None:
        """Keep a budget instead of the one before; one without limits takes it away."""
        ...

    def zone(self, wanted: str | None = None) -> str | None:
        """Where the days begin, as it is kept for all processes; None: nothing is kept. The first that is `wanted` is
        kept from then on, unless the store is only read."""
        ...

    def budgets(self) -> list[SpendingLimit]:
        """All that the store keeps, in order."""
        ...


class Spender(NamedTuple):
    """In whose name models are asked."""

    tenant: str = ""
    user: str = ""
    agent: str = ""
    run: str = ""
    operation: str = ""


NOBODY = Spender()


class SpendingAs:
    """What models are asked meanwhile is on this account. Around every operation, so it costs next to nothing. `check`
    raises where the run of the account is none that may be charged; it is asked before each call."""

    __slots__ = ("_token", "check", "who")

    def __init__(self, who: Spender, check: Callable[[str], None] | None = None) -> None:
        self.who = who
        self.check = check

    def __enter__(self) -> None:
        self._token = _spender.set(self)

    def __exit__(self, *error: object) -> None:
        _spender.reset(self._token)


_spender: ContextVar[SpendingAs] = ContextVar("agent-memory-spender", default=SpendingAs(NOBODY))  # noqa: B039


def spender() -> Spender:
    return _spender.get().who


def check_run() -> None:
    """That the run whose account this is may be charged."""
    spending = _spender.get()
    if spending.who.run and spending.check is not None:
        spending.check(spending.who.run)


_again: ContextVar[Callable[[], None] | None] = ContextVar("agent-memory-again", default=None)


@contextmanager
def repeating(count: Callable[[], None]) -> Iterator[None]:
    """Who asks a service once more meanwhile is counted before, and may be refused."""
    token = _again.set(count)
    try:
        yield
    finally:
        _again.reset(token)


def asked_again() -> None:
    """A service was busy, and is asked once more now."""
    if (count := _again.get()) is not None:
        count()
