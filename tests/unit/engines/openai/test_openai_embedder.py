"""The OpenAI embedder against a server that speaks the protocol, in fair weather and foul."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from agent_memory.engines.openai.embedder import BATCH, LONGEST, OpenAIEmbedder
from agent_memory.models.errors import AgentMemoryError, InvalidInput, PartMissing, SpaceMismatch
from agent_memory.testing.wire import CannedAnswer, FakeOpenAI, vector

KEY = "sk-test-0123456789abcdef"
NOW = {"Retry-After": "0"}


@pytest.fixture
def service() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(key=KEY, models={"text-embedding-3-small": 1536, "house-model": 8}) as running:
        yield running


def embedder(service: FakeOpenAI, **options: Any) -> OpenAIEmbedder:
    return OpenAIEmbedder(**{"base_url": service.url, "api_key": KEY, **options})


@pytest.mark.requirement("C14")
def test_the_default_is_the_small_model_with_1536_dimensions(service: FakeOpenAI) -> None:
    openai = embedder(service)
    assert openai.space.fingerprint == "text-embedding-3-small@openai/1536"
    rows = openai.embed_many(["red apples", "green apples", "tax law"])
    assert rows.shape == (3, 1536)
    assert rows.dtype == np.float32
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.2
    (request,) = service.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.body["model"] == "text-embedding-3-small"
    assert "dimensions" not in request.body


def test_rows_are_unit_vectors_in_the_order_of_the_texts(service: FakeOpenAI) -> None:
    texts = [f"text number {number}" for number in range(BATCH + 7)]
    rows = embedder(service, model="house-model", dimensions=8).embed_many(texts)
    expected = np.array([vector(text, 8) for text in texts])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(rows, expected, atol=1e-6)
    assert [len(request.body["input"]) for request in service.requests] == [BATCH, 7]


def test_no_texts_no_request(service: FakeOpenAI) -> None:
    assert embedder(service).embed_many([]).shape == (0, 1536)
    assert service.requests == []


def test_one_text_in_place_of_a_list_is_refused(service: FakeOpenAI) -> None:
    with pytest.raises(InvalidInput, match="list"):
        embedder(service).embed_many("text")


def test_fewer_dimensions_are_asked_for(service: FakeOpenAI) -> None:
    openai = embedder(service, dimensions=256)
    assert openai.embed_many(["x"]).shape == (1, 256)
    assert service.requests[0].body["dimensions"] == 256


def test_another_model_needs_its_dimensions(service: FakeOpenAI) -> None:
    with pytest.raises(InvalidInput) as caught:
        embedder(service, model="house-model")
    assert caught.value.field == "dimensions"


def test_odd_texts_are_sent_in_a_form_that_is_accepted(service: FakeOpenAI) -> None:
    rows = embedder(service).embed_many(["", " \n", "lone \ud800 surrogate", "nul \x00", "😀" * 10_000])
    assert rows.shape == (5, 1536)
    sent = service.requests[0].body["input"]
    assert sent[:3] == [".", ".", "lone ? surrogate"]
    assert len(sent[4]) == LONGEST


@pytest.mark.parametrize("status", [429, 500, 503])
def test_trouble_that_passes_is_waited_for(service: FakeOpenAI, status: int) -> None:
    service.troubles.extend([CannedAnswer(status, {}, NOW), CannedAnswer(status, b"<html>", NOW)])
    assert embedder(service).embed_many(["x"]).shape == (1, 1536)
    assert len(service.requests) == 3


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each pause between two attempts would have been."""
    taken: list[float] = []
    monkeypatch.setattr("agent_memory.ports.remote.time.sleep", taken.append)
    return taken


def test_what_the_service_asks_for_is_waited(service: FakeOpenAI, pauses: list[float]) -> None:
    service.troubles.append(CannedAnswer(429, {}, {"Retry-After": "0.3"}))
    embedder(service).embed_many(["x"])
    assert 0.3 <= pauses[0] <= 0.375 and len(pauses) == 1


def test_trouble_that_does_not_pass_is_reported(service: FakeOpenAI) -> None:
    service.troubles.extend(CannedAnswer(503, {}, NOW) for _ in range(9))
    with pytest.raises(PartMissing, match="503"):
        embedder(service, attempts=3).embed_many(["x"])
    assert len(service.requests) == 3


def test_a_service_that_wants_an_hour_is_not_waited_for(service: FakeOpenAI) -> None:
    service.troubles.append(CannedAnswer(429, {}, {"Retry-After": "3600"}))
    with pytest.raises(PartMissing, match="429"):
        embedder(service).embed_many(["x"])
    assert len(service.requests) == 1


def test_a_rejected_request_is_not_repeated(service: FakeOpenAI) -> None:
    service.troubles.append(CannedAnswer(400, {"error": {"message": "too long"}}))
    with pytest.raises(InvalidInput, match="too long"):
        embedder(service).embed_many(["x"])
    assert len(service.requests) == 1


def test_a_wrong_dimension_is_a_mismatch(service: FakeOpenAI) -> None:
    with pytest.raises(SpaceMismatch, match="8 dimensions, not 16"):
        embedder(service, model="house-model", dimensions=16).embed_many(["x"])


@pytest.mark.parametrize(
    "body",
    [
        b"not json",
        [],
        {"data": None},
        {"data": []},
        {"data": [{"index": 0}]},
        {"data": [{"index": 1, "embedding": [1.0] * 1536}]},
        {"data": [{"index": 0, "embedding": "AAAA"}]},
        {"data": [{"index": 0, "embedding": ["x"] * 1536}]},
        {"data": [{"index": 0, "embedding": [[1.0]] * 1536}]},
        {"data": [{"index": 0, "embedding": [0.0] * 1536}]},
        {"data": [{"index": 0, "embedding": [float("nan")] * 1536}]},
    ],
)
def test_an_answer_of_another_shape_is_reported(service: FakeOpenAI, body: Any) -> None:
    service.troubles.append(CannedAnswer(200, body))
    with pytest.raises(PartMissing, match="cannot be used"):
        embedder(service).embed_many(["x"])


def test_an_unreachable_service_is_reported_at_once(pauses: list[float]) -> None:
    with FakeOpenAI() as gone:
        address = gone.url
    with pytest.raises(PartMissing, match="cannot be reached") as caught:
        OpenAIEmbedder(base_url=address, api_key=KEY).embed_many(["x"])
    assert pauses == [] and caught.value.hint


def test_a_missing_model_is_named(service: FakeOpenAI) -> None:
    with pytest.raises(PartMissing, match="none-such"):
        embedder(service, model="none-such", dimensions=3).embed_many(["x"])


@pytest.mark.parametrize(
    "answer",
    [
        CannedAnswer(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}),
        CannedAnswer(403, {"error": {"message": KEY}}),
        CannedAnswer(400, {"error": {"message": f"bad header: Bearer {KEY}"}}),
        CannedAnswer(404, {"error": f"nothing for {KEY}"}),
        CannedAnswer(302, {}, {"Location": "http://127.0.0.1:9/"}),
        CannedAnswer(200, KEY.encode()),
    ],
)
def test_the_key_is_in_no_error(service: FakeOpenAI, answer: CannedAnswer) -> None:
    service.troubles.append(answer)
    openai = embedder(service)
    with pytest.raises(AgentMemoryError) as caught:
        openai.embed_many(["x"])
    error: BaseException | None = caught.value
    while error is not None:
        assert KEY not in f"{error} {error!r}"
        error = error.__cause__
    assert len(service.requests) == 1


def test_the_key_is_in_no_repr(service: FakeOpenAI) -> None:
    openai = embedder(service)
    openai.embed_many(["x"])
    assert KEY not in f"{openai!r} {openai} {vars(openai)}"


@pytest.mark.parametrize("key", ["sk-änderung", "sk-with\nnewline", "sk-with space"])
def test_a_key_that_no_header_can_hold_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        OpenAIEmbedder(api_key=key)
    assert caught.value.field == "api_key"
    assert key not in f"{caught.value!r}"


def test_the_tokens_are_those_of_the_bill(service: FakeOpenAI) -> None:
    assert embedder(service).embed_and_count(["x"] * (BATCH + 2))[1] == BATCH + 2
    assert embedder(service).embed_and_count([])[1] == 0


@pytest.mark.parametrize("usage", [None, {}, {"total_tokens": None}, {"total_tokens": -1}, {"total_tokens": "7"}, []])
def test_a_server_that_tells_no_tokens_is_not_guessed_at(service: FakeOpenAI, usage: Any) -> None:
    data = [{"index": 0, "embedding": vector("x", 1536)}]
    service.troubles.append(CannedAnswer(200, {"data": data, "usage": usage}))
    rows, tokens = embedder(service).embed_and_count(["x"])
    assert rows.shape == (1, 1536) and tokens is None


def test_white_space_around_a_key_does_not_matter(service: FakeOpenAI) -> None:
    assert embedder(service, api_key=f"{KEY}\n").embed_many(["x"]).shape == (1, 1536)


def test_a_server_without_keys_gets_none() -> None:
    with FakeOpenAI() as local:
        OpenAIEmbedder(base_url=local.url).embed_many(["x"])
        assert "Authorization" not in local.requests[0].headers


def test_missing_httpx_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    openai = OpenAIEmbedder()
    assert openai.space.dimension == 1536
    with pytest.raises(PartMissing) as caught:
        openai.embed_many(["x"])
    assert "agent-memory[openai]" in caught.value.hint


def test_long_texts_are_cut_by_characters(service: FakeOpenAI) -> None:
    text = "Plain words follow each other. " * 300
    passages = embedder(service).passages(text)
    assert passages[0].start == 0
    assert passages[-1].end == len(text)
    assert all(p.end - p.start <= 2000 for p in passages)
