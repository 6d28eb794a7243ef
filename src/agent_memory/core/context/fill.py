"""Choosing what goes into a budget: best value for its tokens first, and never over, whatever the counter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agent_memory.core.context.render import Form, Item
from agent_memory.core.context.tokens import Counter

ROOM = 8  # how many of those that did not fit are tried again in the room that is left


class Priced(NamedTuple):
    """An item as it would be written, and what that costs by itself."""

    item: Item
    written: str
    tokens: int


class Filling(NamedTuple):
    """`chosen` are places in what was offered; `text` holds exactly these."""

    chosen: tuple[int, ...]
    text: str
    tokens: int


def priced(item: Item, form: Form, count: Counter) -> Priced:
    written = form.item(item)
    return Priced(item, written, count(written + "\n"))


def fill(offered: Sequence[Priced], order: Sequence[int], form: Form, count: Counter, budget: int) -> Filling:
    """Take from `offered` in this `order` while there is room; the text keeps the order in which they are offered.

    Prices are added up first, and the page is then counted as it is written: what an odd counter makes of the whole
    decides. If that is too much, the last ones taken go again; if there is room, some that did not fit come in.
    """
    chosen, refused = _taken(offered, order, form, count, budget)
    filled = _page(offered, chosen, form, count)
    while filled.tokens > budget and chosen:
        over = filled.tokens - budget
        while chosen and over > 0:
            refused.append(last := chosen.pop())
            over -= max(1, offered[last].tokens)
        filled = _page(offered, chosen, form, count)
    for place in refused[:ROOM]:
        if filled.tokens + offered[place].tokens // 2 > budget:
            continue
        fuller = _page(offered, [*chosen, place], form, count)
        if fuller.tokens <= budget:
            chosen, filled = [*chosen, place], fuller
    return filled


def _taken(
    offered: Sequence[Priced], order: Sequence[int], form: Form, count: Counter, budget: int
) -> tuple[list[int], list[int]]:
    """What fits if prices add up, and what does not."""
    chosen: list[int] = []
    refused: list[int] = []
    bare = count(form.page([]))
    left = budget - bare
    tiers = {one.item.tier for one in offered}
    frames = {tier: count(form.page([(tier, [])])) - bare for tier in tiers}
    for place in order:
        one = offered[place]
        cost = one.tokens + frames.get(one.item.tier, 0)
        if cost <= left:
            left -= cost
            frames.pop(one.item.tier, None)
            chosen.append(place)
        else:
            refused.append(place)
    return chosen, refused


def _page(offered: Sequence[Priced], chosen: Sequence[int], form: Form, count: Counter) -> Filling:
    if not chosen:
        return Filling((), "", 0)
    sections: dict[str, list[str]] = {}
    for place in sorted(chosen):
        sections.setdefault(offered[place].item.tier, []).append(offered[place].written)
    text = form.page(list(sections.items()))
    return Filling(tuple(sorted(chosen)), text, count(text))
