"""The stories in `examples/` run, and say what they are meant to say."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from agent_memory import AgentMemory
from agent_memory.engines.openai.chat import OpenAIChat
from agent_memory.testing.wire import FakeOpenAI
from patience import PATIENCE

EXAMPLES = Path(__file__).parents[2] / "examples"
SAID = {
    "goals": [
        "refused: blocked_by would close a circle",
        "now: release 2.0, announce it",
        "refused: from completed it can become active",
    ],
    "tasks": [
        *("done: build the image", "done: test the image", "done: push the image"),
        "the dead worker's report is refused",
    ],
    "runs": ["deploy 2.0 to staging: it is live, 800 tokens, 1 recall, 1 tool call"],
    "orchestrator": [
        "run 1: not reached, model calls: 4",
        "  asked: plan the goal: release 2.1",
        "  asked: do the task: run all tests",
        "  asked: do the task: raise the version number",
        "  asked: do the task: publish the package",
        "run 2: reached, model calls: 2",
        "  asked: plan the goal: release 2.1",
        "  asked: do the task: publish the package",
        "run 3: reached, model calls: 0",
    ],
    "blocks_and_session": [
        "blocks_replace failed: old: occurs 2 times in the block, and must occur exactly once",
        "human: Name: Ada / Lives in Lisbon / Allergic to nuts",
        "121 turns, at most 1000 tokens: True",
        "found in turn 0: I am allergic to nuts.",
        "after undo: Name: Ada / Lives in Lisbon",
    ],
    "knowledge": [
        "read: checkout.md, old.txt, travel.html - skipped: broken.pdf",
        "Checkout > Alerts - whole table: True",
        "changed: ['checkout.md'], chunks updated: 1, gone: ['old.txt']",
        "Deploys are frozen on Thursdays and Fridays.",
        "refused: folder: 1 of 2 documents known from it are gone: checkout.md; nothing was changed",
    ],
    "agent": ["the first process was killed: True", "1 interrupted", "2 complete", "payments: 1"],
}


ALL = sorted(path.stem for path in EXAMPLES.glob("*.py"))


@pytest.mark.local
@pytest.mark.parametrize("name", ALL)
def test_an_example_runs(name: str, home: Path, tmp_path: Path) -> None:
    command = [sys.executable, EXAMPLES / f"{name}.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == SAID[name] if name in SAID else ran.stdout.strip()


@pytest.mark.requirement("T9")
def test_an_orchestrator_stores_what_it_does_and_asks_less_the_second_time(home: Path) -> None:
    example = runpy.run_path(str(EXAMPLES / "orchestrator.py"))
    with FakeOpenAI() as service, AgentMemory("ada") as memory:
        service.say = example["scripted"]
        model = OpenAIChat(model="gpt-x", base_url=service.url)
        assert example["Orchestrator"](memory, model).pursue("release 2.1") is False
        first, service.requests = service.requests, []
        assert example["Orchestrator"](memory, model).pursue("release 2.1") is True
        second = service.requests
        asked = [one.body["messages"][-1]["content"] for one in second]
        assert len(second) < len(first) and asked[-1] == "do the task: publish the package"
        assert "failed: the registry refuses what is not signed" in second[-1].body["messages"][0]["content"]
        decisions = memory.records.find("decision", limit=20)
        assert [one.payload["success"] for one in decisions].count(False) == 1 and len(decisions) == 6
        assert all(one.payload["outcome"] and one.payload["decided_by"] == "gpt-x" for one in decisions)
        runs = memory.runs.list("release")
        assert [(run.success, bool(run.tokens)) for run in runs] == [(True, True), (False, True)]
        calls = memory.records.find("tool_call", fields={"run_id": runs[0].id})
        assert sorted(call.payload["tool_name"] for call in calls) == ["bump_version", "run_tests", "sign_and_upload"]
        assert [one.payload["outcome"]["success"] for one in memory.records.find("reflection")] == [True, False]
        assert {goal.payload["status"] for goal in memory.records.find("goal")} == {"abandoned", "completed"}
        assert memory.tasks.ready() == []


def test_the_page_lists_all_of_them() -> None:
    page = (EXAMPLES / "README.md").read_text("utf-8")
    assert [name for name in ALL if f"[{name}.py]({name}.py)" not in page] == []
