"""The real Ollama: chat, pieces, a schema, tools, and vectors. `make models` runs these."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest
from tests.parts import ollama
from tests.parts.llamacpp import WIDTH

from agent_memory import AgentMemory
from agent_memory.engines.ollama.chat import OllamaChat
from agent_memory.engines.ollama.embedder import OllamaEmbedder
from agent_memory.engines.openai.chat import OpenAIChat
from agent_memory.models.errors import PartMissing, SpaceMismatch
from agent_memory.ports.chat import ChatAnswer, ChatMessage, ChatRequest, ToolRequest, ToolSpec

pytestmark = [pytest.mark.models, pytest.mark.requirement("C14", "P19")]
ASK = ChatRequest([ChatMessage("user", "Is the port open?")], max_tokens=300)
SHAPE = {"type": "object", "properties": {"open": {"type": "boolean"}}, "required": ["open"]}
LOOK = ToolSpec("look", "Look up a port", {"type": "object", "properties": {"which": {"type": "string"}}})


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ollama.started() as address:
        yield address


def test_an_answer_whole_and_in_pieces(url: str) -> None:
    chat = OllamaChat(model=ollama.MODEL, base_url=url)
    whole = chat.complete(ASK)
    assert (whole.text, whole.finish) == ("Yes.", "stop") and (whole.usage.completion or 0) > 0
    *pieces, last = chat.stream(ASK)
    assert len(pieces) > 1 and "".join(map(str, pieces)) == "Yes."
    assert isinstance(last, ChatAnswer) and last.text == "Yes."


def test_an_answer_that_is_cut_says_so(url: str) -> None:
    assert OllamaChat(model=ollama.MODEL, base_url=url).complete(ASK._replace(max_tokens=2)).finish == "length"


def test_a_schema_is_a_grammar(url: str) -> None:
    answer = OllamaChat(model=ollama.MODEL, base_url=url).complete(ASK._replace(schema=SHAPE))
    assert type(json.loads(answer.text)["open"]) is bool


def test_tools_are_told_and_their_answers_understood(url: str) -> None:
    chat = OllamaChat(model=ollama.MODEL, base_url=url)
    call = ToolRequest("call_1", "look", {"which": "staging"})
    talk = [*ASK.messages, ChatMessage("assistant", "", (call,)), ChatMessage("tool", "5433", call_id="call_1")]
    told = chat.complete(ASK._replace(tools=[LOOK], messages=talk))
    plain = chat.complete(ASK)
    assert told.text == "Yes." and (told.usage.prompt or 0) > (plain.usage.prompt or 0) + 100


def test_its_other_door_speaks_as_openai_does(url: str) -> None:
    assert OpenAIChat(model=ollama.MODEL, base_url=f"{url}/v1").complete(ASK).text == "Yes."


def test_a_model_that_is_not_there(url: str) -> None:
    with pytest.raises(PartMissing, match="ollama pull other"):
        OllamaChat(model="other", base_url=url).complete(ASK)


def test_vectors(url: str) -> None:
    embedder = OllamaEmbedder(model=ollama.MODEL, dimensions=WIDTH, base_url=url)
    rows, tokens = embedder.embed_and_count(["one text", "another", "one text"])
    assert rows.shape == (3, WIDTH) and tokens is not None and tokens > 0
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(rows[0], rows[2], atol=1e-4)
    with pytest.raises(SpaceMismatch, match=f"{WIDTH} dimensions, not 7"):
        OllamaEmbedder(model=ollama.MODEL, dimensions=7, base_url=url).embed_many(["x"])


def test_a_store_on_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "CHAT_PROVIDER": "ollama",
        "CHAT_MODEL": ollama.MODEL,
        "CHAT_URL": url,
        "EMBEDDING_PROVIDER": "ollama",
        "EMBEDDING_MODEL": ollama.MODEL,
        "EMBEDDING_URL": url,
        "EMBEDDING_DIMENSIONS": str(WIDTH),
    }.items():
        monkeypatch.setenv(f"AGENT_MEMORY_{name}", value)
    with AgentMemory("ada") as memory:
        memory.records.add("Staging listens on port 5433")
        assert memory.recall("which port has staging?")[0].text == "Staging listens on port 5433"
        assert memory.models.ask("Is it open?").text == "Yes."
        assert memory.models.usage().usage[0].calls == 1
