"""Several workers in processes of their own, one store: each line of the feed is worked on once, whoever dies."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from agent_memory import AgentMemory
from agent_memory.core.upkeep.jobs import JOBS
from agent_memory.ports.feed import Cursor, Feed
from patience import PATIENCE, until

WORKER = """
import json, signal, sys, threading, time
from agent_memory import AgentMemory
from agent_memory.core.upkeep.job import Job
from agent_memory.core.upkeep.runner import Runner
from agent_memory.core.write.commit import How, commit
from agent_memory.models.draft import Draft
from agent_memory.ports.changes import Author
from agent_memory.ports.clock import SystemClock
from agent_memory.ports.feed import Work

mode, lease = sys.argv[1], float(sys.argv[2])

def tell(**said):
    print(json.dumps(said), flush=True)

def shout(keeping, turn):
    '''Of every note one that is louder, a few lines at a time. Nothing but the cursor keeps it from a second one.'''
    feed, made, begun = keeping.store.feed, 0, time.monotonic()
    for tenant in feed.news("shout"):
        since = feed.cursor("shout", tenant)
        lines = feed.lines(since, limit=3)
        tell(read=len(lines))
        if mode == "waits":
            sys.stdin.readline()
        quiet = [one for one in lines if one.id and one.id.startswith("note")]
        work = Work(turn.lease, since, lines[-1].cursor)
        if quiet:
            drafts = [Draft(kind="observation", text=f"{one.id}!") for one in quiet]
            commit(keeping.writing, drafts, Author(quiet[0].scope, "shout"), turn.now, How(work=work, embed=False))
        else:
            feed.advance(work)
        made += len(quiet)
        tell(made=[one.id for one in quiet])
    tell(ran=[begun, time.monotonic()])
    return {"made": made}

memory = AgentMemory(user_id="ada")
jobs = [Job("shout", 0.01, shout, lambda keeping: keeping.store.feed.behind("shout"), lambda did: did["made"] > 0)]
observe = lambda name, run: tell(error=run.error) if run.error else None
runner = Runner(memory._client.runtime.keeping(SystemClock()), jobs, observe, lease)
stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *told: stop.set())
tell(ready=runner.holder)
runner.start()
stop.wait()
tell(stopped=runner.stop())
memory.close()
"""


@dataclass
class Worker:
    """A process, and what it has told so far."""

    process: subprocess.Popen[str]
    path: Path

    def told(self, what: str) -> list[object]:
        lines = [json.loads(line) for line in self.path.read_text().splitlines() if line.endswith("}")]
        return [line[what] for line in lines if what in line]

    def end(self) -> None:
        """Gracefully: what it was doing is finished or left, and its lease given back."""
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        assert self.process.wait(PATIENCE) == 0 and self.told("stopped") == [True]


Start = Callable[..., Worker]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Worker] = []

    def begin(mode: str = "works", lease: float = 60.0) -> Worker:
        path = tmp_path / f"worker {len(started)}"
        with path.open("w") as out:
            process = subprocess.Popen(
                [sys.executable, "-c", WORKER, mode, str(lease)], stdin=subprocess.PIPE, stdout=out, text=True
            )
        started.append(Worker(process, path))
        until(lambda: started[-1].told("ready"))
        return started[-1]

    yield begin
    for worker in started:
        worker.process.kill()
        worker.process.wait()
        assert worker.process.stdin
        worker.process.stdin.close()


def write(*numbers: int) -> None:
    with AgentMemory(user_id="ada") as memory:
        memory.records.add_many([{"text": f"note {one}", "id": f"note{one:02}"} for one in numbers], embed=False)


def louder() -> list[str]:
    """What was made of the notes, each as often as it was made."""
    with AgentMemory(user_id="ada") as memory:
        assert memory.upkeep.verify().ok
        return sorted(one.text for one in memory.records.find(limit=1000) if one.text.endswith("!"))


def shouted(*numbers: int) -> list[str]:
    return [f"note{one:02}!" for one in numbers]


@contextmanager
def feed() -> Iterator[Feed]:
    with AgentMemory(user_id="ada") as memory:
        yield memory._client.runtime.store.feed


def caught_up() -> bool:
    with feed() as found:
        return found.behind("shout") == 0


def test_two_workers_share_a_job_and_never_do_it_at_once(start: Start) -> None:
    write(*range(20))
    two = [start(), start()]
    until(caught_up)
    write(*range(20, 40))
    until(caught_up)
    for one in two:
        one.end()
    assert louder() == shouted(*range(40))
    runs = sorted(run for one in two for run in one.told("ran"))  # type: ignore[type-var]
    assert len(runs) > 2
    for (_, before), (after, _) in pairwise(runs):  # type: ignore[misc]
        assert before <= after, "two of them worked at the same time"
    assert not [error for one in two for error in one.told("error")]


def test_a_worker_that_is_killed_leaves_what_it_made_and_the_next_goes_on(start: Start) -> None:
    write(*range(30))
    for _ in range(3):
        victim = start(lease=0.5)
        until(lambda victim=victim: len(victim.told("made")) >= 2)  # type: ignore[misc]
        os.kill(victim.process.pid, signal.SIGKILL)
        victim.process.wait()
    last = start(lease=0.5)
    until(caught_up)
    last.end()
    assert louder() == shouted(*range(30))


def test_a_worker_that_was_paused_beyond_its_lease_writes_nothing(start: Start) -> None:
    write(*range(3))
    paused = start("waits", lease=1.0)
    until(lambda: paused.told("read"))
    paused.process.send_signal(signal.SIGSTOP)
    other = start(lease=60.0)
    until(lambda: other.told("made") and caught_up())
    assert paused.process.stdin
    paused.process.stdin.write("\n" * 100)
    paused.process.stdin.flush()
    paused.process.send_signal(signal.SIGCONT)
    until(lambda: paused.told("error"))
    assert "the lease of the job shout went to another worker" in str(paused.told("error")[0])
    assert paused.told("made") == []
    for one in (paused, other):
        one.end()
    assert louder() == shouted(*range(3))


def test_a_slow_step_loses_no_lease(start: Start) -> None:
    """It takes longer than the lease; the worker renews it meanwhile."""
    write(0)
    slow = start("waits", lease=0.5)
    until(lambda: slow.told("read"))
    with feed() as found:
        (state,) = found.states()
        until(lambda: (found.states()[0].until or 0) > (state.until or 0), "it is not renewed")
        until(lambda: (found.states()[0].until or 0) > (state.until or 0) + 500_000, "it is renewed once")
        assert found.lease("shout", "another", 60.0) is None
    assert slow.process.stdin
    slow.process.stdin.write("\n" * 100)
    slow.process.stdin.flush()
    until(caught_up)
    slow.end()
    assert louder() == shouted(0) and slow.told("error") == []


def test_an_older_file_that_is_put_back_is_read_from_where_its_reader_was(start: Start, home: Path) -> None:
    write(0, 1)
    first = start()
    until(caught_up)
    first.end()
    shutil.copy(home / "memory.db", home / "backup.db")
    write(2, 3)
    second = start()
    until(caught_up)
    second.end()
    with feed() as found:
        elsewhere = found.cursor("shout", "default")  # as a mirror keeps it
        assert found.lines(elsewhere) == []
    shutil.move(home / "backup.db", home / "memory.db")
    write(4, 5, 6)
    with feed() as found:
        assert [one.id for one in found.lines(elsewhere)][:2] == ["note00", "note01"], "a mirror starts anew"
        assert [one.id for one in found.lines(found.cursor("shout", "default"))][:1] == ["note04"]
    third = start()
    until(caught_up)
    third.end()
    assert louder() == shouted(0, 1, 4, 5, 6)


def test_a_cursor_of_another_journal_starts_anew(start: Start, home: Path) -> None:
    """Cursors that came from elsewhere than the journal, as after a fail-over to a copy that lacked the last lines."""
    write(0, 1)
    shutil.copy(home / "memory.db", home / "backup.db")
    write(2, 3)
    first = start()
    until(caught_up)
    first.end()
    with closing(sqlite3.connect(home / "memory.db")) as newer:
        rows = newer.execute("select * from cursors").fetchall()
    shutil.move(home / "backup.db", home / "memory.db")
    with closing(sqlite3.connect(home / "memory.db")) as older, older:
        older.executemany("insert into cursors values (?, ?, ?, ?, ?, ?)", rows)
    with feed() as found:
        assert found.cursor("shout", "default") == Cursor("default")
        assert found.news("shout") == ["default"]
    second = start()
    until(caught_up)
    second.end()
    assert louder() == shouted(0, 1)


# -- the command line


def agent_memory(*words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "agent_memory.interfaces.cli", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> tuple[int, list[dict[str, object]], str]:
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, [json.loads(line) for line in out.splitlines()], err


def report() -> dict[str, dict[str, object]]:
    with AgentMemory(user_id="ada") as memory:
        return {one.name: one.model_dump() for one in memory.upkeep.jobs()}


def names(runs: Sequence[dict[str, object]]) -> list[object]:
    return [run["job"] for run in runs]


@pytest.mark.requirement("C11")
def test_workers_from_the_command_line_share_and_stop_when_they_are_told() -> None:
    write(*range(40))
    two = [agent_memory("worker"), agent_memory("worker")]
    for one in two:
        assert one.stdout is not None
        said = json.loads(one.stdout.readline())
        assert said["runs"] == [job.name for job in JOBS], "before it has done anything"
    until(lambda: report()["catch_up"]["lag"] == 0 and report()["retention"]["last_run"])
    for one in two:
        one.terminate()
    runs = list[dict[str, object]]()
    for one in two:
        code, told, err = ended(one)
        assert (code, err) == (0, "")
        runs += told
    assert names(runs).count("retention") == 1, "one of them did it, and it is not due again"
    assert sum(run["did"]["vectors"] for run in runs if run["job"] == "catch_up") == 40  # type: ignore[index]
    assert {one["held_by"] for one in report().values()} == {None}


def test_each_job_once() -> None:
    write(*range(3))
    code, runs, _ = ended(agent_memory("worker", "--once", "--job", "scrub", "--job", "catch_up"))
    assert (code, names(runs)) == (0, ["scrub", "catch_up"])
    assert runs[1]["did"] == {"vectors": 3, "pending_vectors": 0}
    told = report()
    assert told["catch_up"]["did"] == {"vectors": 3, "pending_vectors": 0} and told["catch_up"]["last_run"]
    assert told["retention"]["last_run"] is None and told["retention"]["lag"] is None
    code, _, err = ended(agent_memory("worker", "--job", "tidy"))
    assert code == 2 and "'tidy'" in err and "catch_up, retention, scrub" in err
    code, _, err = ended(agent_memory("worker", "--job", "follow"))
    assert code == 2 and "no repository to follow" in err and "AGENT_MEMORY_WORKPLACE" in err


def test_a_worker_whose_reader_went_away_ends_quietly() -> None:
    write(1)
    worker = agent_memory("worker", "--job", "catch_up")
    assert worker.stdout and worker.stderr
    worker.stdout.readline()
    worker.stdout.close()
    write(2)
    assert worker.wait(PATIENCE) == 141
    assert worker.stderr.read() == ""
    worker.stderr.close()
    assert report()["catch_up"]["last_error"] is None


def test_a_worker_needs_a_store_of_its_own() -> None:
    code, _, err = ended(agent_memory("worker", "--store", "http://127.0.0.1:9"))
    assert code == 2 and "is a server, which runs its jobs by itself" in err
    code, _, err = ended(agent_memory("worker", "--once", "--store", "/nowhere/memory.db"))
    assert code == 6 and "there is no store at /nowhere/memory.db" in err
