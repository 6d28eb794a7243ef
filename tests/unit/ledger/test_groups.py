"""Requests that wait for each other are written together: who leads, who is told what, and what when it goes wrong."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Callable, Sequence

import pytest

from agent_memory.ledger.groups import MOST_CHANGES, MOST_REQUESTS, Answer, Groups
from agent_memory.ledger.request import Request
from agent_memory.models.errors import Corrupt, NotFound, StoreError, StoreFull
from agent_memory.models.record import Scope
from agent_memory.ports.changes import Applied, Author, Erase
from patience import PATIENCE

Writes = Callable[[Sequence[str]], None]
"""What happens in a transaction of these requests, before its commit."""


def request(name: str, tenant: str = "t", changes: int = 1) -> Request:
    return Request([Erase(name)] * changes, Author(Scope(tenant=tenant)), 0)


class Engine:
    """Notes what is written together. The first one waits in its transaction until `go`."""

    def __init__(self, during: Writes = lambda names: None) -> None:
        self.groups = Groups(self.write)
        self.during = during
        self.begun: list[list[str]] = []
        self.committed: list[list[str]] = []
        self.entered, self.go = threading.Event(), threading.Event()
        self.told: dict[str, Applied | BaseException] = {}
        self.threads: dict[str, threading.Thread] = {}

    def write(self, requests: Sequence[Request]) -> Sequence[Answer]:
        names = [one.changes[0].id for one in requests if isinstance(one.changes[0], Erase)]
        self.begun.append(names)
        self.entered.set()
        assert self.go.wait(PATIENCE)
        self.during(names)
        self.committed.append(names)
        return [NotFound(name) if "wrong" in name else Applied(len(self.committed), 0, ()) for name in names]

    def call(self, name: str, **asked: object) -> None:
        try:
            self.told[name] = self.groups.apply(request(name, **asked))  # type: ignore[arg-type]
        except BaseException as error:
            self.told[name] = error

    def start(self, name: str, **asked: object) -> None:
        thread = self.threads[name] = threading.Thread(target=self.call, args=(name,), kwargs=asked)
        thread.start()

    def queue(self, *names: str, leader: str = "leader", **asked: object) -> None:
        """All of them wait, in this order, for somebody who writes."""
        self.start(leader)
        assert self.entered.wait(PATIENCE)
        for number, name in enumerate(names, 2):
            self.start(name, **asked)
            self.until(lambda: len(self.line()), number)

    def line(self, tenant: str = "t") -> Sequence[object]:
        return self.groups._queues.get(tenant, ())

    @staticmethod
    def until(read: Callable[[], int], wanted: int) -> None:
        tick = threading.Event()
        while read() != wanted:
            tick.wait(0.001)

    def finish(self) -> None:
        self.go.set()
        for thread in self.threads.values():
            thread.join(PATIENCE)
            assert not thread.is_alive(), "somebody hangs"
        assert not self.groups._queues


def test_who_finds_nobody_writes_at_once_and_who_waits_is_written_together() -> None:
    engine = Engine()
    engine.queue("a", "b", "c")
    assert engine.begun == [["leader"]]
    engine.finish()
    assert engine.committed == [["leader"], ["a", "b", "c"]]
    assert [engine.told[name].seq for name in ("leader", "a", "b", "c")] == [1, 2, 2, 2]  # type: ignore[union-attr]


def test_nobody_is_told_before_the_commit() -> None:
    held, reached = threading.Event(), threading.Event()

    def during(names: Sequence[str]) -> None:
        if "b" in names:
            reached.set()
            assert held.wait(PATIENCE)

    engine = Engine(during)
    engine.queue("a", "b")
    engine.go.set()
    assert reached.wait(PATIENCE)
    assert set(engine.told) <= {"leader"}
    held.set()
    engine.finish()
    assert set(engine.told) == {"leader", "a", "b"}


def test_a_group_has_a_bound() -> None:
    engine = Engine()
    names = [f"{number}" for number in range(MOST_REQUESTS + 3)]
    engine.queue(*names)
    engine.finish()
    assert engine.committed == [["leader"], names[:MOST_REQUESTS], names[MOST_REQUESTS:]]


def test_large_requests_are_not_written_together() -> None:
    engine = Engine()
    engine.queue("a", "b", "c", changes=MOST_CHANGES // 2)
    engine.finish()
    assert engine.committed == [["leader"], ["a", "b"], ["c"]]


def test_tenants_do_not_wait_for_each_other() -> None:
    engine = Engine()
    engine.queue("a")
    engine.start("other", tenant="another")
    engine.until(lambda: len(engine.begun), 2)
    engine.finish()
    assert sorted(engine.committed) == [["a"], ["leader"], ["other"]]


def test_each_gets_its_own_error() -> None:
    engine = Engine()
    engine.queue("a", "wrong b", "c", "wrong d")
    engine.finish()
    assert [type(engine.told[name]) for name in ("a", "wrong b", "c", "wrong d")] == [Applied, NotFound] * 2
    assert str(engine.told["wrong d"]) == "wrong d"


def test_what_is_wrong_with_the_store_is_told_to_all_in_an_error_of_their_own() -> None:
    def during(names: Sequence[str]) -> None:
        if "b" in names:
            raise StoreFull("the disk is full", hint="free some space") from OSError("no space")

    engine = Engine(during)
    engine.queue("a", "b", "c")
    engine.finish()
    told = [engine.told[name] for name in "abc"]
    assert [(type(one), str(one)) for one in told] == [(StoreFull, "the disk is full (free some space)")] * 3
    assert len({id(one) for one in told}) == 3
    assert all(isinstance(one, StoreFull) and isinstance(one.__cause__, OSError) for one in told)


@pytest.mark.parametrize("raised", [Corrupt("damaged"), TypeError("a mistake of ours")])
def test_one_that_breaks_the_write_does_not_break_it_for_others(raised: Exception) -> None:
    def during(names: Sequence[str]) -> None:
        if "b" in names:
            raise raised

    engine = Engine(during)
    engine.queue("a", "b", "c")
    engine.finish()
    assert engine.committed == [["leader"], ["a"], ["c"]]
    assert engine.told["b"] is raised
    assert all(isinstance(engine.told[name], Applied) for name in "ac")


def test_a_leader_that_is_stopped_leaves_nobody_waiting_and_tells_no_lie() -> None:
    """By an exception from outside, wherever it strikes: here in the middle of its write."""

    class Stopped(BaseException): ...

    def during(names: Sequence[str]) -> None:
        if names[0] == "a":
            thread = ctypes.c_ulong(threading.get_ident())
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(Stopped))

    engine = Engine(during)
    engine.queue("a", "b", "c")
    engine.go.set()
    engine.threads["a"].join(PATIENCE)
    engine.start("late")
    engine.finish()
    assert isinstance(engine.told["a"], Stopped)
    assert {type(engine.told[name]) for name in "bc"} == {StoreError}
    assert "may be stored, or not" in str(engine.told["b"])
    assert engine.committed == [["leader"], ["late"]]


class Interrupted(threading.Event):
    """Where the main thread waits for its turn, and Ctrl-C comes."""

    def wait(self, timeout: float | None = None) -> bool:
        raise KeyboardInterrupt


def test_who_is_interrupted_while_waiting_is_not_written_and_others_are(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine()
    engine.queue("a")
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("agent_memory.ledger.groups.threading.Event", Interrupted)
        engine.groups.apply(request("interrupted"))
    engine.start("b")
    engine.until(lambda: len(engine.line()), 3)
    engine.finish()
    assert engine.committed == [["leader"], ["a", "b"]]


def test_the_main_thread_writes_for_nobody_else() -> None:
    """It alone can be interrupted: others would be left in doubt."""
    engine = Engine()
    engine.start("leader")
    assert engine.entered.wait(PATIENCE)
    later = threading.Timer(
        0, lambda: (engine.until(lambda: len(engine.line()), 2), engine.start("a"), engine.start("b"))
    )
    last = threading.Timer(0, lambda: (engine.until(lambda: len(engine.line()), 4), engine.go.set()))
    later.start()
    last.start()
    engine.call("main")
    engine.finish()
    assert engine.committed[:2] == [["leader"], ["main"]]
    assert sorted(engine.committed[2]) == ["a", "b"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_waits_for_none_of_its_parents_threads() -> None:
    engine = Engine()
    engine.queue("a", "b")
    child = os.fork()
    if not child:  # its parent's threads are not here, and their places are
        signal.alarm(60)
        engine.groups.renew()
        engine.go = threading.Event()
        engine.go.set()
        os._exit(0 if engine.groups.apply(request("child")).seq == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
    engine.finish()
    assert engine.committed == [["leader"], ["a", "b"]]
