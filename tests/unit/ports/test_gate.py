"""A gate before a fork: who waits for whom when several threads fork, call, and wait for others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from agent_memory.ports.gate import Gate
from patience import FOREVER, PATIENCE


def begun(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_it_stays_shut_until_the_last_of_several_forks_is_done() -> None:
    gate, came, other_done = Gate(), threading.Event(), threading.Event()

    def fork() -> None:
        gate.before_fork()
        other_done.wait(PATIENCE)
        gate.after_fork(child=False)

    other = begun(fork)
    gate.before_fork()
    gate.after_fork(child=False)
    time.sleep(0.1)
    begun(lambda: (gate.enter(), came.set()))
    assert not came.wait(0.2), "the other fork would catch it"
    other_done.set()
    other.join(PATIENCE)
    assert came.wait(PATIENCE)


def test_two_that_fork_inside_a_call_do_not_wait_for_each_other() -> None:
    gate, both = Gate(), threading.Barrier(2)

    def fork() -> None:
        with gate:
            both.wait(PATIENCE)
            gate.before_fork(FOREVER)
            gate.after_fork(child=False)

    threads = [begun(fork), begun(fork)]
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_whoever_stepped_out_comes_back_as_deep_as_before() -> None:
    gate, done = Gate(), threading.Event()
    with gate, gate:
        times = gate.step_out()
        forking = begun(lambda: (gate.before_fork(20), gate.after_fork(child=False), done.set()))
        assert done.wait(PATIENCE), "nobody is inside"
        forking.join(PATIENCE)
        gate.enter(times)
        late = begun(lambda: (gate.before_fork(0.2), gate.after_fork(child=False)))
        late.join(0.1)
        assert times == 2 and late.is_alive(), "it waits for who is inside again"
    assert not gate.leave()
    late.join(PATIENCE)
