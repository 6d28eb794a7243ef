"""Many receipts together: what recalls took and cost, by day, user or agent. P9, P16."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from agent_memory.core.recall.shorthand import read
from agent_memory.models.moment import from_micros
from agent_memory.models.told import By, Cost, Told
from agent_memory.ports.receipts import Kept

_GROUP: Mapping[By, Callable[[Told], str]] = MappingProxyType(
    {
        "day": lambda one: one.at.date().isoformat(),
        "user": lambda one: one.user,
        "agent": lambda one: one.agent,
    }
)


def told(kept: Kept) -> Told:
    body = read(kept.body)
    return Told(
        receipt_id=kept.id,
        at=from_micros(kept.at),
        user=kept.scope.user,
        agent=kept.scope.agent,
        recipe=body["recipe"].get("name", "default"),
        hits=len(body["hits"]),
        milliseconds=body["milliseconds"],
        tokens=body.get("tokens"),
        money=body.get("money"),
        context_tokens=body.get("context", {}).get("total_tokens"),
        query=body["query"],
        trace_id=body.get("trace_id"),
        run_id=body.get("run_id"),
    )


def costs(recalls: Sequence[Told], by: By) -> list[Cost]:
    """A row for each, the newest day or the first name first."""
    groups: dict[str, list[Told]] = {}
    for one in recalls:
        groups.setdefault(_GROUP[by](one), []).append(one)
    return [_cost(name, groups[name]) for name in sorted(groups, reverse=by == "day")]


def _cost(name: str, recalls: list[Told]) -> Cost:
    times = sorted(one.milliseconds for one in recalls)
    return Cost(
        of=name,
        recalls=len(recalls),
        contexts=sum(one.context_tokens is not None for one in recalls),
        tokens=sum(one.tokens or 0 for one in recalls),
        money=round(sum(one.money or 0.0 for one in recalls), 9),
        unpriced=sum(one.money is None for one in recalls),
        p50_ms=times[len(times) // 2],
        p95_ms=times[int(len(times) * 0.95)],
    )
