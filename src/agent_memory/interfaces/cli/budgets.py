"""How budgets look, and what was used of them."""

from __future__ import annotations

from agent_memory.interfaces.cli.blocks import Block, Column, Note, Sentence, Table
from agent_memory.models.budget import BudgetReport, BudgetState, SpendingLine

MEASURES = ("calls", "tokens", "money", "seconds")
BUDGETS = (
    Column("budget", style="magenta"),
    *(Column(measure, right=True) for measure in MEASURES),
    Column("resets at"),
)
SPENDING = (
    Column("day"),
    Column("operation", style="magenta"),
    Column("model"),
    Column("run", style="cyan", whole=True, short=True),
    *(Column(measure, right=True) for measure in (*MEASURES, "refused")),
)


def report(found: BudgetReport) -> list[Block]:
    budgets: list[Block] = [Table(BUDGETS, [_budget(one) for one in found.budgets])] if found.budgets else []
    used: Block = Table(SPENDING, [_line(one) for one in found.spending])
    return [*budgets, used if found.spending else Note("nothing was used")]


def kept(one: BudgetState) -> list[Block]:
    """What `budget set` did."""
    limits = [
        f"{_number(limit)} {measure}" for measure in MEASURES if (limit := getattr(one.limit, measure)) is not None
    ]
    return [Sentence(f"{_name(one)}: at most {', '.join(limits)}" if limits else f"{_name(one)}: no limit any more")]


def _budget(one: BudgetState) -> tuple[object, ...]:
    return (_name(one), *(_of(one, measure) for measure in MEASURES), one.resets_at or "")


def _name(one: BudgetState) -> str:
    name = f"{one.per} {one.who}" if one.who else one.per
    return f"{name} ({one.kind})" if one.kind else name


def _of(one: BudgetState, measure: str) -> str:
    """What is left of what is allowed."""
    limit = getattr(one.limit, measure)
    left = None if one.left is None else getattr(one.left, measure)
    return "" if limit is None else _number(limit) if left is None else f"{_number(left)} of {_number(limit)}"


def _line(one: SpendingLine) -> tuple[object, ...]:
    used = (one.calls, one.tokens, _number(one.money), _number(one.seconds), one.refused)
    return (one.day, one.operation, one.model, one.run_id or "", *used)


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}".rstrip("0").rstrip(".")
