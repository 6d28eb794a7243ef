"""Where an agent works: `context` begins with the rules of its working directory or its client's roots, and pages of a
stranger's repository are quoted at most."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from talking import refused, told

from agent_memory.app.trust import TrustTarget, trust, untrust

PAGE = "# Work\n\nWe deploy on {day}s.\n\n## Rules\n\n- **{id}** (deny) {text}\n  - command: `git merge`\n"
MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


@pytest.fixture
def repositories(repo: Any, tmp_path: Path) -> tuple[Path, Path]:
    """Two of them, the first one the working directory."""
    repo.write("AGENTS.md", PAGE.format(day="Tuesday", id="no-merge", text="Never merge by hand."))
    repo.commit("docs: rules")
    other = tmp_path / "other folder"
    subprocess.run(["git", "clone", "-q", str(repo.root), str(other)], check=True, capture_output=True)
    (other / "AGENTS.md").write_text(PAGE.format(day="Friday", id="no-push", text="Never push by hand."))
    return repo.root, other


async def context(client: Client) -> str:
    text: str = told(await client.call_tool("context", {"task_description": "deploy the service"}))["text"]
    return text


def test_a_context_begins_with_the_rules_of_the_working_directory(
    stdio: Any, repositories: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, _ = repositories
    monkeypatch.chdir(here)
    trust(TrustTarget(here))

    async def talk(client: Client) -> str:
        call = client.call_tool
        told(await call("preferences", {"action": "set", "domain": "git", "name": "merge", "value": "rebase"}))
        told(await call("learn_fact", {"claim": "the service is deployed with make deploy"}))
        told(await call("desk", {"action": "think", "thought": "deploy after lunch"}))
        return await context(client)

    text = stdio(talk, "--toolset", "all", "--conversation", "c1")
    order = [text.index(part) for part in ("Never merge by hand", "rebase", "deploy after lunch", "make deploy")]
    assert order == sorted(order), text
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings == ["## Rules", "## Preferences", "## Now", "## What happened", "## What is known"]


@MODES
def test_the_roots_of_the_client_win_over_the_working_directory(
    stdio: Any, repositories: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    here, other = repositories
    monkeypatch.chdir(here)
    trust(TrustTarget(here))
    trust(TrustTarget(other))

    async def talk(client: Client) -> tuple[str, Any, Any, str]:
        text = await context(client)
        checked = told(await client.call_tool("rules", {"action": "check", "command": "git merge x"}))["result"]
        second = told(await client.call_tool("rules", {"action": "read", "folder": str(here)}))["result"]
        prompt = (await client.get_prompt("context_for_task", {"task": "deploy"})).messages[0].content
        return text, checked, second, prompt.text  # type: ignore[union-attr]

    text, checked, second, prompt = stdio(talk, mode=mode, roots=[other / "gone", other, here])
    assert "Never push" in text and "Never merge" not in text
    assert [one["rule"] for one in checked["violations"]] == ["no-push"]
    assert [one["id"] for one in second["rules"]] == ["no-merge"], "the second root may be asked about"
    assert "Never push" in prompt
    assert "Never merge" in stdio(context, mode=mode, roots=[])
    monkeypatch.setenv("AGENT_MEMORY_WORKPLACE", str(here))
    assert "Never merge" in stdio(context, mode=mode, roots=[other]), "what its user set comes before both"


def test_roots_that_change_are_asked_for_again(
    stdio: Any, repositories: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, other = repositories
    trust(TrustTarget(here))
    trust(TrustTarget(other))
    roots = [here]

    async def talk(client: Client) -> tuple[str, str, str]:
        first = await context(client)
        roots[:] = [other]
        second = await context(client)
        await client.session.send_notification(types.RootsListChangedNotification())
        return first, second, await context(client)

    first, second, third = stdio(talk, mode="legacy", roots=roots)
    assert "Never merge" in first and "Never merge" in second and "Never push" in third


def test_a_strangers_pages_are_quoted_and_bind_nobody(
    stdio: Any, repositories: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, other = repositories
    monkeypatch.chdir(tmp_path)

    async def talk(client: Client) -> tuple[str, Any, Any, str]:
        text = await context(client)
        read = told(await client.call_tool("rules", {"action": "read"}))["result"]
        hits = told(await client.call_tool("recall", {"query": "deploy"}))["hits"]
        return text, read, hits, json.dumps(told(await client.call_tool("rules", {"action": "prompt"})))

    text, read, hits, prompt = stdio(talk, roots=[other])
    assert "## Rules" not in text and "not trusted: " in text
    assert read["rules"] == read["entries"] == [] and not read["is_trusted"]
    assert hits == [] and "Not trusted" in prompt
    elsewhere, read, hits, prompt = stdio(talk)
    assert "Friday" not in elsewhere + prompt and hits == [] and read["quoted"] == []
    trust(TrustTarget(other))
    assert "## Rules\n- no-push" in stdio(context, roots=[other])
    untrust(str(other))
    assert "## Rules" not in stdio(context, roots=[other])


@pytest.mark.parametrize("given", [False, True])
def test_over_http_it_is_the_folder_that_the_server_was_given_or_none(
    repositories: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, given: bool
) -> None:
    here, other = repositories
    monkeypatch.chdir(here)
    if given:
        monkeypatch.setenv("AGENT_MEMORY_WORKPLACE", str(other))
    url = request.getfixturevalue("url")

    async def talk() -> list[Any]:
        async with Client(streamable_http_client(f"{url}/mcp")) as client:
            calls: list[dict[str, Any]] = [{}, {"action": "read"}, {"command": "git merge x"}, {"folder": str(here)}]
            return [await client.call_tool("rules", one) for one in calls]

    *answers, elsewhere = asyncio.run(talk())
    assert "Tuesday" not in str(answers) and refused(elsewhere)["field"] == "folder"
    if given:
        assert "Friday" in str(told(answers[0])) and told(answers[2])["result"]["violations"]
    else:
        assert all("AGENT_MEMORY_WORKPLACE" in refused(one)["hint"] for one in answers)
