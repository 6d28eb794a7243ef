"""The chat engine for Ollama against a server that speaks the protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from agent_memory.engines.ollama.chat import OllamaChat
from agent_memory.models.errors import PartMissing, Unfinished
from agent_memory.ports.chat import ChatAnswer, ChatMessage, ChatRequest, ToolRequest, ToolSpec, Usage
from agent_memory.testing.wire import CannedAnswer, CannedStream, FakeOllama

HELLO = ChatRequest([ChatMessage("user", "hello there")])
LOOK = ToolSpec("look", "Look it up", {"type": "object"})
pytestmark = pytest.mark.requirement("P19", "C14")


@pytest.fixture
def service() -> Iterator[FakeOllama]:
    with FakeOllama() as running:
        yield running


def chat(service: FakeOllama, **options: Any) -> OllamaChat:
    return OllamaChat(model="small", base_url=service.url, **options)


def line(**said: Any) -> bytes:
    return json.dumps({"model": "small", **said}).encode() + b"\n"


def test_an_answer_whole_and_in_pieces(service: FakeOllama) -> None:
    whole = chat(service).complete(HELLO)
    assert whole == ChatAnswer("hello there", usage=Usage(2, 2))
    *pieces, last = chat(service).stream(HELLO)
    assert pieces == ["hello", " there"] and last == whole


def test_what_is_asked_is_sent(service: FakeOllama) -> None:
    asked = HELLO._replace(max_tokens=9, temperature=0.5, seed=3, schema={"type": "object"}, tools=[LOOK])
    chat(service).complete(asked)
    body = service.requests[0].body
    assert body["options"] == {"num_predict": 9, "temperature": 0.5, "seed": 3} and body["format"] == {"type": "object"}
    assert body["tools"][0]["function"]["parameters"] == {"type": "object"} and body["stream"] is False


@pytest.mark.parametrize("streams", [False, True])
def test_a_tool_is_called_and_its_answer_goes_back(service: FakeOllama, streams: bool) -> None:
    service.say = lambda body: {"content": "", "tool_calls": [{"function": {"name": "look", "arguments": {"a": 1}}}]}
    answer = list(chat(service).stream(HELLO))[-1] if streams else chat(service).complete(HELLO)
    assert isinstance(answer, ChatAnswer)
    assert answer.calls == (ToolRequest("call_1", "look", {"a": 1}),) and answer.finish == "tools"
    talk = [*HELLO.messages, ChatMessage("assistant", "", answer.calls), ChatMessage("tool", "found", call_id="call_1")]
    chat(service).complete(HELLO._replace(messages=talk))
    assert service.requests[-1].body["messages"][-1] == {"role": "tool", "content": "found", "tool_name": "look"}


@pytest.mark.parametrize(
    "stream",
    [
        CannedStream([line(message={"content": "Once"}, done=False)]),
        CannedStream([line(message={"content": "Once"}, done=False), line(error="out of memory")]),
        CannedStream([line(message={"content": "Once"}, done=False), b"rubbish\n"]),
        CannedStream([line(done=True)]),
        CannedStream([line(message={"content": "Once"}, done=False)], hangs=True),
    ],
)
def test_a_stream_that_does_not_end_well_is_an_error(service: FakeOllama, stream: CannedStream) -> None:
    service.troubles.append(stream)
    with pytest.raises(Unfinished):
        list(chat(service, silence=0.3).stream(HELLO))


@pytest.mark.parametrize("body", [b"rubbish", [], {}, {"message": {"content": "cut"}, "done": False}])
def test_rubbish_is_an_error(service: FakeOllama, body: object) -> None:
    service.troubles.append(CannedAnswer(200, body))
    with pytest.raises(Unfinished):
        chat(service).complete(HELLO)


def test_a_missing_model_names_the_command() -> None:
    with FakeOllama() as service:
        service.troubles.append(CannedAnswer(404, {"error": 'model "small" not found, try pulling it first'}))
        with pytest.raises(PartMissing, match="ollama pull small"):
            chat(service).complete(HELLO)
    with pytest.raises(PartMissing, match="ollama serve"):
        OllamaChat(model="small", base_url="http://127.0.0.1:1").complete(HELLO)
