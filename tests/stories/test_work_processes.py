"""Workers and agents in processes of their own, killed and stopped: each effect once, in order, nothing lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent_memory import AgentMemory
from agent_memory.models import Task
from patience import PATIENCE

WORKER = """
import sys, time
from agent_memory import AgentMemory
from agent_memory.models.errors import Conflict
name, seconds, work = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
memory = AgentMemory(user_id="ada")
print("ready", flush=True)
while True:
    task, token = memory.tasks.claim(name, lease_seconds=seconds)
    if task is None:
        time.sleep(0.05)
        continue
    print(f"claimed {task.id}", flush=True)
    try:
        time.sleep(work)
        memory.tasks.heartbeat(token, progress="half")
        memory.tasks.finish(token, name)
        print(f"finished {task.id}", flush=True)
    except Conflict as error:
        print(f"refused {task.id} {error.code}", flush=True)
"""

AGENT = """
import os, signal, sys
from pathlib import Path
from agent_memory import AgentMemory
point, acts = sys.argv[1], Path(sys.argv[2])
memory = AgentMemory(user_id="ada")
agent = memory.agents.get("deployer")

def dies(at):
    if at == point:
        os.kill(os.getpid(), signal.SIGKILL)

def act(key, number):
    "A tool that acts once for each key."
    if f"{key} " not in acts.read_text():
        with acts.open("a") as file:
            file.write(f"{key} {number}\\n")

resumed = agent.resume()
dies("resume")
done = resumed.last.result.output if resumed.last else 0
flying = resumed.in_flight.proposal if resumed.in_flight else None
with agent.cycle() as c:
    dies("begin")
    proposal = c.propose("act", {"number": done + 1}, key=flying.key if flying else None)
    dies("propose")
    act(proposal.key, done + 1)
    dies("act")
    c.result(done + 1)
    dies("result")
"""


def running(script: str, *words: object) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", script, *map(str, words)], stdout=subprocess.PIPE, text=True)


def worker(name: str, seconds: float, work: float) -> subprocess.Popen[str]:
    process = running(WORKER, name, seconds, work)
    assert process.stdout and process.stdout.readline() == "ready\n"
    return process


def end(process: subprocess.Popen[str]) -> list[str]:
    """What it said."""
    process.kill()
    said, _ = process.communicate(timeout=PATIENCE)
    return said.splitlines()


def proved(memory: AgentMemory, ids: list[str]) -> None:
    """Each was done once, and after all that it depends on."""
    assert memory.upkeep.verify().ok
    done = {}
    for id in ids:
        versions = [one for one in memory.records.history(id) if one.payload["status"] == "done"]
        assert len(versions) == 1, id
        done[id] = versions[0].seq
    assert all(done[id] > done[other] for id in ids for other in memory.tasks.get(id).depends_on)


def share_the_work(count: int, workers: int, kill_every: float, seconds: float, work: float) -> None:
    """Workers do `count` tasks; one is killed now and then and another started, and one is stopped for three leases."""
    with AgentMemory("ada") as memory:
        ids: list[str] = []
        chance = random.Random(7)
        for number in range(count):
            needs = chance.sample(ids, min(len(ids), 2)) if number % 3 else []
            ids.append(memory.tasks.add(Task(description=f"task {number}", depends_on=needs)).id)
        stopped = worker("sleeper", seconds, seconds / 2)  # so that it is stopped in its sleep, and not in a write
        assert stopped.stdout
        held = stopped.stdout.readline().split()[1]
        os.kill(stopped.pid, signal.SIGSTOP)
        team = [worker(f"w{number}", seconds, work) for number in range(workers)]
        try:
            started, killed = time.monotonic(), 0
            while any(memory.tasks.get(id).status != "done" for id in ids):
                time.sleep(kill_every)
                end(team.pop(chance.randrange(len(team))))
                killed += 1
                team.append(worker(f"w{workers + killed}", seconds, work))
            time.sleep(max(0.0, started + 3 * seconds - time.monotonic()))
            os.kill(stopped.pid, signal.SIGCONT)
            assert stopped.stdout.readline().split() == ["refused", held, "lease_lost"]
        finally:
            for process in (*team, stopped):
                end(process)
        proved(memory, ids)


@pytest.mark.requirement("P7")
def test_workers_that_are_killed_and_stopped(home: Path) -> None:
    share_the_work(count=12, workers=2, kill_every=1.0, seconds=1.0, work=0.05)


@pytest.mark.soak
@pytest.mark.requirement("P7")
def test_a_hundred_tasks_four_workers_and_one_killed_every_two_seconds(home: Path) -> None:
    share_the_work(count=100, workers=4, kill_every=2.0, seconds=2.0, work=0.5)


def live_and_die(rounds: int, acts: Path) -> None:
    """An agent that is killed between two steps, and started again. The order is drawn: what one kill leaves, another
    may lose."""
    acts.write_text("")
    points = ["resume", "begin", "propose", "act", "result"]
    points = ["act", "begin", *random.Random(3).sample(points * (rounds // len(points)), rounds - 2)]
    with AgentMemory("ada") as memory:
        agent = memory.agents.create("deployer", "Count.")
        for point in points:
            process = running(AGENT, point, acts)
            process.communicate(timeout=PATIENCE)
            assert process.returncode == -signal.SIGKILL
        process = running(AGENT, "never", acts)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        cycles = memory.agents.cycles(agent.id, limit=1000)[::-1]
        assert [one.index for one in cycles] == [*range(1, len(cycles) + 1)]
        results = [one.result.output for one in cycles if one.status == "complete" and one.result]
        assert results == [*range(1, len(results) + 1)]
        assert [int(line.split()[1]) for line in acts.read_text().splitlines()] == results  # nothing lost or doubled
        assert {one.status for one in cycles} == {"complete", "interrupted"}
        assert all(one.result.outcome == "interrupted" for one in cycles if one.status == "interrupted" and one.result)
        assert memory.upkeep.verify().ok


@pytest.mark.requirement("L7")
def test_an_agent_that_is_killed_between_each_two_steps(home: Path, tmp_path: Path) -> None:
    live_and_die(7, tmp_path / "acts")


@pytest.mark.soak
@pytest.mark.requirement("L7")
def test_an_agent_that_is_killed_a_hundred_times_between_each_two_steps(home: Path, tmp_path: Path) -> None:
    live_and_die(500, tmp_path / "acts")
