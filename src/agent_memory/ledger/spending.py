"""How a call of a model is counted: the rule of `SpendingStore`, for every engine."""

from __future__ import annotations

from collections.abc import Sequence

from agent_memory.ports.spending import DaySpending, Most, Reserved


def reserved(
    rows: Sequence[DaySpending], model: str, tokens: int, most: Most, day: str
) -> tuple[DaySpending, Reserved]:
    """Of all rows of a day: that of the model as it is from now on, and the answer."""
    left = Most(
        max(0, most.calls - sum(row.calls for row in rows)), max(0, most.tokens - sum(row.tokens for row in rows))
    )
    row = next((row for row in rows if row.model == model), DaySpending(day, model))
    if left.calls < 1 or left.tokens < tokens:
        return row._replace(refused=row.refused + 1), Reserved(False, left)
    return row._replace(calls=row.calls + 1, reserved=row.reserved + tokens), Reserved(True, left)


def settled(row: DaySpending, reserved: int, used: tuple[int, int]) -> DaySpending:
    prompt, completion = used
    return row._replace(
        prompt=row.prompt + prompt, completion=row.completion + completion, reserved=max(0, row.reserved - reserved)
    )
