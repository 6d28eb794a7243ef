"""Recall, in order: plan → gather → rank → select → explain → receipt."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_memory.core.govern.book import Book
from agent_memory.core.recall.entities import Reached, reach, ways
from agent_memory.core.recall.explain import explained
from agent_memory.core.recall.question import Asked, names, read, spoken
from agent_memory.core.recall.receipt import Question, receipt_line
from agent_memory.core.recall.rerank import Judge
from agent_memory.core.recall.score import rank
from agent_memory.core.recall.select import select
from agent_memory.core.recall.trace import traced
from agent_memory.core.write.embed import Embedding
from agent_memory.models.answer import Recalled
from agent_memory.models.errors import InvalidInput, PartMissing
from agent_memory.models.kinds.kind import fold
from agent_memory.models.model import clean_text, new_id
from agent_memory.models.moment import from_micros
from agent_memory.models.record import Record, Scope
from agent_memory.ports.index import Calling, Index, Pool, Probe
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.reranker import Reranker
from agent_memory.ports.spans import span, tell

CATCH_UP_SECONDS = 0.2
LONGEST_QUERY = 20_000
MOST_HITS = 1000


@dataclass(frozen=True)
class Recalling:
    """What every recall needs."""

    index: Index
    embedding: Embedding
    receipts: Book[ReceiptLine]
    calling: Calling
    reranker: Reranker | None = None


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
        asked = read(_checked(question), from_micros(question.view.now))
        if question.speakers is None:
            question = replace(question, speakers=_speakers(recalling.index, question.view.scope, asked))
    embedding = recalling.embedding if recalling.embedding.agree(settle=False) else None
    with span("recall.entities"):
        reached = reach(recalling.index, recalling.calling, asked.text, question.view, question.recipe)
    probe, tokens = _probe(embedding, question, asked, reached)
    pool = _gathered(recalling, question, probe)
    with span("recall.fuse"):
        near = _near(recalling.index, question, pool)
        ranking = rank(pool, asked, question.recipe, question.view.now, reached.evidence, near)
    judge = Judge(recalling.reranker, question.text, question.reranked)
    hydrating = Hydrating(recalling.index)
    with span("recall.select"):
        best = select(pool, ranking, question.recipe, question.k, hydrating, judge)
    with span("recall.explain"):
        entities = ways(recalling.index, reached, [one.record.seq for one in best])
        hits = [explained(one, pool, ranking, asked, question.recipe, entities.get(one.record.seq, [])) for one in best]
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
        space=probe.space.fingerprint if probe.space else None,
        milliseconds=round((time.perf_counter() - started) * 1000, 3),
        tokens=tokens,
        money=recalling.embedding.money(tokens),
        trace=told and told.trace,
        reranked=judge.told,
    )
    tell(hits=len(hits), receipt_id=None if question.again else recalled.receipt_id)
    repeats = (other.record.seq for one in best for other in one.repeats)
    named = (*(told.named if told else ()), *repeats, *judge.named)
    return recalled, receipt_line(question, asked, pool, recalled, named)


def _gathered(recalling: Recalling, question: Question, probe: Probe) -> Pool:
    """The evidence; bulk writes leave their vectors to whoever asks first, within bounds."""

    def gather() -> Pool:
        with span("recall.gather"):
            pool = recalling.index.gather(probe)
            tell(seq=pool.seq, searched=pool.documents, candidates=len(pool.handles), pending=pool.pending)
        return pool

    pool = gather()
    if not pool.pending or question.again:
        return pool
    recalling.embedding.try_to_catch_up(question.view, seconds=CATCH_UP_SECONDS, now=question.view.now)
    return gather()


def _near(index: Index, question: Question, pool: Pool) -> frozenset[int]:
    """The versions of the repository that the caller works in, as of the same moment."""
    if question.near is None or not question.recipe.repository or question.where.repository is not None:
        return frozenset()
    view, where = replace(question.view, seq=pool.seq), replace(question.where, repository=question.near)
    return frozenset(index.gather(Probe(view, where, question.recipe.pool)).handles.tolist())


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


def _speakers(index: Index, scope: Scope, asked: Asked) -> frozenset[str]:
    """Which names in the question belong to somebody who speaks in what this reader sees."""
    called = {name.casefold() for name in names(asked.text)}
    marks = {mark: word for mark, word in asked.named.items() if word in called}
    if not marks:
        return frozenset()
    return frozenset(marks[mark] for mark in index.occurring(scope, tuple(marks)))
