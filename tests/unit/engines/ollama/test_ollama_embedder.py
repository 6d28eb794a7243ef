"""The Ollama embedder against a server that speaks the protocol."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest

from agent_memory.engines.ollama.embedder import BATCH, OllamaEmbedder
from agent_memory.models.errors import InvalidInput, PartMissing, SpaceMismatch
from agent_memory.testing.wire import CannedAnswer, FakeOllama, vector


@pytest.fixture
def service() -> Iterator[FakeOllama]:
    with FakeOllama(models={"nomic-embed-text": 768, "tiny": 4}) as running:
        yield running


@pytest.mark.requirement("C14")
def test_the_default_is_nomic_on_this_machine(service: FakeOllama) -> None:
    assert OllamaEmbedder().space.fingerprint == "nomic-embed-text@ollama/768"
    rows = OllamaEmbedder(base_url=service.url).embed_many(["red apples", "green apples", "tax law"])
    assert rows.shape == (3, 768)
    assert rows.dtype == np.float32
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.2
    (request,) = service.requests
    assert request.path == "/api/embed"
    assert request.body["model"] == "nomic-embed-text"


def test_rows_are_unit_vectors_in_the_order_of_the_texts(service: FakeOllama) -> None:
    texts = [f"text number {number}" for number in range(BATCH + 1)]
    rows = OllamaEmbedder(base_url=service.url, model="tiny", dimensions=4).embed_many(texts)
    expected = np.array([vector(text, 4) for text in texts])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(rows, expected, atol=1e-6)
    assert [len(request.body["input"]) for request in service.requests] == [BATCH, 1]


def test_a_tag_does_not_hide_the_dimension(service: FakeOllama) -> None:
    tagged = OllamaEmbedder(base_url=f"{service.url}/", model="nomic-embed-text:latest")
    assert tagged.embed_many(["x"]).shape == (1, 768)
    assert tagged.space.model == "nomic-embed-text:latest"


def test_another_model_needs_its_dimensions() -> None:
    with pytest.raises(InvalidInput) as caught:
        OllamaEmbedder(model="tiny")
    assert caught.value.field == "dimensions"


def test_a_model_that_was_not_pulled_is_named(service: FakeOllama) -> None:
    with pytest.raises(PartMissing, match="not found") as caught:
        OllamaEmbedder(base_url=service.url, model="absent", dimensions=3).embed_many(["x"])
    assert "ollama pull absent" in caught.value.hint


def test_an_ollama_that_does_not_run_is_reported() -> None:
    with FakeOllama() as gone:
        address = gone.url
    with pytest.raises(PartMissing, match="cannot be reached") as caught:
        OllamaEmbedder(base_url=address).embed_many(["x"])
    assert "ollama serve" in caught.value.hint


def test_a_model_that_is_still_loading_is_waited_for(service: FakeOllama) -> None:
    service.troubles.append(CannedAnswer(503, {"error": "server busy"}, {"Retry-After": "0"}))
    assert OllamaEmbedder(base_url=service.url).embed_many(["x"]).shape == (1, 768)


def test_a_wrong_dimension_is_a_mismatch(service: FakeOllama) -> None:
    with pytest.raises(SpaceMismatch, match="4 dimensions, not 5"):
        OllamaEmbedder(base_url=service.url, model="tiny", dimensions=5).embed_many(["x"])


@pytest.mark.parametrize("body", [[], {}, {"embeddings": []}, {"embeddings": {}}, {"embeddings": [None]}, b"{"])
def test_an_answer_of_another_shape_is_reported(service: FakeOllama, body: object) -> None:
    service.troubles.append(CannedAnswer(200, body))
    with pytest.raises(PartMissing, match="cannot be used"):
        OllamaEmbedder(base_url=service.url).embed_many(["x"])


def test_odd_texts_are_sent_in_a_form_that_is_accepted(service: FakeOllama) -> None:
    assert OllamaEmbedder(base_url=service.url).embed_many(["", "\ud800", "\x00"]).shape == (3, 768)
    assert service.requests[0].body["input"] == [".", "?", "\x00"]


def test_the_tokens_are_those_that_it_read(service: FakeOllama) -> None:
    assert OllamaEmbedder(base_url=service.url).embed_and_count(["x", "y"])[1] == 2


def test_no_texts_no_request(service: FakeOllama) -> None:
    assert OllamaEmbedder(base_url=service.url).embed_many([]).shape == (0, 768)
    assert service.requests == []


def test_missing_httpx_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(PartMissing) as caught:
        OllamaEmbedder().embed_many(["x"])
    assert "agent-memory[ollama]" in caught.value.hint


def test_long_texts_are_cut_by_characters() -> None:
    assert len(OllamaEmbedder().passages("word " * 1000)) == 3
