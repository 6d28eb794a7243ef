"""Forgetting is physical: after it, no byte of the store holds what was said."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.app import config, wiring
from agent_memory.app.client import Client, Here
from agent_memory.app.namespaces import Retriever
from agent_memory.app.wiring import Runtime
from agent_memory.engines.sqlite import scrub
from agent_memory.models import Entity, Turn
from agent_memory.models.errors import Conflict, NotFound
from agent_memory.models.record import Link
from patience import PATIENCE

SECRET = "zanzibar-9931-passphrase"


def bytes_of(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


@pytest.mark.file
def test_nothing_is_left_of_what_was_forgotten(memory: AgentMemory, home: Path) -> None:
    kept = memory.records.add("the coffee machine is on the third floor")
    turn = memory.store_turn(
        Turn(
            conversation_id="secret talks", index=0, role="user", content=f"my code is {SECRET}", metadata={"k": SECRET}
        )
    )
    memory.episodic.store_turn(turn.model_copy(update={"content": f"my code was {SECRET}"}))
    memory.recall(SECRET)
    assert SECRET.encode() in bytes_of(home)
    [conversation] = memory.episodic.conversations()
    gone = memory.records.forget([turn.id], reason="asked to")
    assert gone.ids == [turn.id, conversation.id] and gone.scrubbed
    assert SECRET.encode() not in bytes_of(home)
    assert b"secret talks" not in bytes_of(home)
    assert memory.recall("code passphrase", kinds=["turn"]).hits == []
    assert memory.get_working_context()["recent_turns"] == []
    with pytest.raises(NotFound):
        memory.records.get(turn.id)
    with pytest.raises(NotFound):
        memory.records.history(turn.id)
    assert memory.records.get(kept.id).text.startswith("the coffee")
    lines = memory.records.journal()
    assert [line.operation for line in lines][-1] == "erase" and lines[-1].reason == "asked to"
    proof = memory.upkeep.verify()
    assert proof.ok, proof.problems


def test_what_was_derived_from_it_alone_goes_too(memory: AgentMemory) -> None:
    one = memory.store_turn(Turn(conversation_id="c1", index=0, role="user", content="I am allergic to nuts"))
    two = memory.store_turn(Turn(conversation_id="c1", index=1, role="user", content="nuts make me sick"))
    ada = memory.upsert_entity(Entity(name="Ada", type="Person"))
    alone = memory.learn_fact("Ada has an allergy", source_turn_id=one.id, entity_ids=[ada.id])
    both = memory.learn_fact("Ada avoids nuts", source_turn_id=one.id)
    memory.learn_fact("Ada avoids nuts", source_turn_id=two.id)
    memory.records.forget([one.id])
    assert [fact.id for fact in memory.records.find("fact")] == [both.id]
    assert memory.semantic.get_entity_graph([ada.id])["facts"] == []
    assert alone.id not in [hit.id for hit in memory.recall("allergy")]
    assert memory.upkeep.verify().ok


def test_forgetting_something_unknown_changes_nothing(memory: AgentMemory) -> None:
    kept = memory.records.add("stays")
    with pytest.raises(NotFound):
        memory.records.forget([kept.id, "no-such-record"])
    assert memory.records.get(kept.id).text == "stays"


def test_others_forget_nothing_of_mine(memory: AgentMemory) -> None:
    mine = memory.records.add("mine alone")
    with AgentMemory(user_id="eve") as eve, pytest.raises(NotFound):
        eve.records.forget([mine.id])
    assert memory.records.get(mine.id).text == "mine alone"


@contextmanager
def second_process(memory: AgentMemory) -> Iterator[tuple[Runtime, Retriever]]:
    """Two runtimes on one file stand for two processes: each has caches and buffers of its own."""
    other = wiring.build(config.load(), wiring.OwnParts(memory._client.runtime.embedding.embedder))
    client = memory._client
    yield other, Retriever(Client(client.caller, client.settings, Here(lambda: other), client.clock))
    other.receipts.flush()
    other.store.close()


@pytest.mark.local
def test_a_second_process_sees_it_go(memory: AgentMemory) -> None:
    id = memory.records.add("the moose is loose").id
    with second_process(memory) as (_, there):
        assert [hit.id for hit in there.recall("moose")] == [id]
        memory.records.forget([id])
        assert there.recall("moose").hits == []


def said(memory: AgentMemory, index: int, content: str) -> Turn:
    return memory.store_turn(Turn(conversation_id="c1", index=index, role="user", content=content))


@pytest.mark.file
def test_what_was_asked_before_it_was_stored_is_forgotten_too(
    memory: AgentMemory, home: Path, settle: Callable[[], None]
) -> None:
    """The usual loop of an agent: recall what helps with a message, then store the message."""
    for index, message in enumerate((f"my code is {SECRET}", "what is the weather like in Oslo?")):
        memory.remember(message)
        said(memory, index, message)
    settle()
    turn = memory.episodic.get_conversation("c1")[0]
    assert bytes_of(home).count(SECRET.encode()) >= 2  # in a receipt, beside the turn itself
    memory.records.forget([turn.id])
    assert SECRET.encode() not in bytes_of(home)
    assert b"weather like in Oslo" in bytes_of(home)
    assert memory.upkeep.stats()["receipts"] == 0  # that of the second message had shown the first


@pytest.mark.local
def test_a_receipt_that_another_process_still_holds_tells_nothing_later(memory: AgentMemory, home: Path) -> None:
    with second_process(memory) as (other, there):
        unseen = there.recall(f"what about {SECRET}?")  # before it is stored: no hit to know it by
        kept = memory.records.add(f"the code is {SECRET}")
        seen = there.recall(SECRET)
        assert [hit.id for hit in seen] == [kept.id] and unseen.hits == []
        memory.records.forget([kept.id])
        later = there.recall("what about the weather?")
        other.receipts.flush()
        assert SECRET.encode() not in bytes_of(home)
        receipts, view = other.store.receipts, memory._client.view()
        assert receipts.receipt(view, seen.receipt_id) is None
        assert json.loads(receipts.receipt(view, unseen.receipt_id) or "")["query"] is None
        assert json.loads(receipts.receipt(view, later.receipt_id) or "")["query"] == "what about the weather?"


@pytest.mark.local
def test_a_flush_that_is_under_way_writes_nothing_back(memory: AgentMemory, home: Path) -> None:
    """The lines have left the buffer and are not in the store yet: the forget waits for them, and takes them along."""
    id = memory.records.add(f"the code is {SECRET}").id
    memory.recall(SECRET)
    book = memory._client.runtime.receipts
    keep, under_way, go = book._keep, threading.Event(), threading.Event()

    def slow(lines: Any) -> None:
        under_way.set()
        go.wait(PATIENCE)
        keep(lines)

    book._keep = slow
    flushing = threading.Thread(target=book.flush)
    flushing.start()
    under_way.wait(PATIENCE)
    with ThreadPoolExecutor() as pool:
        forgetting = pool.submit(memory.records.forget, [id])
        assert not forgetting.done()
        go.set()
        assert forgetting.result(PATIENCE).scrubbed
    flushing.join()
    assert SECRET.encode() not in bytes_of(home)


@pytest.mark.file
def test_derived_records_go_though_they_no_longer_hold(memory: AgentMemory, home: Path) -> None:
    turn, other = said(memory, 0, "I moved"), said(memory, 1, "I moved again")
    facts = {
        name: memory.learn_fact(f"{SECRET} of {name}", source_turn_id=turn.id)
        for name in ("ended", "archived", "rejected", "unlinked", "twice")
    }
    home_town = {"subject": "ada", "predicate": "lives in"}
    facts["superseded"] = memory.learn_fact(f"{SECRET} of superseded", source_turn_id=turn.id, **home_town)
    assert memory.learn_fact("Ada lives in Oslo", **home_town).id == facts["superseded"].id
    now = datetime.now(UTC)
    memory.records.amend(facts["ended"].id, valid_to=now + timedelta(milliseconds=1))
    memory.records.amend(facts["archived"].id, status="archived")
    memory.records.amend(facts["rejected"].id, status="rejected")
    memory.records.unlink(facts["unlinked"].id, turn.id, "DERIVED_FROM")
    memory.records.link(Link(source_id=facts["twice"].id, target_id=other.id, type="DERIVED_FROM"))
    gone = memory.records.forget([turn.id])
    assert gone.ids == [turn.id, *(fact.id for name, fact in facts.items() if name != "twice")]
    left = bytes_of(home)
    assert b"of twice" in left
    assert not [name for name in facts if name != "twice" and f"of {name}".encode() in left]
    assert memory.upkeep.verify().ok


def test_naming_what_goes_anyway_is_no_error(memory: AgentMemory) -> None:
    turn = said(memory, 0, "I moved")
    fact = memory.learn_fact("they moved", source_turn_id=turn.id)
    [conversation] = memory.episodic.conversations()
    assert memory.records.forget([turn.id, fact.id, turn.id]).ids == [turn.id, conversation.id, fact.id]


def test_a_repeated_request_does_not_bring_it_back(memory: AgentMemory, home: Path) -> None:
    id = memory.records.add(SECRET, idempotency_key="message 17").id
    other = memory.records.add("coffee", idempotency_key="message 18").id
    memory.records.forget([id])
    with pytest.raises(Conflict, match="forgotten"):
        memory.records.add(SECRET, idempotency_key="message 17")
    assert SECRET.encode() not in bytes_of(home)
    assert memory.records.add("coffee", idempotency_key="message 18").id == other
    assert memory.records.add("tea", idempotency_key="message 19").effect == "created"


@pytest.mark.file
def test_a_short_text_cannot_be_guessed_from_its_fingerprint(memory: AgentMemory, home: Path) -> None:
    """The same request twice leaves two different digests: each has a salt of its own."""
    for user in ("ada", "bob"):
        with AgentMemory(user_id=user) as one:
            one.records.add("1234", idempotency_key="pin")
    file = sqlite3.connect(home / "memory.db")
    prints = [row[0] for row in file.execute("select request from repeats")]
    file.close()
    assert len(set(prints)) == len(prints) == 2


@pytest.mark.file
def test_what_is_over_on_a_desk_leaves_the_file(timed: AgentMemory, clock: Any, home: Path) -> None:
    timed.set_working_context("note", SECRET, ttl_seconds=5)
    timed.working.push_thought(f"so it is {SECRET}")
    clock.forward(hours=2)
    timed.set_working_context("other", 1)
    timed.working.push_thought("fresh")
    file = sqlite3.connect(home / "memory.db")
    rows = file.execute("select value from working union all select value from lists").fetchall()
    file.close()
    assert len(rows) == 2 and SECRET not in str(rows)


def test_a_desk_is_swept_by_a_forget_too(timed: AgentMemory, clock: Any, home: Path) -> None:
    timed.set_working_context("note", SECRET, ttl_seconds=5)
    id = timed.records.add("x").id
    clock.forward(seconds=6)
    timed.records.forget([id])
    assert SECRET.encode() not in bytes_of(home)


@pytest.mark.file
def test_what_a_reader_kept_in_the_log_goes_with_a_later_write(
    memory: AgentMemory, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrub, "PATIENCE_SECONDS", 0.3)
    id = memory.records.add(f"the code is {SECRET}").id
    reader = sqlite3.connect(home / "memory.db", isolation_level=None)
    reader.execute("begin")
    reader.execute("select count(*) from versions").fetchone()
    assert not memory.records.forget([id]).scrubbed
    memory.records.add("while it still reads")
    assert SECRET.encode() in bytes_of(home)  # nobody can help that: the reader sees it
    reader.execute("rollback")
    memory.records.add("when it is done")
    assert SECRET.encode() not in bytes_of(home)
    assert not reader.execute("select * from meta where name = 'scrub'").fetchall()
    reader.close()


@pytest.mark.file
def test_a_crash_before_the_log_is_cut_is_made_good(
    memory: AgentMemory, home: Path, monkeypatch: pytest.MonkeyPatch, settle: Callable[[], None]
) -> None:
    id = memory.records.add(f"the code is {SECRET}").id
    with monkeypatch.context() as patched:
        patched.setattr(scrub, "scrub", lambda *given, **named: False)  # as if the process had ended here
        memory.records.forget([id])
    assert SECRET.encode() in bytes_of(home)
    memory.recall("anything")
    settle()
    assert SECRET.encode() not in bytes_of(home)
