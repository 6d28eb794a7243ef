"""Every kind of repository has its pages, with the commit that they belong to."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from seen import page, paths

from agent_memory.engines.git.clone import address, clone, origin
from agent_memory.engines.git.pages import GitPages
from agent_memory.models.errors import InvalidInput, NotFound

pytestmark = pytest.mark.requirement("P1", "P2")
ROOT = os.geteuid() == 0


@pytest.mark.parametrize(
    "url",
    [
        "https://host.example/team/repo.git",
        "https://user:secret@Host.example/team/repo.git",
        "https://user:p@ss@host.example/team/repo.git",
        "ssh://a@b:c@d@host.example/team/repo",
        "git@host.example:team/repo.git",
    ],
)
def test_no_part_of_a_password_is_in_the_name(url: str) -> None:
    assert address(url) == "host.example/team/repo"


def test_nor_in_the_origin_of_one_that_has_no_path(repo: Any) -> None:
    repo.git("remote", "add", "origin", "https://user:p@ss@host.example")
    at = clone(repo.root)
    assert at is not None and origin(at) == "https://host.example"


def test_worktrees(repo: Any, pages: GitPages, tmp_path: Path) -> None:
    repo.commit(rules="main")
    repo.write(".git/agent-memory/approved.md", "shared")
    tree = tmp_path / "tree"
    repo.git("worktree", "add", "--quiet", "-b", "side", tree)
    other = type(repo)(tree)
    commit = other.commit(rules="side")
    found = pages.find(tree)
    assert page(found).text == "side" and found.version.commit == commit and found.version.branch == "side"
    assert [one.text for one in found.files if one.layer == "clone"] == ["shared"]
    assert page(pages.find(repo.root)).text == "main"
    assert page(pages.find(tree, "main")).text == "main"


def test_submodules_and_nested_repositories_end_the_walk(repo: Any, pages: GitPages, tmp_path: Path) -> None:
    inner = type(repo)(tmp_path / "inner")
    inner.root.mkdir()
    inner.git("init", "--quiet", "--initial-branch=main")
    commit = inner.commit(rules="inner")
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.root, "sub")
    repo.commit(rules="outer")
    (repo.root / "sub/deep").mkdir()
    found = pages.find(repo.root / "sub/deep")
    assert [one.text for one in found.files] == ["inner"] and found.version.commit == commit
    shutil.copytree(inner.root, repo.root / "nested")
    assert [one.text for one in pages.find(repo.root / "nested").files] == ["inner"]
    assert [one.text for one in pages.find(repo.root).files] == ["outer"]


def test_shallow_clones_say_what_they_lack(repo: Any, pages: GitPages, tmp_path: Path) -> None:
    first = repo.commit(rules="one")
    last = repo.commit(rules="two")
    repo.git("clone", "--quiet", "--depth=1", f"file://{repo.root}", tmp_path / "shallow")
    found = pages.find(tmp_path / "shallow")
    assert found.version.commit == last and page(found).text == "two"
    for ref in (first, "HEAD~1"):
        with pytest.raises(NotFound, match="shallow"):
            pages.find(tmp_path / "shallow", ref)


def test_bare_repositories_are_read_at_a_commit(repo: Any, pages: GitPages, tmp_path: Path) -> None:
    commit = repo.commit(rules="one")
    repo.git("tag", "v1")
    repo.commit(rules="two")
    bare = tmp_path / "bare.git"
    repo.git("clone", "--quiet", "--bare", repo.root, bare)
    found = pages.find(bare)
    assert page(found).text == "two" and found.version.branch == "main" and not found.version.dirty
    assert page(pages.find(bare / "objects", "v1")).commit == commit


def test_files_that_look_like_a_bare_repository_hide_no_rules(repo: Any, pages: GitPages) -> None:
    repo.git("init", "--quiet", "--bare", "sub")
    repo.write("sub/refs/keep", "")
    commit = repo.commit(rules="outer")
    found = pages.find(repo.root / "sub/objects")
    assert page(found).text == "outer" and found.version.commit == commit


def test_without_commits(repo: Any, pages: GitPages) -> None:
    assert pages.find(repo.root).version.why == "the repository has no commits yet"
    repo.write(".memory/rules.md", "new")
    found = pages.find(repo.root)
    assert page(found).text == "new" and page(found).dirty and page(found).commit is None
    assert found.version.branch == "main" and found.version.dirty
    with pytest.raises(NotFound, match="at: there is no 'HEAD', since this clone has no commits yet"):
        pages.find(repo.root, "HEAD")


def test_a_detached_head(repo: Any, pages: GitPages) -> None:
    commit = repo.commit(rules="one")
    repo.commit(rules="two")
    repo.git("checkout", "--quiet", "--detach", commit)
    found = pages.find(repo.root)
    assert found.version.commit == commit and found.version.branch is None and not found.version.dirty


@pytest.mark.parametrize("cone", ["--cone", "--no-cone"])
def test_what_a_sparse_checkout_leaves_out_holds(repo: Any, pages: GitPages, cone: str) -> None:
    repo.write("service/AGENTS.md", "service")
    repo.write("other/x", "x")
    commit = repo.commit(rules="hidden")
    repo.git("sparse-checkout", "set", cone, "service")
    assert not (repo.root / ".memory").exists()
    found = pages.find(repo.root / "service")
    assert [(one.path, one.text) for one in found.files] == [
        (".memory/rules.md", "hidden"),
        ("service/AGENTS.md", "service"),
    ]
    assert found.version.commit == commit and not found.version.dirty
    repo.git("sparse-checkout", "disable")
    repo.write(".memory/rules.md", "edited")
    assert pages.still(found) is None
    assert page(pages.find(repo.root / "service")).text == "edited"


def test_sha256(own_git: None, repo: Any, pages: GitPages, tmp_path: Path) -> None:
    new = type(repo)(tmp_path / "new")
    new.root.mkdir()
    new.git("init", "--quiet", "--object-format=sha256", "--initial-branch=main")
    commit = new.commit(rules="one")
    new.commit(rules="two")
    assert len(commit) == 64
    assert not pages.find(new.root).version.dirty
    assert page(pages.find(new.root, commit)).text == "one"
    assert page(pages.find(new.root, "HEAD~1")).commit == commit


def test_outside_git(pages: GitPages, tmp_path: Path) -> None:
    (tmp_path / "work/deep/er").mkdir(parents=True)
    (tmp_path / "work/.memory").mkdir()
    (tmp_path / "work/.memory/rules.md").write_text("x")
    found = pages.find(tmp_path / "work/deep/er")
    assert paths(found) == [".memory/rules.md"]
    assert found.version.model_dump() == dict(
        commit=None, ref=None, branch=None, dirty=False, why="not in a git repository"
    )
    with pytest.raises(InvalidInput, match="not in a git repository"):
        pages.find(tmp_path / "work", "main")


@pytest.mark.skipif(not ROOT, reason="only root can give files away")
def test_outside_git_what_others_put_above_is_not_ours(pages: GitPages, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / ".memory").mkdir()
    (tmp_path / ".memory/rules.md").write_text("x")
    assert paths(pages.find(tmp_path / "work")) == [".memory/rules.md"]
    os.chown(tmp_path / ".memory", 12345, 12345)
    assert paths(pages.find(tmp_path / "work")) == []


def test_without_a_git_program(repo: Any, own: Path) -> None:
    repo.commit(rules="x")
    pages = GitPages(own, {"PATH": "/nowhere"})
    found = pages.find(repo.root)
    assert page(found).text == "x" and found.version.why == "git is not installed"
    assert found.version.branch == "main" and found.version.commit is None
    with pytest.raises(InvalidInput, match="git is not installed"):
        pages.find(repo.root, "HEAD")


@pytest.mark.skipif(not ROOT, reason="only root can give files away")
def test_somebody_elses_repository(
    repo: Any, pages: GitPages, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repo.commit(rules="x")
    for path in (repo.root, repo.root / ".git"):
        os.chown(path, 12345, 12345)
    monkeypatch.delenv("SUDO_UID", raising=False)
    found = GitPages(own, os.environ).find(repo.root)
    assert page(found).text == "x" and found.version.commit is None
    assert "safe.directory" in found.version.why and str(repo.root) in found.version.why
    with pytest.raises(InvalidInput, match=r"safe\.directory"):
        pages.find(repo.root, "HEAD")
    settings = tmp_path / "gitconfig"
    settings.write_text(f"[safe]\n\tdirectory = {repo.root}\n")
    trusting = GitPages(own, {**os.environ, "GIT_CONFIG_GLOBAL": str(settings)})
    assert trusting.find(repo.root).version.commit == commit


def test_a_broken_git_folder_is_not_taken_for_the_one_above(repo: Any, pages: GitPages) -> None:
    repo.commit(rules="outer")
    repo.write("inner/.git/HEAD", "nonsense")
    repo.write("inner/.memory/rules.md", "inner")
    found = pages.find(repo.root / "inner")
    assert [one.text for one in found.files] == ["inner"]
    assert found.version.commit is None and "git failed" in found.version.why


def test_where_the_files_of_git_do_not_tell_the_branch_git_does(repo: Any, own: Path, tmp_path: Path) -> None:
    """The newest format of refs (reftable) leaves a HEAD that says nothing. This git may be too old to write it, so
    that one stands in for it here that answers as a newer one would."""
    repo.commit(rules="x")
    repo.write(".git/HEAD", "ref: refs/heads/.invalid\n")
    newer = tmp_path / "newer"
    newer.mkdir()
    (newer / "git").write_text("#!/bin/sh\ntest $1 = symbolic-ref && echo refs/heads/feature/x\n")
    (newer / "git").chmod(0o755)
    found = GitPages(own, {"PATH": f"{newer}:{os.environ['PATH']}"}).find(repo.root)
    assert found.version.branch == "feature/x"


def test_in_a_hook_gits_own_variables_do_not_mislead(
    repo: Any, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repo.commit(rules="x")
    misled = {**os.environ, "GIT_DIR": str(tmp_path), "GIT_INDEX_FILE": "/x", "GIT_WORK_TREE": "/"}
    assert GitPages(own, misled).find(repo.root).version.commit == commit


def test_the_folder_of_git_itself_belongs_to_its_working_tree(repo: Any, pages: GitPages) -> None:
    repo.commit(rules="x")
    assert paths(pages.find(repo.root / ".git/hooks")) == [".memory/rules.md"]
