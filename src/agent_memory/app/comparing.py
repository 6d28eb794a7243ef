"""Whether two stores answer the same: random reads of both, compared. Nothing is written, and no model is asked."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from agent_memory.app import registry
from agent_memory.core.govern.book import Book
from agent_memory.core.recall.entities import calling
from agent_memory.core.recall.gather import Recalling
from agent_memory.core.recall.recall import answer
from agent_memory.core.recall.receipt import RELEVANCE_DIGITS, SCORE_DIGITS, Question, alike
from agent_memory.core.write.embed import Embedding
from agent_memory.models.recipe import Recipe
from agent_memory.models.record import Record, Scope
from agent_memory.ports.embedder import Passage, Space
from agent_memory.ports.progress import counted
from agent_memory.ports.records import Filter, View
from agent_memory.ports.store import Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

READS = 1000
EACH = 4  # reads of a record that was chosen: itself, its history, a list and a recall
LISTED = 20
ASKED = 200  # characters of its text that are asked for


class _Still:
    """An embedder that only names a space: questions bring their vectors along."""

    def __init__(self, space: Space) -> None:
        self.space = space

    def passages(self, text: str) -> list[Passage]:
        return []

    def embed_many(self, texts: Any) -> NDArray[np.float32]:
        raise NotImplementedError


class _Unhurried(Embedding):
    """What waits for its vectors goes on waiting: this only reads."""

    def try_to_catch_up(self, view: View, *, seconds: float, now: int) -> None: ...


def compare(one: Store, other: Store, tenant: str | None = None) -> tuple[int, list[str]]:
    """How many reads there were, and the first that differed, in words."""
    chosen, now, done = _chosen(one, tenant), time.time_ns() // 1000, 0
    sides = [(store, _recalling(store)) for store in (one, other)]
    for scope, id in counted(chosen, "comparing answers", lambda: len(chosen)):
        view, seed = View(scope, now), random.getrandbits(64)
        told = [list(_told(store, recalling, view, id, seed)) for store, recalling in sides]
        for (what, here), (_, there) in zip(*told, strict=True):
            done += 1
            if not _alike(here, there):
                return done, [f"{what} {id!a} of {scope.tenant!a} gives another answer"]
    return done, []


def _alike(here: Any, there: Any) -> bool:
    """The same; of a recall: the same scores, but for the last digits, which a machine may round otherwise on another
    engine. Equals then come in any order, and which of them are the last is chance."""
    if not isinstance(here, dict):
        return bool(here == there)
    scores = [sorted(told.values(), reverse=True) for told in (here, there)]
    if len(here) != len(there) or not all(map(_close, *scores)):
        return False
    last = min(scores[0], default=(0.0, 0.0))
    known = here | there
    return all(_close(here[id], there[id]) if id in here and id in there else _close(known[id], last) for id in known)


def _close(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return all(map(alike, one, other, (SCORE_DIGITS, RELEVANCE_DIGITS)))


def _told(store: Store, recalling: Recalling, view: View, id: str, seed: int) -> Iterator[tuple[str, Any]]:
    found = store.records.get(view, [id])
    yield "reading", found
    yield "the history of", store.records.history(view, id)
    yield "a list with", store.records.find(view, Filter(), limit=LISTED)
    hits = answer(recalling, _question(recalling, view, found, seed))[0].hits
    yield "a recall of", {hit.record.id: (hit.score, hit.relevance) for hit in hits}


def _question(recalling: Recalling, view: View, found: list[Record], seed: int) -> Question:
    """In the words of a record, and with a vector that points anywhere."""
    text = " ".join(record.text for record in found)[:ASKED].strip() or "?"
    space, numbers = recalling.embedding.space, random.Random(seed)  # noqa: S311 - nothing to guess
    meaning = [numbers.uniform(-1, 1) for _ in range(space.dimension)]
    return Question(text, view, Filter(), LISTED, Recipe(), meaning=meaning, again=True)


def _recalling(store: Store) -> Recalling:
    space = store.index.space() or Space("none", "0", 1)
    nowhere: Book[Any] = Book(lambda lines: None)
    return Recalling(store.index, _Unhurried(_Still(space), store.index), nowhere, calling(registry.installed_kinds()))


def _chosen(store: Store, tenant: str | None) -> list[tuple[Scope, str]]:
    """Records, each as likely as any other, with whose they are."""
    kept: list[tuple[str, int, str]] = []
    assert store.shipping is not None
    with store.shipping.showing(tenant) as show:
        seen = 0
        for whose, version, record, id, *_, scope in (row[:7] for row in show("versions")):
            if version != record:  # only the first of each
                continue
            seen += 1
            if len(kept) < READS // EACH:
                kept.append((whose, scope, id))
            elif (place := random.randrange(seen)) < len(kept):  # noqa: S311
                kept[place] = (whose, scope, id)
        wanted = {(whose, scope) for whose, scope, _ in kept}
        scopes = {
            row[:2]: Scope.trusted(tenant=row[0], user=row[2], agent=row[3])
            for row in show("scopes")
            if row[:2] in wanted
        }
    return [(scopes[whose, scope], id) for whose, scope, id in kept]
