"""An engine that fails, once, at any step of a write: nothing is lost, nothing is there twice."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import count

import pytest
from tests.toy.engine import open_toy

from agent_memory.models.errors import StoreError
from agent_memory.ports.changes import Amend, Applied, Author, Change, Disconnect, Erase, Once
from agent_memory.ports.store import Store
from agent_memory.testing.agreement.looking import seen
from agent_memory.testing.builders import ALICE, BOB, EVERYTHING, NOW, SPACE, link, put, view
from agent_memory.testing.conformance.groups import ME, PATIENCE, HeldChanges

WRITES: list[Sequence[Change]] = [
    [put("one", id="a"), put("two", id="b", key="k")],
    [put("one again", id="a"), link("a", "b")],
    [Amend("a", importance=0.9)],
    [put("of both", id="c"), link("c", "a", "DERIVED_FROM")],
    [Disconnect("a", "b", "about")],
    [Erase("a", with_derived=True)],
    [put("one", id="a"), put("two", id="b", key="other")],
]


class Fault:
    """Strikes once, when so many steps were done."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.next: str | None = None  # or before this step of the next write
        self.at: str | None = None
        self.struck: list[str] = []

    def __call__(self, step: str) -> None:
        if self.left == 0 or self.at == step:
            self.left = self.at = None
            self.struck.append(step)
            raise StoreError(f"the engine failed before {step}")
        if self.left is not None:
            self.left -= 1
        if step == "answer":
            self.at, self.next = self.next, None


def write(store: Store, number: int) -> None:
    once = Once(f"key {number}", repr(number).encode())
    store.records.apply(WRITES[number], author=Author(ALICE, "tester"), now=NOW + number, once=once)


def begun(store: Store) -> Store:
    store.index.begin(SPACE)
    return store


def lines(store: Store) -> int:
    return store.records.verify(ALICE.tenant).checked.get("journal lines", 0)


def test_a_write_that_fails_anywhere_and_is_tried_again_is_there_once() -> None:
    for strike in count():
        fault = Fault()
        store, whole = begun(open_toy(fault)), begun(open_toy())
        fault.left = strike
        for number in range(len(WRITES)):
            before = store.records.stats(view())["seq"]
            write(whole, number)
            try:
                write(store, number)
            except StoreError:
                if fault.struck != ["answer"]:
                    assert store.records.stats(view())["seq"] == before, "it failed, and wrote"
                write(store, number)
        for one in (view(), view(BOB), view(seq=3)):
            assert seen(store, one, EVERYTHING) == seen(whole, one, EVERYTHING)
        assert store.records.verify(ALICE.tenant).problems == ()
        if not fault.struck:
            break
    assert strike > 4 * len(WRITES), "every step of every write failed once"


def test_a_group_that_fails_anywhere_and_is_tried_again_is_there_once() -> None:
    """Everybody in it is told the truth: who hears of a failure may repeat its request, who does not need not."""
    for step in ("read", "plan", "write", "commit", "answer"):
        fault, told = Fault(), dict[int, object]()
        store = begun(open_toy(fault))

        def work(number: int, store: Store = store, told: dict[int, object] = told) -> None:
            once = Once(f"key {number}", repr(number).encode())
            for _ in range(2):
                try:
                    told[number] = store.records.apply([put("one", id=f"{number}")], author=ME, now=NOW, once=once)
                    return
                except StoreError as error:
                    told[number] = error

        held = HeldChanges()
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        leader = threading.Thread(target=lambda held=held, store=store: store.records.apply(held, author=ME, now=NOW))
        leader.start()
        assert held.begun.wait(PATIENCE)
        for thread in threads:
            thread.start()
        while len(store.records.groups._queues[ALICE.tenant]) < 9:  # type: ignore[attr-defined]
            held.go.wait(0.001)
        fault.next = step
        held.go.set()
        for thread in (leader, *threads):
            thread.join(PATIENCE)
            assert not thread.is_alive(), f"somebody hangs when it fails before {step}"
        assert fault.struck == [step]
        assert len([one for one in told.values() if isinstance(one, Applied)]) == 8, told
        assert store.records.stats(view())["seq"] == 8, step
        assert store.records.verify(ALICE.tenant).problems == ()


@pytest.mark.parametrize("step", ["commit", "answer"])
def test_what_is_written_beside_records_is_whole_or_not_there(step: str) -> None:
    fault = Fault()
    store = open_toy(fault)
    fault.left = ("commit", "answer").index(step)
    with pytest.raises(StoreError):
        store.index.begin(SPACE)
    assert (store.index.space() == SPACE) is (step == "answer") is (lines(store) == 1)
    store.index.begin(SPACE)
    assert (store.index.space(), lines(store)) == (SPACE, 1)


@pytest.mark.parametrize("step", ["read", "plan", "write", "commit", "answer"])
def test_a_tenant_is_erased_whole_or_not_at_all(step: str) -> None:
    fault = Fault()
    store = begun(open_toy(fault))
    write(store, 0)
    before = seen(store, view(), EVERYTHING)
    fault.left = ("read", "plan", "write", "commit", "answer").index(step)
    with pytest.raises(StoreError):
        store.tenants.erase(ALICE.tenant, Author(BOB, "operator"), NOW)
    assert fault.struck == [step]
    if step == "answer":
        assert store.tenants.census() == []
    else:
        assert seen(store, view(), EVERYTHING) == before
        store.tenants.erase(ALICE.tenant, Author(BOB, "operator"), NOW)
    assert store.tenants.census() == [] and store.records.verify(ALICE.tenant).problems == ()
