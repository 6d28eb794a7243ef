"""Every test has a home of its own: no store outlives it, and nobody's real memories are touched.

The stories of `BOTH` are told twice: in process, and through a real server on a port of its own. Tests among them that
look into the store itself are marked `local`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from patience import PATIENCE
from warm import waiting

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

# A shell's background job ignores Ctrl-C, and so would every process that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples every time, so that a change fails by what it changed; `make soak` looks for new ones.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("searching", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

BOTH = {
    f"test_{name}"
    for name in (
        "appending bad_input blocks context decisions feedback first_steps forget forgetting knowledge links merging "
        "operational origins replay review selecting time toolbox tools_and_strategies trace walls"
    ).split()
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("AGENT_MEMORY_", "OPENAI_", "OTEL_", "POSTGRES_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AGENT_MEMORY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AGENT_MEMORY_CONFIG", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture(autouse=True)
def elsewhere(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`make engines` tells stories on PostgreSQL: who names no store has a database of its own there."""
    if os.environ.get("STORIES_ON") != "postgres":
        yield
        return
    from tests.parts.postgres import server

    uri = server(18).fresh()
    monkeypatch.setenv("AGENT_MEMORY_POSTGRES_URI", uri)
    yield
    server(18).execute(f"drop database {uri.rpartition('/')[2]} with (force)")


class SteppingClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, start: datetime = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)) -> None:
        self.moment = start

    def now(self) -> datetime:
        return self.moment

    def forward(self, **span: float) -> datetime:
        self.moment += timedelta(**span)
        return self.moment


@pytest.fixture
def clock() -> SteppingClock:
    return SteppingClock()


@pytest.fixture(scope="session")
def warm() -> Iterator[None]:
    """Commands start at once: see `tests/warm`."""
    with waiting():
        yield


class Server:
    """A real server on a port of its own, in this process. `app` is what answers: a test brings its own."""

    def __init__(self) -> None:
        import uvicorn

        self.app: Any = None
        configured = uvicorn.Config(self._answer, port=0, interface="asgi3", log_config=None, lifespan="off")
        self._server = uvicorn.Server(configured)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        self.url = f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}"

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        await self.app(scope, receive, send)

    def end(self) -> None:
        self._server.should_exit = True
        self._thread.join(PATIENCE)


@pytest.fixture(scope="session")
def one_server() -> Iterator[Server]:
    server = Server()
    yield server
    server.end()


Serving = Callable[..., AbstractContextManager[str]]


@pytest.fixture
def serving(home: Path, request: pytest.FixtureRequest) -> Serving:
    """Serve the store of this test, and give the address: `with serving(clock) as url`."""

    @contextmanager
    def serve(clock: SteppingClock | None = None) -> Iterator[str]:
        from agent_memory.app.service import Service
        from agent_memory.interfaces.rest.app import create_app

        server = request.getfixturevalue("one_server")
        service = Service(clock=clock)
        server.app = create_app(service)
        try:
            yield server.url
        finally:
            service.close()

    return serve


@pytest.fixture
def settle() -> Callable[[], None]:
    """Write the receipts that still wait, wherever the store of this test is open in this process."""
    from agent_memory.app import wiring

    def flush() -> None:
        for runtime in wiring._open:
            runtime.receipts.flush()

    return flush


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    both = metafunc.module.__name__ in BOTH and not metafunc.definition.get_closest_marker("local")
    if both and {"memory", "timed"} & set(metafunc.fixturenames):
        metafunc.parametrize("door", ["local", "remote"], indirect=True)


@pytest.fixture
def door(request: pytest.FixtureRequest) -> str:
    """How a story reaches its memory."""
    return getattr(request, "param", "local")


@pytest.fixture
def memory(home: Path, door: str, serving: Serving) -> Iterator[object]:
    from agent_memory import AgentMemory

    if door == "local":
        with AgentMemory(user_id="ada", conversation_id="c1") as opened:
            yield opened
        return
    with serving() as url, AgentMemory(user_id="ada", conversation_id="c1", store=url) as opened:
        yield opened


@pytest.fixture
def timed(home: Path, clock: SteppingClock, door: str, serving: Serving) -> Iterator[object]:
    """A memory whose time is the test's."""
    from agent_memory import AgentMemory

    if door == "local":
        with AgentMemory(user_id="ada", conversation_id="c1", clock=clock) as opened:
            yield opened
        return
    with serving(clock) as url, AgentMemory(user_id="ada", conversation_id="c1", store=url) as opened:
        yield opened


class Repo:
    """A real repository of git, in a folder of the test."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def git(self, *words: str | Path, **environment: str) -> str:
        ran = subprocess.run(
            ["git", *map(os.fspath, words)],
            cwd=self.root,
            env={**os.environ, **environment},
            capture_output=True,
            stdin=subprocess.DEVNULL,
        )
        assert ran.returncode == 0, ran.stderr.decode("utf-8", "replace")
        return os.fsdecode(ran.stdout).strip()

    def write(self, path: str, text: str | bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def trust(self) -> None:
        """As `agent-memory rules trust` does in it."""
        from agent_memory.app import trust

        trust.trust(trust.TrustTarget(self.root))

    def commit(self, message: str = "change", **files: str | bytes) -> str:
        """Commit everything; `files` are pages of `.memory` by their names."""
        for name, text in files.items():
            self.write(f".memory/{name}.md", text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def own_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Git without the settings of this machine."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.org")


@pytest.fixture
def repo(own_git: None, tmp_path: Path) -> Repo:
    """An empty repository whose branch is `main`."""
    made = Repo(tmp_path / "repo")
    made.root.mkdir()
    made.git("init", "--quiet", "--initial-branch=main")
    return made
