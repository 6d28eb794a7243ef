"""The toy server as a real process, that can be killed and comes back with what it kept."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

PLUGINS = Path(__file__).parent


class Outside:
    def __init__(self, folder: Path) -> None:
        self.file = folder / "toy.json"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"toy://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        command = [sys.executable, str(PLUGINS / "toy_outside.py"), str(self.port), str(self.file)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None and self._process.stdout.readline() == "ready\n"

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def stop(self) -> None:
        """It hangs from now on, until it is let to `go_on`."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    @property
    def environment(self) -> dict[str, str]:
        """For a process that has the package installed, and uses it for everything."""
        return {
            **os.environ,
            "PYTHONPATH": str(PLUGINS),
            "AGENT_MEMORY_WORKING": self.url,
            "AGENT_MEMORY_VECTORS": self.url,
            "AGENT_MEMORY_EMBEDDING_PROVIDER": "toy",
        }

    def kept(self) -> Any:
        return json.loads(self.file.read_text()) if self.file.exists() else {}
