"""The parent of several processes that answer at one address: it starts them, replaces those that end, and stops them.

It opens the sockets and hands them down, and knows neither the store nor a model. Each worker is a fresh interpreter: a
fork would copy whatever threads of libraries hold at that moment ([why](docs/decisions/0021-workers.md)).

A worker that ends is replaced; the sockets stay open meanwhile, and nobody is turned away. If the first one cannot
start at all, nor can the others, and its error is the parent's. If a replacement cannot start again and again, the
parent gives up, rather than serving less than it was asked for and saying nothing.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import socket
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from agent_memory.app.board import Board
from agent_memory.app.config import Settings
from agent_memory.interfaces import serving
from agent_memory.interfaces.loopback import listening
from agent_memory.interfaces.workers.child import Order
from agent_memory.models.errors import AgentMemoryError, InvalidInput
from agent_memory.ports import spans

MOST_FAILURES = 5  # starts in a row that may fail
PAUSES = (0.1, 0.5, 1.0, 2.0, 5.0)  # seconds before the next start; from the beginning after one that lasted
LASTING_SECONDS = 30.0
STOP_SECONDS = 3 * serving.GRACE_SECONDS  # for requests, gRPC and jobs, one after the other
COMMAND = (sys.executable, "-P", "-m", "agent_memory.interfaces.workers.child")
METRICS = "PROMETHEUS_MULTIPROC_DIR"  # where its library counts for several processes
_log = spans.log(__name__)


def serve(settings: Settings, listen: serving.Listen, workers: int, announce: serving.Announce) -> None:
    """Listen with so many processes until a signal comes; `announce` is told where when all of them answer."""
    _check(settings, listen)
    with ExitStack() as held:
        folder = _folder(held)
        board = held.enter_context(closing(Board(Board.make(folder, workers))))
        sockets = _opened(listen, workers, held)
        shared = replace(listen, grpc_port=_reserved(listen, held), shares=True)
        orders = [Order(settings, shared, tuple(map(_inherited, some)), folder / "board") for some in sockets]
        asyncio.run(_Workers(orders, board, [one for some in sockets for one in some]).run(announce))


def _folder(held: ExitStack) -> Path:
    """For what the workers share. It is locked, since what has lain in such places for days is cleaned away, and this
    may be used for months."""
    import fcntl

    made = held.enter_context(tempfile.TemporaryDirectory(prefix="agent-memory-"))
    opened = os.open(made, os.O_RDONLY)
    held.callback(os.close, opened)
    fcntl.flock(opened, fcntl.LOCK_SH)
    return Path(made)


def _check(settings: Settings, listen: serving.Listen) -> None:
    """What cannot be shared is refused, rather than answered differently by each process."""
    for name in ("store", "working", "vectors"):
        if (getattr(settings, name) or "").startswith("memory:"):
            raise InvalidInput(
                f"workers: {name} is memory://, which each process has for itself",
                hint="leave out --workers, or name a store that processes can share: the path of a file",
                field="workers",
            )
    if sys.platform == "win32":
        raise InvalidInput("workers: this system cannot share sockets", hint="leave out --workers", field="workers")
    if sys.platform != "linux" and listen.grpc_port is not None and find_spec("grpc") is not None:
        raise InvalidInput(
            "workers: only Linux shares a gRPC port fairly between processes",
            hint="give --no-grpc, or leave out --workers",
            field="workers",
        )


def _opened(listen: serving.Listen, workers: int, held: ExitStack) -> list[list[socket.socket]]:
    """What each worker listens on. Of a port it is a socket of its own, where the system deals connections out to
    them: whoever is quick would take all of a socket that they share. It is held here, too, so that whoever is in its
    queue when a worker ends waits for the next one."""
    sockets = serving.opened(listen, held)
    if listen.port is None or sys.platform != "linux":
        return [sockets] * workers
    first = sockets.pop()
    port = first.getsockname()[1]
    first.close()
    own = [held.enter_context(listening(listen.host, port, "--port", shares=True)) for _ in range(workers)]
    return [[*sockets, one] for one in own]


def _reserved(listen: serving.Listen, held: ExitStack) -> int | None:
    """The port of gRPC, which each worker opens by itself: held for them, but not listened on here."""
    if listen.grpc_port is None or find_spec("grpc") is None:
        return None
    with listening(listen.host, listen.grpc_port, "--grpc-port") as free:
        port: int = free.getsockname()[1]
    kept = held.enter_context(socket.socket(free.family))
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    kept.bind((listen.host, port))
    return port


def _inherited(one: socket.socket) -> tuple[int, int, int, int]:
    return one.family, one.type, one.proto, one.fileno()


class _Workers:
    """From `run` until a signal, or until a worker cannot be replaced."""

    def __init__(self, orders: list[Order], board: Board, sockets: list[socket.socket]) -> None:
        self._orders = orders
        self._board = board
        self._sockets = sockets
        self._stopping = asyncio.Event()
        self._ready = [asyncio.Event() for _ in range(board.workers)]
        self._running: dict[int, Process] = {}
        self._where: dict[str, str] = {}

    async def run(self, announce: serving.Announce) -> None:
        for one in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(one, self._stop)
        tasks: list[asyncio.Task[None]] = []
        try:
            first = await self._start(0)  # alone: it makes or upgrades the store, if there is need
            keeping = [self._keep(worker, None if worker else first) for worker in range(self._board.workers)]
            tasks = [asyncio.create_task(one) for one in (*keeping, self._announce(announce))]
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
        except _Stopped:
            pass
        finally:
            self._stop()
            await self._end(tasks)

    async def _announce(self, announce: serving.Announce) -> None:
        for one in self._ready:
            await one.wait()
        if not self._stopping.is_set():
            announce(self._where)

    async def _keep(self, worker: int, process: Process | None) -> None:
        """Have this worker run until all are to stop. Raises what keeps it from starting, if that does not change."""
        failures = short = 0
        while not self._stopping.is_set():
            begun = time.monotonic()
            try:
                process = process or await self._start(worker)
                failures = 0
                happened = f"ended with status {await process.wait()}"
            except (AgentMemoryError, Died) as error:
                failures += 1
                if failures == MOST_FAILURES:
                    raise _given_up(error) from error
                happened = f"could not start: {error}"
            process = None
            self._board.mark(worker, 0)
            self._board.gone(self._running[worker].pid)
            short = 0 if time.monotonic() - begun > LASTING_SECONDS else short + 1
            if not self._stopping.is_set():
                pause = PAUSES[min(max(failures, short - 1), len(PAUSES) - 1)]
                _log.warning("worker %d %s; it is started again in %g s", worker + 1, happened, pause)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), pause)

    async def _start(self, worker: int) -> Process:
        """A process that answers; its error if it cannot."""
        environment = {"OMP_NUM_THREADS": "1", **os.environ, METRICS: str(self._board.counts)}
        files = [one[-1] for one in self._orders[worker].sockets]
        process = await asyncio.create_subprocess_exec(
            *COMMAND, stdin=PIPE, stdout=PIPE, env=environment, pass_fds=files
        )
        assert process.stdin is not None and process.stdout is not None
        self._running[worker] = process
        if self._stopping.is_set():
            process.terminate()
        process.stdin.write(pickle.dumps(self._orders[worker]))
        said = await process.stdout.read()
        if not said:
            status = await process.wait()
            raise _Stopped if self._stopping.is_set() else Died(f"a worker ended with status {status} at its start")
        where = pickle.loads(said)  # noqa: S301 - from our own child, over a pipe that nobody else has
        if isinstance(where, AgentMemoryError):
            await process.wait()
            raise where
        self._where = where
        self._board.mark(worker, process.pid)
        self._ready[worker].set()
        return process

    def _stop(self) -> None:
        """Whoever comes now is turned away, rather than left waiting for nobody."""
        self._stopping.set()
        for one in self._sockets:
            one.close()
        for process in self._running.values():
            with suppress(ProcessLookupError):
                process.terminate()

    async def _end(self, tasks: list[asyncio.Task[None]]) -> None:
        """Wait for all; who takes far too long is killed."""
        for one in self._ready:
            one.set()
        waiting = [asyncio.create_task(process.wait()) for process in self._running.values()]
        if waiting:
            _, late = await asyncio.wait(waiting, timeout=STOP_SECONDS)
            for process in self._running.values() if late else ():
                with suppress(ProcessLookupError):
                    process.kill()
        await asyncio.gather(*tasks, *waiting, return_exceptions=True)


class Died(Exception):
    """A worker that ended at its start without a word: what it wrote on the standard error says why."""


class _Stopped(Exception):
    """A worker was told to stop before it was ready."""


def _given_up(error: Exception) -> Exception:
    why = f"workers: one could not be started, {MOST_FAILURES} times in a row"
    if isinstance(error, AgentMemoryError):
        return type(error)(f"{why}: {error.message}", hint=error.hint, field=error.field)
    return Died(f"{why}: {error}")
