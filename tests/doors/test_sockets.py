"""A server on a Unix socket: only its owner reaches it, our clients speak it, and nothing of others is replaced."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory, AsyncAgentMemory
from agent_memory.interfaces.sockets import listening_at
from agent_memory.models.errors import InvalidInput
from patience import PATIENCE

PROGRAM = [sys.executable, "-m", "agent_memory.interfaces.cli"]
Run = Callable[..., Any]


@pytest.fixture
def served(home: Path, tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """`agent-memory serve --socket`, where a killed server left a socket behind."""
    path = tmp_path / "memory.sock"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    command = [*PROGRAM, "serve", "--socket", str(path)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ})
    assert server.stdout is not None
    said = server.stdout.readline()
    assert f"unix://{path}" in said and "http://" not in said and "gRPC" not in said, "no port was asked for"
    with server:
        yield path, server
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE) == 0
    assert not path.exists(), "it is removed at the end"


@pytest.mark.requirement("P23")
def test_our_clients_speak_it(served: tuple[Path, subprocess.Popen[str]], here: Run) -> None:
    path, _ = served
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    url = f"unix://{path}"
    with AgentMemory("ada", store=url) as memory:
        id = memory.records.add("The staging database moved", id="moved").id
        assert memory.records.get(id).text == "The staging database moved"

    async def asked() -> list[str]:
        async with AsyncAgentMemory("ada", store=url) as memory:
            return [hit.id for hit in await memory.recall("staging database")]

    assert asyncio.run(asked()) == ["moved"]
    ran = here("--store", url, "--user", "ada", "recall", "staging", "--json")
    assert ran.code == 0 and "moved" in ran.out
    assert f"unix://{path}" in here("--store", url, "doctor").out
    refused = here("serve", "--socket", str(path))
    assert refused.code != 0 and "another server listens" in refused.err
    assert here("--store", url, "--user", "ada", "recall", "staging").code == 0, "it was left alone"


@pytest.mark.requirement("P23")
def test_nobody_else_reaches_it_at_any_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with a generous umask, and already while it is bound."""
    before, path, modes = os.umask(0), tmp_path / "s", []
    listen = socket.socket.listen
    monkeypatch.setattr(socket.socket, "listen", lambda *given: (modes.append(path.stat().st_mode), listen(*given)))
    try:
        with listening_at(path):
            modes.append(path.stat().st_mode)
    finally:
        assert os.umask(before) == 0, "it is as it was"
    assert [stat.S_IMODE(mode) for mode in modes] == [0o600, 0o600]
    assert not path.exists()


def test_what_is_not_a_stale_socket_stays(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    link = tmp_path / "link"
    link.symlink_to(file)
    for path, said in (
        (file, "is not a socket"),
        (link, "is not a socket"),
        (tmp_path, "is not a socket"),
        (tmp_path / "none" / "s", "No such file"),
        (tmp_path / ("s" * 200), "cannot listen"),
    ):
        with pytest.raises(InvalidInput) as refused, listening_at(path):
            pass
        assert said in refused.value.message and refused.value.field == "socket" and refused.value.hint
    assert file.read_text() == "mine" and link.is_symlink()


def test_a_socket_that_another_server_made_meanwhile_is_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with listening_at(path):
        path.unlink()
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(path))
    assert path.exists()


def test_what_is_wrong_with_the_address_is_named(tmp_path: Path, here: Run, process: Run) -> None:
    with pytest.raises(InvalidInput, match="does not name a socket"):
        AgentMemory("ada", store="unix://")
    ran = process("--store", f"unix://{tmp_path}/none.sock", "recall", "x")
    assert ran.code != 0 and f"serve --socket {tmp_path}/none.sock" in ran.err
    ran = here("--store", f"unix://{tmp_path}/none.sock", "serve")
    assert ran.code != 0 and "is a server" in ran.err
    ran = here("serve", "--socket", "s", "--tls-cert", "c", "--tls-key", "k")
    assert ran.code != 0 and "--tls-cert" in ran.err


@pytest.mark.requirement("P23")
def test_an_export_is_for_its_owner_alone(here: Run, remembered: str, tmp_path: Path) -> None:
    """A file that others could read is replaced, and one that cannot be finished stays as it was."""
    before, file = os.umask(0), tmp_path / "all.ndjson"
    file.write_text("older\n")
    file.chmod(0o666)
    link = tmp_path / "link"
    link.symlink_to(file)
    reader = file.open()
    try:
        assert here("export", str(link)).code == 0
    finally:
        os.umask(before)
    assert link.is_symlink() and stat.S_IMODE(file.stat().st_mode) == 0o600 and remembered in file.read_text()
    with reader:
        assert reader.read() == "older\n", "who has the old one open does not get the new"
    assert [one.name for one in sorted(tmp_path.iterdir()) if one.name.startswith(".")] == []
    assert here("export", "/dev/null").code == 0 and stat.S_ISCHR(Path("/dev/null").stat().st_mode)
