"""A wire that fails in every way: what was acknowledged is there once, what was refused is not."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from tests.parts.postgres import Server, started
from tests.parts.proxy import Fault, Proxy, at_commit, between, never

from agent_memory import AgentMemory
from agent_memory.engines.postgres import connection, open_store
from agent_memory.engines.postgres import wire as wires
from agent_memory.models.errors import Changed, StoreError
from agent_memory.models.record import Scope
from agent_memory.ports.changes import Author
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.records import View
from agent_memory.ports.store import Store
from agent_memory.testing.builders import NOW, put

pytestmark = pytest.mark.engines


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with started(18) as own:
        yield own


@pytest.fixture
def wire(postgres: Server) -> Iterator[Proxy]:
    with between(postgres.port) as proxy:
        yield proxy


def through(wire: Proxy, postgres: Server, uri: str) -> str:
    return uri.replace(f":{postgres.port}/", f":{wire.port}/") + "?tcp_user_timeout=2000"


def texts(uri: str) -> list[str]:
    with AgentMemory("ada", store=uri) as memory:
        assert memory.upkeep.verify().ok
        return [one.text for one in memory.records.find(limit=1000)]


@pytest.mark.requirement("C13")
def test_an_answer_to_a_commit_that_was_lost_is_found_out(postgres: Server, wire: Proxy) -> None:
    uri = postgres.fresh()
    with AgentMemory("ada", store=through(wire, postgres, uri)) as memory:
        memory.records.add("before")
        wire.fault = at_commit("lost")
        made = threading.Thread(target=memory.records.add, args=("it happened",))
        made.start()
        while not wire.faults and made.is_alive():
            made.join(0.01)
        wire.fault = never
        made.join()
    assert texts(uri).count("it happened") == 1


@pytest.mark.requirement("C13")
def test_a_commit_that_never_arrived_is_told(postgres: Server, wire: Proxy) -> None:
    uri = postgres.fresh()
    with AgentMemory("ada", store=through(wire, postgres, uri)) as memory:
        memory.records.add("before")
        told: list[str] = []

        def write() -> None:
            try:
                memory.records.add("it did not happen")
            except StoreError as error:
                told.append(error.message)

        wire.fault = at_commit("cut")
        writer = threading.Thread(target=write)
        writer.start()
        while not wire.faults and writer.is_alive():
            writer.join(0.01)
        wire.fault = never
        writer.join()
        assert told and "nothing was written" in told[0]
        memory.records.add("it did not happen")
    assert texts(uri).count("it did not happen") == 1


FAULTS: dict[str, Fault] = {
    "cut at a commit": at_commit("cut", 0.3),
    "an answer to a commit lost": at_commit("lost", 0.3),
    "reset at a commit": at_commit("reset", 0.3),
}


@pytest.mark.parametrize("name", FAULTS)
def test_writers_of_one_tenant_agree_with_what_they_were_told(postgres: Server, wire: Proxy, name: str) -> None:
    """Each writer notes what it was told of each write; the journal must have exactly what was acknowledged, once, and
    nothing of what was refused, in an order that each writer saw."""
    uri = postgres.fresh()
    told: dict[str, bool | None] = {}
    order: dict[str, int] = {}

    def write(number: int) -> None:
        with AgentMemory("ada", store=through(wire, postgres, uri)) as memory:
            for turn in range(8):
                text = f"writer {number} turn {turn}"
                try:
                    order[text] = memory.records.add(text).seq
                    told[text] = True
                except StoreError as error:
                    told[text] = False if "nothing was written" in error.message else None

    with AgentMemory("ada", store=uri) as memory:
        memory.records.add("the first")
    wire.fault = FAULTS[name]
    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    wire.fault = never
    found = texts(uri)
    assert wire.faults and any(told.values())
    for text, happened in told.items():
        assert found.count(text) <= 1, text
        if happened is not None:
            assert found.count(text) == int(happened), (text, happened)
    for number in range(4):
        mine = [order[f"writer {number} turn {turn}"] for turn in range(8) if f"writer {number} turn {turn}" in order]
        assert mine == sorted(set(mine))


class Done(NamedTuple):
    """Something that a client did, when, and which version of the record it was told: None, where nobody knows."""

    begun: float
    ended: float
    version: int | None
    text: str


def edited(memory: AgentMemory, id: str, name: str) -> tuple[list[Done], list[Done], list[str]]:
    """Edits and reads of one record, and the texts that were refused."""
    edits, reads, refused = list[Done](), list[Done](), list[str]()
    for turn in range(10):
        text = f"{name} turn {turn}"
        begun = time.monotonic()
        try:
            seen = memory.records.get(id)
            reads.append(Done(begun, time.monotonic(), seen.version, seen.text))
            begun = time.monotonic()
            made = memory.records.edit(id, text=text, if_version=seen.version)
            edits.append(Done(begun, time.monotonic(), made.version, text))
        except Changed:
            refused.append(text)
        except StoreError as error:
            known = "nothing was written" in error.message or "nobody knows" not in error.message
            refused.append(text) if known else edits.append(Done(begun, time.monotonic(), None, text))
    return edits, reads, refused


@pytest.mark.requirement("C13")
@pytest.mark.parametrize("name", ["delay", "cut", "lost", "reset"])
def test_edits_of_one_record_are_linearizable(postgres: Server, wire: Proxy, name: str) -> None:
    """Versions are the order in which edits took effect: it must hold what each client was told, and no edit or read
    may come before one that had ended when it began."""
    uri = postgres.fresh()
    with AgentMemory("ada", store=uri) as memory:
        id = memory.records.add("the first").id
    if name == "delay":
        wire.delay = 0.005
    else:
        wire.fault = at_commit(name, 0.2)
    told: list[tuple[list[Done], list[Done], list[str]]] = []

    def write(number: int) -> None:
        with AgentMemory("ada", store=through(wire, postgres, uri)) as memory:
            told.append(edited(memory, id, f"writer {number}"))

    writers = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    with AgentMemory("ada", store=uri) as memory:
        order = {one.version: one.text for one in memory.records.history(id)}
        assert memory.upkeep.verify().ok
    edits, reads = [one for each in told for one in each[0]], [one for each in told for one in each[1]]
    assert edits and (wire.faults or name == "delay") and list(order) == sorted(order)
    assert not {text for each in told for text in each[2]} & set(order.values()), "what was refused is not there"
    assert len(set(order.values())) == len(order), "nothing is there twice"
    known = [one for one in (*edits, *reads) if one.version is not None]
    for one in known:
        assert order[one.version or 0] == one.text
    for before in edits:
        for after in known:
            if before.version is not None and after.version is not None and before.ended < after.begun:
                assert before.version <= after.version, (before, after)
                assert before.version < after.version or after in reads
    for read in reads:
        writer = next((one for one in edits if one.version == read.version), None)
        assert writer is None or writer.begun < read.ended, "nobody reads what nobody has begun to write"


SILENCE = 5.0  # seconds; what comes back comes sooner


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement may take as long as ever over there; nobody hears of it for so long."""
    monkeypatch.setattr(connection, "GRACE_SECONDS", SILENCE - connection.STATEMENT_SECONDS)
    monkeypatch.setattr(wires, "PROBE_SECONDS", SILENCE)


def silent_once(wanted: bytes = b"") -> Fault:
    """Whatever is sent next that has these bytes is swallowed, or its answer is, with all that follows on that
    connection."""
    left = ["silent"]
    return lambda data: left.pop() if left and wanted in data.lower() else "pass"


@pytest.mark.requirement("C13")
@pytest.mark.usefixtures("impatient")
def test_a_call_that_nobody_answers_ends_and_the_next_one_works(postgres: Server, wire: Proxy) -> None:
    uri = postgres.fresh()
    with AgentMemory("ada", store=through(wire, postgres, uri)) as memory:
        memory.records.add("before")
        wire.fault = silent_once(b"begin isolation level repeatable read")
        with pytest.raises(StoreError, match="has not answered for") as caught:
            memory.records.find()
        assert "out of reach" in caught.value.message
        assert [one.text for one in memory.records.find()] == ["before"]
        wire.fault = silent_once(b"read committed read write")
        with pytest.raises(StoreError, match="has not answered for"):
            memory.records.add("it did not happen")
        wire.fault = silent_once(b"commit\0")
        memory.records.add("it happened")  # which is found out over another connection
    assert wire.faults == 3
    assert sorted(texts(uri)) == ["before", "it happened"]


@pytest.mark.requirement("C13")
@pytest.mark.usefixtures("impatient")
def test_a_connection_that_was_not_used_for_a_while_is_tried_first(
    postgres: Server, wire: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = postgres.fresh()
    with AgentMemory("ada", store=through(wire, postgres, uri)) as memory:
        memory.records.add("before")
        monkeypatch.setattr(wires, "UNUSED_SECONDS", 0.0)
        wire.fault = silent_once(b"select 1\0")
        memory.records.add("over another connection")
        assert wire.faults == 1
    assert sorted(texts(uri)) == ["before", "over another connection"]


def test_a_server_that_restarts_is_found_again(postgres: Server) -> None:
    uri = postgres.fresh()
    with AgentMemory("ada", store=uri) as memory:
        memory.records.add("before")
        postgres.stop()
        with pytest.raises(StoreError, match="out of reach"):
            memory.records.add("nobody is there")
        postgres.start()
        memory.records.add("a second")
        postgres.stop(signal.SIGQUIT)
        postgres.start()
        memory.records.add("after")
        assert sorted(one.text for one in memory.records.find()) == ["a second", "after", "before"]


def test_first_writes_of_a_tenant_at_once(postgres: Server) -> None:
    """From two pools, as from two servers: whoever comes second finds the tenant made."""
    uri = postgres.fresh()
    stores = [open_store(uri), open_store(uri)]
    failed: list[BaseException] = []

    def write(store: Store, id: str) -> None:
        for number in range(20):
            scope = Scope(tenant=f"t{number}", user="ada")
            try:
                store.receipts.keep([ReceiptLine(f"{id}{number}", View(scope, NOW), 0, "{}", ())])
                store.records.apply([put("one", id=id)], author=Author(scope, "ada"), now=NOW)
            except BaseException as error:
                failed.append(error)

    writers = [threading.Thread(target=write, args=(store, id)) for store, id in zip(stores, "ab", strict=True)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    found = stores[0].records.verify("t0")
    for store in stores:
        store.close()
    assert failed == [] and found.problems == () and len(found.heads) == 21
    assert {mark.seq for name, mark in found.heads.items() if name} == {2}
