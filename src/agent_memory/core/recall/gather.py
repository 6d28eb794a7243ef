"""Gathering the evidence for a question: what to look for, in one snapshot, as of the times that it asks of."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent_memory.core.govern.book import Book
from agent_memory.core.recall.entities import Reached
from agent_memory.core.recall.past import BEGINNING, Clause, Window, clause, placed, rest, windows
from agent_memory.core.recall.question import Asked, read, spoken
from agent_memory.core.recall.receipt import Question
from agent_memory.core.recall.score import rank
from agent_memory.core.write.embed import Embedding
from agent_memory.models.errors import PartMissing
from agent_memory.models.kinds.kind import fold
from agent_memory.models.moment import from_micros
from agent_memory.models.record import Record
from agent_memory.ports.embedder import Space
from agent_memory.ports.index import Calling, Index, Pool, Probe
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.records import Filter
from agent_memory.ports.reranker import Reranker
from agent_memory.ports.spans import span, tell

CATCH_UP_SECONDS = 0.2
EVENT = 0.4  # how well a memory must fit the words that name a time by it


@dataclass(frozen=True)
class Recalling:
    """What every recall needs."""

    index: Index
    embedding: Embedding
    receipts: Book[ReceiptLine]
    calling: Calling
    reranker: Reranker | None = None


@dataclass(frozen=True)
class Gathered:
    """The evidence, and the question as it was understood: `asked` is what was looked for, as of its `past`. `events`
    are the versions that told when that was."""

    pool: Pool
    asked: Asked
    space: Space | None
    tokens: int | None
    events: tuple[int, ...] = ()


def gathered(
    recalling: Recalling, embedding: Embedding | None, question: Question, asked: Asked, reached: Reached
) -> Gathered:
    """A time that is named by something that happened then is looked up first, and the rest is asked as of it."""

    catching_up = CatchingUp(recalling, question)
    probes: dict[str, Probe] = {}  # no text is embedded twice

    def evidence(asked: Asked, question: Question, past: tuple[Window, ...], reached: Reached) -> Gathered:
        tokens: int | None = 0
        if asked.text not in probes:
            probes[asked.text], tokens = _probe(embedding, question, asked, reached)
        probe = replace(probes[asked.text], past=tuple((one.start, one.end) for one in past))
        return Gathered(catching_up.pool(probe), replace(asked, past=past), probe.space, tokens)

    def as_of(past: tuple[Window, ...]) -> Gathered:
        text = rest(asked.text, past)
        sought = asked if text == asked.text else read(text, from_micros(now))
        return evidence(sought, question, past, reached)

    now = question.view.now
    past, when = _past(question, asked)
    if when is None:
        return as_of(past)
    ever = (Window(BEGINNING, now, "over", ""),)
    first = evidence(asked, question, ever, reached)
    if not _over(first.pool, now):
        return _paid(as_of(past), first)  # as a replay gathers it, without what held only once
    where = Filter(pages=question.where.pages or ())
    sought = replace(question, text=when.said, where=where, meaning=None)
    told = evidence(read(when.said, from_micros(now)), sought, ever, Reached())
    event = _event(recalling.index, question, told, when)
    found = as_of(past if event is None else (*past, placed(when, event, now)))
    return replace(_paid(found, first, told), events=() if event is None else (event.seq,))


def _paid(found: Gathered, *before: Gathered) -> Gathered:
    """With the tokens of what was asked on the way."""
    tokens = [one.tokens for one in (*before, found)]
    return replace(found, tokens=None if None in tokens else sum(one or 0 for one in tokens))


def _past(question: Question, asked: Asked) -> tuple[tuple[Window, ...], Clause | None]:
    """When the question asks of: as it was understood before, or by its words. A caller who says when is not
    second-guessed."""
    if question.past is not None:
        return question.past, None
    if asked.read_as == "prose":
        return (), None
    view, recipe = question.view, question.recipe
    if view.seq is not None or view.valid_at is not None or recipe.formula == "decay" or not recipe.date:
        return (), None
    return tuple(windows(asked.text, asked.periods, view.now)), clause(asked.text, asked.periods)


def _over(pool: Pool, now: int) -> bool:
    return pool.valid_to is not None and bool((pool.valid_to <= now).any())


def _event(index: Index, question: Question, found: Gathered, when: Clause) -> Record | None:
    """The memory that fits the words best, if any fits; "when we still …" is of something that is over."""
    pool, now = found.pool, question.view.now
    ranking = rank(pool, replace(found.asked, past=()), question.recipe, now)
    for row in ranking.best(EVENT):
        if not when.still or (pool.valid_to is not None and pool.valid_to[row] <= now):
            return next(iter(index.hydrate([int(pool.handles[row])])), None)
    return None


class CatchingUp:
    """Gathers for one recall. Bulk writes leave their vectors to whoever asks first, within bounds: once a recall."""

    def __init__(self, recalling: Recalling, question: Question) -> None:
        self._recalling = recalling
        self._view = question.view
        self._tried = question.again

    def pool(self, probe: Probe) -> Pool:
        """The evidence."""
        pool = self._gather(probe)
        if not pool.pending or self._tried:
            return pool
        self._tried = True
        self._recalling.embedding.try_to_catch_up(self._view, seconds=CATCH_UP_SECONDS, now=self._view.now)
        return self._gather(probe)

    def _gather(self, probe: Probe) -> Pool:
        with span("recall.gather"):
            pool = self._recalling.index.gather(probe)
            tell(seq=pool.seq, searched=pool.documents, candidates=len(pool.handles), pending=pool.pending)
        return pool


def _probe(embedding: Embedding | None, question: Question, asked: Asked, reached: Reached) -> tuple[Probe, int | None]:
    """What to look for, and how many tokens were read to embed it. Without an `embedding` there are no vectors yet."""
    probe = Probe(
        view=question.view if reached.seq is None else replace(question.view, seq=reached.seq),
        where=question.where,
        pool=question.recipe.pool,
        terms=asked.columns,
        key=fold(question.text),
        tell_hidden=question.trace,
        vectors_until=question.vectors_until,
        also=tuple(reached.evidence),
    )
    if embedding is None or not question.recipe.vectors or question.vectors_until == 0:
        return probe, 0
    if question.meaning is not None:
        return replace(probe, vector=embedding.direction(question.meaning), space=embedding.space), 0
    try:
        rows, tokens = embedding.embed_and_count(spoken(asked.text, question.speakers or frozenset()))
    except PartMissing:
        return probe, None  # an embedder out of reach costs the vectors, not the answer
    return replace(probe, vector=rows.mean(axis=0), space=embedding.space), tokens
