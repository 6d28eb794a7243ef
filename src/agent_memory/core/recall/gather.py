"""Gathering the evidence for a question: what to look for, in one snapshot, as of the times that it asks of."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent_memory.core.govern.book import Book
from agent_memory.core.recall.entities import Reached
from agent_memory.core.recall.past import BEGINNING, Clause, Window, clause, placed, rest, windows
from agent_memory.core.recall.question import Asked, read, spoken
from agent_memory.core.recall.receipt import Question
from agent_memory.core.recall.score import Ranking, rank
from agent_memory.core.recall.values import first_of_all, first_that_changed, says_little, value, window
from agent_memory.core.write.embed import Embedding
from agent_memory.models.errors import PartMissing
from agent_memory.models.kinds.kind import fold
from agent_memory.models.moment import from_micros
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
class Event:
    """A version that tells when something happened, and its record."""

    handle: int
    record: int


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
    past, when = _past(question, asked)
    gathering = Gathering(recalling, embedding, question, asked, reached)
    if when is None:
        return gathering.as_of(past)
    first = gathering.ever(asked)
    if not _over(first.pool, question.view.now):
        return gathering.as_of(past)  # as a replay gathers it, without what held only once
    told = gathering.told(when, first)
    return gathering.as_of(past) if told is None else gathering.as_of((*past, told[0]), (told[1],))


class Gathering:
    """What is asked on the way to one answer: no text is embedded twice, and all of it is paid for."""

    def __init__(
        self, recalling: Recalling, embedding: Embedding | None, question: Question, asked: Asked, reached: Reached
    ) -> None:
        self._recalling, self._embedding, self._question = recalling, embedding, question
        self._asked, self._reached, self._now = asked, reached, question.view.now
        self._catching_up = CatchingUp(recalling, question)
        self._probes: dict[str, Probe] = {}
        self._tokens: list[int | None] = []

    def as_of(self, past: tuple[Window, ...], events: tuple[int, ...] = ()) -> Gathered:
        """The evidence for what is left of the question without the words that say when."""
        return replace(self._evidence(self._without(past), past), events=events)

    def ever(self, asked: Asked, question: Question | None = None, reached: Reached | None = None) -> Gathered:
        """The evidence of all times, for the question that is asked or for another one."""
        return self._evidence(asked, (Window(BEGINNING, self._now, "over", ""),), question, reached)

    def told(self, when: Clause, first: Gathered) -> tuple[Window, int] | None:
        """When that was, and the version that tells: one that has the words as its value, or the memory of what
        happened. `first` is the evidence of all times for the whole question."""
        found = value(self._ranked(first), when, self._now)
        if found is not None:
            only = (window(found, when, self._now),)
            left = self._without(only)
            ranking = self._ranked(self.ever(left))
            if first_of_all(found, ranking):
                return only[0], found.handle
            if first_that_changed(found, ranking, self._now):
                return window(found, when, self._now, named=True), found.handle
            if not says_little(left.terms) and next(ranking.best(EVENT), None) is not None:
                found = None  # it is the value of something else, and tells the time as anything else does
        event = self._event(when) if when.sure else None
        if event is None:
            return None
        if found is not None and event.record == found.record:
            return window(found, when, self._now, named=True), found.handle
        version = next(iter(self._recalling.index.hydrate([event.handle])), None)
        return None if version is None else (placed(when, version, self._now), version.seq)

    def _event(self, when: Clause) -> Event | None:
        """The memory that fits the words best, if any fits; "when we still …" is of something that is over."""
        question = replace(
            self._question, text=when.said, where=Filter(pages=self._question.where.pages or ()), meaning=None
        )
        found = self.ever(read(when.said, from_micros(self._now)), question, Reached())
        pool = found.pool
        assert pool.valid_to is not None and pool.records is not None
        for row in rank(pool, replace(found.asked, past=()), question.recipe, self._now).best(EVENT):
            if not when.still or pool.valid_to[row] <= self._now:
                return Event(int(pool.handles[row]), int(pool.records[row]))
        return None

    def _without(self, past: tuple[Window, ...]) -> Asked:
        text = rest(self._asked.text, past)
        return self._asked if text == self._asked.text else read(text, from_micros(self._now))

    def _ranked(self, found: Gathered) -> Ranking:
        asked = replace(found.asked, past=())
        return rank(found.pool, asked, self._question.recipe, self._now, self._reached.evidence)

    def _evidence(
        self,
        asked: Asked,
        past: tuple[Window, ...],
        question: Question | None = None,
        reached: Reached | None = None,
    ) -> Gathered:
        if asked.text not in self._probes:
            links = self._reached if reached is None else reached
            self._probes[asked.text], tokens = _probe(self._embedding, question or self._question, asked, links)
            self._tokens.append(tokens)
        probe = replace(self._probes[asked.text], past=tuple(one.seen(self._now) for one in past))
        paid = None if None in self._tokens else sum(one or 0 for one in self._tokens)
        return Gathered(self._catching_up.pool(probe), replace(asked, past=past), probe.space, paid)


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
