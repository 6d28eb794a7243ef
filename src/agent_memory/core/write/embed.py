"""Vectors for texts: at once for single writes, later for bulk ones, and never a reason to lose a write."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate, chain
from typing import TYPE_CHECKING

from agent_memory.ledger.quantise import unit
from agent_memory.models.errors import BudgetExceeded, Conflict, InvalidInput, PartMissing, SpaceMismatch, StoreError
from agent_memory.ports import progress, spans
from agent_memory.ports.abandon import abandoned
from agent_memory.ports.changes import Vector
from agent_memory.ports.embedder import Embedder, Space, embed_and_count
from agent_memory.ports.feed import Work
from agent_memory.ports.index import Embedded, Index
from agent_memory.ports.records import View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FOLLOWING = "the vectors of the store are of an earlier model, so recall goes by words alone"
REEMBED = "`agent-memory rebuild --vectors` makes them anew from the texts; a server or a worker does so by itself"
AT_ONCE = 4  # passages that a single write embeds before it returns; the rest of a long text follows later
RECENT = 256  # texts whose vectors are remembered: the same text is often written or asked again
BATCH = 16
MILLION = 1_000_000


def meanings(embedder: Embedder, texts: Sequence[str]) -> list[list[float]]:
    """One vector of each whole text: of a long one, the middle of its first passages."""
    parts = [[text[one.start : one.end] for one in embedder.passages(text)[:AT_ONCE]] for text in texts]
    rows = embedder.embed_many([*chain.from_iterable(parts)])
    ends = accumulate(map(len, parts))
    return [unit(rows[end - len(own) : end].mean(axis=0)).tolist() for own, end in zip(parts, ends, strict=True)]


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _stacked(rows: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    import numpy as np

    return np.concatenate(rows)


def _follows(embedder: Embedder, stored: Space | None) -> bool:
    """Whether it took the place of the embedder that made these vectors."""
    earlier: Sequence[Space] = getattr(embedder, "earlier", ())
    return stored in earlier


class Embedding:
    """An embedder together with the space that a store has agreed on. `price` is that of a million tokens, if known."""

    def __init__(self, embedder: Embedder, index: Index, price: float | None = None) -> None:
        self.embedder = embedder
        self._price = price
        self._index = index
        self._agreed = False
        self._recent: dict[bytes, NDArray[np.float32]] = {}  # by digests, so that no text stays

    @property
    def space(self) -> Space:
        return self.embedder.space

    def agree(self, *, settle: bool = True) -> bool:
        """The first embedder that writes to a store settles its space; a different one later is an error. Whoever only
        reads does not `settle` it: False where it is still open, and so there are no vectors. False as well where the
        space is one that this embedder follows: until its vectors are made anew beside it, words alone answer."""
        if self._agreed:
            return True
        mine, stored = self.space, self._index.space()
        if stored is None and not settle:
            return False
        if stored is None:
            self._index.begin(mine)
            stored = self._index.space()
        if _follows(self.embedder, stored):
            return False
        if stored != mine:
            raise SpaceMismatch(
                f"the embedder makes {mine.fingerprint} vectors, the store holds "
                f"{stored.fingerprint if stored else 'none'}",
                hint="configure the embedder that the store was built with, or run `agent-memory rebuild --vectors`",
            )
        self._agreed = True
        return True

    def disagree(self) -> None:
        """Ask again next time: the store has another space now."""
        self._agreed = False

    def begin(self) -> None:
        """Where this embedder follows the one of the store: from here on all vectors wait to be made anew."""
        self._index.begin(self.space)

    def succeed(self) -> None:
        """When they are made: they answer from here on."""
        with suppress(Conflict):  # something came meanwhile
            self._index.switch(self.space)
            self.disagree()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, one row per text."""
        return self.embed_and_count(texts)[0]

    def embed_and_count(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], int | None]:
        """The same, and how many tokens were read for them, if the embedder counts."""
        recent, digests = self._recent, [_digest(text) for text in texts]
        known = {one: row for one in dict.fromkeys(digests) if (row := recent.pop(one, None)) is not None}
        if known:
            new = [text for text, one in zip(texts, digests, strict=True) if one not in known]
            made, tokens = embed_and_count(self.embedder, new) if new else ((), 0)
            fresh = iter(made)
            rows = _stacked([known[one] if one in known else next(fresh)[None] for one in digests])
        else:
            rows, tokens = embed_and_count(self.embedder, texts)
        for place, one in enumerate(digests[-RECENT:], max(0, len(texts) - RECENT)):
            recent[one] = rows[place : place + 1].copy()  # the last to go
        while len(recent) > RECENT:
            recent.pop(next(iter(recent)), None)
        return rows, tokens

    def forget(self) -> None:
        """Something was erased: no vector of it stays."""
        self._recent = {}

    def money(self, tokens: int | None) -> float | None:
        """What so many tokens cost; None where nobody knows."""
        if tokens == 0 or self._price == 0:
            return 0.0
        return None if tokens is None or self._price is None else tokens * self._price / MILLION

    def vectors(self, texts: Sequence[str]) -> list[tuple[tuple[Vector, ...], bool]]:
        """Per text (vectors, complete): the first passages of each. An embedder out of reach, or
        of budget, leaves all for later."""
        if not texts:  # no model is loaded, and none is asked, for nothing
            return []
        passages = [self.embedder.passages(text) for text in texts]
        first = [(text, one) for text, found in zip(texts, passages, strict=True) for one in found[:AT_ONCE]]
        try:
            rows = iter(self.embed([text[one.start : one.end] for text, one in first]))
        except (PartMissing, BudgetExceeded):
            return [((), False)] * len(texts)
        return [
            (
                tuple(Vector.of(part, one.start, one.end, next(rows)) for part, one in enumerate(found[:AT_ONCE])),
                len(found) <= AT_ONCE,
            )
            for found in passages
        ]

    def given(self, vector: Sequence[float]) -> tuple[Vector, ...]:
        """A vector that the caller brought: made of no part of the text that anybody knows."""
        return (Vector.of(0, 0, 0, self.direction(vector)),)

    def direction(self, vector: Sequence[float]) -> NDArray[np.float32]:
        """Somebody else's vector, checked and at length one."""
        if len(vector) != self.space.dimension:
            raise InvalidInput(
                f"embedding: {len(vector)} numbers; the store's space has {self.space.dimension}",
                hint="leave it out and it is computed",
                field="embedding",
            )
        return unit(vector)

    def pending(self, view: View | None = None) -> int:
        """How many contents lack vectors."""
        return self._index.pending(self.space, view)

    def catch_up(self, view: View | None, *, seconds: float | None, now: int, work: Work | None = None) -> int:
        """Embed what is pending, newest first, for at most `seconds`; gives how many are left. What was made is
        kept, also when nobody waits for the rest. A job does it under its lease, and hears of an embedder that is
        out of reach; others are told what is left."""
        with spans.span("embed.pending"):
            left = self._caught_up(view, seconds, now, work=work)
            spans.tell(pending=left)
            return left

    def try_to_catch_up(self, view: View, *, seconds: float, now: int) -> None:
        """The same for whoever only reads: where the store cannot be written at once, it is left to somebody else.
        Vectors that are not stored do not answer either: a replay could not find them again."""
        with spans.span("embed.pending"), suppress(StoreError):
            self._caught_up(view, seconds, now, wait=False)

    def _caught_up(
        self, view: View | None, seconds: float | None, now: int, *, wait: bool = True, work: Work | None = None
    ) -> int:
        space = self.space
        deadline = math.inf if seconds is None else time.monotonic() + seconds

        def late() -> bool:
            return time.monotonic() > deadline or abandoned()

        most = 0
        trouble: PartMissing | BudgetExceeded | None = None
        while left := self._index.pending(space, view):
            most = max(most, left)
            progress.tell("vectors", most - left, most)
            done: list[Embedded] = []
            waiting = self._index.unembedded(space, view, BATCH)
            for one in waiting:
                passages = self.embedder.passages(one.text)
                part = one.part
                made: list[Vector] = []
                while part < len(passages) and not late():
                    try:
                        start, end = passages[part].start, passages[part].end
                        made.append(Vector.of(part, start, end, self.embed([one.text[start:end]])[0]))
                    except (PartMissing, BudgetExceeded) as error:
                        deadline, trouble = 0.0, error
                        break
                    part += 1
                done.append(Embedded(one.handle, tuple(made), complete=part >= len(passages), store=one.store))
                if late():
                    break
            done = [one for one in done if one.vectors or one.complete]
            for tenant in {one.tenant for one in waiting}:  # there is one
                self._index.embedded(space, tenant, done, now=now, wait=wait, work=work)
            if trouble is not None and work is not None:
                raise trouble
            if late():
                return self._index.pending(space, view)
        return left


def following(embedding: Embedding) -> bool:
    """Whether the store still holds vectors of a model that this embedder follows."""
    return not embedding._agreed and _follows(embedding.embedder, embedding._index.space())
