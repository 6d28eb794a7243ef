"""`memory.retriever`: recall, and the bundle that `remember` makes of it. C9, C10."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack, cast

from agent_memory.app.config import read_recipes
from agent_memory.app.namespaces.asking import (
    Moments,
    Nearby,
    Sought,
    asked,
    chosen_recipe,
    facts_shown,
    own_user,
    turn_shown,
)
from agent_memory.app.namespaces.goals import Goals
from agent_memory.app.namespaces.user import User
from agent_memory.app.operations import Namespace, Operation, operation
from agent_memory.core.recall.recall import recall
from agent_memory.core.recall.receipt import Question
from agent_memory.models.answer import Hit, Recalled
from agent_memory.models.bundle import MemoryBundle, RetrievalWeights
from agent_memory.models.errors import InvalidInput
from agent_memory.models.kinds.experience import Strategy
from agent_memory.models.limits import Bundled, Hits, Query
from agent_memory.models.model import Unit
from agent_memory.models.moment import to_micros
from agent_memory.models.recipe import BUNDLE, DEFAULT, Listed, Recipe

if TYPE_CHECKING:
    from agent_memory.app.client import Client

GROUPS = {
    "turn": "episodic",
    "fact": "semantic_facts",
    "entity": "semantic_entities",
    "strategy": "procedural",
}


class Asked(Moments, Nearby, total=False):
    """As of when, and from where, a bundle is asked for."""


class Retriever(Namespace):
    """`weights` scale the groups of a bundle: `retriever.weights.episodic = 0.5`; 0 leaves a group out."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.weights = RetrievalWeights()

    @operation("recall", "POST /recall", command="recall", toolset="core/recall/search")
    def recall(
        self,
        query: Query,
        k: Hits | None = None,
        recipe: Recipe | str = "default",
        min_relevance: Unit | None = None,
        trace: bool = False,
        **where: Unpack[Sought],
    ) -> Recalled:
        """Search memory by meaning, words, speaker, dates, links, recency and exact key; every hit says why.

        `recipe` is a name (see `recipes`) or a `Recipe` of your own. `min_relevance` leaves out what fits less (0 to 1;
        0.4 is a good start, 0.2 a careful one): better nothing than something that does not fit.
        `near_repository` is the repository that the caller works in: what belongs to it counts a little more.
        With `trace`, the answer and its receipt also tell what each channel put first, and what was left out and why.
        """
        view, chosen = asked(self._client, where, searchable=True)
        top = self._client.settings.default_top_k if k is None else k
        how = chosen_recipe(self._client, recipe)
        if min_relevance is not None:
            how = how.model_copy(update={"min_relevance": min_relevance})
        question = Question(
            query, view, chosen, top, how, trace=trace, as_of=where.get("as_of"), near=where.get("near_repository")
        )
        return recall(self._client.runtime.recalling, question)

    @operation("remember", "POST /remember", command="remember")
    def remember(
        self,
        query: Query,
        top_k: Bundled = 10,
        include_episodic: bool = True,
        include_semantic: bool = True,
        include_procedural: bool = True,
        time_window_hours: float | None = None,
        weights: dict[str, float] | None = None,
        **at: Unpack[Asked],
    ) -> MemoryBundle:
        """What is known that helps with this: turns, facts, entities, strategies, goals and the user.

        `weights` scale the groups of this bundle: those that are not named are as `retriever.weights` has them.
        `near_repository` is the repository that the caller works in: what belongs to it counts a little more.
        """
        scale = self._scale(weights or {})
        when, window = _asked(at, time_window_hours)
        damaged = [0]  # every group meets the same rows

        def group(kind: str, where: Sought) -> list[tuple[Hit, float]]:
            hits, left_out = self._group(kind, query, top_k, where, scale)
            damaged.append(left_out)
            return hits

        turns = group("turn", window) if include_episodic else []
        facts = group("fact", window) if include_semantic else []
        entities = group("entity", window) if include_semantic else []
        worked: Sought = {**window, "fields": {"worked": True}}
        strategies = group("strategy", worked) if include_procedural else []
        view = self._client.view(**when)
        named = facts_shown(self._client, view, [hit.record for hit, _ in facts])
        return MemoryBundle(
            relevant_turns=[
                {**turn_shown(hit.record), "score": score, "repeats": len(hit.repeats)} for hit, score in turns
            ],
            facts=[
                {**shown, "held_until": _until(hit), "score": score, "repeats": len(hit.repeats)}
                for shown, (hit, score) in zip(named, facts, strict=True)
            ],
            entities=[_entity(hit, score) for hit, score in entities],
            strategies=[_strategy(hit) for hit, _ in strategies],
            active_goals=[
                {"id": goal.id, "description": goal.description, "priority": goal.priority, "status": goal.status}
                for goal in Goals(self._client).active(**when)
            ],
            user_context=User(self._client).context(**when),
            damaged=max(damaged),
        )

    def retrieve(self, query: str, user_id: str | None = None, top_k: int = 10, **how: Any) -> MemoryBundle:
        """The same as `remember`, whose other arguments it takes too; `user_id` is the client's own."""
        own_user(self._client, user_id)
        return self.remember(query, top_k, **how)

    @operation("retriever.recipes", "GET /recipes", command="recipes", toolset="upkeep/recipes memory://recipes")
    def recipes(self) -> list[Listed]:
        """The recipes that a recall can name: built in, and those of the recipes file."""
        return [Listed.of(recipe) for recipe in read_recipes(self._client.settings).values()]

    def _carried(self, operation: Operation, arguments: dict[str, Any]) -> dict[str, Any]:
        if operation.name != "remember":
            return arguments
        usual = RetrievalWeights().model_dump()
        changed = {name: value for name, value in self.weights.model_dump().items() if usual[name] != value}
        weights = {**changed, **(arguments.get("weights") or {})}
        return {**arguments, "weights": weights or None}

    def _scale(self, given: dict[str, float]) -> RetrievalWeights:
        try:
            return RetrievalWeights(**{**self.weights.model_dump(), **given})
        except InvalidInput as error:
            names = ", ".join(RetrievalWeights.model_fields)
            raise InvalidInput(
                f"weights: {error.message}", hint=f"use finite numbers for {names}", field="weights"
            ) from None

    def _group(
        self, kind: str, query: str, k: int, window: Sought, scale: RetrievalWeights
    ) -> tuple[list[tuple[Hit, float]], int]:
        """Hits of one kind with their score in the bundle: the group's weight times the evidence, plus recency; and how
        many rows could not be read."""
        weight, recency = getattr(scale, GROUPS[kind]), scale.recency
        if not weight:
            return [], 0
        where: Sought = {**window, "kinds": [kind]}
        now = self._client.now()
        recalled = self.recall(query, k, BUNDLE, **where)
        found = [(hit, round(weight * hit.score + recency * _recency(hit, now), 6)) for hit in recalled]
        return sorted(found, key=lambda pair: -pair[1]), recalled.damaged


def _asked(at: Asked, hours: float | None) -> tuple[Moments, Sought]:
    """As of when a bundle looks, and what its recalls are asked with."""
    when: Moments = {}
    if (as_of := at.get("as_of")) is not None:
        when["as_of"] = as_of
    if (valid_at := at.get("valid_at")) is not None:
        when["valid_at"] = valid_at
    window = cast("Sought", dict(when))
    if (near := at.get("near_repository")) is not None:
        window["near_repository"] = near
    if hours is not None:
        window["time_window_hours"] = hours
    return when, window


def _recency(hit: Hit, now: int) -> float:
    days = max(now - to_micros(hit.record.valid_from), 0) / 86_400_000_000
    return float(2 ** (-days / DEFAULT.half_life_days))


def _until(hit: Hit) -> str | None:
    return hit.held_until.isoformat() if hit.held_until else None


def _entity(hit: Hit, score: float) -> dict[str, Any]:
    payload = hit.record.payload
    return {
        "id": hit.record.id,
        "name": payload["name"],
        "type": payload["type"],
        "description": payload.get("description"),
        "salience": hit.record.importance,
        "score": score,
    }


def _strategy(hit: Hit) -> dict[str, Any]:
    strategy = Strategy.of(hit.record)
    return {
        "description": strategy.description,
        "tool_sequence": strategy.tool_sequence,
        "success_rate": strategy.success_rate,
    }
