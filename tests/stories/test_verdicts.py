"""`memory.rules.check`: the same verdict in process and through a server, about the files of whoever asks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.models.errors import InvalidInput
from agent_memory.models.rules import Action
from patience import PATIENCE

pytestmark = pytest.mark.requirement("P4")
PAGE = """\
## Rules

- **never-merge** (deny) Always rebase, never merge.
  - command: `git merge`

- **audit** (require) Audit logs must include the request id.
  - path: `logs/*.log`
  - every line: `request_id=`
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    (made / ".memory").mkdir(parents=True)
    (made / ".memory" / "procedural.md").write_text(PAGE)
    (made / "logs").mkdir()
    (made / "logs" / "a.log").write_text("login ada\n")
    return made


def test_an_action_is_judged_by_the_rules_of_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with AgentMemory(user_id="ada") as memory:
        verdict = memory.rules.check(Action(command="git merge main"))
        assert not verdict.allowed
        assert verdict.violations[0].at.path == ".memory/procedural.md"
        assert verdict.version.why == "not in a git repository"
        assert not memory.rules.check(Action(path="logs/a.log")).allowed
        assert memory.rules.check(Action(path="logs/a.log", text="request_id=1")).allowed
        assert memory.rules.check(Action(command="git merge main"), folder=os.fspath(folder.parent)).allowed


def test_where_aliases_cannot_be_read_a_command_of_git_is_in_doubt(repo: Any, folder: Path) -> None:
    repo.commit(procedural=PAGE)
    (repo.root / ".git" / "config").write_text("[broken")
    with AgentMemory(user_id="ada") as memory:
        verdict = memory.rules.check(Action(command="git m main"), folder=os.fspath(repo.root))
        assert not verdict.allowed and "aliases" in (verdict.doubt or "")
        assert memory.rules.check(Action(command="ls"), folder=os.fspath(repo.root)).allowed


def test_a_changed_page_counts_at_the_next_call(folder: Path) -> None:
    page = folder / ".memory" / "procedural.md"
    with AgentMemory(user_id="ada") as memory:
        for _ in range(3):
            page.write_text(PAGE)
            assert not memory.rules.check(Action(command="git merge x"), folder=os.fspath(folder)).allowed
            page.write_text(PAGE.replace("git merge", "git mergf"))
            assert memory.rules.check(Action(command="git merge x"), folder=os.fspath(folder)).allowed


def test_it_is_about_files_here_also_when_the_store_is_a_server(folder: Path, serving: object) -> None:
    with serving() as url, AgentMemory(user_id="ada", store=url) as memory:  # type: ignore[operator]
        assert not memory.rules.check(Action(command="git merge x"), folder=os.fspath(folder)).allowed


def test_a_server_tells_nothing_of_the_rest_of_its_disk(folder: Path, serving: object, home: Path) -> None:
    import httpx

    os.environ["AGENT_MEMORY_WORKPLACE"] = os.fspath(folder)
    try:
        with serving() as url, httpx.Client(base_url=url, timeout=PATIENCE) as client:  # type: ignore[operator]
            asked = client.post("/v1/rules/check", json={"action": {"command": "git merge x"}})
            assert asked.status_code == 200, asked.text
            assert not asked.json()["allowed"]
            for path in ("/etc/passwd", "../secret.log", "logs/../../x"):
                refused = client.post("/v1/rules/check", json={"action": {"path": path}})
                assert refused.status_code == 403, (path, refused.text)
            assert client.post("/v1/rules/check", json={"action": {"path": "logs/a.log"}}).json()["allowed"] is False
            outside = client.post("/v1/rules/check", json={"action": "git merge", "folder": "/"})
            assert outside.status_code == 403
    finally:
        del os.environ["AGENT_MEMORY_WORKPLACE"]


def test_what_is_no_action_names_the_field(folder: Path) -> None:
    with AgentMemory(user_id="ada") as memory:
        for wrong in ({}, {"command": "x", "tool": "y"}, {"argv": []}, {"comand": "x"}):
            with pytest.raises(InvalidInput):
                memory.rules.check(wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="folder"):
            memory.rules.check(Action(command="x"), folder="/no/such/folder")
