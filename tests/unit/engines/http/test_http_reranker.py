"""The HTTP reranker against servers that speak both shapes, in fair weather and foul."""

from __future__ import annotations

import pytest

from agent_memory.engines.http.reranker import LONGEST, HttpReranker
from agent_memory.models.errors import AgentMemoryError, InvalidInput, PartMissing
from agent_memory.testing.wire import CannedAnswer, FakeReranker, overlap
from patience import FOREVER, silent

KEY = "sk-test-0123456789abcdef"
TEXTS = ["lunch is at one", "staging port is 5433", "the port of staging"]
QUERY = "which port is staging on"


@pytest.mark.parametrize("texts", [False, True], ids=["documents", "texts"])
def test_scores_come_in_the_order_of_the_texts(texts: bool) -> None:
    with FakeReranker(key=KEY, texts=texts) as service:
        reranker = HttpReranker(service.url, model="m", api_key=KEY)
        assert reranker.name == "m@http"
        expected = [overlap(QUERY, text) for text in TEXTS]
        assert reranker.score(QUERY, TEXTS, 5.0) == pytest.approx(expected)
        assert reranker.score(QUERY, TEXTS, 5.0) == pytest.approx(expected)
        assert len(service.requests) == (3 if texts else 2), "the shape is found out once"
        last = service.requests[-1]
        assert last.path == "/rerank" and last.headers["Authorization"] == f"Bearer {KEY}"
        assert last.body["model"] == "m" and last.body["query"] == QUERY
        assert last.body["texts" if texts else "documents"] == TEXTS
        assert reranker.score(QUERY, [], 5.0) == [] and len(service.requests) == (3 if texts else 2)


@pytest.mark.parametrize(
    "answer",
    [
        {"data": [{"index": 1, "relevance_score": 2.5}, {"index": 0, "relevance_score": -11.0}]},
        {"results": [{"index": 0, "relevance_score": -11.0, "document": {"text": "x"}}, {"index": 1, "score": 2.5}]},
        [{"index": 1, "score": 2.5}, {"index": 0, "score": -11}],
    ],
)
def test_the_forms_of_answers_that_are_in_use(answer: object) -> None:
    with FakeReranker() as service:
        service.troubles.append(CannedAnswer(200, answer))
        assert HttpReranker(service.url).score("q", ["a", "b"], 5.0) == [-11.0, 2.5]
        assert "model" not in service.requests[0].body


@pytest.mark.parametrize(
    "answer",
    [
        {},
        [],
        "no",
        None,
        {"results": [{"index": 0}]},
        {"results": [{"relevance_score": 1}]},
        [{"index": 5, "score": 1}],
    ],
)
def test_an_answer_of_another_shape_is_an_error(answer: object) -> None:
    with FakeReranker() as service:
        service.troubles.append(CannedAnswer(200, answer))
        with pytest.raises(PartMissing, match="cannot be used"):
            HttpReranker(service.url).score("q", ["a"], 5.0)


def test_long_and_odd_texts_are_sent_in_a_form_that_is_accepted() -> None:
    with FakeReranker() as service:
        assert len(HttpReranker(service.url).score("q" * 9000, ["", "lone \ud800", "x" * 9000], 5.0)) == 3
        sent = service.requests[0].body
        assert sent["documents"][:2] == [".", "lone ?"]
        assert len(sent["documents"][2]) == len(sent["query"]) == LONGEST


def test_it_gives_up_when_the_time_is_over() -> None:
    with silent() as port, pytest.raises(PartMissing):
        HttpReranker(f"http://127.0.0.1:{port}", timeout=FOREVER).score("q", ["a"], 0.2)
    with FakeReranker() as service:
        service.troubles.extend(CannedAnswer(503, {}) for _ in range(9))
        with pytest.raises(PartMissing, match="503"):
            HttpReranker(service.url).score("q", ["a"], 0.2)
        assert len(service.requests) == 1, "no pause that is longer than the time"


def test_errors_are_our_own_and_name_no_key() -> None:
    with FakeReranker(key="another") as service, pytest.raises(PartMissing) as refused:
        HttpReranker(service.url, api_key=KEY).score("q", ["a"], 5.0)
    assert KEY not in str(refused.value)
    with FakeReranker() as service:
        service.troubles.extend(CannedAnswer(400, {"error": {"message": "no such model"}}) for _ in range(2))
        with pytest.raises(InvalidInput, match="no such model"):
            HttpReranker(service.url).score("q", ["a"], 5.0)
    with pytest.raises(PartMissing, match="cannot be reached"):
        HttpReranker("http://127.0.0.1:1").score("q", ["a"], 5.0)
    with pytest.raises(AgentMemoryError):
        HttpReranker("ftp://example.org")
