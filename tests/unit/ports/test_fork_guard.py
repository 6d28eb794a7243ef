"""A guard before a fork: who waits for whom when several threads fork, call, and wait for others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from agent_memory.ports.forks import ForkGuard
from patience import FOREVER, PATIENCE


def begun(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_it_stays_shut_until_the_last_of_several_forks_is_done() -> None:
    guard, came, other_done = ForkGuard(), threading.Event(), threading.Event()

    def fork() -> None:
        guard.before_fork()
        other_done.wait(PATIENCE)
        guard.after_fork(child=False)

    other = begun(fork)
    guard.before_fork()
    guard.after_fork(child=False)
    time.sleep(0.1)
    begun(lambda: (guard.enter(), came.set()))
    assert not came.wait(0.2), "the other fork would catch it"
    other_done.set()
    other.join(PATIENCE)
    assert came.wait(PATIENCE)


def test_two_that_fork_inside_a_call_do_not_wait_for_each_other() -> None:
    guard, both = ForkGuard(), threading.Barrier(2)

    def fork() -> None:
        with guard:
            both.wait(PATIENCE)
            guard.before_fork(FOREVER)
            guard.after_fork(child=False)

    threads = [begun(fork), begun(fork)]
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_whoever_stepped_out_comes_back_as_deep_as_before() -> None:
    guard, done = ForkGuard(), threading.Event()
    with guard, guard:
        times = guard.step_out()
        forking = begun(lambda: (guard.before_fork(20), guard.after_fork(child=False), done.set()))
        assert done.wait(PATIENCE), "nobody is inside"
        forking.join(PATIENCE)
        guard.enter(times)
        late = begun(lambda: (guard.before_fork(0.2), guard.after_fork(child=False)))
        late.join(0.1)
        assert times == 2 and late.is_alive(), "it waits for who is inside again"
    assert not guard.leave()
    late.join(PATIENCE)
