"""buf, a stranger to this code, judges the .proto file and calls the server. `make foreign` installs it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tools import run

from agent_memory.app.service import Service
from agent_memory.interfaces.grpc.server import start

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.foreign


@pytest.mark.requirement("T8")
def test_buf_finds_nothing_to_say() -> None:
    for words in (["lint"], ["format", "--diff", "--exit-code"]):
        ran = run("buf", *words, cwd=ROOT)
        assert (ran.returncode, ran.stdout + ran.stderr) == (0, "")


@pytest.mark.requirement("T8")
def test_buf_finds_nothing_broken_and_would_say_so(tmp_path: Path) -> None:
    published = str(ROOT / "tests/data/grpc-0.1.0.binpb")
    ran = run("buf", "breaking", "--against", published, cwd=ROOT)
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, "")
    shutil.copy(ROOT / "buf.yaml", tmp_path)
    inside = "src/agent_memory/interfaces/grpc/proto"
    shutil.copytree(ROOT / inside, tmp_path / inside)
    file = tmp_path / inside / "agent_memory/v1/memory.proto"
    file.write_text(file.read_text("utf-8").replace("  string query = 1;", "  int64 query = 1;"), "utf-8")
    ran = run("buf", "breaking", "--against", published, cwd=tmp_path)
    assert ran.returncode != 0 and "query" in ran.stdout


@pytest.mark.requirement("T8")
def test_buf_calls_over_reflection(home: Path) -> None:
    service = Service()
    with start(service, port=0) as door:
        base = f"http://127.0.0.1:{door.port}"
        curl = ["buf", "curl", "--protocol", "grpc", "--http2-prior-knowledge", "-H", "x-memory-user: ada"]
        listed = run(*curl[:-2], "--list-services", base)
        assert "agent_memory.v1.RecordsService" in listed.stdout, listed.stderr
        added = run(*curl, "-d", '{"text": "Zoë likes tea"}', f"{base}/agent_memory.v1.RecordsService/Add")
        assert json.loads(added.stdout)["result"]["effect"] == "created", added.stderr
        found = run(*curl, "-d", '{"query": "tea"}', f"{base}/agent_memory.v1.RetrieverService/Recall")
        assert json.loads(found.stdout)["result"]["hits"][0]["record"]["text"] == "Zoë likes tea"
        out = run(*curl, "-d", "{}", f"{base}/agent_memory.v1.StreamService/Export")
        assert json.loads(out.stdout)["result"]["text"] == "Zoë likes tea"
        wrong = run(*curl, "-d", '{"id": "none"}', f"{base}/agent_memory.v1.RecordsService/Get")
        assert wrong.returncode != 0
        told = json.loads(wrong.stderr)
        assert told["code"] == "not_found"
        assert told["details"][0]["type"] == "google.rpc.ErrorInfo", told
    service.close()
