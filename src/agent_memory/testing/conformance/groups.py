"""Requests of several threads at once: an engine may write them together, and nobody can tell."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from agent_memory.models.errors import AgentMemoryError, Changed, LeaseLost
from agent_memory.ports.changes import Applied, Author, Change, Effect, Erase, Expect, Once
from agent_memory.ports.feed import Work
from agent_memory.ports.store import Store
from agent_memory.testing.builders import ALICE, BOB, EVERYTHING, NOW, link, put, view, write

ME = Author(ALICE, "tester")
PATIENCE = 120.0


class HeldChanges(list[Change]):
    """Changes of a write that stays in its transaction until `go`: whoever comes meanwhile has to wait."""

    def __init__(self, *changes: Change) -> None:
        super().__init__(changes)
        self.begun, self.go = threading.Event(), threading.Event()

    def __iter__(self) -> Iterator[Change]:
        self.begun.set()
        assert self.go.wait(PATIENCE)
        return super().__iter__()


def at_once(store: Store, requests: Sequence[dict[str, Any]]) -> list[Applied | AgentMemoryError]:
    """The answer or error of each, after all of them came while another write was going on."""
    held, told = HeldChanges(), dict[int, Applied | AgentMemoryError]()
    ready = threading.Barrier(len(requests) + 1)

    def work(number: int, asked: dict[str, Any]) -> None:
        if number:
            ready.wait(PATIENCE)
        try:
            told[number] = store.records.apply(**{"author": ME, "now": NOW, **asked})
        except AgentMemoryError as error:
            told[number] = error

    asked = [{"changes": held}, *requests]
    threads = [threading.Thread(target=work, args=one) for one in enumerate(asked)]
    for thread in threads:
        thread.start()
    assert held.begun.wait(PATIENCE)
    ready.wait(PATIENCE)
    held.go.set()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "somebody hangs"
    return [told[number] for number in range(1, len(asked))]


class GroupConformance:
    """However many at once, each is answered as if it had been alone."""

    def test_each_request_has_its_own_answer_and_its_own_lines(self, store: Store) -> None:
        asked = [{"changes": [put(f"text {number}", id=f"{number}")]} for number in range(100)]
        told = at_once(store, asked)
        assert all(isinstance(one, Applied) for one in told)
        assert sorted(one.seq for one in told if isinstance(one, Applied)) == list(range(1, 101))
        for number, one in enumerate(told):
            assert isinstance(one, Applied)
            [outcome] = one.outcomes
            [record] = store.records.get(view(), [outcome.id])
            assert (outcome.id, record.text, record.seq) == (f"{number}", f"text {number}", one.seq)
        assert store.records.verify(ALICE.tenant).problems == ()

    def test_one_that_fails_leaves_nothing_and_the_others_are_written(self, store: Store) -> None:
        ghost = Author(ALICE.model_copy(update={"user": "ghost"}), "phantom")
        good = [{"changes": [put("good", id=f"good {number}")]} for number in range(4)]
        bad = [{"changes": [put("bad", id=f"bad {number}"), link(f"bad {number}", "nobody")]} for number in range(4)]
        lost = {"changes": [put("ghost", id="ghost"), Erase("nobody")], "author": ghost}
        told = at_once(store, [one for pair in zip(good, bad, strict=True) for one in pair] + [lost])
        assert [isinstance(one, Applied) for one in told] == [True, False] * 4 + [False]
        assert len({id(one) for one in told}) == len(told), "an error of its own for each"
        found = {record.id for record in store.records.find(view(), EVERYTHING, limit=100)}
        assert found == {f"good {number}" for number in range(4)}
        lines = store.records.journal(view())
        assert [line.operation for line in lines] == ["put"] * 4
        assert store.records.verify(ALICE.tenant).problems == ()

    def test_the_same_request_many_times_at_once_is_done_once(self, store: Store) -> None:
        once = Once("request", b"print")
        told = at_once(store, [{"changes": [put("one", id="a")], "once": once}] * 20)
        assert all(isinstance(one, Applied) for one in told)
        assert Counter(one.repeated for one in told if isinstance(one, Applied)) == {False: 1, True: 19}
        assert len({(one.seq, one.at, one.outcomes) for one in told if isinstance(one, Applied)}) == 1
        assert len(store.records.history(view(), "a")) == 1

    def test_of_many_that_expect_the_same_version_one_wins(self, store: Store) -> None:
        write(store, put("zero", id="a"))
        asked = [{"changes": [put(f"{number}", id="a")], "expect": [Expect(1, id="a")]} for number in range(10)]
        told = at_once(store, asked)
        assert Counter(type(one) for one in told) == {Applied: 1, Changed: 9}
        assert len(store.records.history(view(), "a")) == 2

    def test_an_erasure_among_writes_takes_only_its_own(self, store: Store) -> None:
        write(store, put("source", id="a"), put("made of it", id="b"), link("b", "a", "DERIVED_FROM"))
        others = [{"changes": [put(f"text {number}", id=f"{number}")]} for number in range(5)]
        gone, *rest = at_once(store, [{"changes": [Erase("a", with_derived=True)]}, *others])
        assert isinstance(gone, Applied) and set(gone.erased) == {"a", "b"}
        assert gone.scrubbed or store.owes()
        assert [one.erased for one in rest if isinstance(one, Applied)] == [()] * 5
        assert {record.id for record in store.records.find(view(), EVERYTHING, limit=100)} == set("01234")

    def test_a_job_that_lost_its_lease_fails_alone(self, store: Store) -> None:
        mine = store.feed.lease("job", "one", 3600.0)
        assert mine is not None
        store.feed.release(mine)
        told = at_once(
            store,
            [
                {"changes": [put("of the job", id="job")], "work": Work(mine)},
                *({"changes": [put(f"text {number}", id=f"{number}")]} for number in range(3)),
            ],
        )
        assert [type(one) for one in told] == [LeaseLost, Applied, Applied, Applied]
        assert store.records.get(view(), ["job"]) == []

    def test_tenants_and_users_at_once_do_not_mix(self, store: Store) -> None:
        rival = Author(BOB.model_copy(update={"tenant": "rival"}), "tester")
        asked = [
            {"changes": [put(f"of {author.scope.tenant} {author.scope.user}", id=f"{number}")], "author": author}
            for number in range(5)
            for author in (ME, Author(BOB, "tester"), rival)
        ]
        told = at_once(store, asked)
        assert all(isinstance(one, Applied) and one.outcomes[0].effect is Effect.CREATED for one in told)
        for author in (ME, Author(BOB), rival):
            found = store.records.find(view(author.scope), EVERYTHING, limit=100)
            assert [record.text for record in found] == [f"of {author.scope.tenant} {author.scope.user}"] * 5
            assert store.records.verify(author.scope.tenant).problems == ()
