"""`memory.contexts`: what is known that helps with a task, within a budget of tokens. T5."""

from __future__ import annotations

import time
from typing import Any, Unpack

from agent_memory.app.fitting import fitting
from agent_memory.app.following import folder_here, shown_here
from agent_memory.app.namespaces.asking import asked, chosen_recipe
from agent_memory.app.namespaces.operational import critical, present
from agent_memory.app.namespaces.options import Bounds, Moments, Where
from agent_memory.app.operations import Namespace, ToolSlot, operation
from agent_memory.app.registry import counting
from agent_memory.app.trust import TrustTarget, book
from agent_memory.core.context import gather
from agent_memory.core.context.assemble import SHARE, Assembled, ContextLimits, Offer, assemble
from agent_memory.core.context.system import candidate, snapshot
from agent_memory.core.recall.recall import answer
from agent_memory.core.recall.receipt import Question, with_context
from agent_memory.core.recall.standing import in_force, repository_of
from agent_memory.core.working.desk import beside
from agent_memory.core.write.normalise import known_kind
from agent_memory.models.answer import Hit
from agent_memory.models.context import TIERS, Context, Counting, Format, Tier
from agent_memory.models.kinds.experience import offered
from agent_memory.models.kinds.kind import Kind
from agent_memory.models.limits import Tokens
from agent_memory.models.recipe import CONTEXT
from agent_memory.models.record import Record
from agent_memory.ports.spans import span

CANDIDATES = 60
MOST_PREFERENCES = 200
MOST_GOALS = 20


class Contexts(Namespace):
    """Prompts from memory, bounded."""

    @operation("contexts.assemble", "POST /context", command="context", mcp=[ToolSlot("core", "context")])
    def assemble(
        self,
        task_description: str,
        max_tokens: Tokens = 4000,
        tiers: list[Tier] | None = None,
        counter: Counting = "estimate",
        format: Format = "markdown",
        **bounds: Unpack[Bounds],
    ) -> Context:
        """What helps with a task, as one text that never has more tokens than asked for.

        The rules that hold in the working directory come first, then preferences, then the tiers: operational
        (the desk), working (goals, tasks, decisions, strategies), longterm (what happened) and knowledge
        (facts, entities, documents). `counter` is `estimate` (safe for any model), `wordpiece`, or a function of your
        own. `kinds`, `repository` and `conversation_id` leave out what is of another. At most three turns of one
        conversation, unless `per_conversation` says otherwise (0: all). Without `ids` the text is shorter, and
        the `chunks` still have them. `without` are ids of records that the prompt has already. `left_out` says
        what was considered, and why it is not there. What belongs to `near_repository`, where the caller works,
        counts a little more.
        """
        started = time.perf_counter()
        limits = _limits(max_tokens, counter, format, bounds)
        chosen = TIERS if tiers is None else tuple(tiers)
        question = self._question(task_description, chosen, bounds)
        recalled, line = answer(self._client.runtime.recalling, question)
        with span("context.gather"):
            pages, untrusted = self._pages(task_description, chosen, bounds)
            hits = [hit for hit in recalled.hits if hit.page is None]
            candidates = [*pages, *self._candidates(hits, chosen, bounds, limits)]
        made = assemble(task_description, candidates, limits)
        context = made.context.model_copy(
            update={
                "receipt_id": recalled.receipt_id,
                "damaged": recalled.damaged,
                "counter": counter if isinstance(counter, str) else "function",
                "milliseconds": round((time.perf_counter() - started) * 1000, 3),
                "untrusted": untrusted,
                "valid_at": recalled.valid_at,
                "as_of": recalled.as_of,
            }
        )
        self._client.runtime.receipts.add(with_context(line, made.shown, _told(made, context, chosen, format)))
        return context

    def _question(self, task: str, tiers: tuple[Tier, ...], bounds: Bounds) -> Question:
        installed = self._client.runtime.kinds
        for name in bounds.get("kinds") or ():
            known_kind(name, installed)
        where: Where = {
            "kinds": [kind.name for kind in installed.values() if kind.searchable and _wanted(kind, tiers, bounds)]
        }
        if (repository := bounds.get("repository")) is not None:
            where["repository"] = repository
        if (conversation := bounds.get("conversation_id")) is not None:
            where["conversation_id"] = conversation
        view, chosen = asked(self._client, where, bounds)
        recipe = chosen_recipe(self._client, CONTEXT)
        near, run = bounds.get("near_repository"), bounds.get("run_id")
        return Question(task, view, chosen, CANDIDATES, recipe, as_of=bounds.get("as_of"), near=near, run=run)

    def _pages(self, task: str, tiers: tuple[Tier, ...], at: Bounds) -> tuple[list[Offer], str | None]:
        """What the pages say that hold here now, and the repository that is not trusted, if they are of one."""
        folder = None if at.get("as_of") or at.get("valid_at") else folder_here(self._client)
        found = None if folder is None else book(folder, own=self._client.workplace.own)
        if folder is None or found is None or not found.pages:
            return [], None
        repository = found.repository or TrustTarget(folder).name
        kind = self._client.runtime.kinds["procedure"]
        said = [*gather.entries(found.entries, repository, kind), *gather.quoted(found.quoted)]
        said = said if _wanted(kind, tiers, at) else []
        embedding = self._client.runtime.embedding
        texts = [one.item.content for one in said]
        fits = fitting(task, texts, embedding.embed, embedding.space.fingerprint, self._client.now())
        rules = gather.rules(found.rules, repository)
        return [*rules, *gather.fitted(said, fits)], None if found.is_trusted else repository

    def _candidates(self, hits: list[Hit], tiers: tuple[Tier, ...], at: Bounds, limits: ContextLimits) -> list[Offer]:
        kinds = self._client.runtime.kinds
        found = gather.hits([hit for hit in hits if offered(hit.record)], kinds)
        if _wanted(kinds["goal"], tiers, at):
            active = self._all(["goal"], {"status": "active"}, at, MOST_GOALS)
            found = gather.with_goals(found, active, kinds)
        about = [kind.name for kind in kinds.values() if _wanted(kind, (gather.USER,), at)]
        here = at.get("repository") or at.get("near_repository")
        held = in_force(self._all(about, {}, at, MOST_PREFERENCES), repository_of(shown_here(self._client, here)))
        first = gather.preferences(held)
        if "operational" in tiers:
            with beside():
                first += self._system(at, limits)
                desk = gather.spared(self._client.working.context(), limits.without)
                now = gather.snapshot(desk, limits.max_tokens // SHARE, limits.count)
                first += [now] if now else []
        return [*first, *found]

    def _system(self, at: Moments, limits: ContextLimits) -> list[Offer]:
        """What is so right now; a context of another time has none."""
        if at.get("as_of") or at.get("valid_at"):
            return []
        severe = critical(self._client)
        most = min(limits.max_tokens // SHARE, gather.SNAPSHOT_TOKENS)
        text = snapshot(present(self._client), severe, most, limits.count)
        return [candidate(text, severe)] if text else []

    def _all(self, kinds: list[str], fields: dict[str, Any], at: Moments, limit: int) -> list[Record]:
        view, where = asked(self._client, {"kinds": kinds, "fields": fields}, at)
        return self._client.runtime.store.records.find(view, where, limit=limit)


def _wanted(kind: Kind, tiers: tuple[str, ...], bounds: Bounds) -> bool:
    only = bounds.get("kinds")
    return kind.tier in tiers and (only is None or kind.name in only)


def _limits(max_tokens: int, counter: Counting, format: Format, bounds: Bounds) -> ContextLimits:
    per_conversation = bounds.get("per_conversation")
    floor = bounds.get("min_relevance")
    return ContextLimits(
        max_tokens,
        counting(counter),
        format,
        ContextLimits.per_conversation if per_conversation is None else per_conversation,
        ContextLimits.min_relevance if floor is None else floor,
        bounds.get("ids") is not False,
        frozenset(bounds.get("without") or ()),
    )


def _told(made: Assembled, context: Context, tiers: tuple[Tier, ...], format: Format) -> dict[str, Any]:
    """What a receipt keeps of a context: the account, without the text."""
    return {
        "max_tokens": context.max_tokens,
        "total_tokens": context.total_tokens,
        "counter": context.counter,
        "format": format,
        "tiers": list(tiers),
        "shown": [
            {"source": chunk.source, "id": chunk.id, "version": chunk.version, "tokens": chunk.tokens, "cut": chunk.cut}
            for chunk in (*made.context.rules, *made.context.preferences, *made.context.chunks)
        ],
        "left_out": [one.model_dump(exclude={"relevance"}) for one in made.context.left_out],
        "milliseconds": context.milliseconds,
    }
