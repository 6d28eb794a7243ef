"""Every action of every tool, called through a session with a process of its own: a new one without a call fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from mcp import Client
from talking import actions, told

from agent_memory import AgentMemory

Known = dict[str, str]
Made = Callable[[Known], Mapping[str, Any]]

RULE = "**no-merge** (deny) Never merge.\n  - command: `git merge`"
ENTITIES = {"entities": [{"name": "Ada", "entityType": "person", "observations": ["likes tea"]}]}
RELATIONS = {"relations": [{"from": "Ada", "to": "Ada", "relationType": "knows"}]}

CALLS: Mapping[tuple[str, str | None], Made] = {
    ("add", None): lambda known: {"text": "staging is on 5433"},
    ("save", None): lambda known: {"text": "the cache is Redis", "kind": "decision"},
    ("recall", None): lambda known: {"query": "staging"},
    ("context", None): lambda known: {"task": "connect to staging"},
    ("learn_fact", None): lambda known: {"claim": "Ada works from Lisbon", "subject": "Ada", "predicate": "works from"},
    ("get", None): lambda known: {"id": known["add"]},
    ("list", None): lambda known: {"kind": "observation"},
    ("history", None): lambda known: {"id": known["add"]},
    ("why", None): lambda known: {"id": known["add"]},
    ("revise", "amend"): lambda known: {"id": known["add"], "importance": 0.9},
    ("revise", "edit"): lambda known: {"id": known["add"], "text": "staging is on 5434"},
    ("preferences", "set"): lambda known: {"domain": "git", "name": "merge", "value": "rebase"},
    ("preferences", "list"): lambda known: {"domain": "git"},
    ("goals", "add"): lambda known: {"description": "ship it", "priority": 5},
    ("goals", "update"): lambda known: {"id": known["goals"], "status": "completed"},
    ("goals", "get"): lambda known: {"id": known["goals"]},
    ("goals", "active"): lambda known: {},
    ("goals", "children"): lambda known: {"id": known["goals"]},
    ("receipts", "get"): lambda known: {"receipt_id": known["receipt"]},
    ("receipts", "feedback"): lambda known: {"receipt_id": known["receipt"], "answer": f"see {known['add']}"},
    ("receipts", "find"): lambda known: {"limit": 3},
    ("receipts", "replay"): lambda known: {"receipt_id": known["receipt"]},
    ("rules", "prompt"): lambda known: {"task": "deploy"},
    ("rules", "propose"): lambda known: {"rule": RULE},
    ("rules", "read"): lambda known: {},
    ("rules", "check"): lambda known: {"command": "git merge main"},
    ("turns", "store"): lambda known: {"conversation_id": "c1", "index": 0, "role": "user", "content": "hello"},
    ("turns", "conversation"): lambda known: {"conversation_id": "c1"},
    ("turns", "recent"): lambda known: {"hours": 2},
    ("turns", "conversations"): lambda known: {"archived": False},
    ("turns", "update"): lambda known: {"conversation_id": "c1", "title": "Greetings"},
    ("strategies", "learn"): lambda known: {
        "description": "look at the log first",
        "context_pattern": "a failed deployment",
        "tool_sequence": ["grep"],
    },
    ("strategies", "reinforce"): lambda known: {"strategy_id": known["strategies"], "success": True},
    ("strategies", "find"): lambda known: {"task_description": "a deployment failed"},
    ("tools", "record"): lambda known: {
        "conversation_id": "c1",
        "turn_id": None,
        "tool_name": "grep",
        "tool_input": {"pattern": "x"},
        "tool_output": "nothing",
        "success": True,
        "latency_ms": 3,
    },
    ("tools", "stats"): lambda known: {},
    ("learn", None): lambda known: {"what": "the deploy failed", "why": "no tests were run"},
    ("reflect", None): lambda known: {"outcome": {"success": True, "task_type": "deployment"}},
    ("entities", "upsert"): lambda known: {"name": "Ada", "type": "Person"},
    ("entities", "get"): lambda known: {"id": known["entities"]},
    ("entities", "graph"): lambda known: {"entity_ids": [known["entities"]]},
    ("entities", "relate"): lambda known: {
        "source_id": known["entities"],
        "target_id": known["goals"],
        "rel_type": "WORKS_ON",
    },
    ("links", "add"): lambda known: {"source_id": known["add"], "target_id": known["goals"], "type": "ABOUT"},
    ("links", "list"): lambda known: {"id": known["add"]},
    ("links", "end"): lambda known: {"source_id": known["add"], "target_id": known["goals"], "type": "ABOUT"},
    ("documents", "ingest"): lambda known: {"path": "AGENTS.md"},
    ("documents", "upload"): lambda known: {"name": "guide.md", "content": "# Guide\n\nTea is green."},
    ("documents", "search"): lambda known: {"query": "which colour is tea?"},
    ("documents", "list"): lambda known: {},
    ("documents", "remove"): lambda known: {"document": "guide.md"},
    ("user", "set_expertise"): lambda known: {"topic": "sqlite", "level": "expert"},
    ("user", "add_interest"): lambda known: {"topic": "sailing"},
    ("desk", "set"): lambda known: {"key": "branch", "value": "main"},
    ("desk", "get"): lambda known: {"key": "branch"},
    ("desk", "work_on"): lambda known: {"goal_id": known["goals"], "goal_description": "ship it"},
    ("desk", "think"): lambda known: {"thought": "look at the log"},
    ("desk", "show"): lambda known: {},
    ("desk", "delete"): lambda known: {"key": "branch"},
    ("desk", "clear"): lambda known: {},
    ("tasks", "add"): lambda known: {"task": "pack", "priority": 4},
    ("tasks", "get"): lambda known: {"id": known["tasks"]},
    ("tasks", "list"): lambda known: {"status": "ready"},
    ("tasks", "ready"): lambda known: {},
    ("tasks", "cancel"): lambda known: {"id": known["tasks"]},
    ("tasks", "retry"): lambda known: {"id": known["tasks"]},
    ("tasks", "claim"): lambda known: {"worker": "w"},
    ("tasks", "heartbeat"): lambda known: {"token": known["token"], "progress": 0.5},
    ("tasks", "finish"): lambda known: {"token": known["token"], "outcome": "packed"},
    ("tasks", "fail"): lambda known: {"token": known["token"], "reason": "too heavy"},
    ("runs", "start"): lambda known: {"task_type": "packing", "title": "pack"},
    ("runs", "step"): lambda known: {"id": known["runs"], "title": "fold"},
    ("runs", "end"): lambda known: {"id": known["runs"], "outcome": "packed", "success": True},
    ("runs", "get"): lambda known: {"id": known["runs"]},
    ("runs", "list"): lambda known: {},
    ("blocks", "append"): lambda known: {"label": "human", "text": "likes tea"},
    ("blocks", "replace"): lambda known: {"label": "human", "old": "tea", "new": "coffee"},
    ("blocks", "insert"): lambda known: {"label": "human", "text": "Name: Ada"},
    ("blocks", "rewrite"): lambda known: {"label": "human", "text": "Ada, coffee"},
    ("blocks", "undo"): lambda known: {"label": "human"},
    ("blocks", "get"): lambda known: {"label": "human"},
    ("blocks", "history"): lambda known: {"label": "human"},
    ("blocks", "list"): lambda known: {},
    ("archival", "insert"): lambda known: {"text": "the tea is in the kitchen"},
    ("archival", "search"): lambda known: {"query": "where is the tea?"},
    ("session", "add"): lambda known: {"conversation_id": "talk", "role": "user", "content": "hello"},
    ("session", "render"): lambda known: {"conversation_id": "talk"},
    ("session", "search"): lambda known: {"query": "hello"},
    ("agents", "create"): lambda known: {"name": "packer", "directives": "Be kind."},
    ("agents", "get"): lambda known: {"name": "packer"},
    ("agents", "list"): lambda known: {},
    ("agents", "cycles"): lambda known: {"agent_id": known["agents"]},
    ("agents", "notes"): lambda known: {"agent_id": known["agents"], "type": "plan"},
    ("agents", "recall"): lambda known: {"agent_id": known["agents"], "query": "pack"},
    ("tools", "register"): lambda known: {"name": "grep", "description": "find lines"},
    ("tools", "show"): lambda known: {"name": "grep"},
    ("tools", "list"): lambda known: {},
    ("decisions", "log"): lambda known: {"decision": {"decision": "queue orders", "context": "orders get lost"}},
    ("decisions", "outcome"): lambda known: {"id": known["decisions"], "outcome": "none was lost", "success": True},
    ("decisions", "similar"): lambda known: {"context": "orders vanish"},
    ("store_pattern", None): lambda known: {"trigger": "disk full", "action": "rotate the logs"},
    ("find_pattern", None): lambda known: {"trigger": "disk full"},
    ("pattern_outcome", None): lambda known: {"id": known["store_pattern"], "success": True},
    ("relevant", None): lambda known: {"task_description": "the disk is full"},
    ("archive", "procedure"): lambda known: {"name": "fail over", "description": "move it", "steps": ["stop writes"]},
    ("archive", "incident"): lambda known: {"title": "orders were lost", "severity": "high"},
    ("archive", "setting"): lambda known: {"change": {"key": "pool", "new": 20}},
    ("archive", "search"): lambda known: {"query": "orders"},
    ("events", "push"): lambda known: {"event": {"category": "disk", "payload": {"message": "full"}}},
    ("events", "recent"): lambda known: {"count": 3},
    ("metrics", "set"): lambda known: {"key": "load", "value": 0.5},
    ("metrics", "show"): lambda known: {},
    ("activity", "start"): lambda known: {"name": "import"},
    ("activity", "show"): lambda known: {},
    ("snapshot", None): lambda known: {},
    ("activity", "finish"): lambda known: {"name": "import"},
    ("journal", None): lambda known: {"limit": 3},
    ("recipes", None): lambda known: {},
    ("stats", None): lambda known: {},
    ("verify", None): lambda known: {},
    ("rebuild", None): lambda known: {},
    ("learn_from_feedback", None): lambda known: {},
    ("extract", None): lambda known: {"text": "We use Postgres 16 for billing."},
    ("consolidate", None): lambda known: {"dry_run": True},
    ("undo", None): lambda known: {"id": known["add"]},
    ("pin", None): lambda known: {"id": known["add"]},
    ("pins", None): lambda known: {},
    ("unpin", None): lambda known: {"id": known["add"]},
    ("prune", None): lambda known: {},
    ("restore", None): lambda known: {"id": known["add"]},
    ("forget", None): lambda known: {"ids": [known["add"]]},
    ("create_entities", None): lambda known: ENTITIES,
    ("create_relations", None): lambda known: RELATIONS,
    ("add_observations", None): lambda known: {"observations": [{"entityName": "Ada", "contents": ["likes rain"]}]},
    ("read_graph", None): lambda known: {},
    ("search_nodes", None): lambda known: {"query": "tea"},
    ("open_nodes", None): lambda known: {"names": ["Ada"]},
    ("delete_observations", None): lambda known: {"deletions": [{"entityName": "Ada", "observations": ["likes rain"]}]},
    ("delete_relations", None): lambda known: RELATIONS,
    ("delete_entities", None): lambda known: {"entityNames": ["Ada"]},
}
"""In the order in which they are called: those that need an id come after those that make it."""
REFUSED = {("tasks", "fail"), ("undo", None), ("restore", None)}  # it was finished, not merged, not pruned


def learned(known: Known, tool: str, answer: Any) -> None:
    """Ids that later calls need."""
    result = answer.get("result")
    if isinstance(result, dict) and isinstance(result.get("id"), str):
        known.setdefault(tool, result["id"])
    if isinstance(result, dict) and isinstance(result.get("token"), str):
        known.setdefault("token", result["token"])
    if "receipt_id" in answer:
        known.setdefault("receipt", answer["receipt_id"])


async def call_everything(client: Client) -> dict[tuple[str, str | None], Any]:
    listed = {(tool.name, action) for tool in (await client.list_tools()).tools for action in actions(tool)}
    assert listed <= set(CALLS), "a tool or an action without a call"
    known: Known = {}
    answers: dict[tuple[str, str | None], Any] = {}
    for (tool, action), made in CALLS.items():
        if (tool, action) in listed:
            given = {**made(known), **({"action": action} if action else {})}
            result = await client.call_tool(tool, given)
            assert result.is_error == ((tool, action) in REFUSED), (tool, action, result.content)
            if result.is_error:
                continue
            answers[tool, action] = result.structured_content if tool in OFFICIAL else told(result)
            learned(known, tool, answers[tool, action])
    return answers


OURS = {"learn_fact", "store_pattern", "find_pattern", "pattern_outcome"}
OFFICIAL = [tool for tool, _ in CALLS if "_" in tool and tool not in OURS]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_every_action_of_every_tool_can_be_called(stdio: Any, repo: Any, monkeypatch: Any, mode: str) -> None:
    repo.write("AGENTS.md", "## Rules\n\n- **no-merge** (deny) Never merge.\n  - command: `git merge`\n")
    repo.commit("docs: rules")
    monkeypatch.chdir(repo.root)
    with AgentMemory("default") as memory:
        memory.blocks.set("human", "Ada")
    answers = stdio(call_everything, "--toolset", "all", mode=mode)
    verdict = answers["rules", "check"]["result"]
    assert not verdict["allowed"] and verdict["violations"][0]["rule"] == "no-merge"
    assert answers["goals", "get"]["result"]["status"] == "completed"
    assert answers["forget", None]["result"]["ids"]


def test_every_tool_of_the_official_server_can_be_called(stdio: Any) -> None:
    answers = stdio(call_everything, "--compat")
    assert len(answers) == 9
