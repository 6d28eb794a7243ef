"""Context, in order: leave out what does not belong → cut what is long → price → fill the budget → account for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from agent_memory.core.context.excerpt import excerpt, task_words
from agent_memory.core.context.fill import Filling, Priced, fill, priced
from agent_memory.core.context.render import FORMS, RULES, UNTRUSTED, Form, Item
from agent_memory.core.context.tokens import Counter
from agent_memory.models.context import TIERS, Chunk, Context, ContextLeftOut, Format, Reason
from agent_memory.models.kinds.kind import fold
from agent_memory.models.visible import visible
from agent_memory.ports.spans import span, tell

PREFERENCES = "preferences"
SHARE = 4  # of the budget: preferences together, and any single item, may take one part in so many
RULES_SHARE = 2  # the same for rules
SMALLEST = 64  # tokens that a single item may always take
_ORDER = {tier: place for place, tier in enumerate((RULES, PREFERENCES, *TIERS, UNTRUSTED))}
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Offer(NamedTuple):
    """Something worth showing. `value` orders all of them, 0 to 1; `relevance` is absolute. `must`: it is shown
    before anything is weighed, if it fits. `floor`: it may be too far from the task to be shown. `covers` are records
    that it shows, too: they need no place of their own. `repeats` are records that it stands for."""

    item: Item
    value: float
    relevance: float
    version: int | None = None
    handle: int | None = None
    conversation: str | None = None
    must: bool = False
    floor: bool = True
    covers: frozenset[str] = frozenset()
    repeats: tuple[str, ...] = ()


@dataclass(frozen=True)
class ContextLimits:
    """What the caller allows."""

    max_tokens: int
    count: Counter
    format: Format = "markdown"
    per_conversation: int = 3
    min_relevance: float = 0.1
    ids: bool = True
    without: frozenset[str] = frozenset()

    @property
    def form(self) -> Form:
        return FORMS[self.format]

    @property
    def largest(self) -> int:
        """Tokens of one item."""
        return max(SMALLEST, self.max_tokens // SHARE)


class Assembled(NamedTuple):
    """The context, and the versions behind what it shows."""

    context: Context
    shown: tuple[int, ...]


def assemble(task: str, candidates: Sequence[Offer], limits: ContextLimits) -> Assembled:
    """Candidates come best first. The text never has more tokens than allowed, by the caller's own count."""
    with span("context.assemble", candidates=len(candidates)):
        made = _assembled(task, candidates, limits)
        tell(shown=len(made.shown), tokens=made.context.total_tokens, max_tokens=limits.max_tokens)
        return made


def _assembled(task: str, candidates: Sequence[Offer], limits: ContextLimits) -> Assembled:
    kept, left_out = _belonging(candidates, limits)
    sought = task_words(task)
    offered: list[Offer] = []
    prices: list[Priced] = []
    shortened: set[int] = set()
    for one in _arranged(kept):
        content, cut = excerpt(visible(one.item.content), sought, limits.largest, limits.count)
        item = one.item._replace(
            content=content,
            id=visible(one.item.id) if limits.ids and one.item.id else None,
            by=visible(one.item.by) if one.item.by else None,
        )
        price = priced(item, limits.form, limits.count)
        if cut:
            shortened.add(len(offered))
        offered.append(one)
        prices.append(price)
    order = [place for place in _order(offered, prices, limits) if prices[place].item.content]
    filled = fill(prices, order, limits.form, limits.count, limits.max_tokens)
    chunks = {place: _chunk(offered[place], prices[place], place in shortened) for place in filled.chosen}
    left_out += [_left(one, "budget", prices[place].tokens) for place, one in enumerate(offered) if place not in chunks]
    for place, one in enumerate(offered):
        left_out += _repeats(one, "repeat" if place in chunks else "budget")
    return Assembled(
        _context(filled, list(chunks.values()), left_out, limits),
        tuple(handle for place in chunks if (handle := offered[place].handle) is not None),
    )


def _belonging(candidates: Sequence[Offer], limits: ContextLimits) -> tuple[list[Offer], list[ContextLeftOut]]:
    """Without what is too far from the task, what another says already, and more of one conversation than asked."""
    kept: list[Offer] = []
    left_out: list[ContextLeftOut] = []
    said: set[str] = set()
    turns: dict[str, int] = {}
    covered = limits.without.union(*(one.covers for one in candidates))
    for one in candidates:
        text = " ".join(fold(one.item.content).split())
        talk = one.conversation
        reason: Reason | None = None
        if one.floor and one.relevance < limits.min_relevance:
            reason = "relevance"
        elif text in said or one.item.id in covered:
            reason = "repeat"
        elif talk and limits.per_conversation and turns.get(talk, 0) >= limits.per_conversation:
            reason = "conversation"
        if reason:
            left_out += [_left(one, reason), *_repeats(one, reason)]
            continue
        said.add(text)
        if talk:
            turns[talk] = turns.get(talk, 0) + 1
        kept.append(one)
    return kept, left_out


def _arranged(kept: Sequence[Offer]) -> list[Offer]:
    """As they are read: tier by tier, the best first, but what was said in one conversation together and in its
    order."""
    best: dict[str, float] = {}
    for one in kept:
        if one.conversation:
            best[one.conversation] = max(best.get(one.conversation, 0.0), one.value)

    def place(one: Offer) -> tuple[int, float, str, datetime]:
        tier = _ORDER[one.item.tier]
        if one.conversation:
            return tier, -best[one.conversation], one.conversation, one.item.at or _LONG_AGO
        return tier, -one.value, "", _LONG_AGO

    return sorted(kept, key=place)


def _order(offered: Sequence[Offer], prices: Sequence[Priced], limits: ContextLimits) -> list[int]:
    """In which order they are taken: rules and preferences up to their shares, what must be there, then the most
    valuable.

    Value per token would fill the page with short remarks: measured, it finds less at every budget than taking the
    best ones as they come, passing over what has no room, and cutting what is long (`benchmarks/context.py`).
    """
    first: list[int] = []
    late: list[int] = []
    rest: list[int] = []
    shares = {RULES: limits.max_tokens // RULES_SHARE, PREFERENCES: limits.max_tokens // SHARE}
    for place, one in enumerate(offered):
        if (tier := one.item.tier) in shares:
            shares[tier] -= prices[place].tokens
            (first if shares[tier] >= 0 else late).append(place)
        elif one.must:
            first.append(place)
        else:
            rest.append(place)
    rest.sort(key=lambda place: (-offered[place].value, place))
    return [*first, *rest, *late]


def _chunk(one: Offer, price: Priced, cut: bool) -> Chunk:
    item = price.item
    return Chunk(
        source=item.tier,
        content=item.content,
        relevance=one.relevance,
        id=one.item.id,
        kind=item.kind,
        version=one.version,
        at=item.at,
        by=item.by,
        held_until=item.until,
        tokens=price.tokens,
        cut=cut,
    )


def _left(one: Offer, reason: Reason, tokens: int = 0) -> ContextLeftOut:
    return ContextLeftOut(source=one.item.tier, id=one.item.id, reason=reason, relevance=one.relevance, tokens=tokens)


def _repeats(one: Offer, reason: Reason) -> list[ContextLeftOut]:
    """Those that it stands for: left out with it, or because it is there."""
    return [_left(one, reason).model_copy(update={"id": id}) for id in one.repeats]


def _context(filled: Filling, chunks: list[Chunk], left_out: list[ContextLeftOut], limits: ContextLimits) -> Context:
    return Context(
        text=filled.text,
        total_tokens=filled.tokens,
        max_tokens=limits.max_tokens,
        chunks=[chunk for chunk in chunks if chunk.source not in (RULES, PREFERENCES)],
        preferences=[chunk for chunk in chunks if chunk.source == PREFERENCES],
        rules=[chunk for chunk in chunks if chunk.source == RULES],
        left_out=left_out,
    )
