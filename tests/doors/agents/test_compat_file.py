"""The file of the official memory server is taken over: once, whole, and with nothing lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agent_memory import AgentMemory
from agent_memory.models.graph import Node

ADA = {"name": "Ada", "entityType": "person", "observations": ["likes tea", "lives in Lisbon"]}
ACME = {"name": "ACME", "entityType": "company", "observations": []}
WORKS = {"from": "Ada", "to": "ACME", "relationType": "works_at"}
LINES = [{"type": "entity", **ADA}, {"type": "entity", **ACME}, {"type": "relation", **WORKS}]


def written(tmp_path: Path, *lines: object) -> str:
    file = tmp_path / "memory.jsonl"
    file.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), "utf-8")
    return str(file)


def test_the_file_is_taken_over_once(here: Any, tmp_path: Path) -> None:
    file = written(tmp_path, *LINES, "", LINES[2])
    ran = here("import-mcp", file, "--user", "ada")
    assert (ran.code, ran.out) == (0, "took over 2 entities, 2 observations, 1 relation; 0 already known\n")
    again = here("import-mcp", file, "--user", "ada", "--json").json
    assert again == {"entities": 0, "observations": 0, "relations": 0, "known": 5, "bad": []}
    with AgentMemory("ada") as memory:
        graph = memory.graph.read()
        assert [(one.name, one.observations) for one in graph.entities] == [("Ada", ADA["observations"]), ("ACME", [])]
        assert len(graph.relations) == 1
        seq = memory.upkeep.verify().seq
        memory.graph.load(json.dumps({"type": "entity", **ADA, "observations": ["new", "likes tea"]}))
        assert memory.graph.open(["Ada"]).entities[0].observations == [*ADA["observations"], "new"]
        assert memory.upkeep.verify().seq > seq
        assert memory.recall("who lives in Lisbon?")[0].text == "lives in Lisbon"


def test_bad_lines_are_named_by_number_and_nothing_is_half_written(here: Any, tmp_path: Path) -> None:
    bad = [
        "{",
        "7",
        {"type": "thing"},
        {"type": "entity", "name": "x"},
        {"type": "relation", "from": "Ada", "relationType": "knows"},
        {"type": "entity", **ADA, "name": ""},
    ]
    file = written(tmp_path, *LINES, *bad)
    refused = here("import-mcp", file)
    assert refused.code == 2
    for number in range(4, 9):
        assert f"line {number}: " in refused.err
    assert "1 more" in refused.err and "skip" in refused.err
    assert here("stats").code == 6, "not even a store was made"
    taken = here("import-mcp", file, "--skip-bad", "--json").json
    assert taken["entities"] == 2 and taken["relations"] == 1
    assert [one.partition(":")[0] for one in taken["bad"]] == [f"line {number}" for number in range(4, 10)]
    assert here("import-mcp", str(tmp_path / "nowhere")).code == 2


def test_nothing_in_the_file_is_lost(here: Any, tmp_path: Path) -> None:
    """Names that differ only in case, one name with two types, a relation to an entity that is nowhere."""
    lines = [
        {"type": "entity", **ADA},
        {"type": "entity", **ADA, "name": "ada", "observations": ["is written small"]},
        {"type": "entity", **ADA, "entityType": "language", "observations": ["has packages"]},
        {"type": "entity", **ADA, "entityType": "PERSON", "observations": ["likes tea", "said twice"]},
        {"type": "relation", **WORKS, "to": "Nobody"},
        {"type": "relation", "from": "Nowhere", "to": "Nobody", "relationType": "near"},
    ]
    file = written(tmp_path, *lines)
    ran = here("import-mcp", file, "--user", "ada")
    assert (ran.code, ran.out) == (0, "took over 3 entities, 5 observations, 2 relations; 0 already known\n")
    with AgentMemory("ada") as memory:
        graph = memory.graph.read()
        assert [(one.name, one.entity_type, one.observations) for one in graph.entities] == [
            ("Ada", "person", ["likes tea", "lives in Lisbon", "said twice"]),
            ("ada", "person", ["is written small"]),
            ("Ada", "language", ["has packages"]),
        ]
        ends = [(one.source, one.target, one.relation_type) for one in graph.relations]
        assert sorted(ends) == [("Ada", "Nobody", "works_at"), ("Nowhere", "Nobody", "near")]
        head = memory.upkeep.verify().head
    assert here("import-mcp", file, "--user", "ada").out.startswith(
        "took over 0 entities, 0 observations, 0 relations; 10"
    )
    with AgentMemory("ada") as memory:
        assert memory.upkeep.verify().head == head
        nobody = Node(name="Nobody", entity_type="person", observations=[])
        memory.graph.create_entities([nobody])
        assert len(memory.graph.open(["Nobody"]).relations) == 2


def test_the_file_can_be_piped(process: Any, tmp_path: Path) -> None:
    text = "".join(json.dumps(one) + "\n" for one in LINES)
    assert "2 entities" in process("import-mcp", "-", input=text).out
