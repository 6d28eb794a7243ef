"""A reranker orders the head of a ranking, in time, and never costs an answer. C9, P9."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent_memory import AgentMemory
from agent_memory.core.recall.chosen import Chosen
from agent_memory.core.recall.rerank import Judge
from agent_memory.engines.http.reranker import HttpReranker
from agent_memory.models.answer import Reranked
from agent_memory.models.errors import NotFound
from agent_memory.models.recipe import DEFAULT, Recipe
from agent_memory.models.record import Record, Scope
from agent_memory.testing.wire import FakeReranker
from patience import FOREVER, silent

RERANK = Recipe(name="judged", rerank=4)
NOW = datetime(2026, 11, 16, tzinfo=UTC)
QUESTION = "which port does staging listen on?"


class Longest:
    """Likes long texts."""

    name = "longest@1"

    def __init__(self, seconds: float = 0.0) -> None:
        self.calls: list[int] = []
        self.seconds = seconds

    def score(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        self.calls.append(len(texts))
        time.sleep(self.seconds)
        return [float(len(text)) for text in texts]


def fill(memory: AgentMemory, count: int = 8) -> None:
    for number in range(count):
        memory.records.add(f"staging listens on port {'5' * (number + 1)}", id=f"r{number}")


def ids(found: object) -> list[str]:
    return [hit.id for hit in found]


@pytest.mark.requirement("C9")
def test_the_head_is_in_the_rerankers_order_and_the_rest_as_it_was() -> None:
    reranker = Longest()
    with AgentMemory(user_id="ada", reranker=reranker) as memory:
        fill(memory)
        plain = memory.recall(QUESTION)
        assert reranker.calls == [] and plain.reranked is None, "off by default"
        found = memory.recall(QUESTION, recipe=RERANK)
        assert reranker.calls == [4]
        assert ids(found)[:4] == sorted(ids(plain)[:4], key=lambda id: -int(id[1:]))
        assert ids(found)[4:] == ids(plain)[4:]
        assert [hit.score for hit in found] == [hit.score for hit in plain], "the scores are dealt out anew"
        for hit in found:
            assert abs(sum(hit.why.channels.values()) - hit.score) < 1e-3
        moved = {hit.id for hit in found if "rerank" in hit.why.channels}
        assert moved and moved <= set(ids(plain)[:4])
        assert found.reranked.by == "longest@1" and found.reranked.candidates == 4
        assert set(found.reranked.scores) == set(ids(plain)[:4]) and found.reranked.trouble is None
        assert ids(memory.recall(QUESTION, 2, RERANK)) == ids(found)[:2]


def test_a_record_with_several_versions_ranks_where_its_best_does() -> None:
    def chosen(row: int, id: str, score: float) -> Chosen:
        record = Record(id=id, kind="fact", scope=Scope(), text=id, valid_from=NOW, recorded_at=NOW, seq=9 - row)
        return Chosen(row, record, score, score)

    head = [chosen(0, "a", 1.0), chosen(1, "b", 0.99), chosen(2, "a", 0.98)]
    for scores, rows in (({"a": 0.5, "b": 0.5}, [0, 1, 2]), ({"a": 0.1, "b": 0.5}, [1, 0, 2])):
        told = Reranked(by="m", candidates=2, scores=scores, milliseconds=1.0)
        ordered = Judge(None, QUESTION, told).reorder(head, RERANK)
        assert [one.row for one in ordered] == rows and [one.score for one in ordered] == [1.0, 0.99, 0.98]


def test_what_does_not_fit_into_the_time_keeps_its_order() -> None:
    slow = Longest(seconds=0.3)
    with AgentMemory(user_id="ada", reranker=slow) as memory:
        fill(memory, 50)
        plain = memory.recall(QUESTION, 50)
        found = memory.recall(QUESTION, 50, Recipe(rerank=50, rerank_seconds=0.4))
        assert slow.calls == [32], "a second call would not have fitted"
        assert len(found.reranked.scores) == 32 and found.reranked.candidates == 50
        assert ids(found)[32:] == ids(plain)[32:] and ids(found)[:32] != ids(plain)[:32]


@pytest.mark.requirement("P9")
def test_a_replay_reuses_the_scores_and_calls_nobody(clock: object) -> None:
    reranker = Longest()
    with AgentMemory(user_id="ada", reranker=reranker, clock=clock) as memory:
        fill(memory)
        first = memory.recall(QUESTION, recipe=RERANK)
        receipt = memory.receipts.get(first.receipt_id)
        assert receipt["reranked"]["by"] == "longest@1" and receipt["reranked"]["scores"] == first.reranked.scores
        clock.forward(hours=1)
        memory.records.add("staging listens on port 99999999999", id="later")
        reranker.calls.clear()
        replay = memory.receipts.replay(first.receipt_id)
        assert replay.identical and reranker.calls == []
        assert not memory.receipts.replay(first.receipt_id, now=True).identical
        assert reranker.calls == [4], "today's state is judged today"
    with AgentMemory(user_id="ada", clock=clock) as bare:
        assert bare.receipts.replay(first.receipt_id).identical, "nor does it need the reranker"


def test_forgetting_what_was_scored_takes_the_receipt() -> None:
    with AgentMemory(user_id="ada", reranker=Longest()) as memory:
        fill(memory)
        found = memory.recall(QUESTION, 1, RERANK)
        scored = [id for id in found.reranked.scores if id != found[0].id]
        memory.receipts.get(found.receipt_id)
        memory.records.forget(scored[:1])
        with pytest.raises(NotFound):
            memory.receipts.get(found.receipt_id)


def test_a_reranker_out_of_reach_costs_no_answer(clock: object, monkeypatch: pytest.MonkeyPatch) -> None:
    with AgentMemory(user_id="ada", clock=clock) as near:
        fill(near)
        plain = near.recall(QUESTION)
    monkeypatch.setenv("AGENT_MEMORY_RERANK_URL", "http://127.0.0.1:1")
    with AgentMemory(user_id="ada", clock=clock) as gone:
        found = gone.recall(QUESTION, recipe=RERANK)
        assert ids(found) == ids(plain) and "cannot be reached" in found.reranked.trouble
        assert gone.receipts.get(found.receipt_id)["reranked"]["trouble"]
        assert gone.receipts.replay(found.receipt_id).identical
    with silent() as port:
        patient = HttpReranker(f"http://127.0.0.1:{port}", timeout=FOREVER)
        with AgentMemory(user_id="ada", clock=clock, reranker=patient) as slow:
            found = slow.recall(QUESTION, recipe=Recipe(rerank=4, rerank_seconds=0.2))
            assert ids(found) == ids(plain) and found.reranked.trouble


@pytest.mark.parametrize("scores", [[1.0], [float("nan")] * 4, ["a"] * 4, None])
def test_scores_that_are_none_are_not_used(scores: object) -> None:
    class Broken(Longest):
        def score(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
            return scores

    with AgentMemory(user_id="ada", reranker=Broken()) as memory:
        fill(memory)
        found = memory.recall(QUESTION, recipe=RERANK)
        assert ids(found) == ids(memory.recall(QUESTION)) and "the reranker gave" in found.reranked.trouble


def test_any_http_reranker_by_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeReranker(key="k", texts=True) as service:
        monkeypatch.setenv("AGENT_MEMORY_RERANK_URL", service.url)
        monkeypatch.setenv("AGENT_MEMORY_RERANK_API_KEY", "k")
        monkeypatch.setenv("AGENT_MEMORY_RERANK_MODEL", "bge")
        with AgentMemory(user_id="ada") as memory:
            fill(memory)
            memory.records.add("staging port", id="short")
            found = memory.recall("staging port", recipe=Recipe(rerank=20))
            assert found[0].id == "short" and found.reranked.by == "bge@http" and len(found.reranked.scores) == 9
            assert service.requests[-1].body["model"] == "bge"


def test_a_switch_turns_everything_after_the_fusion_off(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reranker = Longest()
    with AgentMemory(user_id="ada", reranker=reranker) as memory:
        fill(memory)
        memory.records.add("Staging listens on port 5.", id="again")
        plain = memory.recall(QUESTION, recipe=DEFAULT)
        everything = Recipe(rerank=4, diversity=0.5, collapse=True, per_conversation=1)
        assert ids(memory.recall(QUESTION, recipe=everything)) != ids(plain)
        reranker.calls.clear()
        monkeypatch.setenv("AGENT_MEMORY_RERANKING_ENABLED", "false")
        with AgentMemory(user_id="ada", reranker=reranker) as fused:
            found = fused.recall(QUESTION, recipe=everything)
            assert ids(found) == ids(plain) and found.reranked is None and reranker.calls == []
            assert fused.receipts.replay(found.receipt_id).identical


def test_repeats_are_not_paid_for_twice() -> None:
    reranker = Longest()
    with AgentMemory(user_id="ada", reranker=reranker) as memory:
        for _ in range(10):
            memory.records.add("staging listens on port 5433")
        memory.recall(QUESTION, recipe=Recipe(rerank=10, collapse=True))
        assert reranker.calls == [1]
