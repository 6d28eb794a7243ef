"""Budgets, what was used of them, and what something would cost."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from agent_memory.models.model import Model, Moment

Per = Literal["day", "tenant", "user", "agent", "run", "operation"]
Complexity = Literal["low", "medium", "high"]


class BudgetAmounts(Model):
    """Calls, tokens, money and seconds; null: no limit."""

    model_config = ConfigDict(frozen=True)

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None
    seconds: float | None = None


class BudgetState(Model):
    """A budget: for each `per`, or for the one that `who` names. `left` is what is left of it until `resets_at`, where
    it concerns whoever asks; a run's budget never resets. `kind`: of models of this kind alone, by the settings."""

    model_config = ConfigDict(frozen=True)

    per: Per
    who: str | None = None
    kind: str | None = None
    limit: BudgetAmounts
    left: BudgetAmounts | None = None
    resets_at: Moment | None = None


class SpendingLine(Model):
    """What models used on one day in one operation. `reserved_tokens` are set aside for calls that have not ended, or
    whose answer was lost: they count as used, and so does their `money`. `refused` calls were not made."""

    model_config = ConfigDict(frozen=True)

    day: str
    operation: str
    model: str
    kind: str
    run_id: str | None
    calls: int
    tokens: int
    reserved_tokens: int
    money: float
    seconds: float
    refused: int


class BudgetReport(Model):
    """Budgets, and what was used, the last day first. Days begin at midnight in `zone`. `whole`: of everybody;
    otherwise of the caller alone."""

    model_config = ConfigDict(frozen=True)

    zone: str
    whole: bool
    budgets: list[BudgetState]
    spending: list[SpendingLine]


class CostEstimate(Model):
    """What a call or a task would use at most, as far as that can be told. `basis`: its prompt, past `runs` of its
    kind, or its complexity alone. `money` is null where no price is known. `fits`: no budget is too small for it now;
    otherwise `why` names one."""

    model_config = ConfigDict(frozen=True)

    basis: Literal["prompt", "runs", "complexity"]
    model: str
    runs: int = 0
    calls: int
    tokens: int
    money: float | None
    seconds: float | None = None
    fits: bool
    why: str | None = None
