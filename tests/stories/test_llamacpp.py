"""The real llama.cpp server: chat, pieces, a grammar for JSON, and tools."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial

import pytest
from tests.parts import llamacpp

from agent_memory import AgentMemory, MemoryAugmentedAgent
from agent_memory.engines.openai.chat import OpenAIChat
from agent_memory.ports.chat import ChatAnswer, ChatMessage, ChatRequest, ToolSpec
from patience import PATIENCE

pytestmark = [pytest.mark.requirement("P19"), pytest.mark.local]
ASK = ChatRequest(
    [ChatMessage("system", "Be brief."), ChatMessage("user", "Is the port open?")], max_tokens=300, temperature=0.0
)
LOOK = ToolSpec(
    "look",
    "Look up a port",
    {
        "type": "object",
        "properties": {"which": {"enum": ["staging"]}, "why": {"type": "string"}},
        "required": ["which", "why"],
    },
)
SHAPE = {
    "type": "object",
    "properties": {"open": {"type": "boolean"}, "port": {"type": "integer"}, "note": {"type": "string"}},
    "required": ["open", "port", "note"],
    "additionalProperties": False,
}


@pytest.fixture
def chat() -> OpenAIChat:
    return OpenAIChat(model=llamacpp.MODEL, base_url=llamacpp.server())


def test_an_answer_whole_and_in_pieces(chat: OpenAIChat) -> None:
    whole = chat.complete(ASK)
    assert (whole.text, whole.finish) == ("Yes.", "stop")
    assert whole.usage.prompt is not None and whole.usage.prompt > 20 and whole.usage.completion == 5
    *pieces, last = chat.stream(ASK)
    assert len(pieces) > 1 and "".join(map(str, pieces)) == "Yes." and last == whole


def test_an_answer_that_is_cut_says_so(chat: OpenAIChat) -> None:
    assert chat.complete(ASK._replace(max_tokens=2))[::3] == ("Ye", "length")


def test_a_schema_is_a_grammar(chat: OpenAIChat) -> None:
    said = json.loads(chat.complete(ASK._replace(schema=SHAPE)).text)
    assert said.keys() == {"open", "port", "note"} and type(said["open"]) is bool and said["note"] == "no"


@pytest.mark.parametrize("streams", [False, True])
def test_a_tool_is_called_and_its_answer_goes_back(chat: OpenAIChat, streams: bool) -> None:
    asked = ASK._replace(tools=[LOOK], must_call=True)
    answer = list(chat.stream(asked))[-1] if streams else chat.complete(asked)
    assert isinstance(answer, ChatAnswer) and answer.finish == "tools"
    (call,) = answer.calls
    assert call.name == "look" and call.arguments == {"which": "staging", "why": "no"}
    talk = [
        *ASK.messages,
        ChatMessage("assistant", answer.text, answer.calls),
        ChatMessage("tool", "5433", call_id=call.id),
    ]
    assert chat.complete(ASK._replace(messages=talk, tools=[LOOK])).text == "Yes."


def test_through_the_product(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PROVIDER": "openai", "MODEL": llamacpp.MODEL, "URL": llamacpp.server()}.items():
        monkeypatch.setenv(f"AGENT_MEMORY_CHAT_{name}", value)
    with AgentMemory("ada") as memory:
        assert memory.models.ask("Is the port open?").text == "Yes."
        assert json.loads(memory.models.ask("Which?", shape=SHAPE).text)["note"] == "no"
        (row,) = memory.models.usage().usage
        assert row.calls == 2 and row.prompt_tokens > 0 and row.completion_tokens > 5 and row.reserved_tokens == 0


def test_an_unknown_endpoint_is_an_error(chat: OpenAIChat) -> None:
    ask = partial(OpenAIChat(model="m", base_url=llamacpp.server().removesuffix("/v1") + "/nowhere").complete, ASK)
    with pytest.raises(Exception, match="Not Found"):
        ask()


def test_an_agent_with_memory_talks_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PROVIDER": "openai", "MODEL": llamacpp.MODEL, "URL": llamacpp.server()}.items():
        monkeypatch.setenv(f"AGENT_MEMORY_CHAT_{name}", value)
    with MemoryAugmentedAgent("ada", conversation_id="talk") as agent:
        agent.memory.records.add("Staging listens on port 5433.")
        assert [agent.chat("Is the port of staging open?"), agent.chat("Which port is it?")] == ["Yes.", "Yes."]
        assert "5433" in " ".join(hit.text for hit in (agent.why() or []))
        (row,) = agent.memory.models.usage().usage
        assert row.calls == 2 and row.prompt_tokens > 200 and row.reserved_tokens == 0
    code = """
from agent_memory import AgentMemory
with AgentMemory("ada") as memory:
    print(*(one.content for one in memory.episodic.get_conversation("talk")), sep="\\n")
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert ran.stdout.splitlines() == ["Is the port of staging open?", "Yes.", "Which port is it?", "Yes."]
