"""What tools answer: short, within their tokens, with the moments that were taken, and with a way on where there is
nothing to show."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from talking import refused, told

from agent_memory import AgentMemory
from agent_memory.app.service import Service
from agent_memory.core.context.tokens import estimate


def test_hits_are_short_and_get_has_the_details(inside: Any) -> None:
    long = "Staging listens on port 5433. " * 40

    async def talk(client: Client) -> None:
        id = told(await client.call_tool("add", {"text": long, "importance": 0.9}))["result"]["id"]
        found = told(await client.call_tool("recall", {"query": "staging port"}))
        (hit,) = found["hits"]
        assert hit["id"] == id and hit["kind"] == "observation" and 0 < hit["relevance"] <= 1
        assert hit["text"] == long[:200] + "…" and hit["characters"] == len(long)
        assert "data" in found["note"]
        record = told(await client.call_tool("get", {"id": id}))["record"]
        assert record["text"] == long and record["importance"] == 0.9
        receipt = told(await client.call_tool("receipts", {"action": "get", "receipt_id": found["receipt_id"]}))
        assert receipt["result"]["query"] == "staging port"
        again = told(await client.call_tool("receipts", {"action": "replay", "receipt_id": found["receipt_id"]}))
        assert again["replay"]["identical"] and again["hits"][0]["id"] == id

    inside(talk)


@pytest.mark.local
def test_answers_say_that_damaged_rows_are_left_out(stdio: Any, home: Path) -> None:
    with AgentMemory("default") as memory:
        memory.records.add("staging is on 5433")
        memory.records.add("staging has two replicas")
    with closing(sqlite3.connect(home / "memory.db")) as database:
        database.execute("update contents set text = x'00ff' where text like '%replicas'")
        database.commit()

    async def talk(client: Client) -> None:
        for tool, given in (("recall", {"query": "staging"}), ("context", {"task": "look at staging"})):
            answer = told(await client.call_tool(tool, given))
            assert "5433" in str(answer) and "replicas" not in str(answer)
            assert "Damaged rows left out: 1" in answer["note"] and "`agent-memory verify`" in answer["note"]

    stdio(talk)


def test_answers_keep_to_their_tokens_and_say_what_was_cut(inside: Any) -> None:
    async def talk(client: Client) -> None:
        for number in range(40):
            text = f"note {number}: " + "the staging database moved " * 30
            id = told(await client.call_tool("add", {"text": text, "payload": {"n": "x" * 4000}}))["result"]["id"]
        for name, given in {
            "recall": {"query": "staging", "k": 40},
            "list": {"limit": 40},
            "get": {"id": id},
            "history": {"id": id},
        }.items():
            for tokens in (300, 1000):
                result = await client.call_tool(name, {**given, "max_tokens": tokens})
                answer = told(result)
                assert estimate(result.content[0].text) <= tokens, name  # type: ignore[union-attr]
                assert name == "history" or "left out" in answer["cut"]
        context = told(await client.call_tool("context", {"task_description": "staging", "ids": False}))
        assert 2000 < context["total_tokens"] <= 4000 and "cut" not in context
        usual = await client.call_tool("recall", {"query": "staging", "k": 40})
        assert estimate(usual.content[0].text) <= 2000  # type: ignore[union-attr]
        few = told(await client.call_tool("recall", {"query": "staging", "max_tokens": 300}))
        assert few["hits"][0]["id"] and few["receipt_id"]
        wrong = refused(await client.call_tool("recall", {"query": "staging", "max_tokens": 3}))
        assert wrong["field"] == "max_tokens" and wrong["hint"]

    inside(talk)


def test_a_recall_tells_the_moment_it_took_and_until_when_a_hit_held(inside: Any, service: Service) -> None:
    with AgentMemory("ada") as memory:
        for day, port in ((1, 5432), (15, 5433)):
            memory.records.add(
                f"staging listens on port {port}",
                kind="fact",
                id="port",
                payload={"subject": "staging", "predicate": "port"},
                valid_from=datetime(2026, 1, day, tzinfo=UTC),
            )
    at = {"query": "staging port", "valid_at": "2026-01-10T23:59:59Z"}
    found = told(inside(lambda client: client.call_tool("recall", at)))
    assert found["valid_at"] == "2026-01-10T23:59:59+00:00"
    assert [(hit["text"], hit["held_until"]) for hit in found["hits"]] == [
        ("staging listens on port 5432", "2026-01-15T00:00:00+00:00")
    ]
    now = told(inside(lambda client: client.call_tool("recall", {"query": "staging port"})))
    assert "valid_at" not in now and "held_until" not in now["hits"][0]


def test_a_recall_leaves_out_what_does_not_fit_and_says_so(inside: Any, service: Service) -> None:
    with AgentMemory("ada") as memory:
        memory.records.add("staging listens on port 5433", id="port")
        memory.records.add("the invoices of March were paid twice", id="invoices")

    def recalled(query: str) -> Any:
        return told(inside(lambda client: client.call_tool("recall", {"query": query})))

    nothing = recalled("how do I bake sourdough bread?")
    assert nothing["hits"] == [] and "Nothing fits well. Left out, below relevance 0.25: 2." in nothing["note"]
    some = recalled("which port does staging listen on?")
    assert [hit["id"] for hit in some["hits"]] == ["port"]
    assert "Nothing fits" not in some["note"] and "Left out, below relevance 0.25: 1." in some["note"]


def test_a_recall_tells_what_time_a_question_was_taken_for(inside: Any, service: Service) -> None:
    with AgentMemory("ada") as memory:
        for name in ("Ann", "Bo", "Cy"):
            memory.learn_fact(f"{name} is on call", subject="payments", predicate="on call")

    def recalled(query: str) -> Any:
        return told(inside(lambda client: client.call_tool("recall", {"query": query})))

    found = recalled("who was on call before Bo?")
    (taken,) = found["past"]
    assert found["hits"][0]["text"] == "Ann is on call" and found["hits"][0]["held_until"] == taken["end"]
    assert taken["words"] == "before Bo" and "start" not in taken
    assert recalled("who was on call yesterday?")["past"][0].keys() == {"words", "start", "end"}
    now = recalled("who is on call?")
    assert "past" not in now and [hit["text"] for hit in now["hits"]] == ["Cy is on call"]


def test_the_version_that_a_question_about_the_past_asks_for_fits_without_its_words(
    inside: Any, service: Service
) -> None:
    with AgentMemory("ada") as memory:
        for name in ("Jenkins", "CircleCI", "Buildkite", "GitHub Actions"):
            memory.learn_fact(f"CI runs on {name}", subject="CI", predicate="runs on")
        hits = memory.recall("what did we use before Buildkite?").hits
    found = told(inside(lambda client: client.call_tool("recall", {"query": "what did we use before Buildkite?"})))
    assert not any(hit.fits for hit in hits), "by its words alone"
    assert [hit["text"] for hit in found["hits"]] == ["CI runs on CircleCI"]
    assert "Nothing fits" not in found["note"] and f"below relevance 0.25: {len(hits) - 1}." in found["note"]


def test_what_began_before_and_is_over_is_not_denied(inside: Any, service: Service) -> None:
    with AgentMemory("ada") as memory:
        for day, name in ((1, "Ann"), (15, "Bo")):
            since = datetime(2026, 1, day, tzinfo=UTC)
            memory.learn_fact(f"{name} is on call", subject="payments", predicate="on call", valid_from=since)

    def recalled(**given: str) -> Any:
        return told(inside(lambda client: client.call_tool("recall", {"query": "on call", **given})))

    nothing = recalled(before="10 January 2026")
    assert nothing["hits"] == []
    assert "Nothing that holds now began `before` then." in nothing["note"] and "give `at`" in nothing["note"]
    assert [hit["text"] for hit in recalled(at="10 January 2026")["hits"]] == ["Ann is on call"]


def test_where_no_rule_holds_it_is_said_and_how_one_is_made(inside: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    told_of = told(inside(lambda client: client.call_tool("rules", {})))
    assert told_of["result"]["text"] == "" and told_of["note"].startswith("No rules hold here. Propose one")


def test_many_are_counted_before_they_are_forgotten(inside: Any, service: Service) -> None:
    with AgentMemory("ada") as memory:
        for number in range(3):
            memory.records.add(f"note {number}", conversation_id="c1", id=f"n{number}")

    async def talk(client: Client) -> None:
        where = {"conversation_id": "c1", "kinds": ["observation"]}
        counted = told(await client.call_tool("forget", where))["result"]
        assert (counted["count"], counted["dry_run"]) == (3, True)
        assert len(told(await client.call_tool("recall", {}))["records"]) == 3
        for beside in ({"conversation_id": "c1"}, {"dry_run": True}, {"dry_run": "true"}):
            assert "beside ids" in refused(await client.call_tool("forget", {"ids": ["n0"], **beside}))["message"]
        gone = told(await client.call_tool("forget", {"ids": ["n0"], "dry_run": False}))["result"]
        assert gone["ids"] == ["n0"]
        gone = told(await client.call_tool("forget", {**where, "dry_run": "false", "reason": "asked"}))["result"]
        assert (gone["count"], gone["dry_run"]) == (2, False)
        assert told(await client.call_tool("recall", {}))["records"] == []

    inside(talk)


@pytest.mark.parametrize("kind", ["fact", "preference", "goal"])
def test_what_has_no_tags_says_where_they_belong(inside: Any, kind: str) -> None:
    given = {"text": "x", "kind": kind, "tags": ["a"]}
    problem = refused(inside(lambda client: client.call_tool("save", given)))
    assert problem["field"] == "tags" and "say them in the text" in problem["hint"]
