"""The ranker that ships, with its real model; and that both models say on every processor what they said here."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from agent_memory import AgentMemory
from agent_memory.engines.onnx import weights
from agent_memory.engines.onnx.embedder import OnnxEmbedder
from agent_memory.engines.onnx.ranker import OnnxRanker
from agent_memory.models.errors import PartMissing
from agent_memory.ports.reranker import TextInPlace

GOLDEN = Path(__file__).parents[3] / "data" / "models-golden.json"
QUESTION = "Which port does the staging database listen on?"
TOLD = [
    TextInPlace("It moved to 5433 last week.", "Priya, 3 May 2026", "And which port is the staging database on now?"),
    TextInPlace("The staging database listens on port 5433.", "4 May 2026"),
    TextInPlace("We had lunch at the harbour.", "Tom, 3 May 2026", "Where were you?"),
    TextInPlace(""),
    TextInPlace("word " * 5000, "x" * 500, "y " * 5000),
]
RANKER = OnnxRanker()

pytestmark = pytest.mark.requirement("C9")


def test_what_answers_is_likelier_than_what_does_not() -> None:
    odds = RANKER.judge(QUESTION, TOLD, 1.0)
    assert min(odds[:2]) > max(odds[2:4])
    assert RANKER.score(QUESTION, [TOLD[1].text], 1.0) == RANKER.judge(QUESTION, [TextInPlace(TOLD[1].text)], 1.0)


def test_odds_do_not_depend_on_what_else_is_judged() -> None:
    together = RANKER.judge(QUESTION, TOLD, 1.0)
    assert [RANKER.judge(QUESTION, [one], 1.0)[0] for one in TOLD] == together
    assert OnnxRanker().judge(QUESTION, TOLD[::-1], 1.0)[::-1] == together


def test_threads_agree() -> None:
    expected, found = RANKER.judge(QUESTION, TOLD, 1.0), list[list[float]]()
    threads = [threading.Thread(target=lambda: found.append(RANKER.judge(QUESTION, TOLD, 1.0))) for _ in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == [expected] * 6


def test_both_models_say_here_what_they_said_there() -> None:
    """Kernels differ from processor to processor: vectors by a hundredth of their cosine, odds by a fifth."""
    golden = json.loads(GOLDEN.read_text("utf-8"))
    made = OnnxEmbedder().embed_many([one["text"] for one in golden["vectors"]])
    kept = np.array([one["vector"] for one in golden["vectors"]], np.float32)
    assert ((made * kept).sum(axis=1) / np.linalg.norm(kept, axis=1) > 0.99).all()
    for one in golden["odds"]:
        (odds,) = RANKER.judge(one["question"], [TextInPlace(*one["told"])], 1.0)
        assert odds == pytest.approx(one["odds"], abs=0.2)


def test_weights_that_are_not_ours_are_refused_and_cost_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = tmp_path / "ranker.safetensors"
    cut.write_bytes(weights.RANKER.locate().read_bytes()[:-1])
    with pytest.raises(PartMissing, match="not the file"):
        weights.read(weights.RANKER, cut)
    monkeypatch.setattr("agent_memory.engines.onnx.weights.RANKER", weights.RANKER._replace(name="gone.safetensors"))
    monkeypatch.setattr("agent_memory.engines.onnx.ranker._models", {})
    with AgentMemory(user_id="ada") as memory:
        memory.records.add("staging listens on port 5433", id="port")
        found = memory.recall(QUESTION, recipe="best")
        assert found[0].id == "port" and "gone.safetensors" in found.reranked.trouble


def test_best_reads_what_it_found() -> None:
    with AgentMemory(user_id="ada") as memory:
        for number, text in enumerate(["the staging cluster moved", "staging listens on port 5433", "lunch is at one"]):
            memory.records.add(text, id=f"r{number}", valid_from=datetime(2026, 5, 3, tzinfo=UTC))
        found = memory.recall(QUESTION, recipe="best")
        assert found[0].id == "r1" and found.reranked.by == RANKER.name and found.reranked.odds
        assert set(found.reranked.scores) == {"r0", "r1", "r2"} and found.reranked.trouble is None
        assert memory.receipts.replay(found.receipt_id).identical
        assert memory.recall(QUESTION).reranked is None, "the default asks nobody"
