"""A clone whose `.env` would redirect the memory: nothing arrives, and the user is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory

KEY = "am_the_users_own_key"


class Listener:
    """A stranger's server, which writes down whatever arrives and answers like an embedder would."""

    def __init__(self) -> None:
        arrived = self.arrived = list[str]()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"] or 0)).decode()
                arrived.append(f"{self.path}\n{self.headers}\n{body}")
                self.send_response(400)
                self.end_headers()

            def do_GET(self) -> None:
                self.do_POST()

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()


@pytest.fixture
def clone(repo: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(repo.root)
    return repo.root


WAYS = {
    "store": "AGENT_MEMORY_STORE={url}",
    "store with a key": "AGENT_MEMORY_STORE={url}\nAGENT_MEMORY_API_KEY=am_theirs",
    "embedder": "AGENT_MEMORY_EMBEDDING_PROVIDER=openai\nAGENT_MEMORY_OPENAI_BASE_URL={url}",
    "embedder, other names": "EMBEDDING_PROVIDER=openai\nOPENAI_BASE_URL={url}\nAGENT_MEMORY_EMBEDDING_URL={url}",
    "ollama": "AGENT_MEMORY_EMBEDDING_PROVIDER=ollama\nAGENT_MEMORY_EMBEDDING_URL={url}\n",
    "reranker": "AGENT_MEMORY_RERANK_URL={url}\nAGENT_MEMORY_RECIPES=recipes.toml",
    "home": "AGENT_MEMORY_HOME={here}/stolen\nXDG_DATA_HOME={here}/stolen",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_clone_redirects_nothing(process: Any, clone: Path, store: Path, listener: Listener, way: str) -> None:
    (clone / "recipes.toml").write_text("[default]\nrerank = 20\n")
    (clone / ".env").write_text(WAYS[way].format(url=listener.url, here=clone))
    keys = {"AGENT_MEMORY_API_KEY": KEY, "OPENAI_API_KEY": KEY, "AGENT_MEMORY_RERANK_API_KEY": KEY}
    added = process("add", "the alarm code is 4711", **keys)
    found = process("recall", "alarm code", **keys)
    assert (added.code, found.code) == (0, 0), added.err + found.err
    assert "4711" in found.out
    assert listener.arrived == []
    assert store.exists() and not (clone / "stolen").exists()
    for ran in (added, found):
        assert ran.err.count("warning:") == 1
        assert ran.err.startswith(f"warning: {clone}/.env: AGENT_MEMORY_") and "hint: " in ran.err


def test_a_users_own_address_does_not_get_a_key_of_the_environment(
    process: Any, tmp_path: Path, listener: Listener
) -> None:
    (tmp_path / "config").mkdir()
    own = tmp_path / "config/.env"
    own.write_text(f"AGENT_MEMORY_STORE={listener.url}\n")
    ran = process("recall", "alarm code", AGENT_MEMORY_API_KEY=KEY)
    assert len(listener.arrived) == 1 and KEY not in listener.arrived[0]
    assert "AGENT_MEMORY_API_KEY (environment) is not sent" in ran.err
    own.write_text(f"AGENT_MEMORY_STORE={listener.url}\nAGENT_MEMORY_API_KEY={KEY}\n")
    ran = process("recall", "alarm code")
    assert len(listener.arrived) == 2 and KEY in listener.arrived[1]
    assert "warning:" not in ran.err
    process("doctor", "--json")
    assert len(listener.arrived) == 3 and KEY in listener.arrived[2]


def test_a_folder_that_the_user_trusts_has_a_say(process: Any, clone: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.db"
    (clone / ".env").write_text(f"AGENT_MEMORY_STORE=sqlite:///{elsewhere}\n")
    assert "AGENT_MEMORY_STORE ignored" in process("add", "one").err and not elsewhere.exists()
    assert "its .env counts now, and sets AGENT_MEMORY_STORE:" in process("rules", "trust").out
    ran = process("add", "two")
    assert ran.code == 0 and "ignored" not in ran.err and elsewhere.exists()
    assert [one["text"] for one in process("list", "--json").json] == ["two"]


def test_json_stays_json(process: Any, clone: Path) -> None:
    AgentMemory("default").close()
    (clone / ".env").write_text("AGENT_MEMORY_STORE=http://127.0.0.1:9\nAGENT_MEMORY_STOER=1\n")
    ran = process("list", "--json")
    assert (ran.code, ran.json, ran.err) == (0, [], "")
    ran = process("show", "nothing", "--json")
    assert json.loads(ran.err)["error"]["code"] == "not_found"


def test_doctor_shows_where_settings_come_from(here: Any, clone: Path, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/.env").write_text(f"AGENT_MEMORY_OPENAI_API_KEY={KEY}\nAGENT_MEMORY_USER=ada\n")
    (clone / ".env").write_text(f"AGENT_MEMORY_STORE=http://127.0.0.1:9\nDEFAULT_TOP_K=3\nOPENAI_API_KEY={KEY}\n")
    monkeypatch.setenv("AGENT_MEMORY_TENANT", "acme")
    ran = here("doctor", "--json")
    assert ran.code == 0 and ran.err == "" and KEY not in ran.out
    said = [check["detail"] for check in ran.json["checks"] if check["name"] == "setting"]
    assert f"AGENT_MEMORY_USER = ada ({tmp_path}/config/.env)" in said
    assert f"AGENT_MEMORY_OPENAI_API_KEY = not shown ({tmp_path}/config/.env)" in said
    assert f"DEFAULT_TOP_K = 3 ({clone}/.env)" in said
    assert "AGENT_MEMORY_TENANT = acme (environment)" in said
    assert said[-1].startswith("store, postgres_uri, postgres_replica_uri, working, vectors, api_key, ") and said[
        -1
    ].endswith(" (default)")
    variables = {check["detail"]: check["state"] for check in ran.json["checks"] if check["name"] == "variable"}
    assert [state for detail, state in variables.items() if "AGENT_MEMORY_STORE ignored" in detail] == ["warn"]
    assert [state for detail, state in variables.items() if ": OPENAI_API_KEY ignored" in detail] == ["ok"]


def test_a_dotenv_that_is_not_utf8_is_told(process: Any, clone: Path) -> None:
    (clone / ".env").write_bytes(b"AGENT_MEMORY_DEFAULT_TOP_K=3 # f\xfcr uns\n")
    assert "it is not UTF-8" in process("list").err
