"""Foreign clients: the MCP inspector and the public conformance suite. `make foreign` installs them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from talking import program
from tools import found, run

from agent_memory.app import namespaces
from agent_memory.app.operations import NAMESPACES, TABLE, Namespace, ToolSlot, operation
from agent_memory.interfaces.mcp import prompts

pytestmark = pytest.mark.foreign
MOST_TOKENS = 1000

NOT_OURS = {
    "logging-set-level": "deprecated by the protocol; our logs go to the standard error",
    "completion-complete": "no argument has values to choose from",
    "tools-call-image": "memories are text",
    "tools-call-audio": "memories are text",
    "tools-call-embedded-resource": "tools answer with JSON; resources are read by their address",
    "tools-call-mixed-content": "memories are text",
    "tools-call-with-logging": "deprecated by the protocol",
    "tools-call-with-progress": "every call is short",
    "tools-call-sampling": "the server asks no model of the client",
    "tools-call-elicitation": "the server asks the user nothing",
    "elicitation-sep1034-defaults": "the server asks the user nothing",
    "elicitation-sep1330-enums": "the server asks the user nothing",
    "resources-read-text": "wants an address of another scheme than memory://",
    "resources-read-binary": "memories are text",
    "resources-templates-read": "wants an address of another scheme than memory://",
    "resources-subscribe": "no sessions are kept over HTTP; the journal can be followed over REST",
    "resources-unsubscribe": "no sessions are kept over HTTP; the journal can be followed over REST",
    "prompts-get-embedded-resource": "prompts are text",
    "prompts-get-with-image": "prompts are text",
}
"""Scenarios of the conformance suite that do not apply, and why."""


@pytest.fixture
def fixtures(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the suite wants to find: two tools and two prompts, which come from the registries like any other."""
    names = ("tests.simple", "tests.error")
    for name in names:
        monkeypatch.setitem(TABLE, name, None)  # type: ignore[arg-type] # taken out again after the test

    class Tests(Namespace):
        @operation("tests.simple", "GET /tests/simple", mcp=[ToolSlot("core", "test_simple_text")])
        def simple(self) -> str:
            """A text."""
            return "This is a simple text response for testing."

        @operation("tests.error", "GET /tests/error", mcp=[ToolSlot("core", "test_error_handling")])
        def error(self) -> str:
            """An error."""
            raise RuntimeError("This tool intentionally returns an error for testing")

    monkeypatch.setitem(NAMESPACES, "tests", "Tests")
    monkeypatch.setattr(namespaces, "Tests", Tests, raising=False)
    monkeypatch.setattr(prompts, "PROMPTS", dict(prompts.PROMPTS))

    @prompts.prompt("test_simple_prompt", "Simple")
    def simple(ask: Any) -> str:
        """A prompt."""
        return "This is a simple prompt for testing."

    @prompts.prompt("test_prompt_with_arguments", "With arguments", arg1="one", arg2="two")
    def with_arguments(ask: Any, arg1: str, arg2: str) -> str:
        """A prompt with arguments."""
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


def test_the_public_conformance_suite(fixtures: None, url: str) -> None:
    ran = run("conformance", "server", "--url", f"{url}/mcp")
    said = ran.stdout + ran.stderr
    outcomes = dict(re.findall(r"^[✓✗] ([\w-]+): \d+ passed, (\d+) failed", said, re.M))
    assert len(outcomes) >= 30, said
    assert {name for name, failed in outcomes.items() if int(failed)} == set(NOT_OURS), said


def test_the_list_of_tools_in_tokens_of_todays_models(inside: Any) -> None:
    """As they are sent, by the tokenizer of GPT-4o."""
    listed = inside(Client.list_tools).tools
    sent = [one.model_dump_json(by_alias=True, exclude_none=True) for one in listed]
    script = "const {encode} = require('gpt-tokenizer'); const {readFileSync} = require('fs');"
    script += "console.log(JSON.parse(readFileSync(0)).reduce((sum, text) => sum + encode(text).length, 0))"
    npm = Path(shutil.which("mcp-inspector") or pytest.fail("`make foreign` installs it")).parents[2]
    counted = subprocess.run(["node", "-e", script], input=json.dumps(sent), capture_output=True, text=True, cwd=npm)
    assert int(counted.stdout) < MOST_TOKENS, counted.stdout


def test_the_inspector_over_stdio_and_http(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("AGENT_MEMORY_WORKPLACE", str(tmp_path))  # over HTTP there are no rules without it
    url = request.getfixturevalue("url")
    ours = [sys.executable, "-m", "agent_memory.interfaces.cli", "mcp", "--user", "ada"]
    environment = [f"{name}={os.environ[name]}" for name in ("AGENT_MEMORY_HOME", "PYTHONPATH") if name in os.environ]
    flags = [part for pair in environment for part in ("-e", pair)]
    for way in ([*flags, *ours], [f"{url}/mcp", "--transport", "http"]):
        listed = json.loads(run("mcp-inspector", "--cli", *way, "--method", "tools/list").stdout)
        assert "recall" in [tool["name"] for tool in listed["tools"]]

        def call(tool: str, *arguments: str, way: list[str] = way) -> Any:
            words = ["--method", "tools/call", "--tool-name", tool]
            words += [part for one in arguments for part in ("--tool-arg", one)]
            return json.loads(run("mcp-inspector", "--cli", *way, *words).stdout)["structuredContent"]

        assert call("save", "text=staging is on 5433")["result"]["effect"] == "created"
        assert "5433" in str(call("recall", "query=staging", "since=yesterday")["hits"])
        assert call("rules", "action=check", "command=git status")["result"]["allowed"] is True
        assert "memory://stats" in run("mcp-inspector", "--cli", *way, "--method", "resources/list").stdout


ADA = {"name": "Ada", "entityType": "person", "observations": ["likes tea"]}
KNOWS = {"from": "Ada", "to": "Bob", "relationType": "knows"}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("create_entities", {"entities": [ADA, {**ADA, "name": "ADA", "observations": ["shouts"]}]}),
    ("create_entities", {"entities": [{**ADA, "observations": ["other"]}]}),
    ("create_relations", {"relations": [KNOWS, {**KNOWS, "from": "Eve"}]}),
    ("create_relations", {"relations": [KNOWS]}),
    ("read_graph", {}),
    ("add_observations", {"observations": [{"entityName": "ADA", "contents": ["shouts", "sings"]}]}),
    ("add_observations", {"observations": [{"entityName": "Nobody", "contents": ["x"]}]}),
    ("search_nodes", {"query": "SHOUT"}),
    ("open_nodes", {"names": ["Ada", "Nobody"]}),
    ("create_entities", {"entities": [{**ADA, "name": "Bob", "observations": []}]}),
    ("open_nodes", {"names": ["Bob"]}),
    ("delete_observations", {"deletions": [{"entityName": "ADA", "observations": ["sings"]}]}),
    ("delete_relations", {"relations": [KNOWS]}),
    ("read_graph", {}),
    ("delete_entities", {"entityNames": ["Ada", "Bob"]}),
    ("read_graph", {}),
]


def test_the_official_memory_server_side_by_side(home: Path, tmp_path: Path) -> None:
    """The same calls to both. Where the answers differ on purpose, the guide has a table."""
    file = {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}
    official = StdioServerParameters(command=found("mcp-server-memory"), args=[], env={**os.environ, **file})

    async def told(parameters: StdioServerParameters) -> Any:
        async with Client(stdio_client(parameters)) as client:
            tools = sorted((one.name, one.title, one.description) for one in (await client.list_tools()).tools)
            answers = [await client.call_tool(*call) for call in CALLS]
            return tools, [(one.is_error or False, one.structured_content, one.content[0].text) for one in answers]  # type: ignore[union-attr]

    theirs, ours = (asyncio.run(told(one)) for one in (official, program("--compat", "--user", "ada")))
    assert theirs == ours
