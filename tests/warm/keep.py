"""Waits with the program imported, and forks for everybody who asks (`ask.py`). Ends when its standard input does."""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import marshal
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import time
from typing import Any

from ask import interpreter

BEGINNINGS = (
    *("models", "ports", "ledger", "core", "app", "engines.sqlite", "engines.onnx", "engines.git"),
    *("interfaces.cli", "interfaces.mcp", "interfaces.rest"),
)
OTHERS = ("numpy", "Stemmer", "re2", "markdown_it", "uvicorn")  # onnxruntime has a thread, which no fork takes along


def imported() -> None:
    import agent_memory
    from agent_memory.app.operations import TABLE

    for found in pkgutil.walk_packages(agent_memory.__path__, "agent_memory."):
        if found.name.removeprefix("agent_memory.").startswith(BEGINNINGS) and not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    for name in OTHERS:
        importlib.import_module(name)
    assert TABLE.values()
    gc.freeze()


def received(asking: socket.socket) -> tuple[list[int], Any]:
    head, ends, _, _ = socket.recv_fds(asking, 8, 3)
    said, size = b"", int.from_bytes(head, "big")
    while len(said) < size:
        said += asking.recv(size - len(said))
    return ends, marshal.loads(said)


def asked(address: str) -> tuple[list[int], Any]:
    """Waits and forks; returns in each process that was forked, with what to do there."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen(16)
    woken, waking = socket.socketpair()
    waking.setblocking(False)
    signal.set_wakeup_fd(waking.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    own = interpreter(dict(os.environb))
    running: dict[int, socket.socket] = {}
    os.write(1, b"waiting\n")
    while True:
        ready = select.select([0, listening, woken, *running.values()], [], [])[0]
        for pid, asking in running.items():
            if asking in ready or 0 in ready:  # who asked was killed
                os.kill(pid, signal.SIGKILL)
        if 0 in ready:
            sys.exit()
        if woken in ready:
            woken.recv(1024)
        if listening in ready:
            asking = listening.accept()[0]
            ends, order = received(asking)
            pid = os.fork() if interpreter(order[1]) == own else None
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for one in (listening, woken, waking, asking, *running.values()):
                    one.close()
                return ends, order
            for end in ends:
                os.close(end)
            asking.sendall((pid or 0).to_bytes(8, "big"))
            if pid:
                running[pid] = asking
        told(running)


def told(running: dict[int, socket.socket]) -> None:
    """Who asked is told how it ended."""
    for pid in list(running):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            with running.pop(pid) as asking, contextlib.suppress(OSError):
                asking.sendall(os.waitstatus_to_exitcode(status).to_bytes(8, "big", signed=True))


def become(ends: list[int], order: Any) -> None:
    """What a new interpreter would have found when it started."""
    words, environment, folder, umask, safe, leads = order
    if leads:
        os.setsid()
    for place, end in enumerate(ends):
        os.dup2(end, place)
        os.close(end)
    os.chdir(folder)
    os.umask(umask)
    os.environ.clear()
    os.environb.update(environment)
    time.tzset()
    for place, name in enumerate(("stdin", "stdout", "stderr")):
        before = getattr(sys, name)
        raw: Any = io.FileIO(place, "rw"[place > 0], closefd=False)
        raw = io.BufferedReader(raw) if place == 0 else io.BufferedWriter(raw)
        text = io.TextIOWrapper(raw, before.encoding, before.errors, line_buffering=place == 2 or os.isatty(place))
        setattr(sys, name, text)
        setattr(sys, f"__{name}__", text)
    sys.argv = ["agent-memory", *words]
    sys.path[:] = ([] if safe else [os.getcwd()]) + [one for one in sys.path if one != os.path.dirname(__file__)]


if __name__ == "__main__":
    imported()
    become(*asked(sys.argv[1]))
    runpy.run_module("agent_memory.interfaces.cli", run_name="__main__", alter_sys=True)
