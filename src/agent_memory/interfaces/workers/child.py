"""One of several processes of a server: `python -m agent_memory.interfaces.workers.child`, started by `parent`.

Its parent says on the standard input what to do, and holds the other end for as long as it lives: when that is gone,
this process stops, too. On the standard output it says one thing: where it answers, or why it cannot.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import sys
import threading
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from agent_memory.app.board import Board
from agent_memory.app.config import Settings
from agent_memory.app.service import Service
from agent_memory.interfaces import serving
from agent_memory.models.errors import AgentMemoryError

FAILED = 1


@dataclass(frozen=True)
class Order:
    """What a worker is to do. `sockets`: the family, type, protocol and descriptor of each that it inherits."""

    settings: Settings
    listen: serving.Listen
    sockets: tuple[tuple[int, int, int, int], ...]
    board: Path


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a Ctrl-C its parent is told, too
    report = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever else is printed must not be taken for it

    def tell(said: object) -> None:
        with report:
            pickle.dump(said, report)

    order: Order = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our parent, over a pipe that nobody else has
    threading.Thread(target=_stop_when_alone, daemon=True).start()
    try:
        with closing(Board(order.board)) as board:
            service = Service(order.settings, board=board)
            serving.serve(service, order.listen, tell, [socket.socket(*one) for one in order.sockets])
    except AgentMemoryError as error:
        if report.closed:
            raise
        tell(error)
        return FAILED
    return 0


def _stop_when_alone() -> None:
    """The parent says nothing more: this ends when it does."""
    os.read(sys.stdin.fileno(), 1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
