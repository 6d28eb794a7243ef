"""A kind of somebody else's works everywhere, without touching the core. P20."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOY = """
from pydantic import BaseModel
from agent_memory.models import Kind

class Sighting(BaseModel):
    species: str
    count: int = 1

kind = Kind("sighting", "sightings", Sighting, key=lambda text, payload: payload["species"].casefold(),
            succeeds=True, indexed=("species",))
"""


@pytest.fixture
def toy(tmp_path: Path) -> dict[str, str]:
    """A package as pip would have installed it."""
    site = tmp_path / "site"
    (site / "toy_birds-1.0.dist-info").mkdir(parents=True)
    (site / "toy_birds.py").write_text(TOY)
    (site / "toy_birds-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-birds\nVersion: 1.0\n")
    (site / "toy_birds-1.0.dist-info" / "entry_points.txt").write_text(
        "[agent_memory.kinds]\nsighting = toy_birds:kind\n"
    )
    return {**os.environ, "PYTHONPATH": str(site)}


def run(code: str, environment: dict[str, str]) -> str:
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.requirement("P20")
def test_a_kind_from_another_package(toy: dict[str, str], home: Path) -> None:
    out = run(
        """
import json, sqlite3, os
from agent_memory import AgentMemory
from agent_memory.models.errors import InvalidInput
memory = AgentMemory(user_id="ada")
memory.records.add("three cranes over the lake", kind="sighting", payload={"species": "Crane", "count": 3})
memory.records.add("five cranes over the lake", kind="sighting", payload={"species": "crane", "count": 5})
found = memory.recall("birds above the water")
record = memory.records.lookup("sighting", "CRANE")
try:
    memory.records.add("x", kind="sighting", payload={"species": "Owl", "count": "many"})
except InvalidInput as error:
    wrong = error.field
view = sqlite3.connect(os.environ["AGENT_MEMORY_HOME"] + "/memory.db")
print(json.dumps({
    "recalled": [hit.text for hit in found],
    "history": [one.payload["count"] for one in memory.records.history(record.id)],
    "fields": len(memory.records.find("sighting", fields={"species": "crane"})),
    "wrong": wrong,
    "view": view.execute("select species, count from sightings").fetchall(),
}))
""",
        toy,
    )
    assert json.loads(out) == {
        "recalled": ["five cranes over the lake"],
        "history": [3, 3, 5],
        "fields": 1,
        "wrong": "count",
        "view": [["crane", 5]],
    }


@pytest.mark.requirement("P20")
def test_the_command_line_knows_it_too(toy: dict[str, str], home: Path) -> None:
    command = [sys.executable, "-m", "agent_memory.interfaces.cli"]
    payload = json.dumps({"species": "Heron"})
    add = [*command, "add", "a heron", "--kind", "sighting", "--payload", payload, "--json"]
    ran = subprocess.run(add, env=toy, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    ran = subprocess.run([*command, "list", "--kind", "sighting", "--json"], env=toy, capture_output=True, text=True)
    assert json.loads(ran.stdout)[0]["payload"] == {"species": "Heron", "count": 1}


def test_its_records_survive_when_it_is_uninstalled(toy: dict[str, str], home: Path) -> None:
    run(
        "from agent_memory import AgentMemory\n"
        "AgentMemory(user_id='ada').records.add('a crane', kind='sighting', payload={'species': 'Crane'})",
        toy,
    )
    out = run(
        "from agent_memory import AgentMemory\nmemory = AgentMemory(user_id='ada')\n"
        "kinds = [one.kind for one in memory.records.find()]\n"
        "print(kinds, memory.upkeep.rebuild()['contents'], memory.upkeep.verify().ok)",
        dict(os.environ),
    )
    assert out.strip() == "['sighting'] 1 True"


def test_an_embedder_that_takes_no_url_says_so(tmp_path: Path, home: Path) -> None:
    site = tmp_path / "site"
    (site / "toy_deaf-1.0.dist-info").mkdir(parents=True)
    (site / "toy_deaf.py").write_text("def embedder(model=None, dimensions=None): raise SystemExit('never called')\n")
    (site / "toy_deaf-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-deaf\nVersion: 1.0\n")
    (site / "toy_deaf-1.0.dist-info" / "entry_points.txt").write_text(
        "[agent_memory.embedders]\ndeaf = toy_deaf:embedder\n"
    )
    code = """
from agent_memory import AgentMemory
from agent_memory.models.errors import InvalidInput
try:
    AgentMemory("ada")
except InvalidInput as error:
    print(error)
"""
    chosen = {"AGENT_MEMORY_EMBEDDING_PROVIDER": "deaf", "AGENT_MEMORY_EMBEDDING_URL": "http://127.0.0.1:9"}
    said = run(code, {**os.environ, **chosen, "PYTHONPATH": str(site)})
    assert "unexpected keyword argument 'url'" in said and "'deaf'" in said and "toy_deaf:embedder(model=None" in said
