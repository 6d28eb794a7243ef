"""Every optional part, without one of its packages: a sentence names the extra that brings it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.app.service import Service
from agent_memory.interfaces import serving
from agent_memory.models.errors import PartMissing

EXTRAS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"][
    "optional-dependencies"
]
MODULES = {
    "prometheus-client": "prometheus_client",
    "mcp-types": "mcp_types",
    "grpcio": "grpc",
    "grpcio-health-checking": "grpc_health",
    "grpcio-reflection": "grpc_reflection",
    "protobuf": "google.protobuf",
    "opentelemetry-api": "opentelemetry",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry.exporter",
    "opentelemetry-sdk": "opentelemetry.sdk",
}
WAYS: dict[str, tuple[list[str], dict[str, str]]] = {
    "mcp": (["mcp"], {}),
    "server": (["serve", "--port", "0", "--grpc-port", "0"], {}),
    "client": (["list", "--store", "http://127.0.0.1:9"], {}),
    "openai": (["doctor"], {"AGENT_MEMORY_EMBEDDING_PROVIDER": "openai", "OPENAI_API_KEY": "x"}),
    "ollama": (["doctor"], {"AGENT_MEMORY_EMBEDDING_PROVIDER": "ollama"}),
    "reranker": (["doctor"], {"AGENT_MEMORY_RERANK_URL": "http://127.0.0.1:9"}),
    "telemetry": (["list"], {"AGENT_MEMORY_TELEMETRY": "otlp"}),
}
BLOCKED = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if (name + ".").startswith({name!r} + "."):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""


def packages(extra: str) -> list[str]:
    return [re.split(r"[<>=\[]", one)[0] for one in EXTRAS[extra]]


@pytest.mark.parametrize(
    ("extra", "package"), [(extra, package) for extra in WAYS for package in packages(extra)], ids=str
)
def test_what_is_missing_names_its_extra(process: Any, tmp_path: Path, extra: str, package: str) -> None:
    words, environment = WAYS[extra]
    if "list" in words:
        AgentMemory("default").close()
    folder = tmp_path / "without"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(BLOCKED.format(name=MODULES.get(package, package)))
    ran = process(*words, PYTHONPATH=str(folder), **environment)
    said = ran.out + ran.err
    assert f"pip install 'agent-memory[{extra}]'" in said, said
    assert "this is a bug" not in said
    assert ran.code == (1 if words == ["doctor"] and extra != "reranker" else 0 if extra == "reranker" else 7)


def test_nothing_ends_while_the_model_is_being_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Native code that starts threads of its own while the interpreter goes takes the process down."""
    begun, ended = threading.Event(), threading.Event()

    def loading(texts: list[str]) -> None:
        begun.set()
        time.sleep(0.2)
        ended.set()

    def missing(name: str) -> Any:
        begun.wait()
        raise ModuleNotFoundError(f"No module named {name!r}", name="prometheus_client")

    service = Service()
    monkeypatch.setattr(service.runtime.embedder, "embed_many", loading)
    monkeypatch.setattr(serving, "import_module", missing)
    with pytest.raises(PartMissing, match="prometheus_client"):
        serving.serve(service, serving.Listen(port=0, grpc_port=0), lambda where: None)
    assert ended.is_set()


def test_a_port_for_grpc_that_is_not_installed_is_said(tmp_path: Path) -> None:
    """The rest is served all the same; whoever named a port hears of it."""
    (tmp_path / "sitecustomize.py").write_text(BLOCKED.format(name="grpc"))
    words = [sys.executable, "-m", "agent_memory.interfaces.cli", "serve", "--port", "0", "--grpc-port", "0"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None and child.stderr is not None
        assert "gRPC" not in child.stdout.readline()
        child.terminate()
        assert "pip install 'agent-memory[server,grpc]'" in child.stderr.read()
