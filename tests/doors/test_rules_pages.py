"""`rules init`, `rules lint` and `rules fix` as people, editors, hooks and servers use them. P1, P5."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent_memory import AgentMemory
from agent_memory.app import pagefiles
from agent_memory.app.operations import TABLE
from agent_memory.app.service import Caller, Service
from agent_memory.models.errors import Denied, InvalidInput
from agent_memory.models.record import Scope

ROOT = Path(__file__).parents[2]
BAD = "# Rules\n\n- **a** (deny) x\n  - comand: `git x`\n- (Deny) no id\n  - command: `git y`\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "project"
    (made / ".memory").mkdir(parents=True)
    monkeypatch.chdir(made)
    return made


@pytest.mark.requirement("P1")
def test_a_new_folder_begins_with_pages_that_work(process: Any, tmp_path: Path, home: Path) -> None:
    first = process("rules", "init")
    assert (first.code, first.out) == (0, "wrote .memory/procedural.md\nwrote .memory/working.md\n")
    assert process("rules", "lint").out == "" and process("rules", "lint").code == 0
    page = tmp_path / ".memory/procedural.md"
    page.write_text("mine", "utf-8")
    (tmp_path / ".memory/working.md").unlink()
    again = process("rules", "init", str(tmp_path))
    assert again.out == "wrote .memory/working.md\nkept .memory/procedural.md: it was there already\n"
    assert page.read_text("utf-8") == "mine"
    assert sorted(one.name for one in (tmp_path / ".memory").iterdir()) == ["procedural.md", "working.md"]
    assert not home.exists(), "nothing of this needs a store"


def test_init_takes_nobodys_place(here: Any, tmp_path: Path) -> None:
    (tmp_path / ".memory").write_text("a file")
    told = here("rules", "init")
    assert told.code == 2 and "is not a folder" in told.err
    assert (tmp_path / ".memory").read_text() == "a file" and sorted(os.listdir(tmp_path)) == [".memory"]
    assert here("rules", "init", "nowhere").code == 2


@pytest.mark.requirement("P1", "P5")
def test_findings_are_lines_that_editors_understand(here: Any, folder: Path) -> None:
    (folder / ".memory/procedural.md").write_text(BAD)
    told = here("rules", "lint")
    assert told.code == 1
    assert told.out.splitlines()[0] == (
        ".memory/procedural.md:4:5 unknown-key there is no key `comand`: did you mean `command`?"
    )
    assert all(re.match(r"\S+:\d+:\d+ [a-z-]+ .", line) for line in told.out.splitlines())
    (folder / ".memory/procedural.md").write_text("# Rules\n\n- Only a warning\n")
    assert here("rules", "lint").code == 0


def test_findings_in_json_and_as_annotations(here: Any, folder: Path) -> None:
    (folder / ".memory/50%,a.md").write_text(BAD)
    told = here("rules", "lint", "--format", "json")
    assert told.code == 1 and told.json == here("rules", "lint", "--json").json
    assert (told.json["ok"], told.json["pages"], told.json["findings"][0]["line"]) == (False, [".memory/50%,a.md"], 4)
    told = here("rules", "lint", "--format", "github")
    assert told.code == 1
    assert told.out.splitlines()[0] == (
        "::error file=.memory/50%25%2Ca.md,line=4,col=5,title=unknown-key::"
        "there is no key `comand`: did you mean `command`?"
    )


@pytest.mark.requirement("P5")
def test_what_is_safe_is_repaired_and_nothing_else(here: Any, folder: Path) -> None:
    page = folder / ".memory/procedural.md"
    page.write_bytes(BAD.replace("\n", "\r\n").encode())
    page.chmod(0o640)
    told = here("rules", "lint", "--fix")
    assert told.code == 1 and told.out.splitlines()[0] == "fixed .memory/procedural.md"
    wanted = BAD.replace("(Deny) no id", "**no-id** (deny) no id").replace("\n", "\r\n")
    assert page.read_bytes() == wanted.encode() and page.stat().st_mode & 0o777 == 0o640
    assert "fixed" not in here("rules", "lint", "--fix").out
    assert os.listdir(folder / ".memory") == ["procedural.md"]


def test_a_page_that_somebody_else_changed_meanwhile_is_left_alone(folder: Path) -> None:
    page = folder / ".memory/procedural.md"
    page.write_text("theirs")
    assert not pagefiles.replace(page, b"as it was read", b"ours")
    assert page.read_text() == "theirs" and os.listdir(folder / ".memory") == ["procedural.md"]


def test_paths_are_files_or_folders(here: Any, folder: Path) -> None:
    (folder / "sub/.memory").mkdir(parents=True)
    (folder / "node_modules/x/.memory").mkdir(parents=True)
    (folder / "skills/a").mkdir(parents=True)
    for name in (".memory/a.md", "sub/.memory/b.md", "node_modules/x/.memory/c.md", "other.md", ".memory/working.md"):
        (folder / name).write_text("# Rules\n\n- No id\n")
    (folder / "skills/a/SKILL.md").write_text("---\nname: a\ndescription: b\n---\nx")
    (folder / "AGENTS.md").write_text("- x")
    found = here("rules", "lint", "--json").json["pages"]
    assert found == ["AGENTS.md", ".memory/a.md", "skills/a/SKILL.md", "sub/.memory/b.md"]
    assert here("rules", "lint", "--json", "sub", "other.md", "sub/.memory/b.md").json["pages"] == [
        "sub/.memory/b.md",
        "other.md",
    ]
    assert here("rules", "lint", "--folder", "sub", "--json").json["pages"] == [".memory/b.md"]
    told = here("rules", "lint", "nowhere.md")
    assert told.code == 2 and "nowhere.md" in told.err


def test_what_holds_in_a_folder_stands_above_it_too(here: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        ".memory/a.md",
        "src/AGENTS.md",
        "src/inner/.memory/b.md",
        ".claude/skills/c/SKILL.md",
        "other/.memory/d.md",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("---\nname: c\ndescription: c\n---\n# Rules\n\n- No id\n")
    (folder.parent / "AGENTS.md").write_text("- out of the repository")
    monkeypatch.chdir(folder / "src/inner")
    assert here("rules", "lint", "--json").json["pages"] == [".memory/b.md"], "no repository, nothing above"
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    assert here("rules", "lint", "--json").json["pages"] == [
        "../../.memory/a.md",
        "../../.claude/skills/c/SKILL.md",
        "../AGENTS.md",
        ".memory/b.md",
    ]
    assert "fixed ../../.memory/a.md" in here("rules", "lint", "--fix").out
    assert "**no-id**" in (folder / ".memory/a.md").read_text()


@pytest.mark.requirement("P1")
def test_what_cannot_be_read_is_a_finding_and_the_rest_works(here: Any, folder: Path, tmp_path: Path) -> None:
    memory = folder / ".memory"
    (memory / "procedural.md").mkdir()
    (memory / "large.md").write_bytes(b"x" * 10_000_000)
    (memory / "bytes.md").write_bytes(b"# Rules\n\n- \xff\xfe")
    (memory / "nul.md").write_bytes(b"# Rules\n\n- **a** (advise) x\0\n")
    (tmp_path / "secret.md").write_text("# Rules\n\n- **secret** (deny) x\n")
    (memory / "link.md").symlink_to(tmp_path / "secret.md")
    (memory / "loop.md").symlink_to(memory / "loop.md")
    os.mkfifo(memory / "pipe.md")
    (memory / "good.md").write_text("# Rules\n\n- **good** (advise) x\n")
    told = here("rules", "lint")
    assert told.code == 1 and "secret" not in told.out.replace("secret.md", "")
    assert [line.split(" ", 1)[0] + " " + line.split(" ")[1] for line in told.out.splitlines()] == [
        ".memory/bytes.md:1:1 unreadable",
        ".memory/large.md:1:1 unreadable",
        ".memory/link.md:1:1 unreadable",
        ".memory/loop.md:1:1 unreadable",
        ".memory/nul.md:3:19 control-characters",
        ".memory/pipe.md:1:1 unreadable",
        ".memory/procedural.md:1:1 unreadable",
    ]
    before = (memory / "bytes.md").read_bytes()
    assert here("rules", "lint", "--fix").code == 1 and (memory / "bytes.md").read_bytes() == before


def test_names_with_escape_sequences_are_spelled_out(here: Any, folder: Path) -> None:
    (folder / ".memory/\x1b[31mred.md").write_text("# Rules\n\n- No \x1b[0m id\n")
    for form in ("text", "github"):
        told = here("rules", "lint", "--format", form)
        assert "\x1b" not in told.out and "made-id" in told.out


@pytest.mark.requirement("P1")
def test_the_hook_for_pre_commit_stops_a_commit(folder: Path) -> None:
    """As pre-commit does it: of the files that are committed, those that the pattern finds go to the entry."""
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert hook["id"] == "agent-memory-rules-lint"
    program = shlex.split(hook["entry"])
    assert program[0] == "agent-memory"
    command = shlex.join([sys.executable, "-m", "agent_memory.interfaces.cli", *program[1:]])
    chosen = f"git diff --cached --name-only | grep -E '{hook['files']}'"
    script = f"#!/bin/sh\nfiles=$({chosen}) || exit 0\nexec {command} $files\n"
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    (folder / ".git/hooks/pre-commit").write_text(script)
    (folder / ".git/hooks/pre-commit").chmod(0o755)

    def commit() -> subprocess.CompletedProcess[str]:
        subprocess.run([*git, "add", "--all"], check=True)
        return subprocess.run([*git, "commit", "--quiet", "-m", "x"], capture_output=True, text=True)

    (folder / "README.md").write_text(BAD)
    assert commit().returncode == 0, "it is no page"
    (folder / ".memory/procedural.md").write_text(BAD)
    stopped = commit()
    assert stopped.returncode == 1 and "procedural.md:4:5 unknown-key" in stopped.stdout + stopped.stderr
    (folder / ".memory/procedural.md").write_text(BAD.replace("comand", "command"))
    assert commit().returncode == 0


@pytest.mark.requirement("P1")
def test_with_a_memory_at_a_server_it_is_still_about_files_here(folder: Path, serving: Any, tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    (folder / ".memory/procedural.md").write_text(BAD)
    os.chdir(tmp_path / "server")
    with serving() as url:
        os.chdir(folder)
        with AgentMemory(user_id="ada", store=url) as memory:
            assert memory.rules.lint().pages == [".memory/procedural.md"]
            assert memory.rules.lint(folder=str(tmp_path / "server")).pages == []


@pytest.mark.requirement("P1")
def test_callers_of_a_server_do_not_leave_its_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text(BAD)
    (folder / "out").symlink_to(tmp_path)
    (folder / ".memory/procedural.md").write_text(BAD)
    service, caller = Service(), Caller(Scope(tenant="default", user="ada"))
    try:

        def ask(name: str, **arguments: Any) -> Any:
            return service.call(TABLE[name], caller, arguments)

        os.chdir(tmp_path)  # where the server was started is what counts
        assert ask("rules.lint").pages == [".memory/procedural.md"]
        assert ask("rules.lint", folder=".memory", paths=["procedural.md"]).pages == ["procedural.md"]
        for outside in (
            {"folder": ".."},
            {"folder": "/"},
            {"folder": "out"},
            {"paths": ["../secret.md"]},
            {"paths": [str(tmp_path / "secret.md")]},
            {"paths": ["out/secret.md"]},
            {"folder": ".memory", "paths": ["../../secret.md"]},
        ):
            for name in ("rules.lint", "rules.fix"):
                with pytest.raises(Denied):
                    ask(name, **outside)
        with pytest.raises(Denied):
            ask("rules.init", folder="out")
        (folder / "inner").mkdir()
        (folder / "inner/.memory").symlink_to(tmp_path)
        with pytest.raises(Denied):
            ask("rules.init", folder="inner")
        assert (tmp_path / "secret.md").read_text() == BAD and not (tmp_path / "procedural.md").exists()
        with pytest.raises(InvalidInput):
            ask("rules.lint", paths=["nowhere"])
    finally:
        service.close()


def test_a_key_that_may_only_read_repairs_nothing(folder: Path) -> None:
    from agent_memory.app.operations import Permission

    (folder / ".memory/procedural.md").write_text(BAD)
    service = Service()
    try:
        reader = Caller(Scope(tenant="default", user="ada"), permissions=frozenset({Permission.READ}))
        assert not service.call(TABLE["rules.lint"], reader, {}).ok
        for name in ("rules.fix", "rules.init"):
            with pytest.raises(Denied):
                service.call(TABLE[name], reader, {})
    finally:
        service.close()
    assert (folder / ".memory/procedural.md").read_text() == BAD
    assert json.dumps(os.listdir(folder / ".memory")) == '["procedural.md"]'


def test_a_key_that_writes_memories_writes_no_pages_and_no_hooks(folder: Path) -> None:
    """Pages and hooks hold for everybody who works there."""
    from agent_memory.app.operations import Permission

    service = Service()
    try:
        may = frozenset({Permission.READ, Permission.WRITE})
        writer = Caller(Scope(tenant="default", user="ada"), permissions=may)
        given = {"rules.fix": {}, "rules.init": {}, "rules.apply": {"folder": "."}, "rules.approve": {"id": "x"}}
        for name, arguments in given.items():
            with pytest.raises(Denied, match="needs the permission"):
                service.call(TABLE[name], writer, arguments)
        every = frozenset(Permission) - {Permission.OPERATOR}
        admin = Caller(Scope(tenant="default", user="ada"), permissions=every)
        for name, arguments in given.items():  # its folder is not one tenant's
            with pytest.raises(Denied, match="needs the permission operator"):
                service.call(TABLE[name], admin, arguments)
    finally:
        service.close()
