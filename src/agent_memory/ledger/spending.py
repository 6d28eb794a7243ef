"""How a call of a model is counted and limited: the rule of `SpendingStore`, for every engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agent_memory.models.record import SHARED
from agent_memory.ports.spending import Account, Amount, DaySpending, Hold, Reserved, SpendingLimit, Standing, Used

COLUMNS = " ".join(DaySpending._fields)
LIMITS = "per tenant who calls tokens money millis"
ZONE = "budget zone"
"""What is kept under this name is where days begin."""
MEASURES = Amount._fields
OF_A_TENANT = ("user", "agent", "run")
"""What is inside a tenant, so that the same name in another is another."""


def shares(budgets: Iterable[SpendingLimit], account: Account) -> Iterator[tuple[SpendingLimit, Account]]:
    """Each budget that concerns the account, and the accounts that share it: those that are the same where this one is
    not empty."""
    concerning = [one for one in budgets if _concerns(one, account)]
    named = {(one.per, one.tenant) for one in concerning if one.who}
    for one in concerning:
        if one.who or (one.per, one.tenant) not in named:
            yield one, _share(one, account)


def _concerns(budget: SpendingLimit, account: Account) -> bool:
    if budget.tenant not in ("", account.tenant) or budget.kind not in ("", account.kind):
        return False
    if budget.per == "day":
        return True
    mine = getattr(account, budget.per)
    return mine not in ("", SHARED) and budget.who in ("", mine)


def _share(budget: SpendingLimit, account: Account) -> Account:
    day = "" if budget.per == "run" else account.day
    mine = {} if budget.per == "day" else {budget.per: getattr(account, budget.per)}
    inside = {"tenant": account.tenant} if budget.per in OF_A_TENANT else {}
    return Account(day, **{"kind": budget.kind, **inside, **mine})


def judged(standings: Sequence[Standing], hold: Hold) -> Reserved:
    """By all budgets that concern the account. One that limits money refuses what nobody knows the price of; of time,
    something must be left."""
    wants = Amount(hold.calls, hold.tokens, hold.money or 0, 1)
    for one in standings:
        for measure, wanted in zip(MEASURES, wants, strict=True):
            left = one.left(measure)
            unknown = measure == "money" and hold.money is None
            if left is not None and (left < wanted or unknown):
                return Reserved(False, one.budget, measure, left)
    times = [left for one in standings if (left := one.left("millis")) is not None]
    return Reserved(True, millis=min(times + [hold.millis] * bool(hold.millis)) if times else None)


def reserved(row: DaySpending, hold: Hold, answer: Reserved) -> DaySpending:
    """The row as it is from now on."""
    if not answer.granted:
        return row._replace(refused=row.refused + 1)
    return row._replace(
        calls=row.calls + hold.calls,
        reserved=row.reserved + hold.tokens,
        held=row.held + (hold.money or 0),
        millis=row.millis + (answer.millis or 0 if hold.millis else 0),
    )


def settled(row: DaySpending, hold: Hold, used: Used) -> DaySpending:
    return row._replace(
        prompt=row.prompt + used.prompt,
        completion=row.completion + used.completion,
        reserved=max(0, row.reserved - hold.tokens),
        money=row.money + used.money,
        held=max(0, row.held - (hold.money or 0)),
        millis=max(0, row.millis - hold.millis) + used.millis,
    )


def limits(budget: SpendingLimit) -> tuple[str | int | None, ...]:
    """The cells of a budget that is kept."""
    return budget[: len(LIMITS.split())]


def unlimited(budget: SpendingLimit) -> bool:
    return all(getattr(budget, one) is None for one in MEASURES)


def nameless(rows: Iterable[DaySpending]) -> list[DaySpending]:
    """What a tenant that is erased had used, on nobody's account: the day's limits do not grow by it."""
    sums: dict[Account, DaySpending] = {}
    for row in rows:
        account = Account(row.day, kind=row.kind, model=row.model)
        before = sums.get(account, DaySpending(*account))
        sums[account] = added(before, row)
    return list(sums.values())


def added(row: DaySpending, other: DaySpending) -> DaySpending:
    """What both accounts used, on the first."""
    return DaySpending(*row[:8], *(one + more for one, more in zip(row[8:], other[8:], strict=True)))
