"""A secret that somebody says is kept nowhere: not in a record, a desk, a receipt, an error, a trace or a journal."""

from __future__ import annotations

import itertools
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory, MemoryAugmentedAgent
from agent_memory.models import ActionProposal, ConfigChange, Entity, Event, Turn
from agent_memory.models.errors import Denied, InvalidInput, NotFound, PartMissing
from agent_memory.models.record import Link
from agent_memory.testing.chat import ScriptedChat
from patience import PATIENCE

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


OTHER = "ghp_" + "m3Rt8Np5Yb6J" * 3


@pytest.mark.requirement("P23")
def test_different_secrets_in_names_stay_different(memory: AgentMemory, home: Path) -> None:
    """What is named by them is found by them, too: a question passes the same way."""
    first, second = memory.records.add("one", key=TOKEN), memory.records.add("two", key=OTHER)
    assert first.id != second.id and memory.records.add("one more", key=TOKEN).id == first.id
    assert memory.records.lookup("observation", OTHER).text == "two"
    for secret in (TOKEN, OTHER):
        memory.store_turn(Turn(conversation_id=f"about {secret}", index=0, role="user", content=f"it is {secret}"))
        memory.upsert_entity(Entity(name=secret, type="Concept", first_seen=NOW))
        memory.learn_fact(f"staging uses {secret}")
        memory.procedural.learn_strategy(f"sign in with {secret}", "sign in", ["curl"])
        memory.user.set_preference("keys", secret, secret)
        memory.knowledge.upload(f"{secret}.md", "# Roses\n\nThey are cut in March.")
        memory.working.set(secret, secret[-4:])
    for secret in (TOKEN, OTHER):
        (turn,) = memory.episodic.get_conversation(f"about {secret}")
        assert turn.content == "it is [redacted:github-token]"
        assert memory.working.get(secret) == secret[-4:]
        assert memory.user.get_preference("keys", secret) == "[redacted:github-token]"
    counts = {kind: len(memory.records.find(kind=kind)) for kind in ("entity", "fact", "strategy", "document")}
    assert counts == {"entity": 2, "fact": 2, "strategy": 2, "document": 2}
    payload = memory.records.get(memory.records.add("three", payload={TOKEN: 1, OTHER: 2}).id).payload
    assert sorted(payload.values()) == [1, 2] and all(name.startswith("[redacted:github-token ") for name in payload)
    assert holds(home, TOKEN, OTHER) == [] and memory.upkeep.verify().ok


def test_names_are_told_apart_before_anything_was_stored(home: Path) -> None:
    with AgentMemory("ada") as memory:
        memory.working.set(TOKEN, 1)
        memory.working.set(OTHER, 2)
        memory.records.add("the first record")
        assert (memory.working.get(TOKEN), memory.working.get(OTHER)) == (1, 2)


def test_a_client_of_a_conversation_with_a_secret_in_its_name(home: Path) -> None:
    with AgentMemory("ada", conversation_id=TOKEN) as one, AgentMemory("ada", conversation_id=OTHER) as other:
        one.working.set("x", 1)
        other.working.set("x", 2)
        assert (one.working.get("x"), other.working.get("x")) == (1, 2)
        assert holds(home, TOKEN, OTHER) == []


def test_who_may_only_write_allows_nothing(memory: AgentMemory) -> None:
    """Not by storing what an allowance is made of, either."""
    memory.records.add("something, so that there is a journal")
    (alarm,) = memory.govern.check(f"api_key = {KEY}")
    said = {"text": "x", "kind": "allowance", "payload": {"fingerprint": alarm.fingerprint}}
    with AgentMemory("*", shared=True) as shared:
        with pytest.raises(Denied, match=r"govern\.allow"):
            shared.records.add(**said)
        with pytest.raises(Denied, match=r"govern\.allow"):
            shared.records.add_many([said])
        assert shared.govern.check(f"api_key = {KEY}")
        shared.govern.allow(alarm.fingerprint)
        (allowance,) = shared.records.find(kind="allowance")
        with pytest.raises(Denied, match=r"govern\.allow"):
            shared.records.edit(allowance.id, payload={"fingerprint": "0123456789abcdef"})


def test_the_same_request_is_known_again(memory: AgentMemory) -> None:
    """Its fingerprint is taken of what is kept."""
    first = memory.records.add(f"uses {TOKEN}", idempotency_key="once")
    assert memory.records.add(f"uses {TOKEN}", idempotency_key="once").id == first.id
    assert memory.records.add("uses [redacted:github-token]", idempotency_key="once").id == first.id


def test_a_turn_that_is_sent_again_is_stored_once(memory: AgentMemory) -> None:
    for key in ("once", f"once {TOKEN}"):
        sent = [memory.episodic.append("talk", "user", f"it is {TOKEN}", idempotency_key=key) for _ in range(2)]
        assert sent[0].id == sent[1].id
    assert len(memory.episodic.get_conversation("talk")) == 2


def test_a_question_to_a_model_that_failed_is_stored_once(home: Path) -> None:
    failing = ScriptedChat(lambda request: PartMissing("nobody listens"))
    with MemoryAugmentedAgent("ada", client=failing) as agent:
        agent.start_conversation("talk")
        for _ in range(2):
            with pytest.raises(PartMissing):
                agent.chat(f"is {TOKEN} valid?")
        turns = agent.memory.episodic.get_conversation("talk")
    assert [one.content for one in turns] == ["is [redacted:github-token] valid?"]


def test_a_document_with_a_secret_is_read_once(memory: AgentMemory, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "deploy.md").write_text(f"# Deploy\n\nSign in with {TOKEN}.\n")
    (folder / f"{OTHER}.md").write_text("# Roses\n\nThey are cut in March.\n")
    assert len(memory.knowledge.sync(str(folder)).added) == 2
    again = memory.knowledge.sync(str(folder))
    assert (again.added, again.changed, again.gone, again.unchanged) == ([], [], [], 2)
    dry = memory.knowledge.sync(str(folder), dry_run=True)
    assert (dry.added, dry.changed, dry.gone, dry.unchanged) == ([], [], [], 2)
    (folder / "deploy.md").write_text(f"# Deploy\n\nSign in with {TOKEN}, twice.\n")
    assert memory.knowledge.sync(str(folder), dry_run=True).changed == ["deploy.md"]
    assert memory.knowledge.sync(str(folder)).changed == ["deploy.md"]
    assert len(memory.records.find(kind="document")) == 2


def test_names_of_ours_are_not_taken_for_secrets(memory: AgentMemory) -> None:
    """The token of a claim or of a cycle looks as random as any, and is needed."""
    agent = memory.agents.create("planner", "Be kind.")
    cycle = memory.agents.begin(agent.id)
    memory.agents.propose(cycle.id, cycle.token, ActionProposal(tool="search"))
    memory.tasks.add("pack")
    task, token = memory.tasks.claim("worker")
    assert token and memory.tasks.finish(token, "packed").id == task.id


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
    with pytest.raises(NotFound, match="nothing with the fingerprint"):
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


@pytest.mark.file
def test_a_fix_keeps_apart_what_is_apart(before: AgentMemory, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = before
    ids = [memory.records.add("a note", key=secret).id for secret in (TOKEN, OTHER)]
    for secret in (TOKEN, OTHER):
        for index in (0, 1):
            content = f"{index}: {secret}"
            memory.store_turn(Turn(conversation_id=secret, index=index, role="user", content=content))
        memory.learn_fact(f"staging uses {secret}")
        memory.upsert_entity(Entity(name=secret, type="Concept", first_seen=NOW))
    memory.govern.scan(fix=True)
    assert memory.govern.scan().found == [] and holds(home, TOKEN, OTHER) == []
    assert [memory.records.get(id).text for id in ids] == ["a note", "a note"]
    counts = {kind: len(memory.records.find(kind=kind)) for kind in ("turn", "conversation", "fact", "entity")}
    assert counts == {"turn": 4, "conversation": 2, "fact": 2, "entity": 2}
    monkeypatch.setenv("AGENT_MEMORY_REDACT", "on")
    with AgentMemory("ada") as after:  # whose questions are redacted
        assert [after.records.lookup("observation", secret).id for secret in (TOKEN, OTHER)] == ids
        for secret in (TOKEN, OTHER):
            turns = after.episodic.get_conversation(secret)
            assert [one.content for one in turns] == ["0: [redacted:github-token]", "1: [redacted:github-token]"]
    assert memory.upkeep.verify().ok


@pytest.mark.file
def test_a_fix_reaches_desks_and_metadata(before: AgentMemory, home: Path) -> None:
    memory = before
    memory.records.add("the printer is on the third floor")
    memory.working.set("db_password", {"password": PASSWORD})
    memory.working.set("clean", 1)
    memory.working.push_thought("first")
    memory.working.push_thought(f"it uses {TOKEN}")
    memory.operational.push_event(Event(category="net", critical=True, payload={"said": f"with {TOKEN}"}, time=NOW))
    memory.vectors.upsert("mine", "one", [1.0, 0.0], {"token": KEY, "n": 1})
    found = memory.govern.scan()
    places = {one.where for one in found.found}
    assert {"working.db_password.password", "working.thoughts.thought", "vectors.mine.one.token"} <= places
    assert TOKEN not in found.model_dump_json()
    memory.govern.scan(fix=True)
    assert memory.govern.scan().found == [] and holds(home, TOKEN, PASSWORD, KEY) == []
    assert memory.working.get("db_password") == {"password": "[redacted:password]"}
    assert memory.working.get("clean") == 1
    desk = memory.working.get_context()
    assert [one["thought"] for one in desk["thoughts"]] == ["it uses [redacted:github-token]", "first"]
    (match,) = memory.vectors.query("mine", [1.0, 0.0])
    assert match.metadata == {"token": "[redacted:secret]", "n": 1}


def test_links_of_others_survive_a_fix(before: AgentMemory) -> None:
    with AgentMemory("*", shared=True) as shared, AgentMemory("bob") as bob:
        rule = shared.records.add(f"the build signs in with {TOKEN}")
        note = bob.records.add("bob looked at it")
        bob.records.link(Link(source_id=note.id, target_id=rule.id, type="ABOUT", weight=0.5, properties={"n": 1}))
        assert before.govern.scan(fix=True).cleaned == [rule.id]
        (link,) = bob.records.links(note.id)
        assert (link.target_id, link.type, link.weight, link.properties) == (rule.id, "ABOUT", 0.5, {"n": 1})


KILLED = """
import os, signal
from agent_memory import AgentMemory
from agent_memory.core.write import scan
def write(*said):
    written(*said)
    os.kill(os.getpid(), signal.SIGKILL)
written, scan.write = scan.write, write
AgentMemory("ada").govern.scan(fix=True)
"""


@pytest.mark.local
def test_links_of_others_survive_a_fix_that_is_killed(before: AgentMemory) -> None:
    """As soon as the record is written without its secret."""
    with AgentMemory("*", shared=True) as shared, AgentMemory("bob") as bob:
        rule = shared.records.add(f"the build signs in with {TOKEN}")
        notes = [one.records.add("looked at it").id for one in (bob, before)]
        for one, note in zip((bob, before), notes, strict=True):
            one.records.link(Link(source_id=note, target_id=rule.id, type="ABOUT", properties={"with": TOKEN}))
        died = subprocess.run([sys.executable, "-c", KILLED], env=os.environ, timeout=PATIENCE)
        assert died.returncode == -signal.SIGKILL
        assert shared.records.get(rule.id).text == "the build signs in with [redacted:github-token]"
        for one, note in zip((bob, before), notes, strict=True):
            (link,) = one.records.links(note)
            assert (link.target_id, link.properties) == (rule.id, {"with": "[redacted:github-token]"})


def test_a_fix_goes_on_where_others_write(before: AgentMemory) -> None:
    """The record that is written all the time is retried, and the others are cleaned."""
    memory, over = before, threading.Event()
    busy = memory.records.add(f"counter 0 of {TOKEN}").id
    rest = [memory.records.add(f"{number} has {TOKEN}").id for number in range(5)]

    def write() -> None:
        with AgentMemory("ada") as other:
            for number in itertools.count(1):
                if over.is_set():
                    break
                other.records.edit(busy, payload={"n": number})

    writer = threading.Thread(target=write)
    writer.start()
    try:
        fixed = memory.govern.scan(fix=True)
    finally:
        over.set()
        writer.join()
    assert {*fixed.cleaned, *fixed.busy} == {busy, *rest} and {*rest} <= {*fixed.cleaned}
    assert all(memory.records.get(id).text.endswith("has [redacted:github-token]") for id in rest)


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


@pytest.mark.file
@pytest.mark.requirement("P23")
def test_a_push_that_only_appends_keeps_none_either(memory: AgentMemory, home: Path) -> None:
    for number in range(3):  # from the second one on, nothing but an append
        memory.operational.push_event(
            Event(category="net", payload={"n": number, "said": f"with {TOKEN}", "password": PASSWORD}, time=NOW)
        )
    told = memory.operational.get_recent(3)
    assert [one.payload["n"] for one in told] == [2, 1, 0]
    assert {one.payload["said"] for one in told} == {"with [redacted:github-token]"}
    memory.close()
    assert holds(home, TOKEN, PASSWORD) == []
