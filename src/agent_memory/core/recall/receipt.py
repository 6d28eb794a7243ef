"""What a recall was asked, as a value; the receipt it leaves; and reading one back to ask the same again. P9."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from agent_memory.core.recall.adapter import Adapter
from agent_memory.core.recall.past import Window
from agent_memory.core.recall.question import AskedQuestion
from agent_memory.core.recall.shorthand import dumped, read
from agent_memory.core.write.words import asked_terms
from agent_memory.models.answer import Difference, Recalled, Reranked, Shape
from agent_memory.models.errors import NotFound
from agent_memory.models.recipe import Recipe
from agent_memory.models.record import Scope, Status
from agent_memory.ports.index import Pool
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.records import Filter, View
from agent_memory.ports.spans import trace_id

PIPELINE = "recall-7"  # changes whenever the same question on the same rows would be answered differently
SCORE_DIGITS = 6  # what a hit tells of its score
RELEVANCE_DIGITS = 4
Receipted = tuple[Recalled, ReceiptLine]


class Question(NamedTuple):
    """`meaning` replaces the embedding of the text, for a caller who has a vector already. `speakers` are those whom
    the question was found to name, where that is known; `reranked` what a reranker said when it was asked before.
    `read_as` is how it was read, where that is known.
    `again`: asked only to compare; it leaves no receipt. `trace`: the receipt also tells what was considered and not
    shown. `vectors_until`: the journal line whose vectors, and those before it, are used; 0 is none. `past`: the times
    in the past that it was found to ask of, where that is known. `as_of` is the moment behind the view's `seq`. `near`:
    the repository that the caller works in. `run`: of which run it is a part. `adapts`: whether its vector goes through
    the reader's adapter, if there is one; None is as it is set. `adapter` is what it goes through."""

    text: str
    view: View
    where: Filter
    k: int
    recipe: Recipe
    meaning: Sequence[float] | None = None
    speakers: frozenset[str] | None = None
    read_as: Shape | None = None
    again: bool = False
    trace: bool = False
    vectors_until: int | None = None
    reranked: Reranked | None = None
    past: tuple[Window, ...] | None = None
    as_of: datetime | None = None
    near: str | None = None
    run: str | None = None
    adapts: bool | None = None
    adapter: Adapter | None = None


def receipt_line(
    question: Question, asked: AskedQuestion, pool: Pool, recalled: Recalled, named: tuple[int, ...] = ()
) -> ReceiptLine:
    """Everything that decided the answer, and the answer; what is as usual is left out. `named` are versions that it
    or its answer names without having shown them."""
    body: dict[str, Any] = {
        "pipeline": PIPELINE,
        "query": question.text,
        "k": question.k,
        "recipe": question.recipe.model_dump(exclude_defaults=True),
        "recipe_hash": question.recipe.hash,
        "where": _said(question.where),
        "now": question.view.now,
        "valid_at": question.view.valid_at,
        "meaning": None if question.meaning is None else list(question.meaning),
        "speakers": sorted(question.speakers or ()),
        "read_as": question.read_as,
        "seq": recalled.seq,
        "head": pool.head,
        "store": pool.store,
        "searched": recalled.searched,
        "candidates": recalled.candidates,
        "pending": recalled.pending,
        "space": recalled.space,
        "vocabularies": [one.fingerprint for one in pool.vocabularies],
        "milliseconds": recalled.milliseconds,
        "tokens": recalled.tokens,
        "money": recalled.money,
        "reranked": _told(recalled.reranked),
        "hits": [
            {"id": hit.id, "version": hit.record.version, "score": hit.score, "why": hit.why.channels}
            for hit in recalled.hits
        ],
    }
    if asked.past:
        body["past"] = [tuple(one) for one in asked.past]
    if pool.approximate:
        body["approximate"] = True
    if question.near is not None:
        body["near"] = question.near
    if question.adapter is not None:
        body["adapter"] = question.adapter.told
    if question.run is not None:
        body["run_id"] = question.run
    if trace := trace_id():
        body["trace_id"] = trace
    if recalled.trace is not None:
        body["trace"] = recalled.trace.model_dump()
    handles = tuple(hit.record.seq for hit in recalled.hits)
    terms = asked_terms(asked.text)
    return ReceiptLine(
        recalled.receipt_id, question.view, recalled.seq, dumped(body), handles, terms, named, pool.store
    )


def together(found: Sequence[Receipted]) -> Receipted:
    """One answer and one receipt for questions that differ in where they look: its `groups` say where, and which times
    each was found to ask of."""
    if len(found) == 1:
        return found[0]
    bodies = [read(line.body) for _, line in found]
    told = [recalled for recalled, _ in found]
    tokens, money = ([getattr(one, name) for one in told] for name in ("tokens", "money"))
    merged = {
        "searched": sum(one.searched for one in told),
        "candidates": sum(one.candidates for one in told),
        "damaged": max(one.damaged for one in told),
        "approximate": any(one.approximate for one in told),
        "milliseconds": max(one.milliseconds for one in told),
        "tokens": None if None in tokens else sum(tokens),
        "money": None if None in money else sum(money),
    }
    body = {
        **bodies[0],
        **{name: value for name, value in merged.items() if name in bodies[0]},
        "groups": [{"where": one["where"], "past": one.get("past", [])} for one in bodies],
        "hits": [hit for one in bodies for hit in one["hits"]],
    }
    line = found[0][1]._replace(
        body=dumped(body),
        handles=tuple(handle for _, one in found for handle in one.handles),
        named=tuple(handle for _, one in found for handle in one.named),
    )
    return told[0].model_copy(update={**merged, "hits": [hit for one in told for hit in one.hits]}), line


def with_context(line: ReceiptLine, shown: tuple[int, ...], context: dict[str, Any]) -> ReceiptLine:
    """The receipt of a recall that became a context: what was made of its hits. Only what is really shown counts as
    accessed."""
    body = dumped({**read(line.body), "context": context})
    named = tuple(dict.fromkeys((*line.named, *(handle for handle in line.handles if handle not in shown))))
    return line._replace(body=body, handles=shown, named=named)


def questions_of(body: dict[str, Any], scope: Scope, now: int | None, same_space: bool) -> list[Question]:
    """The question behind a receipt, for each of its groups: as of its own moment, or of `now`."""
    groups = body.get("groups") or [{}]
    return [_question_of({**body, **group}, scope, now, same_space) for group in groups]


def _question_of(body: dict[str, Any], scope: Scope, now: int | None, same_space: bool) -> Question:
    if body["query"] is None:
        raise NotFound("what this receipt asked was forgotten", field="receipt_id")
    said = body["where"].items()
    where: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in said}
    if "statuses" in where:
        where["statuses"] = tuple(Status(status) for status in where["statuses"])
    if "fields" in where:
        where["fields"] = tuple((name, value) for name, value in where["fields"])
    view = View(scope, body["now"], body["seq"], body["valid_at"]) if now is None else View(scope, now, None, None)
    return Question(
        body["query"],
        view,
        Filter(**where),
        body["k"],
        Recipe(**body["recipe"]),
        body["meaning"],
        frozenset(body["speakers"]),
        body.get("read_as", "question") if now is None else None,  # the first receipts knew nothing else
        again=True,
        vectors_until=_vectors_until(body, now, same_space),
        reranked=Reranked(**told) if now is None and (told := body.get("reranked")) else None,
        past=tuple(Window(*one) for one in body.get("past", ())) if now is None else None,
        near=body.get("near"),
        adapts=_adapted(body) if now is None else None,
    )


def _adapted(body: dict[str, Any]) -> bool:
    """Whether its vector went through an adapter then: the one of its moment, which a view of that moment shows."""
    return "trouble" not in (body.get("adapter") or {"trouble": None})


def _vectors_until(body: dict[str, Any], now: int | None, same_space: bool) -> int | None:
    """A replay takes the vectors that there were; in another space, those of today. A vector of the caller's own means
    nothing there."""
    if not same_space:
        return None if body["meaning"] is None else 0
    if now is not None:
        return None
    return 0 if body["space"] is None else body["head"]


def differences(body: dict[str, Any], recalled: Recalled) -> list[Difference]:
    """Where the answer is not what it was: another place, another version, another score."""
    before = _places((hit["id"], hit["version"], hit["score"]) for hit in body["hits"])
    after = _places((hit.id, hit.record.version, hit.score) for hit in recalled.hits)
    found = []
    for one in dict.fromkeys([*before, *after]):
        old, new = before.get(one), after.get(one)
        if old and new and old[:2] == new[:2] and alike(old[2], new[2], SCORE_DIGITS):
            continue
        found.append(Difference(id=one[0], before=old, after=new))
    return found


def alike(one: float, other: float, digits: int) -> bool:
    """Whether two figures that were rounded to so many digits differ by one step of the last at most: on another engine
    or machine, the arithmetic may end on the other side of a half."""
    return abs(one - other) <= 1.5 * 10.0**-digits


def _places(hits: Iterable[tuple[str, int, float]]) -> dict[tuple[str, int], tuple[int, int, float]]:
    """(id, which of its versions, counted from the best) -> place, version, score."""
    seen: Counter[str] = Counter()
    found = {}
    for place, (id, version, score) in enumerate(hits, 1):
        seen[id] += 1
        found[id, seen[id]] = (place, version, score)
    return found


def _told(reranked: Reranked | None) -> dict[str, Any] | None:
    """Without the words of its trouble: a service may have quoted a text in them."""
    if reranked is None:
        return None
    trouble = "it did not answer" if reranked.trouble else None
    return {**reranked.model_dump(), "trouble": trouble}


def _said(where: Filter) -> dict[str, Any]:
    usual = Filter()
    values = where._asdict()
    return {name: value for name, value in values.items() if value != getattr(usual, name)}
