"""`memory.budget`: how much models may be asked, what they used, and what something would cost. P17, P14."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from agent_memory.app.client import spender_of
from agent_memory.app.namespaces.asking import asked
from agent_memory.app.operations import TABLE, Namespace, Permission, operation
from agent_memory.core.govern.costing import Past, TaskCost, counted, of_task, together
from agent_memory.core.govern.days import midnight, today
from agent_memory.core.govern.metering import CHAT, UNITS, exceeded, prompt_tokens
from agent_memory.core.upkeep.jobs import JOBS
from agent_memory.ledger.spending import OF_A_TENANT, judged
from agent_memory.models.budget import (
    BudgetAmounts,
    BudgetReport,
    BudgetState,
    Complexity,
    CostEstimate,
    Per,
    SpendingLine,
)
from agent_memory.models.errors import InvalidInput
from agent_memory.models.kinds.run import Run
from agent_memory.models.limits import Few, MoneyLimit, Phrase, SecondsLimit, Spendable, Tokens
from agent_memory.models.model import Name
from agent_memory.ports.chat import ChatMessage, ChatRequest
from agent_memory.ports.spending import Account, Amount, DaySpending, Hold, SpendingLimit, Standing

MOST_RUNS = 100  # of a kind, whose costs are looked at
LOOKED_BACK = timedelta(days=90)
OWN = ("user", "agent", "run")
"""Budgets that tell whoever is inside them nothing about others."""


class Budget(Namespace):
    """How much models may be asked: calls, tokens, money and seconds."""

    @operation("budget.set", "PUT /budget", permission=Permission.OPERATOR)
    def set(
        self,
        per: Per,
        who: Name | None = None,
        calls: Spendable | None = None,
        tokens: Spendable | None = None,
        money: MoneyLimit | None = None,
        seconds: SecondsLimit | None = None,
    ) -> BudgetState:
        """Limit what models may use, in a day or in a run; without limits, the budget is removed.

        It is for all of the store (`day`), or for each tenant, user, agent, run or operation, or for the one that `who`
        names. Those of users, agents and runs are of this tenant.
        """
        if per == "day" and who is not None:
            raise InvalidInput("who: a budget per day is for all of the store", hint="leave who out", field="who")
        if per == "operation" and who not in (None, CHAT, *(f"jobs.{job.name}" for job in JOBS)) and who not in TABLE:
            hint = f"such as models.ask, sessions.add, {CHAT} or jobs.{JOBS[0].name}"
            raise InvalidInput(f"who: there is no operation {who!r}", hint=hint, field="who")
        tenant = self._client.scope.tenant if per in OF_A_TENANT else ""
        who = (who or "").strip()
        budget = SpendingLimit(
            per,
            tenant,
            who,
            calls,
            tokens,
            _parts(money, UNITS["money"]),
            _parts(seconds, UNITS["millis"]),
        )
        self._client.runtime.meter.kept().limit(budget)
        return _state(budget)

    @operation("budget.status", "GET /budget")
    def status(self, days: Few = 7) -> BudgetReport:
        """Budgets, what is left of them, and what models used in the last days: by day, operation, model and run.

        Whoever may set budgets is told of all, others of what they used themselves.
        """
        client, meter = self._client, self._client.runtime.meter
        now, kept, whole = client.clock.now(), meter.kept(), client.caller.operates
        mine = self._account("")
        told = {one.budget[:3]: one for one in kept.standing(mine, []) if whole or one.budget.per in OWN}
        states = [_state(one.budget, one, midnight(now, meter.terms.zone)) for one in told.values()]
        if whole:
            settings = kept.standing(mine._replace(kind="chat"), meter.terms.limits)
            states += [_state(one.budget, one, midnight(now, meter.terms.zone)) for one in settings if one.budget.kind]
            states += [_state(one) for one in kept.budgets() if one[:3] not in told]
        rows = kept.since(today(now - timedelta(days=days - 1), meter.terms.zone))
        own = rows if whole else [row for row in rows if (row.tenant, row.user) == (mine.tenant, mine.user)]
        return BudgetReport(
            zone=str(meter.terms.zone), whole=whole, budgets=states, spending=[*map(_line, together(own))]
        )

    @operation("budget.estimate", "POST /budget/estimate")
    def estimate(
        self,
        prompt: Phrase | None = None,
        max_tokens: Tokens | None = None,
        task_type: Name | None = None,
        complexity: Complexity = "medium",
        model: Name | None = None,
    ) -> CostEstimate:
        """What a call with this prompt would use at most, or a task of this type; and whether the budgets allow it.

        A task is estimated from past runs of its type, or else from its complexity. Nobody is asked, and nothing is
        set aside.
        """
        if (prompt is None) == (task_type is None):
            raise InvalidInput(
                "prompt: name either the prompt of one call or a task_type", hint="pass one of them", field="prompt"
            )
        runtime, settings = self._client.runtime, self._client.settings
        chat = runtime.chat
        name = model or settings.chat_model or (None if chat is None else chat.model)
        if name is None:
            raise InvalidInput(
                "model: there is no chat model", hint="name one, or set AGENT_MEMORY_CHAT_MODEL", field="model"
            )
        answer = max_tokens or settings.chat_max_tokens
        price = runtime.meter.price(name, chat.known if chat is not None and chat.model == name else None)
        if prompt is not None:
            read = prompt_tokens(ChatRequest([ChatMessage("user", prompt)]), runtime.meter.count)
            money = None if price is None else price.of(read, answer) / UNITS["money"]
            return self._judged("prompt", name, TaskCost(0, 1, read + answer, money, None), answer)
        cost = of_task(self._past(task_type or "", model), complexity, answer, price)
        return self._judged("runs" if cost.runs else "complexity", name, cost, answer)

    def _past(self, task_type: str, model: str | None) -> list[Past]:
        """What runs of this type used: what they told, or else what was counted for them."""
        client = self._client
        view, chosen = asked(client, {"kinds": ["run"], "fields": {"task_type": task_type, "status": "ended"}})
        runs = [Run.of(one) for one in client.runtime.store.records.find(view, chosen, limit=MOST_RUNS)]
        meter = client.runtime.meter
        rows = meter.kept().since(today(client.clock.now() - LOOKED_BACK, meter.terms.zone))
        mine = [row for row in rows if row.run and row.tenant == client.scope.tenant]
        found = []
        for run in (one for one in runs if model in (None, one.model)):
            known = counted(mine, run.id)
            if run.tokens is not None or known is not None:
                used = known or Past(0, 0, None, None)
                tokens = used.tokens if run.tokens is None else run.tokens
                found.append(Past(used.calls, tokens, used.money if run.money is None else run.money, run.seconds))
        return found

    def _judged(self, basis: str, model: str, cost: TaskCost, answer: int) -> CostEstimate:
        """With whether all budgets that concern this caller have room for it."""
        meter, account = self._client.runtime.meter, self._account(model)
        money = (0 if meter.terms.unpriced else None) if cost.money is None else round(cost.money * UNITS["money"])
        hold = Hold(cost.tokens, money, cost.calls)
        found = judged(meter.kept().standing(account, meter.terms.limits), hold)
        now = self._client.clock.now().astimezone(meter.terms.zone)
        why = None if found.granted else exceeded(found, account, hold, answer, now).message
        return CostEstimate(
            basis=basis,
            model=model,
            runs=cost.runs,
            calls=cost.calls,
            tokens=cost.tokens,
            money=cost.money,
            seconds=cost.seconds,
            fits=found.granted,
            why=why,
        )

    def _account(self, model: str) -> Account:
        who, zone = spender_of(self._client, CHAT), self._client.runtime.meter.terms.zone
        return Account(today(self._client.clock.now(), zone), *who[:4], kind="chat", model=model)


def _state(budget: SpendingLimit, standing: Standing | None = None, resets: datetime | None = None) -> BudgetState:
    left = None
    if standing is not None:
        left = _amounts(*(standing.left(one) for one in Amount._fields))
    return BudgetState(
        per=budget.per,
        who=budget.who or None,
        kind=budget.kind or None,
        limit=_amounts(*budget[3:7]),
        left=left,
        resets_at=None if budget.per == "run" else resets,
    )


def _parts(amount: float | None, unit: int) -> int | None:
    return None if amount is None else math.ceil(round(amount * unit, 6))


def _amounts(calls: int | None, tokens: int | None, money: int | None, millis: int | None) -> BudgetAmounts:
    return BudgetAmounts(
        calls=calls,
        tokens=tokens,
        money=None if money is None else money / UNITS["money"],
        seconds=None if millis is None else millis / UNITS["millis"],
    )


def _line(row: DaySpending) -> SpendingLine:
    return SpendingLine(
        day=row.day,
        operation=row.operation,
        model=row.model,
        kind=row.kind,
        run_id=row.run or None,
        calls=row.calls,
        tokens=row.tokens,
        reserved_tokens=row.reserved,
        money=(row.money + row.held) / UNITS["money"],
        seconds=row.millis / UNITS["millis"],
        refused=row.refused,
    )
