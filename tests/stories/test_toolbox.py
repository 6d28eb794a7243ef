"""Tools for any agent's loop: schemas as models' APIs take them, and calls as models make them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from tests.parts import llamacpp

from agent_memory import AgentMemory, AsyncAgentMemory
from agent_memory.models.errors import Denied, InvalidInput
from patience import PATIENCE

pytestmark = pytest.mark.requirement("E9")
TOOLS = (
    *("blocks_list", "blocks_append", "blocks_replace", "blocks_insert", "blocks_rewrite", "blocks_undo"),
    *("archival_insert", "archival_search", "sessions_search"),
)


def test_schemas_in_both_forms_say_the_same(memory: AgentMemory) -> None:
    openai, anthropic = memory.tools("openai"), memory.tools("anthropic")
    assert tuple(one["name"] for one in anthropic) == TOOLS
    for theirs, ours in zip(openai, anthropic, strict=True):
        assert theirs["type"] == "function" and theirs["function"]["parameters"] == ours["input_schema"]
        assert theirs["function"]["name"] == ours["name"] and theirs["function"]["description"] == ours["description"]
        schema = ours["input_schema"]
        assert schema["type"] == "object" and schema["additionalProperties"] is False
        assert set(schema["required"]) <= schema["properties"].keys() and "$ref" not in json.dumps(schema)
    replace = anthropic[2]["input_schema"]
    assert (
        replace["required"] == ["label", "old", "new"] and "exact text" in replace["properties"]["old"]["description"]
    )
    with pytest.raises(InvalidInput, match="form"):
        memory.tools("yaml")  # type: ignore[arg-type]


def test_calls_run_and_their_answers_are_json(memory: AgentMemory) -> None:
    memory.blocks.set("human", "Ada")
    appended = memory.run_tool("blocks_append", '{"label": "human", "text": "keeps bees"}')
    assert appended["ok"] and appended["result"]["text"] == "Ada\nkeeps bees"
    assert memory.run_tool("blocks_undo", {"label": "human"})["result"]["text"] == "Ada"
    kept = memory.run_tool("archival_insert", {"text": "The hives stand behind the mill."})
    assert kept["ok"] and kept["result"]["kind"] == "observation"
    found = memory.run_tool("archival_search", {"query": "where are the hives?", "limit": "3"})
    assert found["result"][0]["text"] == "The hives stand behind the mill."
    memory.session(conversation_id="c").add("user", "My bees are Carniolan.")
    assert (
        memory.run_tool("sessions_search", {"query": "what bees?"})["result"][0]["content"] == "My bees are Carniolan."
    )
    assert memory.run_tool("blocks_list")["result"][0]["label"] == "human"
    json.dumps([appended, kept, found])


@pytest.mark.parametrize(
    ("name", "arguments", "code", "said"),
    [
        ("block_append", {}, "not_found", "did you mean blocks_append?"),
        ("blocks_delete", {"label": "human"}, "not_found", "blocks_list, blocks_append"),
        ("blocks_append", {"label": "human"}, "invalid_input", "text"),
        ("blocks_append", {"label": "human", "value": "x"}, "invalid_input", "did you mean text?"),
        ("blocks_append", "{not json", "invalid_input", "not JSON"),
        ("blocks_append", "[1]", "invalid_input", "not a JSON object"),
        ("blocks_append", {"label": "nobody", "text": "x"}, "not_found", "blocks_list tells"),
        ("blocks_replace", {"label": "human", "old": "a", "new": "b"}, "invalid_input", "occurs 3 times"),
        ("blocks_rewrite", {"label": "human", "text": "x" * 41}, "invalid_input", "41 characters; its limit is 40"),
        ("blocks_rewrite", {"label": "human", "text": "x", "if_version": 7}, "changed", "the block has 1"),
        ("blocks_rewrite", {"label": "law", "text": "x"}, "denied", "read-only"),
        ("archival_insert", {"text": ""}, "invalid_input", "empty"),
    ],
)
def test_a_model_is_told_how_to_correct_itself(
    memory: AgentMemory, name: str, arguments: Any, code: str, said: str
) -> None:
    memory.blocks.set("human", "a and a", limit=40)
    memory.blocks.set("law", "Be kind.", read_only=True)
    answer = memory.run_tool(name, arguments)
    assert not answer["ok"] and answer["error"]["code"] == code and said in json.dumps(answer["error"])
    assert "blocks." not in answer["error"]["message"] and "`" not in answer["error"].get("hint", "")
    assert [one.version for one in memory.blocks.list()] == [1, 1]


@pytest.mark.local
def test_a_key_that_only_reads_runs_no_tool(serving: Any) -> None:
    with AgentMemory("ada") as here:
        here.blocks.set("human", "Ada")
        key = here.keys.create("reader", permissions=["read"]).secret
    with serving() as url, AgentMemory("ada", store=url, api_key=key) as memory:
        assert memory.run_tool("blocks_list")["result"][0]["text"] == "Ada"
        with pytest.raises(Denied):
            memory.run_tool("blocks_append", {"label": "human", "text": "x"})
        posted = httpx.post(
            f"{url}/v1/toolbox/blocks_list", json={}, headers={"Authorization": f"Bearer {key}"}, timeout=PATIENCE
        )
        assert posted.status_code == 403


@pytest.mark.local
def test_over_http_and_awaited(serving: Any) -> None:
    async def run(url: str) -> Any:
        async with AsyncAgentMemory("default", store=url) as memory:
            return await memory.run_tool("blocks_list", {})

    with serving() as url:
        assert httpx.put(f"{url}/v1/blocks/human", json={"text": "Ada"}, timeout=PATIENCE).json()["version"] == 1
        assert len(httpx.get(f"{url}/v1/toolbox", params={"form": "anthropic"}, timeout=PATIENCE).json()) == len(TOOLS)
        sent = {"arguments": {"label": "human", "text": "likes tea"}}
        assert (
            httpx.post(f"{url}/v1/toolbox/blocks_append", json=sent, timeout=PATIENCE).json()["result"]["version"] == 2
        )
        late = httpx.post(
            f"{url}/v1/blocks/human/rewrite", json={"text": "x"}, headers={"If-Match": '"1"'}, timeout=PATIENCE
        )
        assert late.status_code == 412 and late.json()["code"] == "changed"
        assert asyncio.run(run(url))["result"][0]["text"] == "Ada\nlikes tea"
        turn = {"role": "user", "content": "hello"}
        assert httpx.post(f"{url}/v1/sessions/talk/turns", json=turn, timeout=PATIENCE).json()["index"] == 0
        shown = httpx.get(f"{url}/v1/sessions/talk", params={"limit_tokens": 300}, timeout=PATIENCE).json()
        assert [one["role"] for one in shown["messages"]] == ["system", "user"] and shown["total_tokens"] <= 300
        found = httpx.post(f"{url}/v1/sessions/search", json={"query": "hello"}, timeout=PATIENCE).json()
        assert found[0]["content"] == "hello"


@pytest.mark.local
@pytest.mark.parametrize("name", TOOLS)
def test_a_real_server_calls_a_tool_and_it_runs(memory: AgentMemory, name: str) -> None:
    """llama.cpp makes a grammar of the schema; the tiny model says `no` wherever it may say what it likes."""
    memory.blocks.set("no", "well no.")
    for letter in "abcde":
        memory.blocks.append("no", letter)  # to version 6, since 6 is its number
    [tool] = [one for one in memory.tools() if one["function"]["name"] == name]
    request = {
        "model": llamacpp.MODEL,
        "messages": [{"role": "user", "content": "Use the tool."}],
        "tools": [tool],
        "tool_choice": "required",
        "max_tokens": 300,
        "temperature": 0,
    }
    answer = httpx.post(f"{llamacpp.server()}/chat/completions", json=request, timeout=60).json()
    [call] = answer["choices"][0]["message"]["tool_calls"]
    assert call["function"]["name"] == name
    ran = memory.run_tool(call["function"]["name"], call["function"]["arguments"])
    assert ran["ok"], ran
    if name == "blocks_append":
        assert ran["result"]["text"] == "well no.\na\nb\nc\nd\ne\nno"
