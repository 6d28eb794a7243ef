"""All doors of one service, and a fresh copy of the store of the walls behind them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cast import Cast
from starlette.testclient import TestClient
from ways import CommandLine, Grpc, InProcess, Mcp, Remote, Rest, Stage, Way

from agent_memory.interfaces.grpc.server import start
from agent_memory.interfaces.mcp.latent import mount
from agent_memory.interfaces.rest.app import create_app


class House:
    """All doors of one service; each store that is put behind it is a fresh copy."""

    def __init__(self, cast: Cast, folder: Path, one_server: Any) -> None:
        self.cast, self.stage, self._folder, self._number = cast, Stage(), folder, 0
        self.enter(keyed=False)
        app = create_app(self.stage)
        mount(app, self.stage, app.state.identify, toolsets=["all"])
        mount(app, self.stage, app.state.identify, toolsets=["compat"], path="/mcp/compat")
        self._http = TestClient(app, "http://localhost:8005", client=("127.0.0.1", 4711))
        self._http.__enter__()
        one_server.app = app
        self._grpc = start(self.stage, port=0)
        self._calling = Grpc(self._grpc.port)
        self.ways: dict[str, Way] = {
            "in process": InProcess(self.stage),
            "our client": Remote(one_server.url),
            "rest": Rest(self._http),
            "grpc": self._calling,
            "mcp": Mcp(self._http),
            "command line": CommandLine(self.stage, one_server.url),
        }

    def enter(self, *, keyed: bool) -> Path:
        if self._number:
            self.stage.close()
        self._number += 1
        store = self.cast.copied(self._folder / f"{self._number}.db", keyed)
        self.stage.enter(store)
        return store

    def close(self) -> None:
        self._calling.close()
        self._grpc.stop()
        self._http.__exit__(None, None, None)
