"""Gathering the evidence for a question: what to look for, in one snapshot, as of the times that it asks of."""

from __future__ import annotations

from collections.abc import Sequence
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


@dataclass(frozen=True)
class Sought:
    """What to look for, as of which times."""

    question: Question
    asked: Asked
    past: tuple[Window, ...]
    reached: Reached


def gathered(
    recalling: Recalling, embedding: Embedding | None, questions: Sequence[Question], asked: Asked, reached: Reached
) -> list[Gathered]:
    """For questions that differ in where they look. A time that is named by something that happened then is looked up
    first, and the rest is asked as of it."""
    gather = Gathering(recalling, embedding, questions[0])
    now = questions[0].view.now

    def as_of(question: Question, past: tuple[Window, ...]) -> Sought:
        text = rest(asked.text, past)
        return Sought(question, asked if text == asked.text else read(text, from_micros(now)), past, reached)

    pasts = [_past(one, asked) for one in questions]
    when = pasts[0][1]
    if when is None:
        return gather([as_of(one, past) for one, (past, _) in zip(questions, pasts, strict=True)])
    past, ever = pasts[0][0], (Window(BEGINNING, now, "over", ""),)
    before = gather([Sought(one, asked, ever, reached) for one in questions])
    event, told = None, list[Gathered]()
    if any(_over(one.pool, now) for one in before):
        where = Filter(pages=questions[0].where.pages or ())
        happened = replace(questions[0], text=when.said, where=where, meaning=None)
        told = gather([Sought(happened, read(when.said, from_micros(now)), ever, Reached())])
        event = _event(recalling.index, questions[0], told[0], when)
    placing = () if event is None else (placed(when, event, now),)
    known = [placing if _over(one.pool, now) else () for one in before]  # as a replay gathers it
    found = gather([as_of(one, (*past, *placing)) for one, placing in zip(questions, known, strict=True)])
    found = [_paid(one, first) for one, first in zip(found, before, strict=True)]
    found[0] = _paid(found[0], *told)
    return [
        replace(one, events=(event.seq,)) if placing and event else one
        for one, placing in zip(found, known, strict=True)
    ]


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


class Gathering:
    """Gathers for one recall: no text is embedded twice. Bulk writes leave their vectors to whoever asks first, within
    bounds: once a recall."""

    def __init__(self, recalling: Recalling, embedding: Embedding | None, question: Question) -> None:
        self._recalling = recalling
        self._embedding = embedding
        self._view = question.view
        self._tried = question.again
        self._probes: dict[str, Probe] = {}

    def __call__(self, sought: Sequence[Sought]) -> list[Gathered]:
        """The evidence for each, as of one moment."""
        tokens = [self._prepared(one) for one in sought]
        pasts = [tuple((window.start, window.end) for window in one.past) for one in sought]
        probes = [
            replace(self._probes[one.asked.text], where=one.question.where, past=past)
            for one, past in zip(sought, pasts, strict=True)
        ]
        pools = self._gather(probes)
        if pools[0].pending and not self._tried:
            self._tried = True
            self._recalling.embedding.try_to_catch_up(self._view, seconds=CATCH_UP_SECONDS, now=self._view.now)
            pools = self._gather(probes)
        return [
            Gathered(pool, replace(one.asked, past=one.past), probe.space, spent)
            for one, probe, pool, spent in zip(sought, probes, pools, tokens, strict=True)
        ]

    def _prepared(self, sought: Sought) -> int | None:
        """How many tokens it took."""
        if (text := sought.asked.text) in self._probes:
            return 0
        self._probes[text], tokens = _probe(self._embedding, sought.question, sought.asked, sought.reached)
        return tokens

    def _gather(self, probes: Sequence[Probe]) -> list[Pool]:
        with span("recall.gather"):
            pools = self._recalling.index.gather_each(probes)
            searched, candidates = sum(one.documents for one in pools), sum(len(one.handles) for one in pools)
            tell(seq=pools[0].seq, searched=searched, candidates=candidates, pending=pools[0].pending)
        return pools


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
