"""The Dockerfile and the Compose file: the rules that they keep, and that every command in them is one of ours.

No image is built or pulled here. What can be run is: the commands are parsed by our own command line, the health check
asks a real server, and what PostgreSQL is told at its start is told to a real one.
"""

from __future__ import annotations

import json
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from served import serving
from test_tls import written
from tests.parts.postgres import started

from agent_memory import AgentMemory
from agent_memory.app.doctor import examine
from agent_memory.interfaces.cli.root import root
from agent_memory.interfaces.cli.session import Session
from warm import FRESH

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "deploy" / "postgres" / "10-memory.sh"
LINES = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text("utf-8")).splitlines()
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("tables", "server", "worker")


def said(instruction: str) -> list[str]:
    """What stands after an instruction, each time."""
    found = [line.partition(" ")[2].strip() for line in LINES if line.startswith(f"{instruction} ")]
    assert found, instruction
    return found


def in_image() -> list[str]:
    """The lines of the last stage alone."""
    return LINES[max(number for number, line in enumerate(LINES) if line.startswith("FROM ")) :]


def parsed(words: list[str]) -> click.Context:
    """Read by our command line, and not run; a word that it does not know is an error."""
    above = click.Context(root, obj=Session())
    command = root.get_command(above, words[0])
    assert command is not None
    return command.make_context(words[0], words[1:], parent=above)


def health() -> list[str]:
    command: list[str] = json.loads(said("HEALTHCHECK")[0].partition("CMD ")[2])
    return command


def test_the_image_is_small_and_not_root() -> None:
    assert len(said("FROM")) == 2 and all(one.startswith("python:${PYTHON}-slim") for one in said("FROM"))
    user = [line for line in in_image() if line.startswith("USER ")]
    assert user == ["USER 10001:10001"]
    last = "\n".join(in_image())
    assert "pip" not in last and "COPY --from=build" in last and "COPY src" not in last, "tools stay in the first stage"
    assert "OMP_NUM_THREADS=1" in last and "AGENT_MEMORY_HOME=/data" in last
    assert said("VOLUME") == ["/data"] and said("EXPOSE") == ["8005 8006"]
    assert "--require-hashes" in " ".join(said("RUN")) and "[server,grpc,mcp,postgres]" in " ".join(said("RUN"))
    for line in said("COPY"):
        for source in shlex.split(line)[:-1]:
            assert source.startswith("--") or "--from" in line or (ROOT / source).exists(), source


def test_what_is_copied_is_not_ignored() -> None:
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {one for line in said("COPY") if "--from" not in line for one in shlex.split(line)[:-1]}
    assert {re.sub(r"/\w+\.txt$", "/*.txt", one) for one in copied} == kept


def test_the_image_serves() -> None:
    assert json.loads(said("ENTRYPOINT")[0]) == ["agent-memory"]
    assert parsed(json.loads(said("CMD")[-1])).params["host"] == "0.0.0.0"


@pytest.mark.parametrize("service", OURS)
def test_each_command_of_compose_is_ours(service: str) -> None:
    one = SERVICES[service]
    assert parsed(one["command"]).info_name == one["command"][0]
    shell, run, line, name = one["entrypoint"]
    assert (shell, run, name) == ("sh", "-c", "agent-memory")
    assert line.replace("$$", "$").endswith('exec agent-memory "$@"')
    if service == "worker":
        assert parsed(one["healthcheck"]["test"][1].partition("agent-memory ")[2].split(" >")[0].split())


def test_the_server_can_be_reached_by_this_machine_and_by_name() -> None:
    given = parsed(SERVICES["server"]["command"]).params
    assert given["host"] == "0.0.0.0" and given["allow_host"] == ("server",) and given["no_jobs"]
    assert SERVICES["server"]["ports"] == ["127.0.0.1:8005:8005", "127.0.0.1:8006:8006"]
    assert "ports" not in SERVICES["postgres"] and SERVICES["postgres"]["networks"] == ["inside"]
    assert COMPOSE["networks"]["inside"]["internal"]


@pytest.mark.parametrize("service", SERVICES)
def test_each_service_keeps_the_rules(service: str) -> None:
    one = SERVICES[service]
    assert one["read_only"] and one["tmpfs"] and one["security_opt"] == ["no-new-privileges:true"]
    limits = one["deploy"]["resources"]["limits"]
    assert {"cpus", "memory", "pids"} <= set(limits)
    if service == "tables":
        assert one["healthcheck"] == {"disable": True} and one["restart"] == "no", "it ends by itself"
    else:
        assert one["healthcheck"]["test"] and one["restart"] == "unless-stopped"
    if service in OURS:
        assert one["user"] == "10001:10001" and one["cap_drop"] == ["ALL"]
        needed = one["depends_on"]
        assert needed["postgres"] == {"condition": "service_healthy"}
        role = "memory_owner" if service == "tables" else "memory"
        if service != "tables":
            assert needed["tables"] == {"condition": "service_completed_successfully"}
        assert one["environment"] == {"AGENT_MEMORY_POSTGRES_URI": f"postgresql://{role}@postgres:5432/memory"}
        assert one["secrets"] == [role.replace("memory_", "") + "_password"]
    else:
        assert one["image"] == "pgvector/pgvector:pg18"


def test_no_password_stands_in_it() -> None:
    for name, secret in COMPOSE["secrets"].items():
        assert secret == {"file": f"./secrets/{name}"}
    assert "/deploy/secrets/" in (ROOT / ".gitignore").read_text().splitlines()
    for one in SERVICES.values():
        assert set(one["secrets"]) <= set(COMPOSE["secrets"])
        for name, value in one["environment"].items():
            assert "PASSWORD" not in name or (name.endswith("_FILE") and value.startswith("/run/secrets/"))
            assert not re.search(r"://[^/@]*:[^/@]*@", str(value)), "no password in an address"


def psql(line: str, text: str, folder: Path) -> None:
    """The script with this `psql`, and secrets in a folder of ours."""
    for name in ("owner_password", "memory_password"):
        (folder / name).write_text("it's $HOME\n")
    (folder / "psql").write_text(f"#!/bin/sh\n{line}\n")
    (folder / "psql").chmod(0o755)
    around = {"PATH": f"{folder}:/usr/bin:/bin", "POSTGRES_USER": "postgres"}
    subprocess.run(["sh", "-c", text.replace("/run/secrets", str(folder))], env=around, check=True)


def test_the_database_is_made_as_the_shell_reads_it(tmp_path: Path) -> None:
    """`psql` is one of ours here, which writes down what it was given."""
    assert SCRIPT.stat().st_mode & 0o111
    told = tmp_path / "told"
    psql(f'printf "%s\\n" "$@" > {told}\ncat >> {told}', SCRIPT.read_text(), tmp_path)
    lines = told.read_text().splitlines()
    assert f"\\set password `cat {tmp_path}/memory_password`" in lines
    assert "create role memory login password :'password';" in lines
    assert "$HOME" not in told.read_text(), "a command line is for everybody to see"
    assert "create extension vector;" in lines and "superuser" not in told.read_text()


@pytest.mark.requirement("C15")
def test_the_roles_of_compose_are_the_ones_that_the_guide_asks_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same script, by the real `psql`, into a real PostgreSQL; then what `tables` runs, and what the others do."""
    with started(18) as postgres:
        psql(f'exec {postgres.program("psql")} -h 127.0.0.1 -p {postgres.port} "$@"', SCRIPT.read_text(), tmp_path)
        monkeypatch.setenv("AGENT_MEMORY_POSTGRES_URI", postgres.uri("memory", "memory_owner"))
        command = [sys.executable, "-m", "agent_memory.interfaces.cli", *SERVICES["tables"]["command"]]
        assert subprocess.run(command, capture_output=True).returncode == 0
        monkeypatch.setenv("AGENT_MEMORY_POSTGRES_URI", uri := postgres.uri("memory", "memory"))
        checks = {one.name: one for one in examine(uri)}
        assert checks["role"].state == "ok" and "row-level security" in checks["role"].detail
        with AgentMemory("ada") as memory:
            memory.keys.create("me")
            memory.records.forget([memory.records.add("Staging deploys on Tuesdays.").id])
            memory.upkeep.run_jobs()
            assert memory.upkeep.stats()["scrub_owed_since"] is None and memory.upkeep.verify().ok


def free_port() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "tls"])
def test_the_health_check_asks_a_real_server(home: Path, tmp_path: Path, encrypted: bool) -> None:
    assert health() == SERVICES["server"]["healthcheck"]["test"][1:] == ["python", "/opt/agent-memory/healthy.py"]
    check = [sys.executable, ROOT / "deploy" / "healthy.py"]
    files = written(tmp_path, "ours") if encrypted else None
    shown = ["--tls-cert", str(files.certificate), "--tls-key", str(files.key)] if files else []
    with serving("--no-grpc", "--no-jobs", "--port", free_port(), *shown, program=FRESH) as server:
        command = Path(f"/proc/{server.process.pid}/cmdline").read_bytes()
        assert subprocess.run([*check, str(server.process.pid)], capture_output=True).returncode == 0
    gone = subprocess.Popen(["python3", "-c", "input()", *command.decode().split("\0")[3:-1]], stdin=subprocess.PIPE)
    assert subprocess.run([*check, str(gone.pid)], capture_output=True).returncode == 1, "nobody is there any more"
    gone.communicate(b"\n")


def test_the_health_check_lets_a_worker_be(home: Path) -> None:
    """It has no port; and the one of Compose asks the store."""
    worker = subprocess.Popen(["python3", "-c", "input()", "worker"], stdin=subprocess.PIPE)
    asked = [sys.executable, ROOT / "deploy" / "healthy.py", str(worker.pid)]
    assert subprocess.run(asked, capture_output=True).returncode == 0
    worker.communicate(b"\n")
