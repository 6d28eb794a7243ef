"""What a task would cost, before anybody is asked: from past runs of its kind, or from its complexity alone. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from agent_memory.core.govern.metering import TokenPrice
from agent_memory.models.budget import Complexity
from agent_memory.ports.spending import Account, DaySpending

RANK = {"low": 0.5, "medium": 0.75, "high": 1.0}
"""How dear a task is among those of its kind: as the middle one, as one that three of four do not exceed, as the
dearest."""
CALLS = {"low": 3, "medium": 10, "high": 30}
"""Of a task that nothing is known of; each is taken to read so many tokens."""
READ = 4000


class Past(NamedTuple):
    """What an earlier run used, as far as it is known."""

    calls: int
    tokens: int
    money: float | None
    seconds: float | None


class TaskCost(NamedTuple):
    """`runs` is how many it was concluded from. Money None: no price is known."""

    runs: int
    calls: int
    tokens: int
    money: float | None
    seconds: float | None


def of_task(past: Sequence[Past], complexity: Complexity, answer: int, price: TokenPrice | None) -> TaskCost:
    """From those of its kind, or where there are none from as many calls as such a task may take."""
    if not past:
        calls = CALLS[complexity]
        money = None if price is None else calls * price.of(READ, answer) / 1e6
        return TaskCost(0, calls, calls * (READ + answer), money, None)
    tokens = round(_at([one.tokens for one in past], complexity))
    known = [one.money for one in past if one.money is not None]
    dearest = None if price is None else tokens * max(price) / 1e6
    return TaskCost(
        len(past),
        round(_at([one.calls for one in past], complexity)),
        tokens,
        _at(known, complexity) if known else dearest,
        _at(seconds, complexity) if (seconds := [one.seconds for one in past if one.seconds is not None]) else None,
    )


def counted(rows: Sequence[DaySpending], run: str) -> Past | None:
    """What was counted for a run; None where nothing was."""
    mine = [row for row in rows if row.run == run and row.calls]
    if not mine:
        return None
    return Past(
        sum(row.calls for row in mine),
        sum(row.tokens for row in mine),
        sum(row.money + row.held for row in mine) / 1e6 or None,
        None,
    )


def _at(values: Sequence[float], complexity: Complexity) -> float:
    return sorted(values)[math.ceil(RANK[complexity] * len(values)) - 1]


def together(rows: Sequence[DaySpending]) -> list[DaySpending]:
    """By day, operation, model and run, whoever asked; the last day first."""
    sums: dict[Account, DaySpending] = {}
    for row in rows:
        account = row.account._replace(tenant="", user="", agent="")
        before = sums.get(account, DaySpending(*account))
        sums[account] = DaySpending(*account, *(one + two for one, two in zip(before[8:], row[8:], strict=True)))
    order = sorted(sums.values(), key=lambda row: (row.operation, row.model, row.run))
    return sorted(order, key=lambda row: row.day, reverse=True)
