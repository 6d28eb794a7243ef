"""Gathering the evidence for a question: what to look for, in one snapshot, as of the times that it asks of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from agent_memory.core.govern.book import Book
from agent_memory.core.recall.entities import Reached
from agent_memory.core.recall.live import ARCHIVED
from agent_memory.core.recall.past import Clause, Window, clause, ever, placed, rest, windows
from agent_memory.core.recall.question import AskedQuestion, read, spoken
from agent_memory.core.recall.reading import Reading
from agent_memory.core.recall.receipt import Question
from agent_memory.core.recall.score import Ranking, rank
from agent_memory.core.recall.values import first_of_all, first_that_changed, says_little, value, window
from agent_memory.core.write.embed import Embedding
from agent_memory.core.write.wording import check
from agent_memory.models.errors import BudgetExceeded, PartMissing
from agent_memory.models.kinds.kind import fold
from agent_memory.models.moment import from_micros
from agent_memory.models.record import Record
from agent_memory.ports.embedder import Space
from agent_memory.ports.index import Calling, Index, Pool, Probe
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.records import Filter
from agent_memory.ports.reranker import Reranker

CATCH_UP_SECONDS = 0.2
EVENT = 0.4  # how well a memory must fit the words that name a time by it


@dataclass(frozen=True)
class Recalling:
    """What every recall needs. `adapts`: where a question does not say it, its vector goes through an adapter."""

    index: Index
    embedding: Embedding
    receipts: Book[ReceiptLine]
    calling: Calling
    reranker: Reranker | None = None
    adapts: bool = False


class DatedEvent(NamedTuple):
    """A version that tells when something happened, and its record."""

    handle: int
    record: int


class Gathered(NamedTuple):
    """The evidence, and the question as it was understood: `asked` is what was looked for, as of its `past`. `events`
    are the versions that told when that was."""

    pool: Pool
    asked: AskedQuestion
    space: Space | None
    tokens: int | None
    events: tuple[int, ...] = ()


class SearchTerms(NamedTuple):
    """What to look for, as of which times."""

    question: Question
    asked: AskedQuestion
    past: tuple[Window, ...]
    reached: Reached


def gathered(
    reading: Reading, embedding: Embedding | None, questions: Sequence[Question], asked: AskedQuestion, reached: Reached
) -> list[Gathered]:
    """For questions that differ in where they look. A time that is named by something that happened then is looked up
    first, and the rest is asked as of it."""
    look = Looking(reading, embedding, questions[0])
    asking = [Asking(look, one, asked, reached) for one in questions]
    pasts = [_past(one, asked) for one in questions]
    when = pasts[0][1]
    told: list[DatedVersion | None] = [None] * len(questions)
    if when is not None:
        ever = look([one.ever(asked) for one in asking])
        # Where nothing is over, it is gathered as a replay does: without what held only once.
        told = [
            one.told(when, first) if _over(first.pool, one.now) else None
            for one, first in zip(asking, ever, strict=True)
        ]
    found = look(
        [
            one.as_of((*past, known.window) if known else past)
            for one, (past, _), known in zip(asking, pasts, told, strict=True)
        ]
    )
    return [
        one._replace(events=(known.version,) if known else (), tokens=0 if place else look.tokens)
        for place, (one, known) in enumerate(zip(found, told, strict=True))
    ]


class DatedVersion(NamedTuple):
    """When something was, and the version that tells."""

    window: Window
    version: int


class Asking:
    """One of the questions, and what is asked on the way to its answer."""

    def __init__(self, look: Looking, question: Question, asked: AskedQuestion, reached: Reached) -> None:
        self._look, self._question, self._asked, self._reached = look, question, asked, reached
        self.now = question.view.now

    def as_of(self, past: tuple[Window, ...]) -> SearchTerms:
        """What is left of the question without the words that say when."""
        return SearchTerms(self._question, self._without(past), past, self._reached)

    def ever(self, asked: AskedQuestion) -> SearchTerms:
        """At any time."""
        return SearchTerms(self._question, asked, (ever(self.now),), self._reached)

    def told(self, when: Clause, first: Gathered) -> DatedVersion | None:
        """When that was: by a version that has the words as its value, or by the memory of what happened. `first` is
        the evidence of all times for the whole question."""
        found = value(self._ranked(first), when, self.now)
        if found is not None:
            only = (window(found, when, self.now),)
            left = self._without(only)
            ranking = self._ranked(*self._look([self.ever(left)]))
            if first_of_all(found, ranking):
                return DatedVersion(only[0], found.handle)
            if first_that_changed(found, ranking, self.now):
                return DatedVersion(window(found, when, self.now, named=True), found.handle)
            if not says_little(left.terms) and next(ranking.best(EVENT), None) is not None:
                found = None  # it is the value of something else, and tells the time as anything else does
        event = self._look.event(when) if when.sure else None
        if event is None:
            return None
        if found is not None and event.record == found.record:
            return DatedVersion(window(found, when, self.now, named=True), found.handle)
        version = self._look.version(event.handle)
        return None if version is None else DatedVersion(placed(when, version, self.now), version.seq)

    def _without(self, past: tuple[Window, ...]) -> AskedQuestion:
        text = rest(self._asked.text, past)
        return self._asked if text == self._asked.text else read(text, from_micros(self.now))

    def _ranked(self, found: Gathered) -> Ranking:
        asked = replace(found.asked, past=())
        return rank(found.pool, asked, self._question.recipe, self.now, self._reached.evidence)


class Looking:
    """Gathers for one recall: no text is embedded twice, and all of it is paid for. Bulk writes leave their vectors to
    whoever asks first, within bounds: once a recall."""

    def __init__(self, reading: Reading, embedding: Embedding | None, question: Question) -> None:
        self._reading, self._embedding, self._question = reading, embedding, question
        self._now = question.view.now
        self._tried = question.again
        self._probes: dict[str, Probe] = {}
        self._events: dict[Clause, DatedEvent | None] = {}
        self._tokens: list[int | None] = []

    @property
    def tokens(self) -> int | None:
        return None if None in self._tokens else sum(one or 0 for one in self._tokens)

    def __call__(self, sought: Sequence[SearchTerms]) -> list[Gathered]:
        """The evidence for each, as of one moment."""
        for one in sought:
            self._prepare(one)
        probes = [
            self._probes[one.asked.text]._replace(
                where=one.question.where,
                past=tuple(window.seen(self._now) for window in one.past),
            )
            for one in sought
        ]
        if self._reading.pending and self._embedding and not self._tried:
            self._tried = True
            self._embedding.try_to_catch_up(self._question.view, seconds=CATCH_UP_SECONDS, now=self._now)
            self._reading.renew()
        pools = self._reading.gather(probes)
        check(pools[0].vocabularies)
        return [
            Gathered(_together(pool, one.asked), replace(one.asked, past=one.past), probe.space, 0)
            for one, probe, pool in zip(sought, probes, pools, strict=True)
        ]

    def event(self, when: Clause) -> DatedEvent | None:
        """The memory that fits the words best, if any fits; "when we still …" is of something that is over."""
        if when not in self._events:
            self._events[when] = self._event(when)
        return self._events[when]

    def version(self, handle: int) -> Record | None:
        return next(iter(self._reading.hydrate([handle])), None)

    def _event(self, when: Clause) -> DatedEvent | None:
        now, where = self._now, Filter(pages=self._question.where.pages or ())
        question = self._question._replace(text=when.said, where=where, meaning=None)
        (found,) = self([SearchTerms(question, read(when.said, from_micros(now)), (ever(now),), Reached())])
        pool = found.pool
        assert pool.valid_to is not None and pool.records is not None
        for row in rank(pool, replace(found.asked, past=()), question.recipe, now).best(EVENT):
            if not when.still or pool.valid_to[row] <= now:
                return DatedEvent(int(pool.handles[row]), int(pool.records[row]))
        return None

    def _prepare(self, sought: SearchTerms) -> None:
        if (text := sought.asked.text) not in self._probes:
            probe, tokens = _probe(self._embedding, sought.question, sought.asked, sought.reached)
            self._probes[text] = probe._replace(view=self._reading.view)
            self._tokens.append(tokens)


def _past(question: Question, asked: AskedQuestion) -> tuple[tuple[Window, ...], Clause | None]:
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


def _together(pool: Pool, asked: AskedQuestion) -> Pool:
    """A word counts as one, whichever analyser made it: no text has words of two."""
    if not asked.also:
        return pool
    import numpy as np

    own = len(asked.columns)
    place = {term: column for column, term in enumerate(asked.terms)}
    counts = pool.counts[:, :own].astype(np.uint16)
    for column, term in enumerate(asked.also.values(), own):
        counts[:, place[term]] += pool.counts[:, column]
    frequencies = pool.frequencies[:own].copy()
    for column in {place[term] for term in asked.also.values()}:
        frequencies[column] = np.count_nonzero(counts[:, column])  # whatever has a word is in the pool
    return pool._replace(counts=np.asfortranarray(np.minimum(counts, 255).astype(np.uint8)), frequencies=frequencies)


def _over(pool: Pool, now: int) -> bool:
    return pool.valid_to is not None and bool((pool.valid_to <= now).any())


def _probe(
    embedding: Embedding | None, question: Question, asked: AskedQuestion, reached: Reached
) -> tuple[Probe, int | None]:
    """What to look for, and how many tokens were read to embed it. Without an `embedding` there are no vectors yet."""
    probe = Probe(
        view=question.view,
        where=question.where,
        pool=question.recipe.pool,
        terms=(*asked.columns, *asked.also),
        key=fold(question.text),
        tell_hidden=question.trace,
        vectors_until=question.vectors_until,
        also=tuple(reached.evidence),
        aside=ARCHIVED,
    )
    if embedding is None or not question.recipe.vectors or question.vectors_until == 0:
        return probe, 0
    if question.meaning is not None:
        return probe._replace(vector=embedding.direction(question.meaning), space=embedding.space), 0
    try:
        rows, tokens = embedding.embed_and_count(spoken(asked.text, question.speakers or frozenset()))
    except (PartMissing, BudgetExceeded):
        return probe, None  # an embedder out of reach, or of budget, costs the vectors, not the answer
    vector = rows.mean(axis=0)
    if question.adapter is not None:
        vector = question.adapter.through(vector)
    return probe._replace(vector=vector, space=embedding.space), tokens
