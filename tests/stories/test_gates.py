"""A gate of somebody else's: it is asked about every write, its no changes nothing, and if it breaks it is a no."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

GATE = """
from agent_memory.models.errors import Denied
from agent_memory.ports.changes import Put

class Strict:
    def decide(self, changes, author):
        for one in changes:
            if isinstance(one, Put) and "forbidden" in one.content.text:
                raise Denied("this team does not keep that", hint="say it otherwise")
            if isinstance(one, Put) and "breaks" in one.content.text:
                raise KeyError(one.content.text)
        return changes
"""
STORY = """
import json
from agent_memory import AgentMemory
from agent_memory.app.operations import TABLE
from agent_memory.app.service import CallerClaim, Service
from agent_memory.models.errors import AgentMemoryError

memory = AgentMemory("ada")
memory.records.add("allowed")
told = []
for text in ("forbidden fruit", "it breaks here"):
    try:
        memory.records.add_many([{"text": "first"}, {"text": text}])
    except AgentMemoryError as error:
        told.append([type(error).__name__, str(error)])
service = Service()
try:
    service.call(TABLE["records.add"], service.identify(CallerClaim(user="ada")), {"text": "forbidden over the wire"})
except AgentMemoryError as error:
    told.append([type(error).__name__, error.code])
service.close()
lines = [(one.user, one.operation, one.reason) for one in memory.keys.denials()]
print(json.dumps({"told": told, "texts": [one.text for one in memory.records.find()], "lines": lines}))
"""


@pytest.fixture
def told(tmp_path: Path, home: Path) -> dict[str, Any]:
    site = tmp_path / "site"
    package = site / "strict_gate-1.0.dist-info"
    package.mkdir(parents=True)
    (site / "strict_gate.py").write_text(GATE)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: strict-gate\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[agent_memory.gates]\nstrict = strict_gate:Strict\n")
    environment = {**os.environ, "PYTHONPATH": str(site)}
    ran = subprocess.run([sys.executable, "-c", STORY], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


@pytest.mark.requirement("P23")
def test_a_gate_from_another_package(told: dict[str, Any]) -> None:
    refused, broken, remote = told["told"]
    assert refused == ["WriteRefused", "this team does not keep that (say it otherwise)"]
    assert broken == [
        "WriteRefused",
        "the gate 'strict' broke (KeyError) (nothing was written; correct the gate, or uninstall it)",
    ]
    assert remote == ["WriteRefused", "refused"]
    assert told["texts"] == ["allowed"]
    assert sorted(map(tuple, told["lines"])) == [
        ("ada", "write", "the gate 'strict' broke (KeyError)"),
        ("ada", "write", "the gate 'strict' refused a write"),
        ("ada", "write", "the gate 'strict' refused a write"),
    ]
