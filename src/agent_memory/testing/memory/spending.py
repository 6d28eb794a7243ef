"""The `SpendingStore` port on plain dicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agent_memory.ports.spending import (
    Account,
    Amount,
    DaySpending,
    Hold,
    Reserved,
    SpendingLimit,
    Standing,
    Used,
)
from agent_memory.testing.memory.world import ToyRoom


class MemorySpending:
    def __init__(self, room: ToyRoom) -> None:
        self._room = room

    def reserve(self, account: Account, hold: Hold, settings: Sequence[SpendingLimit]) -> Reserved:
        with self._room.writing() as world:
            row = world.spent.get(account, DaySpending(*account))
            time_left = []
            for budget, used in _concerning(world, account, settings):
                for place, measure in enumerate(Amount._fields):
                    if (most := getattr(budget, measure)) is None:
                        continue
                    left, wanted = max(0, most - used[place]), (hold.calls, hold.tokens, hold.money, 1)[place]
                    if wanted is None or wanted > left:
                        world.spent[account] = row._replace(refused=row.refused + 1)
                        return Reserved(False, budget, measure, left)
                    time_left += [left] if measure == "millis" else []
            allowed = min(time_left) if time_left else None
            aside = 0
            if hold.millis and allowed is not None:
                aside = allowed = min(allowed, hold.millis)
            world.spent[account] = row._replace(
                calls=row.calls + hold.calls,
                reserved=row.reserved + hold.tokens,
                held=row.held + (hold.money or 0),
                millis=row.millis + aside,
            )
            return Reserved(True, millis=allowed)

    def settle(self, account: Account, hold: Hold, used: Used) -> None:
        with self._room.writing() as world:
            row = world.spent.get(account, DaySpending(*account))
            row = row._replace(reserved=max(0, row.reserved - hold.tokens), held=max(0, row.held - (hold.money or 0)))
            row = row._replace(millis=max(0, row.millis - hold.millis))
            world.spent[account] = row._replace(
                prompt=row.prompt + used.prompt,
                completion=row.completion + used.completion,
                money=row.money + used.money,
                millis=row.millis + used.millis,
            )

    def since(self, day: str) -> list[DaySpending]:
        with self._room.reading() as world:
            return sorted(row for row in world.spent.values() if row.day >= day)

    def standing(self, account: Account, settings: Sequence[SpendingLimit]) -> list[Standing]:
        with self._room.reading() as world:
            return [Standing(*one) for one in _concerning(world, account, settings)]

    def limit(self, budget: SpendingLimit) -> None:
        with self._room.writing() as world:
            world.budgets.pop(budget[:3], None)
            if any(one is not None for one in budget[3:7]):
                world.budgets[budget[:3]] = budget

    def zone(self, wanted: str | None = None) -> str | None:
        with self._room.writing() as world:
            world.zone = world.zone or wanted
            return world.zone

    def budgets(self) -> list[SpendingLimit]:
        with self._room.reading() as world:
            return sorted(world.budgets.values(), key=lambda one: one[:3])


def forget_tenant(world: Any, tenant: str) -> None:
    """Its budgets go, and its name; what it used is still used."""
    for account in [one for one in world.spent if one.tenant == tenant]:
        row, nobody = world.spent.pop(account), Account(account.day, kind=account.kind, model=account.model)
        before = world.spent.get(nobody, DaySpending(*nobody))
        world.spent[nobody] = DaySpending(*nobody, *(one + two for one, two in zip(before[8:], row[8:], strict=True)))
    world.budgets = {
        place: one
        for place, one in world.budgets.items()
        if tenant != one.tenant and (one.per, one.who) != ("tenant", tenant)
    }


def _concerning(
    world: Any, account: Account, settings: Sequence[SpendingLimit]
) -> Iterator[tuple[SpendingLimit, Amount]]:
    kept = sorted(world.budgets.values(), key=lambda one: one[:3])
    for budget in [*kept, *settings]:
        whose = [] if budget.per == "day" else [budget.per]
        mine = getattr(account, whose[0]) if whose else "everybody"
        others = {one.who for one in kept if one[:2] == budget[:2]}
        if mine in ("", "*") or (budget.who or mine) != mine or (not budget.who and whose and mine in others):
            continue
        same = [*whose, *(["tenant"] if budget.per in ("user", "agent", "run") else [])]
        same += ["kind"] if budget.kind else []
        same += [] if budget.per == "run" else ["day"]
        if budget.tenant not in ("", account.tenant) or budget.kind not in ("", account.kind):
            continue
        rows = [row for row in world.spent.values() if all(getattr(row, n) == getattr(account, n) for n in same)]
        sums = [(row.calls, row.tokens, row.money + row.held, row.millis) for row in rows]
        yield budget, Amount(*map(sum, zip(*sums, strict=True))) if sums else Amount()
