"""`agent-memory serve` as a process, for tests of it."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from patience import PATIENCE
from warm import PROGRAM

SERVE = ["serve", "--port", "0", "--grpc-port", "0"]


class Server:
    """A running `agent-memory serve`."""

    def __init__(self, process: subprocess.Popen[str], said: str) -> None:
        self.process = process
        self.said = said
        self.at = urlsplit(next(word for word in said.split() if word.startswith(("http://", "https://")))).netloc
        self.host, _, port = self.at.rpartition(":")
        self.port = int(port)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, str], Any]:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        try:
            content = None if body is None else json.dumps(body)
            told = {**({"content-type": "application/json"} if body is not None else {}), **headers}
            connection.request(method, path, content, told)
            answer = connection.getresponse()
            text = answer.read().decode()
            kind = answer.headers.get("content-type", "")
            return (
                answer.status,
                dict(answer.headers),
                json.loads(text) if "json" in kind and "nd" not in kind else text,
            )
        finally:
            connection.close()

    def raw(self, *parts: bytes, pause: float = 0.0, close: bool = False) -> bytes:
        """What comes back for these bytes, sent as they are."""
        with socket.create_connection((self.host, self.port), timeout=PATIENCE) as wire:
            for part in parts:
                wire.sendall(part)
                time.sleep(pause)
            if close:
                wire.shutdown(socket.SHUT_WR)
            seen = b""
            while data := wire.recv(65536):
                seen += data
            return seen


@contextmanager
def serving(*options: str, program: Sequence[str] = PROGRAM, **to: Any) -> Iterator[Server]:
    """`to` says where it writes what goes wrong, if not here. `FRESH` is the process itself, for who looks into it."""
    process = subprocess.Popen(
        [*program, *SERVE, *options], stdout=subprocess.PIPE, text=True, env={**os.environ}, **to
    )
    assert process.stdout is not None
    try:
        yield Server(process, process.stdout.readline())
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(PATIENCE)
        process.stdout.close()
