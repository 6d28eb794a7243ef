"""Recall, in order: plan → gather → rank → select → explain → receipt."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from agent_memory.core.recall.adapter import Adapter, adapter_of
from agent_memory.core.recall.chosen import Chosen
from agent_memory.core.recall.entities import Reached, reach, ways
from agent_memory.core.recall.explain import explained
from agent_memory.core.recall.gather import Gathered, Recalling, gathered
from agent_memory.core.recall.question import AskedQuestion, names, read
from agent_memory.core.recall.reading import Reading
from agent_memory.core.recall.receipt import Question, Receipted, receipt_line, together
from agent_memory.core.recall.rerank import Judge
from agent_memory.core.recall.score import Ranking, rank
from agent_memory.core.recall.select import floor, row_before, select
from agent_memory.core.recall.shape import shape
from agent_memory.core.recall.trace import traced
from agent_memory.models.answer import Hit, Recalled, When
from agent_memory.models.errors import Changed, InvalidInput
from agent_memory.models.limits import LONGEST_QUERY, MOST_HITS
from agent_memory.models.model import clean_text, new_id
from agent_memory.models.moment import from_micros, maybe_moment
from agent_memory.models.record import Record
from agent_memory.ports.index import Probe
from agent_memory.ports.spans import span, tell


def recall(recalling: Recalling, *questions: Question) -> Recalled:
    """Answer, and leave a receipt unless it was asked only to compare. Several questions that differ in where they look
    have one answer, and one receipt."""
    recalled, line = together(answers(recalling, questions))
    if not questions[0].again:
        recalling.receipts.add(line)
    return recalled


def answer(recalling: Recalling, question: Question) -> Receipted:
    """The answer, and the receipt that it should leave."""
    return answers(recalling, [question])[0]


def answers(recalling: Recalling, questions: Sequence[Question]) -> list[Receipted]:
    """For questions that differ in where they look: what they have in common is done once, as of one moment. Where the
    store was set back meanwhile, all is read anew."""
    try:
        return _answers(recalling, questions)
    except Changed:
        return _answers(recalling, questions)


def _answers(recalling: Recalling, questions: Sequence[Question]) -> list[Receipted]:
    started = time.perf_counter()
    with span("recall.read"):
        text = _checked(questions[0])
        embedding = recalling.embedding if recalling.embedding.agree(settle=False) else None
        reading = Reading(recalling.index, questions[0].view)
        first, asked = _read(reading, questions[0], text)
        adapter = _adapter(recalling, reading, first) if embedding else None
        questions = [one._replace(speakers=first.speakers, read_as=first.read_as, adapter=adapter) for one in questions]
    with span("recall.entities"):
        reached = reach(reading, recalling.calling, asked.text, first.recipe)
    found = gathered(reading, embedding, questions, asked, reached)
    with span("recall.fuse"):
        ranked = [_ranked(recalling, reading, *one, reached) for one in zip(questions, found, strict=True)]
    with span("recall.select"):
        reading.read_ahead([*reached.named, *(handle for one in ranked for handle in one.head())])
        best = [
            select(one.found.pool, one.ranking, one.question.recipe, one.question.k, reading.hydrate, one.judge)
            for one in ranked
        ]
    with span("recall.explain"):
        entities = ways(reading, reached, [hit.record.seq for several in best for hit in several])
        hits = [_explained(one, several, entities) for one, several in zip(ranked, best, strict=True)]
        made = [_told(recalling, *one, asked, started) for one in zip(ranked, best, hits, strict=True)]
    if damaged := reading.damaged():
        made = [(one.model_copy(update={"damaged": one.damaged + damaged}), line) for one, line in made]
    receipt_id = None if first.again else made[0][0].receipt_id
    tell(hits=sum(len(one.hits) for one, _ in made), receipt_id=receipt_id)
    return made


class Ranked(NamedTuple):
    """A question with its evidence in order, and who may reorder it."""

    reading: Reading
    question: Question
    found: Gathered
    ranking: Ranking
    judge: Judge

    def head(self) -> list[int]:
        """The handles of what selecting reads first, and of the turns before what a judge reads."""
        recipe, pool = self.question.recipe, self.found.pool
        size = recipe.head if recipe.reads_head else self.question.k
        rows = [*islice(self.ranking.best(floor(recipe, self.judge)), size)]
        judged = rows[: recipe.rerank] if self.judge.judges and self.judge.told is None else []
        before = (row_before(pool, row) for row in judged)
        return [int(pool.handles[row]) for row in (*rows, *(row for row in before if row is not None))]


def _ranked(recalling: Recalling, reading: Reading, question: Question, found: Gathered, reached: Reached) -> Ranked:
    near = _near(reading, question, found)
    ranking = rank(found.pool, found.asked, question.recipe, question.view.now, reached.evidence, near)

    def before(row: int) -> Record | None:
        place = row_before(found.pool, row)
        read = [] if place is None else reading.hydrate([int(found.pool.handles[place])])
        return read[0] if read else None

    judge = Judge(recalling.reranker, question.text, question.reranked, before)
    return Ranked(reading, question, found, ranking, judge)


def _explained(ranked: Ranked, best: list[Chosen], entities: Mapping[int, list[str]]) -> list[Hit]:
    pool, ranking, question = ranked.found.pool, ranked.ranking, ranked.question
    return [explained(one, pool, ranking, question, entities.get(one.record.seq, [])) for one in best]


def _told(
    recalling: Recalling, ranked: Ranked, best: list[Chosen], hits: list[Hit], asked: AskedQuestion, started: float
) -> Receipted:
    question, found, judge, pool = ranked.question, ranked.found, ranked.judge, ranked.found.pool
    told = traced(ranked.reading, pool, ranked.ranking, question, best) if question.trace else None
    times = found.asked.past
    recalled = Recalled.trusted(
        query=question.text,
        hits=hits,
        receipt_id=new_id(),
        seq=pool.seq,
        searched=pool.documents,
        candidates=len(pool.handles),
        pending=pool.pending,
        damaged=pool.damaged,
        approximate=pool.approximate,
        space=found.space.fingerprint if found.space else None,
        milliseconds=round((time.perf_counter() - started) * 1000, 3),
        tokens=found.tokens,
        money=recalling.embedding.money(found.tokens),
        trace=told and told.trace,
        reranked=judge.told,
        valid_at=maybe_moment(question.view.valid_at),
        as_of=question.as_of,
        past=[When.trusted(words=one.words, start=from_micros(one.start), end=from_micros(one.end)) for one in times],
        lag=ranked.reading.lag,
    )
    repeats = (other.record.seq for one in best for other in one.repeats)
    named = (*(told.named if told else ()), *repeats, *judge.named, *found.events)
    return recalled, receipt_line(question, replace(asked, past=times), pool, recalled, named)


def _near(reading: Reading, question: Question, found: Gathered) -> frozenset[int]:
    """Those of the candidates, among others, that are of the repository that the caller works in."""
    if question.near is None or not question.recipe.repository or question.where.repository is not None:
        return frozenset()
    where = question.where._replace(repository=question.near)
    past = tuple(one.seen(reading.view.now) for one in found.asked.past)
    probe = Probe(reading.view, where, question.recipe.pool, also=tuple(found.pool.handles.tolist()), past=past)
    return frozenset(reading.gather([probe])[0].handles.tolist())


def _read(reading: Reading, question: Question, text: str) -> tuple[Question, AskedQuestion]:
    """What it asks for, and the question with what was found on the way: whom it names, how it is to be read."""
    asked = read(text, from_micros(question.view.now))
    if question.speakers is None:
        question = question._replace(speakers=_speakers(reading, asked))
    if question.read_as is None:
        given = question.recipe.reads
        question = question._replace(read_as=shape(asked, question.speakers or ()) if given == "auto" else given)
    if question.read_as == "prose":
        return question._replace(speakers=frozenset()), asked.as_prose()
    return question, asked


def _adapter(recalling: Recalling, reading: Reading, question: Question) -> Adapter | None:
    """What the question's vector goes through: a caller's own vector stays as it is."""
    adapts = recalling.adapts if question.adapts is None else question.adapts
    if not adapts or question.meaning is not None or not question.recipe.vectors:
        return question.adapter
    return adapter_of(reading, recalling.calling, recalling.embedding.space)


def _checked(question: Question) -> str:
    if not 1 <= question.k <= MOST_HITS:
        raise InvalidInput(f"k: {question.k}; use 1 to {MOST_HITS}", field="k")
    try:
        text = clean_text(question.text)
    except ValueError as error:
        raise InvalidInput(f"query: {error}", field="query") from None
    if not text.strip() and question.meaning is None:
        raise InvalidInput("query: is empty", hint="say what to look for", field="query")
    if len(text) > LONGEST_QUERY:
        raise InvalidInput(f"query: {len(text)} characters; the limit is {LONGEST_QUERY}", field="query")
    return text


def _speakers(reading: Reading, asked: AskedQuestion) -> frozenset[str]:
    """Which names in the question belong to somebody who speaks in what this reader sees."""
    called = {name.casefold() for name in names(asked.text)}
    marks = {mark: word for mark, word in asked.named.items() if word in called}
    if not marks:
        return frozenset()
    return frozenset(marks[mark] for mark in reading.occurring(tuple(marks)))
