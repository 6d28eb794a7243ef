"""A secret that somebody says is kept nowhere: not in a record, a desk, a receipt, an error, a trace or a journal."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.models import ActionProposal, ConfigChange, Entity, Event, Turn
from agent_memory.models.errors import InvalidInput, NotFound
from agent_memory.models.record import Link

TOKEN = "ghp_" + "k7Qz2Lw9Xc4V" * 3  # made up
PASSWORD = "Marble!482q"
KEY = "f3a91c7be5d042886a1f"
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def bytes_of(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


def holds(home: Path, *words: str) -> list[str]:
    found = bytes_of(home)
    return [word for word in words if word.encode() in found]


@pytest.fixture(autouse=True)
def on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_REDACT", "on")


@pytest.fixture
def before(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentMemory]:
    """A store of times when nobody looked for secrets."""
    monkeypatch.setenv("AGENT_MEMORY_REDACT", "off")
    with AgentMemory("ada", "talk") as memory:
        yield memory
    monkeypatch.setenv("AGENT_MEMORY_REDACT", "on")


@pytest.mark.file
@pytest.mark.requirement("P23")
def test_a_secret_is_kept_nowhere(memory: AgentMemory, home: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    text = f"the build uses {TOKEN}, and postgres://ada:{PASSWORD}@db/app for staging"
    payload: dict[str, Any] = {"api_key": KEY, "deep": [{"said": text, "client_secret": KEY}], f"under {TOKEN}": 1}
    note = memory.records.add(text, payload=payload, key=TOKEN, source=TOKEN, reason=f"with {TOKEN}")
    assert memory.records.get(note.id).text == (
        "the build uses [redacted:github-token], and postgres://ada:[redacted:url-password]@db/app for staging"
    )
    assert memory.records.get(note.id).payload["api_key"] == "[redacted:secret]"
    memory.records.add_many([{"text": text, "payload": {"password": PASSWORD}}])
    memory.records.edit(note.id, text=f"{text}, again")
    memory.store_turn(Turn(conversation_id="talk", index=0, role="user", content=text, metadata={"token": KEY}))
    memory.upsert_entity(Entity(name=TOKEN, type="Concept", aliases=[TOKEN], first_seen=NOW))
    memory.learn_fact(text, subject=TOKEN, predicate="is")
    memory.record_tool_usage("curl", {"headers": {"Authorization": f"Bearer {TOKEN}"}}, {"out": text}, True, 3)
    memory.user.set_preference("db", "password", PASSWORD)
    memory.longterm.store_config_change(ConfigChange(key="DB_PASSWORD", old=PASSWORD, new=f"{PASSWORD}2"))
    other = memory.records.add("the printer is on the third floor")
    memory.records.link(Link(source_id=note.id, target_id=other.id, type="ABOUT", properties={"secret": KEY}))
    memory.working.set("db_password", PASSWORD)
    memory.working.set("notes", {"api_key": KEY})
    memory.working.push_thought(text)
    memory.operational.push_event(Event(category="net", critical=True, payload={"said": text}, time=NOW))
    memory.vectors.upsert("mine", "one", [1.0, 0.0], {"token": KEY})
    memory.recall(f"who uses {TOKEN}?", trace=True)
    memory.assemble_context(f"connect with {PASSWORD} as password: {PASSWORD}")
    with pytest.raises(NotFound) as missing:
        memory.records.get(TOKEN)
    with pytest.raises(InvalidInput) as wrong:
        memory.working.set("x", TOKEN, ttl_seconds=-1)
    memory.receipts.find()  # which waits until they are written
    assert holds(home, TOKEN, PASSWORD, KEY) == []
    assert not any(word in f"{missing.value} {wrong.value} {caplog.text}" for word in (TOKEN, PASSWORD, KEY))
    assert memory.upkeep.verify().ok


@pytest.mark.requirement("P23")
def test_it_is_found_by_its_other_words_and_a_search_for_it_tells_nothing(memory: AgentMemory) -> None:
    memory.records.add(f"the nightly import of the warehouse signs in with {TOKEN}")
    (hit,) = memory.recall("what does the nightly import sign in with?", k=1)
    assert hit.text == "the nightly import of the warehouse signs in with [redacted:github-token]"
    assert TOKEN not in memory.recall(TOKEN).model_dump_json()
    assert memory.receipts.find()[0].query == "[redacted:github-token]"


def test_the_same_request_is_known_again(memory: AgentMemory) -> None:
    """Its fingerprint is taken of what is kept."""
    first = memory.records.add(f"uses {TOKEN}", idempotency_key="once")
    assert memory.records.add(f"uses {TOKEN}", idempotency_key="once").id == first.id
    assert memory.records.add("uses [redacted:github-token]", idempotency_key="once").id == first.id


def test_names_of_ours_are_not_taken_for_secrets(memory: AgentMemory) -> None:
    """The token of a claim or of a cycle looks as random as any, and is needed."""
    agent = memory.agents.create("planner", "Be kind.")
    cycle = memory.agents.begin(agent.id)
    memory.agents.propose(cycle.id, cycle.token, ActionProposal(tool="search"))
    memory.tasks.add("pack")
    task, token = memory.tasks.claim("worker")
    assert token and memory.tasks.finish(token, "packed").id == task.id


def test_pages_pass_the_gate_as_well(memory: AgentMemory, tmp_path: Path) -> None:
    """What no caller said: notes by hand."""
    folder = tmp_path / "work"
    (folder / ".memory").mkdir(parents=True)
    (folder / ".memory" / "working.md").write_text(f"# Now\n\nThe deploy key is {TOKEN}.\n")
    memory.user.sync(folder=str(folder))
    assert TOKEN not in "".join(one.text for one in memory.records.find(limit=100))


def test_a_false_alarm_is_allowed_by_its_fingerprint(memory: AgentMemory) -> None:
    memory.records.add("something, so that there is a journal")
    text = f"the test fixture says api_key = {KEY}"
    (alarm,) = memory.govern.check(text)
    assert alarm.kind == "secret" and alarm.fingerprint and KEY not in alarm.model_dump_json()
    memory.govern.allow(alarm.fingerprint, reason="a fixture")
    assert memory.records.get(memory.records.add(text).id).text == text
    assert memory.govern.check(text) == []
    with AgentMemory("bob") as other:  # of the same tenant
        assert other.records.get(other.records.add(text).id).text == text
    with AgentMemory("ada", tenant="elsewhere") as stranger:
        assert KEY not in stranger.records.get(stranger.records.add(text).id).text
    memory.govern.disallow(alarm.fingerprint)
    assert KEY not in memory.records.get(memory.records.add(text).id).text
    with pytest.raises(NotFound, match="is not allowed"):
        memory.govern.disallow(alarm.fingerprint)
    with pytest.raises(InvalidInput, match="fingerprint"):
        memory.govern.allow("everything")


def test_personal_data_by_policy(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "write to ada@example.com or call +49 30 1234567, card 4111 1111 1111 1111, IBAN DE89 3704 0044 0532 0130 00"
    with AgentMemory("ada") as memory:
        assert memory.records.get(memory.records.add(said).id).text == said
    monkeypatch.setenv("AGENT_MEMORY_PERSONAL_DATA", "mask")
    with AgentMemory("ada") as memory:
        kept = memory.records.get(memory.records.add(said).id).text
    assert kept == "write to [redacted:email] or call [redacted:phone], card [redacted:card], IBAN [redacted:iban]"


@pytest.mark.file
@pytest.mark.requirement("P23")
def test_a_scan_finds_what_is_there_already_and_takes_it_out(before: AgentMemory, home: Path) -> None:
    memory = before
    note = memory.records.add(f"signs in with {TOKEN}", payload={"api_key": KEY}, key="sign-in", importance=0.9)
    clean = memory.records.add("the printer is on the third floor")
    memory.records.link(Link(source_id=note.id, target_id=clean.id, type="ABOUT", properties={"n": 1}))
    edited = memory.records.add(f"password = {PASSWORD}")
    memory.records.edit(edited.id, text="the password is in the vault")
    assert holds(home, TOKEN, PASSWORD, KEY) == [TOKEN, PASSWORD, KEY]

    found = memory.govern.scan()
    assert [(one.id, one.kind, one.where, one.version) for one in found.found] == [
        (note.id, "github-token", "text", 1),
        (note.id, "secret", "payload.api_key", 1),
        (edited.id, "password", "text", 1),
    ]
    assert not any(word in found.model_dump_json() for word in (TOKEN, PASSWORD, KEY)) and not found.cleaned
    assert memory.records.get(note.id).text == f"signs in with {TOKEN}"

    fixed = memory.govern.scan(fix=True)
    assert fixed.cleaned == [note.id, edited.id] and fixed.scrubbed
    assert holds(home, TOKEN, PASSWORD, KEY) == []
    now = memory.records.get(note.id)
    assert (now.text, now.payload, now.key, now.importance) == (
        "signs in with [redacted:github-token]",
        {"api_key": "[redacted:secret]"},
        "sign-in",
        0.9,
    )
    assert [one.text for one in memory.records.history(edited.id)] == ["the password is in the vault"]
    assert [one.target_id for one in memory.records.links(note.id)] == [clean.id]
    assert memory.recall("what signs in?", k=1)[0].id == note.id
    assert memory.govern.scan().found == []
    assert memory.upkeep.verify().ok


def test_a_succession_stays_one(before: AgentMemory) -> None:
    """What held before and what holds now are both believed."""
    memory = before
    then, later = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
    first = memory.learn_fact(f"staging uses {TOKEN}", subject="staging", predicate="uses", valid_from=then)
    memory.learn_fact("staging uses a vault", subject="staging", predicate="uses", valid_from=later)
    memory.govern.scan(fix=True)
    assert memory.records.get(first.id, valid_at=then).text == "staging uses [redacted:github-token]"
    assert memory.records.get(first.id).text == "staging uses a vault"


def test_a_scan_says_what_it_cannot_take_out(before: AgentMemory) -> None:
    memory = before
    memory.records.add("the build is green", reason=f"after {TOKEN}")
    memory.recall(f"what about {TOKEN}?")
    found = memory.govern.scan(fix=True)
    assert {one.where for one in found.left} == {"receipt", "reason"} and not found.cleaned


def test_a_scan_looks_at_all_users_of_a_tenant_and_at_no_other(before: AgentMemory) -> None:
    with AgentMemory("bob") as bob, AgentMemory("eve", tenant="elsewhere") as eve:
        kept = bob.records.add(f"bob has {TOKEN}").id
        eve.records.add(f"eve has {TOKEN}")
        found = before.govern.scan(fix=True)
        assert [(one.user, one.id) for one in found.found] == [("bob", kept)]
        assert bob.records.get(kept).text == "bob has [redacted:github-token]"
        assert len(eve.govern.scan().found) == 1
