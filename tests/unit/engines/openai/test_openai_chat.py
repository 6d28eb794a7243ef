"""The chat engine for OpenAI-compatible endpoints against a server that speaks the protocol, and foreign clients."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from agent_memory.engines.openai.chat import ClientChat, OpenAIChat, limit_name
from agent_memory.models.errors import InvalidInput, PartMissing, Unfinished
from agent_memory.ports.chat import ChatAnswer, ChatMessage, ChatRequest, ToolRequest, ToolSpec, Usage
from agent_memory.ports.remote import SPREAD, spread
from agent_memory.testing.wire import CannedAnswer, CannedStream, FakeOpenAI, event

KEY = "sk-test-0123456789abcdef"
NOW = {"Retry-After": "0"}
HELLO = ChatRequest([ChatMessage("system", "Be brief"), ChatMessage("user", "hello there")])
LOOK = ToolSpec("look", "Look it up", {"type": "object", "properties": {"which": {"type": "string"}}})
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"which": "a"}'}}
pytestmark = pytest.mark.requirement("P19")


@pytest.fixture
def service() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(key=KEY) as running:
        yield running


def chat(service: FakeOpenAI, **options: Any) -> OpenAIChat:
    return OpenAIChat(**{"model": "m", "base_url": service.url, "api_key": KEY, **options})


def delta(text: str) -> bytes:
    return event({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]})


def test_an_answer_whole_and_in_pieces(service: FakeOpenAI) -> None:
    whole = chat(service).complete(HELLO)
    assert whole == ChatAnswer("hello there", usage=Usage(4, 2))
    *pieces, last = chat(service).stream(HELLO)
    assert pieces == ["hello", " there"] and last == whole
    assert service.requests[0].body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "hello there"}],
    }


def test_what_is_asked_is_sent(service: FakeOpenAI) -> None:
    asked = HELLO._replace(
        max_tokens=9, temperature=0.5, seed=3, schema={"type": "object"}, tools=[LOOK], must_call=True
    )
    chat(service).complete(asked)
    body = service.requests[0].body
    assert (body["max_tokens"], body["temperature"], body["seed"], body["tool_choice"]) == (9, 0.5, 3, "required")
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert body["tools"][0]["function"] == {"name": "look", "description": "Look it up", "parameters": LOOK.schema}
    assert limit_name("https://api.openai.com/v1") == "max_completion_tokens"


@pytest.mark.parametrize("streams", [False, True])
def test_a_tool_is_called_and_its_answer_goes_back(service: FakeOpenAI, streams: bool) -> None:
    service.say = lambda body: {"content": None, "tool_calls": [CALL, CALL | {"id": "c2"}]}
    asked = HELLO._replace(tools=[LOOK])
    answer = list(chat(service).stream(asked))[-1] if streams else chat(service).complete(asked)
    assert isinstance(answer, ChatAnswer)
    call = ToolRequest("c1", "look", {"which": "a"})
    assert answer.calls == (call, call._replace(id="c2")) and (answer.text, answer.finish) == ("", "tools")
    talk = [*HELLO.messages, ChatMessage("assistant", "", answer.calls), ChatMessage("tool", "found", call_id="c1")]
    chat(service).complete(HELLO._replace(messages=talk))
    assistant, tool = service.requests[-1].body["messages"][-2:]
    assert json.loads(assistant["tool_calls"][0]["function"]["arguments"]) == {"which": "a"}
    assert tool == {"role": "tool", "content": "found", "tool_call_id": "c1"}


@pytest.mark.parametrize("streams", [False, True])
def test_a_busy_service_is_asked_again(service: FakeOpenAI, streams: bool) -> None:
    service.troubles.extend([CannedAnswer(429, {}, NOW), CannedAnswer(503, b"<html>", NOW)])
    answer = list(chat(service).stream(HELLO))[-1] if streams else chat(service).complete(HELLO)
    assert answer == ChatAnswer("hello there", usage=Usage(4, 2)) and len(service.requests) == 3


def test_pauses_are_spread() -> None:
    waits = [spread(2.0) for _ in range(50)]
    assert all(2.0 <= wait <= 2.0 * SPREAD for wait in waits) and len(set(waits)) > 1


@pytest.mark.parametrize(
    "stream",
    [
        CannedStream([delta("Once upon")]),
        CannedStream([delta("Once upon"), event(b"[DONE]")]),
        CannedStream([delta("Once upon"), b'data: {"choi']),
        CannedStream([delta("Once upon"), event({"error": {"message": f"out of memory {KEY}"}})]),
        CannedStream([delta("Once upon")], hangs=True),
    ],
)
def test_a_stream_that_does_not_end_well_is_an_error(service: FakeOpenAI, stream: CannedStream) -> None:
    service.troubles.append(stream)
    heard: list[object] = []
    with pytest.raises(Unfinished) as caught:
        heard += chat(service, silence=0.3).stream(HELLO)
    assert KEY not in f"{caught.value!r} {caught.value.__cause__!r}" and len(service.requests) == 1


def test_pieces_that_never_end_are_given_up(service: FakeOpenAI) -> None:
    service.troubles.append(CannedStream([delta("on and on ")] * 100_000, hangs=True))
    with pytest.raises(Unfinished, match=r"did not answer within 0\.2 seconds"):
        list(chat(service, timeout=0.2).stream(HELLO))


@pytest.mark.parametrize("streams", [False, True])
def test_a_service_that_never_answers_is_given_up(service: FakeOpenAI, streams: bool) -> None:
    service.troubles.append(CannedStream([], hangs=True))
    with pytest.raises(Unfinished, match=r"did not answer within 0\.3 seconds"):
        if streams:
            list(chat(service, silence=0.3).stream(HELLO))
        else:
            chat(service, timeout=0.3).complete(HELLO)


@pytest.mark.parametrize(
    "body",
    [
        b"rubbish",
        [],
        {"choices": []},
        {"choices": [{"message": {"content": 7}}]},
        {"choices": [{"message": {"tool_calls": [CALL | {"function": {"name": "look", "arguments": "{"}}]}}]},
        {"choices": [{"message": {"tool_calls": [{"function": {"arguments": "{}"}}]}}]},
    ],
)
def test_rubbish_is_an_error(service: FakeOpenAI, body: object) -> None:
    service.troubles.append(CannedAnswer(200, body))
    with pytest.raises(Unfinished, match="cannot be used"):
        chat(service).complete(HELLO)


def test_errors_say_what_to_do_and_no_key(service: FakeOpenAI) -> None:
    with pytest.raises(PartMissing, match="refused the key") as caught:
        chat(service, api_key="sk-another").complete(HELLO)
    assert "sk-another" not in str(caught.value) and not isinstance(caught.value, Unfinished)
    service.troubles.append(CannedAnswer(400, {"error": {"message": f"no {KEY}"}}))
    with pytest.raises(InvalidInput, match=r"rejected the request: no \*\*\*"):
        list(chat(service).stream(HELLO))
    with pytest.raises(PartMissing, match="cannot be reached"):
        OpenAIChat(model="m", base_url="http://127.0.0.1:1/v1").complete(HELLO)


class Client:
    """As OpenAI's: answers are objects, and errors its own."""

    def __init__(self, answer: Any) -> None:
        self.asked: list[dict[str, Any]] = []
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self._create))
        self._answer = answer

    def _create(self, **body: Any) -> Any:
        self.asked.append(body)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def objects(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**{name: objects(one) for name, one in value.items()})
    return [objects(one) for one in value] if isinstance(value, list) else value


def test_any_client_with_chat_completions_serves() -> None:
    said = {"choices": [{"message": {"content": "hi", "tool_calls": [CALL]}, "finish_reason": "tool_calls"}]}
    usage = {"usage": {"prompt_tokens": 3, "completion_tokens": 1}}
    client = Client(objects(said | usage))
    expected = ChatAnswer("hi", (ToolRequest("c1", "look", {"which": "a"}),), Usage(3, 1), "tools")
    assert ClientChat(client, "m").complete(HELLO) == expected
    chunks = [{"choices": [{"delta": {"content": one}, "finish_reason": None}]} for one in ("a", "b")]
    chunks += [{"choices": [{"delta": {}, "finish_reason": "stop"}]}, {"choices": [], **usage}]
    streaming = Client(iter(objects(chunks)))
    assert list(ClientChat(streaming, "m").stream(HELLO)) == ["a", "b", ChatAnswer("ab", usage=Usage(3, 1))]
    assert streaming.asked[0]["stream"] is True and "stream" not in client.asked[0]


def test_errors_of_a_client_become_ours() -> None:
    class APITimeoutError(Exception): ...

    with pytest.raises(PartMissing, match=r"failed \(ValueError\)") as caught:
        ClientChat(Client(ValueError(f"bad key {KEY}")), "m").complete(HELLO)
    assert KEY not in str(caught.value) and not isinstance(caught.value, Unfinished)
    with pytest.raises(Unfinished, match="APITimeoutError"):
        ClientChat(Client(APITimeoutError()), "m").complete(HELLO)
    with pytest.raises(Unfinished, match="broke off"):
        list(ClientChat(Client(iter([])), "m").stream(HELLO))
    with pytest.raises(Unfinished, match="cannot be used"):
        ClientChat(Client(None), "m").complete(HELLO)
