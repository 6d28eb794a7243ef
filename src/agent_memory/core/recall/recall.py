"""Recall, in order: plan → gather → rank → select → explain → receipt."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from agent_memory.core.recall.entities import reach, ways
from agent_memory.core.recall.explain import explained
from agent_memory.core.recall.gather import Gathered, Recalling, gathered
from agent_memory.core.recall.question import Asked, names, read
from agent_memory.core.recall.receipt import Question, receipt_line
from agent_memory.core.recall.rerank import Judge
from agent_memory.core.recall.score import rank
from agent_memory.core.recall.select import select
from agent_memory.core.recall.shape import shape
from agent_memory.core.recall.trace import traced
from agent_memory.models.answer import Recalled, When
from agent_memory.models.errors import InvalidInput
from agent_memory.models.limits import LONGEST_QUERY, MOST_HITS
from agent_memory.models.model import clean_text, new_id
from agent_memory.models.moment import from_micros, maybe_moment
from agent_memory.models.record import Record, Scope
from agent_memory.ports.index import Index, Probe
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.spans import span, tell


def recall(recalling: Recalling, question: Question) -> Recalled:
    """Answer, and leave a receipt unless it was asked only to compare."""
    recalled, line = answer(recalling, question)
    if not question.again:
        recalling.receipts.add(line)
    return recalled


def answer(recalling: Recalling, question: Question) -> tuple[Recalled, ReceiptLine]:
    """The answer, and the receipt that it should leave."""
    started = time.perf_counter()
    with span("recall.read"):
        question, asked = _read(recalling.index, question)
    embedding = recalling.embedding if recalling.embedding.agree(settle=False) else None
    with span("recall.entities"):
        reached = reach(recalling.index, recalling.calling, asked.text, question.view, question.recipe)
    found = gathered(recalling, embedding, question, asked, reached)
    pool, tokens, times = found.pool, found.tokens, found.asked.past
    with span("recall.fuse"):
        near = _near(recalling.index, question, found)
        ranking = rank(pool, found.asked, question.recipe, question.view.now, reached.evidence, near)
    judge = Judge(recalling.reranker, question.text, question.reranked)
    hydrating = Hydrating(recalling.index)
    with span("recall.select"):
        best = select(pool, ranking, question.recipe, question.k, hydrating, judge)
    with span("recall.explain"):
        entities = ways(recalling.index, reached, [one.record.seq for one in best])
        hits = [explained(one, pool, ranking, question, entities.get(one.record.seq, [])) for one in best]
        told = traced(recalling.index, pool, ranking, question, best) if question.trace else None
    recalled = Recalled.trusted(
        query=question.text,
        hits=hits,
        receipt_id=new_id(),
        seq=pool.seq,
        searched=pool.documents,
        candidates=len(pool.handles),
        pending=pool.pending,
        damaged=pool.damaged + hydrating.damaged(),
        space=found.space.fingerprint if found.space else None,
        milliseconds=round((time.perf_counter() - started) * 1000, 3),
        tokens=tokens,
        money=recalling.embedding.money(tokens),
        trace=told and told.trace,
        reranked=judge.told,
        valid_at=maybe_moment(question.view.valid_at),
        as_of=question.as_of,
        past=[When.trusted(words=one.words, start=from_micros(one.start), end=from_micros(one.end)) for one in times],
    )
    tell(hits=len(hits), receipt_id=None if question.again else recalled.receipt_id)
    repeats = (other.record.seq for one in best for other in one.repeats)
    named = (*(told.named if told else ()), *repeats, *judge.named, *found.events)
    return recalled, receipt_line(question, replace(asked, past=times), pool, recalled, named)


def _near(index: Index, question: Question, found: Gathered) -> frozenset[int]:
    """Those of the candidates, among others, that are of the repository that the caller works in, as of the same
    moment."""
    if question.near is None or not question.recipe.repository or question.where.repository is not None:
        return frozenset()
    view, where = replace(question.view, seq=found.pool.seq), replace(question.where, repository=question.near)
    past = tuple(one.seen(view.now) for one in found.asked.past)
    probe = Probe(view, where, question.recipe.pool, also=tuple(found.pool.handles.tolist()), past=past)
    return frozenset(index.gather(probe).handles.tolist())


class Hydrating:
    """Reads records, and remembers which of them did not come."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._missing: set[int] = set()

    def __call__(self, handles: Sequence[int]) -> list[Record]:
        with span("recall.hydrate", records=len(handles)):
            found = self._index.hydrate(handles)
        if len(found) < len(handles):
            self._missing |= {*handles} - {record.seq for record in found}
        return found

    def damaged(self) -> int:
        """How many of those cannot be read; the others were forgotten meanwhile."""
        return self._index.damaged(self._missing) if self._missing else 0


def _read(index: Index, question: Question) -> tuple[Question, Asked]:
    """What it asks for, and the question with what was found on the way: whom it names, how it is to be read."""
    asked = read(_checked(question), from_micros(question.view.now))
    if question.speakers is None:
        question = replace(question, speakers=_speakers(index, question.view.scope, asked))
    if question.read_as is None:
        given = question.recipe.reads
        question = replace(question, read_as=shape(asked, question.speakers or ()) if given == "auto" else given)
    if question.read_as == "prose":
        return replace(question, speakers=frozenset()), asked.as_prose()
    return question, asked


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


def _speakers(index: Index, scope: Scope, asked: Asked) -> frozenset[str]:
    """Which names in the question belong to somebody who speaks in what this reader sees."""
    called = {name.casefold() for name in names(asked.text)}
    marks = {mark: word for mark, word in asked.named.items() if word in called}
    if not marks:
        return frozenset()
    return frozenset(marks[mark] for mark in index.occurring(scope, tuple(marks)))
