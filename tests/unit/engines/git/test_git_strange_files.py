"""Files that are no pages, or not to be read, do no harm to the others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from seen import page, paths

from agent_memory.engines.git.pages import GitPages

pytestmark = pytest.mark.requirement("P1", "P2")

READ = """
import os, sys
from pathlib import Path
from agent_memory.engines.git.pages import GitPages
for one in GitPages(Path("/nowhere"), os.environ).find(Path(sys.argv[1])).files:
    print(one.path, one.text or one.problem)
"""
AS_ANYBODY = """
import ctypes, os, sys
if os.geteuid() == 0:
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        assert ctypes.CDLL(None).prctl(24, capability, 0, 0, 0) == 0  # PR_CAPBSET_DROP
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Without these two capabilities root is held to permissions like anybody else."""


def test_each_is_a_problem_of_its_own(repo: Any, pages: GitPages, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    memory = repo.root / ".memory"
    repo.write(".memory/good.md", "good")
    repo.write("docs/real.md", "real")
    (memory / "inside.md").symlink_to("../docs/real.md")
    (memory / "out.md").symlink_to(tmp_path / "secret.md")
    (memory / "up.md").symlink_to("../../secret.md")
    (memory / "git.md").symlink_to("../.git/config")
    (memory / "dangling.md").symlink_to("nowhere.md")
    (memory / "circle.md").symlink_to("circle.md")
    (memory / "folder.md").mkdir()
    os.mkfifo(memory / "fifo.md")
    repo.write(".memory/large.md", b"x" * 1_000_001)
    repo.write(".memory/bytes.md", b"fine\n\xff\xfe")
    (repo.root / "skills").symlink_to(tmp_path)
    (repo.root / ".git/agent-memory").mkdir()
    (repo.root / ".git/agent-memory/out.md").symlink_to(tmp_path / "secret.md")
    found = pages.find(repo.root)
    assert {one.path: one.problem or one.text for one in found.files} == {
        ".memory/bytes.md": "is not UTF-8 text (line 2): save it as UTF-8",
        ".memory/circle.md": "is a link that leads in a circle",
        ".memory/dangling.md": "is a link that leads nowhere",
        ".memory/fifo.md": "is not a file",
        ".memory/folder.md": "is not a file",
        ".memory/git.md": "is a link that leads out of the repository, and is not followed",
        ".memory/good.md": "good",
        ".git/agent-memory/out.md": "is a link that leads out of the repository, and is not followed",
        ".memory/inside.md": "real",
        ".memory/large.md": "has more than 1,000,000 bytes, and is not read: part it",
        ".memory/out.md": "is a link that leads out of the repository, and is not followed",
        ".memory/up.md": "is a link that leads out of the repository, and is not followed",
        "skills": "is a link that leads out of the repository, and is not followed",
    }
    assert not [one for one in found.files if "secret" in (one.text or "")]
    (memory / "fifo.md").unlink()
    (memory / "git.md").unlink()
    (memory / "folder.md").rmdir()
    repo.commit()
    committed = pages.find(repo.root, "HEAD")
    assert {one.path: one.problem or one.text for one in committed.files} == {
        one.path: one.problem or one.text
        for one in found.files
        if one.path not in (".memory/fifo.md", ".memory/folder.md", ".memory/git.md")
    }
    assert not pages.find(repo.root).version.dirty


def test_the_users_own_links_may_lead_anywhere(pages: GitPages, own: Path, tmp_path: Path) -> None:
    own.mkdir()
    (tmp_path / "dotfiles.md").write_text("mine")
    (own / "rules.md").symlink_to(tmp_path / "dotfiles.md")
    assert [one.text for one in pages.find(tmp_path).files] == ["mine"]


def test_a_fifo_in_the_users_own_folder_does_not_hang(pages: GitPages, own: Path, tmp_path: Path) -> None:
    own.mkdir()
    os.mkfifo(own / "procedural.md")
    found = pages.find(tmp_path)
    assert [one.problem for one in found.files] == ["is not a file"]
    assert pages.still(found) is not None


def test_what_may_not_be_read(repo: Any) -> None:
    repo.write(".memory/good.md", "good")
    repo.write(".memory/shut.md", "x").chmod(0)
    repo.write("deep/.memory/x.md", "x").parent.chmod(0)
    ran = subprocess.run(
        [sys.executable, "-c", AS_ANYBODY, sys.executable, "-c", READ, repo.root / "deep"],
        capture_output=True,
        text=True,
    )
    assert ran.stdout.splitlines() == [
        ".memory/good.md good",
        ".memory/shut.md cannot be read: Permission denied",
        "deep/.memory cannot be read: Permission denied",
    ], ran.stderr


def test_a_folder_of_pages_that_leads_in_a_circle(repo: Any, pages: GitPages) -> None:
    (repo.root / ".memory").symlink_to(".memory")
    repo.write("AGENTS.md", "good")
    for at in (None, "HEAD"):
        repo.commit()
        found = pages.find(repo.root, at)
        assert page(found, "AGENTS.md").text == "good"
        assert page(found, ".memory").problem == "is a link that leads in a circle"


def test_two_names_of_one_page_are_one_page(repo: Any, pages: GitPages) -> None:
    repo.write("AGENTS.md", "x")
    (repo.root / "CLAUDE.md").symlink_to("AGENTS.md")
    repo.write("skills/deploy/SKILL.md", "y")
    (repo.root / ".claude").mkdir()
    (repo.root / ".claude/skills").symlink_to("../skills")
    repo.commit()
    for at in (None, "HEAD"):
        assert paths(pages.find(repo.root, at)) == ["AGENTS.md", "skills/deploy/SKILL.md"]


def test_names_with_blanks_newlines_and_bytes(repo: Any, pages: GitPages) -> None:
    folder = os.fsencode(repo.root) + b"/a b/\xff*\n/.memory"
    os.makedirs(folder)
    for name in (b"with blank.md", b"new\nline.md", b"\xff.md", "käse.md".encode()):
        with open(folder + b"/" + name, "wb") as file:
            file.write(b"x")
    commit = repo.commit()
    inner = Path(os.fsdecode(folder)).parent
    for at in (None, "HEAD"):
        found = pages.find(inner, at)
        assert sorted(paths(found)) == [
            r"a b/\xff*\n/.memory/" + name for name in (r"\xff.md", "käse.md", r"new\nline.md", "with blank.md")
        ]
        assert {(one.text, one.commit, one.dirty) for one in found.files} == {("x", commit, False)}
    assert [one.commit for one in pages.log(inner)] == [commit]


def test_names_that_mean_something_to_git(repo: Any, pages: GitPages) -> None:
    repo.write(":(exclude)x/.memory/rules.md", "x")
    repo.write("--all/AGENTS.md", "x")
    commit = repo.commit()
    for folder in (":(exclude)x", "--all"):
        assert [one.commit for one in pages.log(repo.root / folder)] == [commit]


def test_a_repository_and_a_branch_whose_names_are_no_text(repo: Any, pages: GitPages, own: Path) -> None:
    root = Path(os.fsdecode(os.fsencode(repo.root) + b"-\xff\n"))
    repo.root.rename(root)
    repo.root = root
    repo.git("checkout", "--quiet", "-b", os.fsdecode(b"side-\xff"))
    commit = repo.commit(rules="x")
    found = pages.find(root)
    assert found.version.branch == r"side-\xff" and found.version.commit == commit
    repo.write(".git/agent-memory/x.md", "x")
    assert [one.text for one in pages.find(root).files] == ["x", "x"]
    assert page(pages.find(root, "HEAD")).commit == commit


def test_a_byte_order_mark_is_no_text(repo: Any, pages: GitPages) -> None:
    repo.write(".memory/rules.md", b"\xef\xbb\xbf# Rules")
    assert page(pages.find(repo.root)).text == "# Rules"
