"""Reading a repository never runs anything that is in it, waits for it, or sends anything anywhere."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from agent_memory.engines.git.pages import GitPages
from agent_memory.models.errors import AgentMemoryError
from patience import FOREVER

pytestmark = pytest.mark.requirement("P2")

SETTINGS = """
[core]
	fsmonitor = {program}
	hooksPath = {folder}
	sshCommand = {program}
	gitProxy = {program}
	askPass = {program}
	pager = {program}
	editor = {program}
	alternateRefsCommand = {program}
	attributesFile = {folder}/attributes
	worktree = {folder}
[pager]
	log = {program}
	cat-file = {program}
[diff]
	external = {program}
[diff "x"]
	command = {program}
	textconv = {program}
[filter "x"]
	clean = {program}
	smudge = {program}
	process = {program}
	required = true
[merge "x"]
	driver = {program}
[log]
	showSignature = true
[gpg]
	program = {program}
[credential]
	helper = {program}
[alias]
	cat-file = !{program}
	rev-list = !{program}
	for-each-ref = !{program}
	ls-files = !{program}
[uploadpack]
	packObjectsHook = {program}
[extensions]
	partialClone = origin
[remote "origin"]
	url = {url}
	promisor = true
	partialclonefilter = blob:none
	uploadpack = {program}
	vcs = x
[include]
	path = {folder}/more
"""


@pytest.fixture
def canary(repo: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is there as soon as the program that everything in the repository names was run."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    program, sung = folder / "program", tmp_path / "sung"
    program.write_text(f'#!/bin/sh\necho "$0 $@" >> {sung}\n')
    program.chmod(0o755)
    for name in ("post-checkout", "reference-transaction", "post-index-change", "pre-commit", "git-remote-x"):
        (folder / name).symlink_to(program)
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}{os.pathsep}{folder}")
    (folder / "attributes").write_text("* filter=x diff=x merge=x\n")
    (folder / "more").write_text(f"[core]\n\tfsmonitor = {program}\n")
    return sung


def settings(repo: Any, tmp_path: Path, url: str) -> None:
    folder = tmp_path / "hostile"
    with (repo.root / ".git/config").open("a") as file:
        file.write(SETTINGS.format(program=folder / "program", folder=folder, url=url))


def everything(repo: Any, tmp_path: Path) -> None:
    pages = GitPages(tmp_path / "own", os.environ)
    for read in (
        lambda: pages.find(repo.root),
        lambda: pages.find(repo.root, "HEAD"),
        lambda: pages.find(repo.root, "HEAD~1"),
        lambda: pages.find(repo.root, "mian"),
        lambda: list(pages.log(repo.root)),
    ):
        try:
            read()
        except AgentMemoryError:
            continue


URLS = ["ssh://example.org/x", "ext::{program}", "file://{folder}", "x::y", "git://127.0.0.1:1/x", "{folder}"]


def test_nothing_of_a_repository_is_run(repo: Any, canary: Path, tmp_path: Path) -> None:
    repo.write(".gitattributes", "* filter=x diff=x merge=x\n")
    repo.commit(rules="one")
    commit = repo.commit(rules="two", gone="x")
    settings(repo, tmp_path, URLS[0])
    (repo.root / ".memory/gone.md").unlink()
    repo.write(".memory/rules.md", "three")
    everything(repo, tmp_path)
    found = GitPages(tmp_path / "own", os.environ).find(repo.root)
    assert [(one.text, one.commit, one.dirty) for one in found.files] == [("three", commit, True)]
    assert not canary.exists(), canary.read_text()


@pytest.mark.parametrize("url", URLS)
def test_what_a_clone_lacks_is_not_fetched(repo: Any, canary: Path, tmp_path: Path, url: str) -> None:
    repo.commit(rules="one")
    repo.commit(rules="two")
    blob = repo.git("rev-parse", "HEAD:.memory/rules.md")
    tree = repo.git("rev-parse", "HEAD~1:.memory")
    for id in (blob, tree):
        (repo.root / ".git/objects" / id[:2] / id[2:]).unlink()
    folder = tmp_path / "hostile"
    settings(repo, tmp_path, url.format(program=folder / "program", folder=folder))
    if url != "x::y":
        repo_config = repo.root / ".git/config"
        repo_config.write_text(repo_config.read_text().replace("\tvcs = x\n", ""))
    everything(repo, tmp_path)
    assert not canary.exists(), canary.read_text()


def test_the_canary_would_sing(repo: Any, canary: Path, tmp_path: Path) -> None:
    """Git itself does run it: otherwise the tests above would show nothing."""
    repo.commit(rules="one")
    id = repo.git("rev-parse", "HEAD:.memory/rules.md")
    (repo.root / ".git/objects" / id[:2] / id[2:]).unlink()
    settings(repo, tmp_path, URLS[0])
    config = repo.root / ".git/config"
    config.write_text(
        "\n".join(line for line in config.read_text().split("\n") if line[1:9] not in ("worktree", "vcs = x"))
    )
    for words in (["status"], ["cat-file", "-p", id]):
        with suppress(AssertionError):  # whether it then fails, or makes do, is up to git
            repo.git(*words)
        assert canary.exists(), words
        canary.unlink()


def test_git_that_hangs_is_ended(repo: Any, tmp_path: Path) -> None:
    repo.commit(rules="one")
    folder = tmp_path / "slow"
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\nsleep {FOREVER}\n")
    (folder / "git").chmod(0o755)
    found = GitPages(tmp_path / "own", {"PATH": f"{folder}:{os.environ['PATH']}"}, 0.3).find(repo.root)
    assert [one.text for one in found.files] == ["one"] and "took longer" in (found.version.why or "")
    assert found.watched is None


def commit_as_written(repo: Any, headers: bytes, subject: bytes) -> str:
    """A commit that no git would make, on the branch that is checked out."""
    tree = repo.git("rev-parse", "HEAD^{tree}").encode()
    written = b"tree " + tree + b"\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n" + headers + b"\n" + subject
    words = ["git", "hash-object", "-t", "commit", "-w", "--literally", "--stdin"]
    made = subprocess.run(words, cwd=repo.root, input=written, capture_output=True, check=True)
    id = made.stdout.decode().strip()
    (repo.root / ".git/refs/heads/main").write_text(f"{id}\n")
    return id


@pytest.mark.parametrize(
    ("headers", "subject"),
    [(b"encoding punycode\n", b"a-" + b"b" * 1_000_000), (b"encoding a\0b\n", b"one"), (b"parent \xff\n", b"one")],
    ids=["an encoding that takes for ever", "an encoding that is none", "a parent that is no commit"],
)
def test_a_commit_that_no_git_would_make(repo: Any, tmp_path: Path, headers: bytes, subject: bytes) -> None:
    repo.commit(rules="one")
    commit_as_written(repo, headers, subject)
    everything(repo, tmp_path)
    found = GitPages(tmp_path / "own", os.environ).find(repo.root)
    assert [one.text for one in found.files] == ["one"]
    assert found.version.commit or found.version.why == "a commit in git is broken: git fsck says more"


@pytest.mark.parametrize("name", [".git/HEAD", ".git/commondir", ".git"])
def test_a_nul_where_a_file_names_another(repo: Any, tmp_path: Path, name: str) -> None:
    repo.commit(rules="one")
    file = repo.root / name
    if file.is_dir():
        file.rename(repo.root / "elsewhere")
    file.write_bytes(b"gitdir: a\0b\n" if name == ".git" else b"ref: refs/heads/a\0b\n")
    everything(repo, tmp_path)
    assert [one.text for one in GitPages(tmp_path / "own", os.environ).find(repo.root).files] == ["one"]
