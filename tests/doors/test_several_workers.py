"""`serve --workers N`: several processes at one address, which answer, count, limit, start and stop as one."""

from __future__ import annotations

import http.client
import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from foreign import Foreign
from prometheus_client.multiprocess import MultiProcessCollector
from served import Server, serving

from agent_memory import AgentMemory
from agent_memory.app.board import WAYS, Board
from agent_memory.core.govern.access import Meter
from agent_memory.interfaces.workers.parent import MOST_FAILURES
from agent_memory.models.errors import TooMany
from patience import PATIENCE, until
from warm import FRESH

RATE = 2
JSON = {"content-type": "application/json"}


@pytest.fixture
def shared(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where servers put what their processes share."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "shared"))
    (tmp_path / "shared").mkdir()
    return tmp_path / "shared"


def children(server: Server) -> list[int]:
    """The processes that answer."""
    said = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
    return [int(one) for one in said.split()]


def counted(shared: Path) -> dict[int, float]:
    """How many requests each process has counted."""
    found = {}
    for file in shared.glob("agent-memory-*/counts/counter_*.db"):
        merged = MultiProcessCollector.merge([str(file)], accumulate=False)
        mine = [one for metric in merged if metric.name == "agent_memory_http_requests" for one in metric.samples]
        found[int(file.stem.partition("_")[2])] = sum(one.value for one in mine)
    return found


def listening(port: int) -> int:
    """How many sockets listen on a port."""
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
    return sum(line[1].endswith(f":{port:04X}") and line[3] == "0A" for line in lines)


def together(work: Callable[[int], object], count: int = 8) -> None:
    """In so many threads at once."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)


def everybody_answers(server: Server, shared: Path) -> None:
    """Both processes have answered something, on connections that came at the same time."""

    def asked() -> bool:
        together(lambda number: server.ask("GET", "/v1/stats"))
        return all(counted(shared).get(one, 0) for one in children(server))

    until(asked)


@pytest.mark.requirement("E8")
def test_they_are_one_server(shared: Path) -> None:
    """Through every door, in the metrics, and for whoever follows the journal."""
    with serving("--workers", "2", program=FRESH) as server:
        _through_every_door(server, shared)
        _metrics_add_up(server, shared)
        _a_follower_hears_of_all(server)


def _through_every_door(server: Server, shared: Path) -> None:
    assert len(children(server)) == 2 and server.ask("GET", "/readyz")[0] == 200
    id = server.ask("POST", "/v1/records", {"text": "Staging is on 5433"})[2]["id"]
    everybody_answers(server, shared)
    ids: list[str] = []
    together(lambda _: ids.append(server.ask("GET", f"/v1/records/{id}")[2]["id"]))
    assert ids == [id] * 8
    port = int(re.search(r"gRPC 127\.0\.0\.1:(\d+)", server.said)[1])  # type: ignore[index]
    for _ in range(8):  # each has a connection of its own
        with closing(Foreign(port, user=None)) as client:
            assert client.call("RecordsService/Get", {"id": id})["text"] == "Staging is on 5433"
    assert listening(port) == 2, "each of them"
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", port))  # and no other program
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get", "arguments": {"id": id}}}
    for _ in range(8):
        status, _, said = server.ask("POST", "/mcp", call, accept="application/json, text/event-stream")
        assert status == 200 and "5433" in json.dumps(said)


def _a_follower_hears_of_all(server: Server) -> None:
    connection = http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE)
    connection.request("GET", "/v1/journal/stream?after=0")
    answer = connection.getresponse()
    wanted = {f"note-{number}" for number in range(8)}
    together(lambda number: server.ask("POST", "/v1/records", {"text": "x", "id": f"note-{number}"}))
    heard: set[str] = set()
    while not wanted <= heard:
        line = answer.readline().decode()
        if line.startswith("data: "):
            heard.add(json.loads(line[6:])["record_id"])
    connection.close()


def _written(server: Server) -> float:
    return float(re.search(r"^agent_memory_writes_total (\S+)$", server.ask("GET", "/metrics")[2], re.M)[1])  # type: ignore[index]


def test_a_limit_holds_for_all_of_them_together(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with AgentMemory("default") as memory:
        secret = memory.keys.create("one").secret
    monkeypatch.setenv("AGENT_MEMORY_RATE_LIMIT", str(RATE))
    with serving("--workers", "2", "--no-grpc", "--no-jobs", program=FRESH) as server:
        statuses: list[int] = []

        def ask(_: int) -> None:
            head = {"authorization": f"Bearer {secret}"}
            statuses.extend([server.ask("GET", "/v1/stats", **head)[0] for _ in range(10)])

        begun = time.monotonic()
        together(ask)
        allowed = math.ceil(RATE * (1 + time.monotonic() - begun))  # what was there, and what came in meanwhile
        assert 429 in statuses and statuses.count(200) >= RATE
        assert statuses.count(200) <= allowed
        assert set(statuses) == {200, 429}
        assert len([one for one in counted(shared).values() if one]) == 2, "both were asked"


def _metrics_add_up(server: Server, shared: Path) -> None:
    before = _written(server)
    together(lambda number: server.ask("POST", "/v1/records", {"text": f"note {number}"}), 8)
    parts = counted(shared)
    assert len(parts) == 2 and all(parts.values())
    told = server.ask("GET", "/metrics")[2]
    requests = re.findall(r"^agent_memory_http_requests_total\{.*\} (\S+)$", told, re.M)
    assert sum(map(float, requests)) >= sum(parts.values())
    assert _written(server) == before + 8
    assert "agent_memory_store_up 1.0" in told and "agent_memory_store_bytes " in told
    alone = [int(Path(f"/proc/{one}/statm").read_text().split()[1]) * 4096 for one in children(server)]
    resident = float(re.search(r"^agent_memory_resident_bytes (\S+)$", told, re.M)[1])  # type: ignore[index]
    assert resident > max(alone)


def test_each_job_is_run_once_at_a_time(home: Path, shared: Path) -> None:
    with AgentMemory("default") as memory:
        memory.records.add_many([{"text": f"note {number}"} for number in range(30)])
    with serving("--workers", "2", "--no-grpc", program=FRESH) as server:
        until(lambda: not server.ask("GET", "/v1/stats")[2]["pending_vectors"])
        jobs = lambda: {one["name"]: one for one in server.ask("GET", "/v1/jobs")[2]}  # noqa: E731
        until(lambda: jobs()["retention"]["last_run"] and not jobs()["retention"]["held_by"])
        told = server.ask("GET", "/metrics")[2]
        assert 'agent_memory_job_seconds_count{job="retention"} 1.0' in told, "the other passed over it"
        assert "agent_memory_job_failures_total{" not in told


def test_one_that_is_killed_is_replaced_and_nothing_is_lost(home: Path) -> None:
    with serving("--workers", "2", program=FRESH) as server:
        _killed(server)


def _killed(server: Server) -> None:
    acknowledged: list[str] = []
    over = threading.Event()

    def write(thread: int) -> None:
        for number in range(100_000):
            if over.is_set():
                return
            id = f"t{thread}-{number}"
            try:
                if server.ask("POST", "/v1/records", {"text": f"thread {thread} wrote {number}", "id": id})[0] == 200:
                    acknowledged.append(id)
            except (OSError, http.client.HTTPException):
                pass  # whoever answered was killed just then

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    try:
        until(lambda: len(acknowledged) > 20)
        before = children(server)
        os.kill(before[0], signal.SIGKILL)
        some = len(acknowledged)
        until(lambda: len(acknowledged) > some + 20)  # the other goes on
        until(lambda: before[0] not in children(server) and len(children(server)) == 2)
        until(lambda: server.ask("GET", "/readyz")[0] == 200)
    finally:
        over.set()
        for thread in threads:
            thread.join(PATIENCE)
    assert before[1] in children(server)
    assert _written(server) >= len(acknowledged), "what it had counted counts"
    pids = children(server)
    server.process.kill()
    until(lambda: not any(_runs(pid) for pid in pids), "without their parent they stop")
    with AgentMemory("default") as memory:
        assert set(acknowledged) <= {record.id for record in memory.records.find(limit=10_000)}
        assert memory.upkeep.verify().ok


def test_requests_that_were_begun_are_finished(home: Path, shared: Path) -> None:
    acknowledged: list[str] = []
    broken: list[int] = []
    with serving("--workers", "2", program=FRESH) as server:

        def write(thread: int) -> None:
            with closing(http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE)) as connection:
                for number in range(100_000):
                    id = f"t{thread}-{number}"
                    try:
                        body = json.dumps({"text": f"thread {thread} wrote {number}", "id": id})
                        connection.request("POST", "/v1/records", body, JSON)
                        answer = connection.getresponse()
                        answer.read()
                    except (OSError, http.client.HTTPException):
                        return  # it listens no more
                    acknowledged.append(id) if answer.status == 200 else broken.append(answer.status)

        receipt = server.ask("POST", "/v1/recall", {"query": "anything"})[2]["receipt_id"]
        threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        until(lambda: len(acknowledged) >= 40)
        pids = children(server)
        server.process.terminate()
        assert server.process.wait(PATIENCE) == 0
        for thread in threads:
            thread.join(PATIENCE)
    assert not broken and not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert not list(shared.iterdir()), "nothing is left behind"
    with AgentMemory("default") as memory:
        assert set(acknowledged) <= {record.id for record in memory.records.find(limit=10_000)}
        assert memory.receipts.get(receipt)["query"] == "anything", "each wrote what it had still to write"


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_one_that_cannot_start_again_and_again_ends_it(home: Path, shared: Path) -> None:
    with serving("--workers", "2", stderr=subprocess.PIPE, program=FRESH) as server:
        assert server.process.stderr is not None
        store = home / "memory.db"
        for file in home.glob("memory.db*"):
            file.rename(file.with_name(f"moved-{file.name}"))
        store.mkdir()  # what is no store cannot be opened
        victim, other = children(server)
        os.kill(victim, signal.SIGKILL)
        said = server.process.stderr.read()
        assert server.process.wait(PATIENCE) == 6
        assert f"error: workers: one could not be started, {MOST_FAILURES} times in a row: " in said
        assert f"worker 1 ended with status {-signal.SIGKILL}" in said and not _runs(other)
        server.process.stderr.close()
    assert not list(shared.iterdir())


def test_the_first_that_cannot_start_says_why_once(process: Any, store: Path) -> None:
    store.mkdir(parents=True)
    for workers in ("1", "2"):
        ran = process("serve", "--port", "0", "--grpc-port", "0", "--workers", workers)
        assert ran.code == 6 and ran.err.count("error:") == 1 and "Traceback" not in ran.err and not ran.out
    ran = process(
        "serve", "--host", "0.0.0.0", "--port", "0", "--workers", "2", AGENT_MEMORY_HOME=str(store.parent / "b")
    )
    assert ran.code == 2 and "no key is asked for" in ran.err


@pytest.mark.parametrize("workers", ["0", "-1", "1000", "two"])
def test_a_number_that_makes_no_sense_is_refused(here: Any, workers: str) -> None:
    ran = here("serve", "--workers", workers)
    assert ran.code == 2 and "'--workers'" in ran.err and ("1<=x<=64" in ran.err or "not a valid integer" in ran.err)


@pytest.mark.parametrize("setting", ["store", "working", "vectors"])
def test_what_each_process_has_for_itself_is_refused(process: Any, home: Path, setting: str) -> None:
    ran = process("serve", "--workers", "2", **{f"AGENT_MEMORY_{setting.upper()}": "memory://"})
    assert ran.code == 2 and f"workers: {setting} is memory://" in ran.err and "leave out --workers" in ran.err


def test_a_socket_is_shared_too(shared: Path, tmp_path: Path) -> None:
    at = tmp_path / "am.sock"
    command = [sys.executable, "-m", "agent_memory.interfaces.cli", "serve", "--workers", "2", "--socket", str(at)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None and f"unix://{at}" in running.stdout.readline()
        with AgentMemory("ada", store=f"unix://{at}") as memory:
            memory.records.add("over a socket", id="a")
        assert at.stat().st_mode & 0o777 == 0o600
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE) == 0
    assert not at.exists() and not list(shared.iterdir())


# -- the board


def test_buckets_on_a_board_are_one_for_all(tmp_path: Path) -> None:
    path = Board.make(tmp_path, 2)
    with closing(Board(path)) as one, closing(Board(path)) as other:
        meters = [Meter(2.0, board.keys) for board in (one, other)]
        meters[0].take("a", 1.0)
        meters[1].take("a", 1.0)
        for meter in meters:
            with pytest.raises(TooMany) as told:
                meter.take("a", 1.1)
            assert told.value.wait == pytest.approx(0.4)
        meters[1].take("a", 1.6)
        meters[0].take("b", 1.6)
        Meter(2.0, one.strangers).take("a", 1.0)
        one.mark(1, 4711)
        assert other.ready() == [4711] and other.workers == 2


def test_a_board_has_room_for_whoever_calls_now(tmp_path: Path) -> None:
    """However many there are, those that called last have their buckets."""
    with closing(Board(Board.make(tmp_path, 2))) as board:
        meter = Meter(1.0, board.keys)
        for number in range(20_000):
            meter.take(f"key {number}", 1.0 + number / 1e6)
        for number in range(19_000, 20_000):
            with pytest.raises(TooMany):
                meter.take(f"key {number}", 1.1)
    assert WAYS > 1
