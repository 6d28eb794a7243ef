"""What models call before they have read a schema: short names, flat arguments, single values, days in words. Each is
accepted by a process of its own, and does what was meant."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from mcp import Client

from agent_memory import AgentMemory
from agent_memory.app.trust import TrustTarget, trust
from agent_memory.interfaces.mcp import places, tools
from agent_memory.interfaces.mcp.arguments import ReadCall
from agent_memory.models.kinds.knowledge import Fact
from agent_memory.models.kinds.work import Goal
from agent_memory.models.record import Record

BILLING = "github.com/acme/billing"
PORT, BERLIN, LISBON = "Staging moved to port 5433", "Ada works from Berlin", "Ada works from Lisbon"
POSTGRES, BACKUP, OFFICE, SHIP = "We chose Postgres for billing", "The backup failed", "The office moved", "Ship 0.2"
RULE = "**no-squash** (deny) Never squash.\n  - command: `git merge --squash`"
TEN_DAYS_AGO = f"{datetime.now(UTC) - timedelta(days=10):%Y-%m-%d}"
THE_SAME_DAY = f"{datetime.now(UTC) - timedelta(days=10):%d %B %Y}"

CALLS: list[tuple[str, dict[str, Any], str, str]] = [
    # tool, arguments ("$name" stands for an id), what the answer says, what it must not say
    ("recall", {"query": "where does Ada work?"}, LISBON, BERLIN),
    ("recall", {"q": "staging port"}, PORT, ""),
    ("recall", {"question": "which port is staging on?"}, PORT, ""),
    ("recall", {"text": "which port is staging on?"}, PORT, ""),
    ("recall", {"query": "staging port", "limit": 1}, PORT, POSTGRES),
    ("recall", {"query": "staging port", "top_k": 1}, PORT, POSTGRES),
    ("recall", {"query": "staging port", "max_results": "1"}, PORT, POSTGRES),
    ("recall", {"query": "staging port", "kind": None, "after": "", "limit": 3}, PORT, ""),
    ("recall", {"query": "billing", "kind": "decision"}, POSTGRES, PORT),
    ("recall", {"query": "billing", "kind": "decisions"}, POSTGRES, PORT),
    ("recall", {"query": "billing", "type": "Decision"}, POSTGRES, PORT),
    ("recall", {"query": "billing", "kinds": ["decision", "goal"]}, POSTGRES, PORT),
    ("recall", {"query": "billing", "kinds": "decision, goal"}, POSTGRES, PORT),
    ("recall", {"query": "staging port", "kind": "note"}, PORT, POSTGRES),
    ("recall", {"query": "which database?", "repo": BILLING}, f'"repository":"{BILLING}"', PORT),
    ("recall", {"query": "what failed?", "after": "yesterday"}, BACKUP, OFFICE),
    ("recall", {"query": "what failed?", "since": "2 days ago"}, BACKUP, OFFICE),
    ("recall", {"query": "what failed?", "from": "last week"}, BACKUP, OFFICE),
    ("recall", {"query": "what happened?", "before": "last week"}, OFFICE, PORT),
    ("recall", {"query": "what happened?", "until": "2 weeks ago"}, OFFICE, PORT),
    ("recall", {"query": "where does Ada work?", "at": "10 days ago"}, BERLIN, LISBON),
    ("recall", {"query": "where does Ada work?", "date": TEN_DAYS_AGO}, BERLIN, LISBON),
    ("recall", {"query": "where does Ada work?", "valid_at": TEN_DAYS_AGO}, BERLIN, LISBON),
    ("recall", {"query": "where does Ada work?", "on": THE_SAME_DAY}, BERLIN, LISBON),
    ("recall", {"query": "where does Ada work?", "at": "two weeks ago"}, BERLIN, LISBON),
    ("recall", {"kind": "decision"}, POSTGRES, PORT),
    ("recall", {"since": "yesterday", "kind": "observation"}, BACKUP, OFFICE),
    ("recall", {}, LISBON, ""),
    ("context", {"task": "merge the branch"}, "Never merge by hand", ""),
    ("context", {"query": "where Ada works"}, LISBON, BERLIN),
    ("context", {"task_description": "which port is staging on?", "budget": 500}, PORT, ""),
    ("context", {"task": "where Ada works", "at": "10 days ago"}, BERLIN, LISBON),
    ("context", {"task": "which database, which port?", "kind": "decision"}, POSTGRES, PORT),
    ("context", {"query": "which database, which port?", "project": BILLING}, POSTGRES, PORT),
    ("save", {"text": "The cache is Redis"}, '"effect":"created"', ""),
    ("save", {"content": "The queue is RabbitMQ"}, '"effect":"created"', ""),
    ("save", {"memory": "The logs are in Loki", "type": "insight", "tags": ["logs"]}, '"effect":"created"', ""),
    ("save", {"text": "Only merges by rebase", "kind": "decision", "when": "last tuesday"}, '"moments"', ""),
    ("save", {"text": "uses tabs", "kind": "decision", "subject": "The editor"}, '"effect":"created"', ""),
    ("save", {"text": "Bob lives in Oslo", "subject": "Bob", "predicate": "lives in"}, "Bob lives in Oslo", ""),
    ("save", {"fact": "Bob lives in Bergen", "subject": "Bob", "predicate": "lives in"}, "Oslo", ""),
    ("save", {"text": "short answers, please", "kind": "preference"}, '"domain":"general"', ""),
    ("save", {"text": "rebase", "kind": "preference", "subject": "git", "predicate": "merge"}, '"value":"rebase"', ""),
    ("save", {"kind": "preference", "domain": "editor", "name": "indent", "value": "tabs"}, '"value":"tabs"', ""),
    ("save", {"text": "prefers rebase", "kind": "preference"}, '"value":"prefers rebase"', "true"),
    ("save", {"text": "prefers rebase", "kind": "preference", "about": "git"}, '"value":"prefers rebase"', "true"),
    ("save", {"text": "We chose Kafka", "kind": "decision", "tags": ["queue"]}, '"effect":"created"', ""),
    ("recall", {"query": "queue"}, "We chose Kafka (tags: queue)", ""),
    ("recall", {"query": "where does Ada work?", "before": "2001-01-01"}, "give `at` instead", LISBON),
    ("recall", {"before": "2001-01-01"}, "give `at` instead", LISBON),
    ("save", {"text": "Move to Oslo", "kind": "goal", "priority": 4, "due": "in 2 weeks"}, '"priority":4', ""),
    ("save", {"text": "Buy milk", "kind": "todo"}, '"effect":"created"', ""),
    ("save", {"id": "$port", "text": "Staging moved to port 5434"}, '"effect":"updated"', ""),
    ("save", {"id": "$ship", "status": "completed"}, '"status":"completed"', ""),
    ("get", {"id": "$port"}, "5434", "5433"),
    ("get", {"memory_id": "$port"}, "5434", ""),
    ("get", {"ids": ["$port"]}, "5434", ""),
    ("get", {"id": "$port", "history": True}, "5433", ""),
    ("get", {"id": "$port", "history": "true"}, "5433", ""),
    ("get", {"id": "$port", "history": "false"}, "5434", "5433"),
    ("get", {"id": "$port", "max_tokens": 400}, "5434", ""),
    ("rules", {}, "Never merge by hand", ""),
    ("rules", {"task": "merge the branch"}, "Never merge by hand", ""),
    ("rules", {"command": "git merge main"}, '"allowed":false', ""),
    ("rules", {"action": "check", "cmd": "git status"}, '"allowed":true', ""),
    ("rules", {"action": {"command": "git merge main"}}, '"allowed":false', ""),
    ("rules", {"file": "README.md"}, '"allowed":true', ""),
    ("rules", {"message": "feat: a port"}, '"allowed":true', ""),
    ("rules", {"rule": RULE}, "no-squash", ""),
    ("rules", {"rule": "Keep commits small"}, "**keep-commits-small** Keep commits small", ""),
    ("rules", {"action": "propose", "rule": "Never push to main"}, "**never-push-to-main**", ""),
    ("rules", {"rule": "Never force-push", "command": "git push --force"}, "**never-force-push** (deny)", ""),
    ("forget", {"conversation": "c-9", "dry_run": False}, '"dry_run":false', ""),
    ("forget", {"repo": BILLING, "kind": "decisions"}, '"count":1', '"dry_run":false'),
    ("get", {"id": "$postgres"}, POSTGRES, ""),
    ("forget", {"id": "$backup"}, '"ids":["', ""),
    ("forget", {"ids": "$office"}, '"ids":["', ""),
    ("forget", {"memory_ids": ["$postgres"], "reason": "asked for"}, '"ids":["', ""),
]


def test_there_are_at_least_forty() -> None:
    assert len(CALLS) >= 40
    assert {tool for tool, *_ in CALLS} == {"recall", "context", "save", "get", "forget", "rules"}


def test_everything_that_is_behind_the_core_is_reached_by_them() -> None:
    heard = ReadCall(datetime.now().astimezone())
    core = places.tools(places.chosen(()))
    reached = {(tool, tools.asked(core[tool], given, heard)[0].name) for tool, given, *_ in CALLS}
    behind = {(tool.name, one.name) for tool in core.values() for one in tool.actions.values()}
    assert behind - reached == {("rules", "rules.read"), ("save", "records.amend")}


@pytest.fixture
def known(repo: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A store with a past, in a trusted repository with a rule; gives ids."""
    repo.write("AGENTS.md", "## Rules\n\n- **no-merge** (deny) Never merge by hand.\n  - command: `git merge`\n")
    repo.commit("docs: rules")
    trust(TrustTarget(repo.root))
    monkeypatch.chdir(repo.root)
    now = datetime.now(UTC)

    def ago(days: float) -> datetime:
        return now - timedelta(days=days)

    with AgentMemory("default") as memory:
        yesterday = (now.astimezone() - timedelta(days=1)).replace(hour=0, minute=5)
        add = memory.records.add
        ids = {
            "office": add(OFFICE, valid_from=ago(40)).id,
            "postgres": add(POSTGRES, kind="decision", repository=BILLING, valid_from=ago(10)).id,
            "backup": add(BACKUP, valid_from=yesterday).id,
            "port": add(PORT).id,
            "ship": memory.add_goal(Goal(description=SHIP, priority=5)).id,
        }
        for claim, days in ((BERLIN, 30), (LISBON, 3)):
            about = {"subject": "Ada", "predicate": "works from"}
            memory.semantic.store_fact(Fact(claim=claim, source="user_stated", created_at=ago(days), **about))
    return ids


def filled(given: Any, known: dict[str, str]) -> Any:
    if isinstance(given, str):
        return known[given[1:]] if given.startswith("$") else given
    if isinstance(given, list):
        return [filled(one, known) for one in given]
    return {name: filled(one, known) for name, one in given.items()} if isinstance(given, dict) else given


def test_what_a_model_tries_first_is_understood(stdio: Any, known: dict[str, str]) -> None:
    async def talk(client: Client) -> list[str]:
        wrong = []
        for tool, given, shows, hides in CALLS:
            result = await client.call_tool(tool, filled(given, known))
            text = result.content[0].text  # type: ignore[union-attr]
            if result.is_error or shows not in text or (hides and hides in text):
                wrong.append(f"{tool} {given}: {text[:600]}")
        return wrong

    assert stdio(talk) == []


def test_what_was_saved_is_as_it_was_meant(stdio: Any, known: dict[str, str]) -> None:
    async def talk(client: Client) -> None:
        for tool, given, *_ in CALLS:
            if tool == "save":
                await client.call_tool(tool, filled(given, known))

    stdio(talk)
    with AgentMemory("default") as memory:
        found: dict[str, Record] = {one.text: one for one in memory.records.find(limit=100)}
        assert found["The logs are in Loki"].payload["tags"] == ["logs"]
        assert found["The logs are in Loki"].kind == "observation" and found["Buy milk"].kind == "task"
        decided = found["Only merges by rebase"].valid_from.astimezone()
        assert decided.weekday() == 1 and (decided.hour, decided.minute) == (0, 0)
        assert "The editor: uses tabs" in found and "Bob lives in Oslo" not in found
        assert memory.user.get_preference("editor", "indent") == "tabs"
        assert memory.user.get_preference("general", "short answers, please") == "short answers, please"
        assert "general: prefers rebase" in found and "git: prefers rebase" in found
        (goal,) = memory.get_active_goals()
        assert goal.description == "Move to Oslo" and goal.deadline is not None
        assert timedelta(days=13) < goal.deadline - datetime.now(UTC) < timedelta(days=15)


@pytest.mark.parametrize(
    ("tool", "given", "field", "hint"),
    [
        ("forget", {"query": "the backup"}, "ids", "`recall`"),
        ("get", {"id": "nothing"}, "id", "`recall` without a query shows what there is"),
        ("recall", {"query": "x", "after": "someday"}, "after", "yesterday"),
        ("recall", {"query": "x", "at": "10/11/2026"}, "at", ""),
        ("recall", {"query": "x", "colour": "red"}, "colour", "recall takes query, kind, at"),
        ("recall", {"query": "x", "limt": 3}, "limt", "did you mean limit? recall takes query, kind, at"),
        ("save", {"text": "x", "importence": 1}, "importence", "did you mean importance?"),
        ("list", {"limt": 3}, "limt", "did you mean limit?"),
        ("recall", {"query": "x", "top_k": "many"}, "top_k", ""),
        ("context", {}, "task", ""),
        ("save", {"text": "x", "kind": "poem"}, "kind", "one of"),
        ("save", {"id": "nothing", "text": "x"}, "id", ""),
        ("rules", {"action": "fly"}, "action", "check"),
    ],
)
def test_a_refusal_names_the_argument_and_the_tool(
    inside: Any, tool: str, given: dict[str, Any], field: str, hint: str
) -> None:
    async def talk(client: Client) -> dict[str, str]:
        result = await client.call_tool(tool, given)
        assert result.is_error, result.content
        error: dict[str, str] = json.loads(result.content[0].text)["error"]  # type: ignore[union-attr]
        return error

    error = inside(talk)
    assert error["field"] == field, error
    assert hint in error.get("hint", "") and "agent-memory" not in error.get("hint", ""), error
    assert not error["message"].startswith(("records.", "recall.", "contexts.")), error
    assert "Extra inputs" not in error["message"], error
