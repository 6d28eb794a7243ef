"""`memory.retriever`: recall, and the bundle that `remember` makes of it. C9, C10."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from agent_memory.app.config import read_recipes
from agent_memory.app.namespaces.asking import asked, chosen_recipe, fading, own_user
from agent_memory.app.namespaces.options import BundleOptions, RecallOptions, Where
from agent_memory.app.operations import Namespace, Operation, ResourceSlot, ToolSlot, operation
from agent_memory.core.recall.bundle import GROUPS, bundle
from agent_memory.core.recall.recall import recall
from agent_memory.core.recall.receipt import Question
from agent_memory.models.answer import Recalled
from agent_memory.models.bundle import MemoryBundle, RetrievalWeights
from agent_memory.models.errors import InvalidInput
from agent_memory.models.limits import Bundled, Hits, Query
from agent_memory.models.model import Unit
from agent_memory.models.recipe import BUNDLE, Listed, Recipe

if TYPE_CHECKING:
    from agent_memory.app.client import Client


class Retriever(Namespace):
    """`weights` scale the groups of a bundle: `retriever.weights.episodic = 0.5`; 0 leaves a group out."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.weights = RetrievalWeights()

    @operation("recall", "POST /recall", command="recall", mcp=[ToolSlot("core", "recall", "search")])
    def recall(
        self,
        query: Query,
        k: Hits | None = None,
        recipe: Recipe | str = "default",
        min_relevance: Unit | None = None,
        trace: bool = False,
        **where: Unpack[RecallOptions],
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
        question = Question(query, view, chosen, top, how, trace=trace, as_of=where.get("as_of"))
        question = question._replace(near=where.get("near_repository"), run=where.get("run_id"))
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
        **at: Unpack[BundleOptions],
    ) -> MemoryBundle:
        """What is known that helps with this: turns, facts, entities, strategies, goals and the user.

        `weights` scale the groups of this bundle: those that are not named are as `retriever.weights` has them.
        `near_repository` is the repository that the caller works in: what belongs to it counts a little more.
        """
        client = self._client
        window: Where = {} if time_window_hours is None else {"time_window_hours": time_window_hours}
        view, where = asked(client, window, at)
        as_of, near = at.get("as_of"), at.get("near_repository")
        question = Question(query, view, where, top_k, chosen_recipe(client, BUNDLE), as_of=as_of, near=near)
        question = question._replace(run=at.get("run_id"))
        included = {"turn": include_episodic, "strategy": include_procedural}
        kinds = [kind for kind in GROUPS if included.get(kind, include_semantic)]
        runtime, scale = client.runtime, self._scale(weights or {})
        made = bundle(runtime.recalling, runtime.store.records, question, kinds, scale, fading(client, view, at))
        return made.model_copy(update={"as_of": as_of, "valid_at": at.get("valid_at")})

    def retrieve(self, query: str, user_id: str | None = None, top_k: int = 10, **how: Any) -> MemoryBundle:
        """The same as `remember`, whose other arguments it takes too; `user_id` is the client's own."""
        own_user(self._client, user_id)
        return self.remember(query, top_k, **how)

    @operation(
        "retriever.recipes",
        "GET /recipes",
        command="recipes",
        mcp=[ToolSlot("upkeep", "recipes"), ResourceSlot("memory://recipes")],
    )
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
