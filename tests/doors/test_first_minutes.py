"""What somebody meets in the first minutes: words that mean two things, a store that is not there yet."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from agent_memory.app.config import config_folder

READS = [
    ["list"],
    ["recall", "port"],
    ["remember", "--query", "port"],
    ["context", "port"],
    ["show", "port"],
    ["history", "port"],
    ["journal"],
    ["stats"],
    ["preferences"],
    ["whoami"],
    ["export"],
    ["verify"],
    ["rebuild"],
    ["keys", "list"],
    ["goals", "active"],
    ["forget", "port", "--yes"],
    ["amend", "port", "--importance", "0.9"],
    ["edit", "port", "--text", "5434"],
]


@pytest.mark.parametrize("how", ["process", "terminal"])
def test_remember_with_a_text_refuses_and_names_both_commands(request: Any, home: Path, how: str) -> None:
    run = request.getfixturevalue(how)
    ran = run("remember", "Staging listens on port 5433", COLUMNS="300")
    said = " ".join((ran.out + ran.err).split())
    assert ran.code == 2 and "nothing was done" in said
    assert "add 'Staging listens on port 5433'" in said and "recall 'Staging listens on port 5433'" in said
    assert not home.exists()


def test_both_commands_that_remember_names_can_be_typed(process: Any) -> None:
    told = json.loads(process("remember", "it's", "on", "port", "5433", "--json").err)["error"]["hint"]
    add, recall, bundle = (shlex.split(part.partition(": ")[2])[1:] for part in told.split("; "))
    assert add == ["add", "it's on port 5433"] and recall == ["recall", "it's on port 5433"]
    assert process(*add).code == 0
    assert "it's on port 5433" in process(*recall).out
    assert process(*bundle).code == 0


@pytest.mark.parametrize("words", READS, ids=" ".join)
def test_reading_creates_no_store(here: Any, home: Path, tmp_path: Path, words: list[str]) -> None:
    ran = here(*words)
    assert ran.code == 6
    assert ran.err.startswith(f"error: there is no store at {home / 'memory.db'}\nhint: `agent-memory add` creates one")
    assert not home.exists()
    far = tmp_path / "a" / "b" / "c.db"
    assert here(*words, "--store", f"sqlite:///{far}").code == 6
    assert here(*words, "--store", "d/e.db").code == 6
    assert sorted(os.listdir(tmp_path)) == []


def test_what_needs_no_store_asks_for_none(here: Any, process: Any, home: Path) -> None:
    assert process("list").code == 6
    for words in (["recipes"], ["rules", "read"], ["rules", "lint"], ["doctor"]):
        assert here(*words).code == 0, words
    assert not home.exists()


def test_a_server_and_a_write_may_create(here: Any, serving: Any, home: Path) -> None:
    with serving() as url:
        assert here("list", "--store", url).code == 0
    home.rename(home.with_name("other"))
    assert here("goals", "add", '{"description": "ship"}').code == 0
    assert here("list").code == 0


@pytest.mark.requirement("P7")
def test_what_sync_remembers_is_stored_also_where_no_store_was(here: Any, home: Path, tmp_path: Path) -> None:
    file = config_folder() / "USER_PREFS.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("## git\n\n- **merge style**: rebase\n", "utf-8")
    assert here("sync", "--dry-run").code == 0 and not any(home.rglob("memory.db"))
    assert here("sync").code == 0
    assert "rebase" in here("preferences").out
    assert here("sync").code == 0 and "rebase" in file.read_text("utf-8")
