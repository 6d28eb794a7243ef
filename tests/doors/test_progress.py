"""Long work at the command line: a bar where somebody sees it, and nowhere else. Records out and in as lines."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory

MANY = 600


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    file = tmp_path / "many.ndjson"
    said = (
        json.dumps({"text": f"note {number}: staging is on port {number}", "id": f"n{number}"})
        for number in range(MANY)
    )
    file.write_text("\n".join(said), "utf-8")
    return file


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    file = tmp_path / "memory.jsonl"
    said = [
        {
            "type": "entity",
            "name": f"host {number}",
            "entityType": "host",
            "observations": ["runs", f"has port {number}"],
        }
        for number in range(MANY)
    ]
    file.write_text("\n".join(map(json.dumps, said)), "utf-8")
    return file


@pytest.fixture
def impatient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever takes any time at all is long: how fast this machine is must not matter."""
    (tmp_path / "sitecustomize.py").write_text(
        "from agent_memory.interfaces.cli import progress\nprogress.PATIENCE = 0\n"
    )
    before = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *([before] if before else [])]))


@pytest.mark.usefixtures("impatient")
def test_long_work_shows_a_bar_at_a_terminal_and_takes_it_away(
    terminal: Any, lines: Path, graph: Path, home: Path
) -> None:
    for words, what in (
        (["import", str(lines), "--later"], "importing"),
        (["import", str(lines)], "vectors"),
        (["verify"], "contents"),
        (["import-mcp", str(graph), "--later"], "writing"),
        (["migrate", str(home / "memory.db"), "moved.db"], "comparing rows"),
    ):
        ran = terminal(*words)
        assert ran.code == 0 and what in ran.out and "%" in ran.out and "\x1b[2K" in ran.out, words
        assert what not in ran.out.splitlines()[-1], "the answer stands alone at the end"


@pytest.mark.usefixtures("impatient")
@pytest.mark.requirement("C11")
def test_a_job_that_reads_much_shows_how_far_it_is(terminal: Any, process: Any, home: Path) -> None:
    with AgentMemory("ada", clock=_AnHourAgo()) as memory:
        said = [
            {"kind": "turn", "text": f"We use Redis {n}.", "payload": {"index": n, "role": "user"}} for n in range(9)
        ]
        for talk in range(10):
            memory.records.add_many([{**turn, "conversation_id": f"c{talk}"} for turn in said])
    ran = terminal("worker", "--once", "--job", "consolidate")
    assert ran.code == 0 and "extracting" in ran.out and "%" in ran.out
    assert "extracting" not in ran.out.splitlines()[-1]
    assert "extracting" not in process("worker", "--once", "--job", "consolidate").out


class _AnHourAgo:
    """When nobody goes on with a conversation, it is read."""

    def now(self) -> datetime:
        return datetime.now(UTC) - timedelta(hours=1)


def test_quick_work_needs_none(terminal: Any) -> None:
    ran = terminal("add", "one")
    assert ran.code == 0 and "writing" not in ran.out and "%" not in ran.out


def test_a_pipe_and_json_get_the_answer_alone(process: Any, terminal: Any, lines: Path) -> None:
    ran = process("import", str(lines))
    assert (ran.out, ran.err) == (f"read {MANY} lines: {MANY} created, 0 updated, 0 unchanged\n", "")
    told = process("import", str(lines), "--json")
    assert (
        told.json
        == {
            "lines": MANY,
            "created": 0,
            "updated": 0,
            "unchanged": MANY,
            "forgotten": 0,
            "held": 0,
            "pending_vectors": 0,
        }
        and told.err == ""
    )
    assert process("verify").err == ""
    later = process("import", str(lines), "--later", "--store", "other.db")
    assert later.code == 0 and later.err == (
        f"note: {MANY} memories still without a vector, found by words alone until then; "
        "`agent-memory upkeep catch-up` makes them\n"
    )
    assert json.loads(process("upkeep", "catch-up", "--store", "other.db", "--json").out)["vectors"] == MANY
    seen = terminal("import", str(lines), "--json").out
    assert "importing" not in seen and json.loads(seen)["unchanged"] == MANY


def test_what_goes_out_comes_in_again(process: Any, here: Any, tmp_path: Path) -> None:
    with AgentMemory("ada") as memory:
        memory.records.add("one", id="one", importance=0.9)
        memory.records.add("two", id="two", kind="plan")
    file = tmp_path / "out.ndjson"
    assert here("--user", "ada", "export", str(file)).out == f"wrote 2 records to {file}\n"
    piped = process("--user", "ada", "export")
    assert piped.out == file.read_text("utf-8") and piped.err == ""
    other = ("--store", str(tmp_path / "other.db"), "--user", "ada")
    assert "2 created" in process(*other, "import", "-", input=piped.out).out
    assert "2 unchanged" in process(*other, "import", str(file)).out
    with AgentMemory("ada", store=tmp_path / "other.db") as memory:
        found = {one.id: (one.kind, one.text, one.importance) for one in memory.records.find()}
    assert found["one"] == ("observation", "one", 0.9) and found["two"][0] == "plan"


def test_the_first_line_that_is_refused_is_named(here: Any, tmp_path: Path) -> None:
    file = tmp_path / "in.ndjson"
    file.write_text('{"text": "one"}\n\n{"text": "three", "importance": 7}\n{"text": "four"}\n', "utf-8")
    ran = here("import", str(file))
    assert ran.code == 2 and "line 3: " in ran.err and "importance" in ran.err
    assert "the 2 lines before it are in the store" in ran.err
    with AgentMemory("default") as memory:
        assert [one.text for one in memory.records.find()] == ["one"]
    assert here("import", str(tmp_path / "nowhere")).code == 2
    assert here("export", str(tmp_path / "no" / "folder")).code == 2
