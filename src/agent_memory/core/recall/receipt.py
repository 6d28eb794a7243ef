"""What a recall was asked, as a value; the receipt it leaves; and reading one back to ask the same again. P9."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from agent_memory.core.recall.question import Asked
from agent_memory.models.answer import Difference, Recalled, Reranked
from agent_memory.models.errors import NotFound
from agent_memory.models.recipe import Recipe
from agent_memory.models.record import Scope, Status
from agent_memory.ports.index import Pool
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.records import Filter, View
from agent_memory.ports.spans import trace_id

PIPELINE = "recall-4"  # changes whenever the same question on the same rows would be answered differently
SAME_SCORE = 1e-6


@dataclass(frozen=True)
class Question:
    """`meaning` replaces the embedding of the text, for a caller who has a vector already. `speakers` are those whom
    the question was found to name, where that is known; `reranked` what a reranker said when it was asked before.
    `again`: asked only to compare; it leaves no receipt. `trace`: the receipt also tells what was considered and not
    shown. `vectors_until`: the journal line whose vectors, and those before it, are used; 0 is none. `near`: the
    repository that the caller works in."""

    text: str
    view: View
    where: Filter
    k: int
    recipe: Recipe
    meaning: Sequence[float] | None = None
    speakers: frozenset[str] | None = None
    again: bool = False
    trace: bool = False
    vectors_until: int | None = None
    reranked: Reranked | None = None
    near: str | None = None


def receipt_line(
    question: Question, asked: Asked, pool: Pool, recalled: Recalled, named: tuple[int, ...] = ()
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
        "seq": recalled.seq,
        "head": pool.head,
        "searched": recalled.searched,
        "candidates": recalled.candidates,
        "pending": recalled.pending,
        "space": recalled.space,
        "milliseconds": recalled.milliseconds,
        "tokens": recalled.tokens,
        "money": recalled.money,
        "reranked": _told(recalled.reranked),
        "hits": [
            {"id": hit.id, "version": hit.record.version, "score": hit.score, "why": hit.why.channels}
            for hit in recalled.hits
        ],
    }
    if question.near is not None:
        body["near"] = question.near
    if trace := trace_id():
        body["trace_id"] = trace
    if recalled.trace is not None:
        body["trace"] = recalled.trace.model_dump()
    handles = tuple(hit.record.seq for hit in recalled.hits)
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    terms = b"".join(term.to_bytes(8, "little") for term in asked.terms)
    return ReceiptLine(recalled.receipt_id, question.view, recalled.seq, text, handles, terms, named)


def with_context(line: ReceiptLine, shown: tuple[int, ...], context: dict[str, Any]) -> ReceiptLine:
    """The receipt of a recall that became a context: what was made of its hits. Only what is really shown counts as
    accessed."""
    body = json.dumps({**json.loads(line.body), "context": context}, ensure_ascii=False, separators=(",", ":"))
    named = tuple(dict.fromkeys((*line.named, *(handle for handle in line.handles if handle not in shown))))
    return replace(line, body=body, handles=shown, named=named)


def question_of(body: dict[str, Any], scope: Scope, now: int | None, same_space: bool) -> Question:
    """The question behind a receipt: as of its own moment, or of `now`."""
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
        again=True,
        vectors_until=_vectors_until(body, now, same_space),
        reranked=Reranked(**told) if now is None and (told := body.get("reranked")) else None,
        near=body.get("near"),
    )


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
    before = {hit["id"]: (place, hit["version"], hit["score"]) for place, hit in enumerate(body["hits"], 1)}
    after = {hit.id: (place, hit.record.version, hit.score) for place, hit in enumerate(recalled.hits, 1)}
    found = []
    for id in dict.fromkeys([*before, *after]):
        old, new = before.get(id), after.get(id)
        if old and new and old[:2] == new[:2] and abs(old[2] - new[2]) <= SAME_SCORE:
            continue
        found.append(Difference(id=id, before=old, after=new))
    return found


def _told(reranked: Reranked | None) -> dict[str, Any] | None:
    """Without the words of its trouble: a service may have quoted a text in them."""
    if reranked is None:
        return None
    trouble = "it did not answer" if reranked.trouble else None
    return {**reranked.model_dump(), "trouble": trouble}


def _said(where: Filter) -> dict[str, Any]:
    usual = Filter()
    values = {one.name: getattr(where, one.name) for one in fields(where)}
    return {name: value for name, value in values.items() if value != getattr(usual, name)}
