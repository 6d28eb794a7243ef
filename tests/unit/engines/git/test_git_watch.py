"""An unchanged state is known by a look at the disk; a changed one is noticed, however quickly it was changed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_memory.engines.git import watch
from agent_memory.engines.git.pages import GitPages

pytestmark = pytest.mark.requirement("P2")


@pytest.fixture
def pages(own_git: None, tmp_path: Path) -> GitPages:
    return GitPages(tmp_path / "own", os.environ)


@pytest.fixture
def old(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if everything on the disk were old, so that its times alone tell."""
    monkeypatch.setattr(watch, "RACY", -(10**12))


def edit(repo: Any) -> None:
    repo.write(".memory/rules.md", "other text")


def replaced(repo: Any) -> None:
    repo.write("new", "bbb")
    (repo.root / "new").replace(repo.root / ".memory/rules.md")


def set_back(repo: Any) -> None:
    file = repo.root / ".memory/rules.md"
    before = file.stat()
    file.write_text("bbb")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Any], Any]] = {
    "edit": edit,
    "replace": replaced,
    "time set back": set_back,
    "delete": lambda repo: (repo.root / ".memory/rules.md").unlink(),
    "add": lambda repo: repo.write(".memory/more.md", "x"),
    "add a guide": lambda repo: repo.write("AGENTS.md", "x"),
    "add a skill": lambda repo: repo.write("skills/x/SKILL.md", "x"),
    "add farther in": lambda repo: repo.write("deep/.memory/rules.md", "x"),
    "the clone's own": lambda repo: repo.write(".git/agent-memory/x.md", "x"),
    "the user's": lambda repo: repo.write("../own/x.md", "x"),
    "commit": lambda repo: repo.commit(),
    "packed refs and a commit": lambda repo: (repo.git("pack-refs", "--all"), repo.commit()),
    "switch": lambda repo: repo.git("checkout", "--quiet", "-b", "side"),
    "detach": lambda repo: repo.git("checkout", "--quiet", "--detach"),
    "a repository nearer by": lambda repo: repo.git("init", "--quiet", "deep"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("age", ["racy", "settled"])
def test_a_change_is_seen_at_the_next_call(repo: Any, pages: GitPages, change: str, age: str, request: Any) -> None:
    if age == "settled":
        request.getfixturevalue("old")
    (repo.root / "deep").mkdir()
    repo.commit(rules="aaa")
    found = pages.find(repo.root / "deep")
    assert pages.still(found) is found
    time.sleep(0.02)
    CHANGES[change](repo)
    assert pages.still(found) is None


def test_an_edit_of_the_same_size_within_a_tick_is_seen(repo: Any, pages: GitPages) -> None:
    """Whatever the disk's clock can tell: here it is made to tell nothing."""
    repo.commit(rules="aaa")
    file = repo.root / ".memory/rules.md"
    for _ in range(20):
        file.write_text("aaa")
        found = pages.find(repo.root)
        file.write_text("bbb")
        assert pages.still(found) is None


def test_times_that_tell_nothing_are_not_trusted(repo: Any, pages: GitPages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_stamp", lambda path, identity: ((1,), time.time_ns()))
    repo.commit(rules="aaa")
    found = pages.find(repo.root)
    assert pages.still(found) is found
    repo.write(".memory/rules.md", "bbb")
    assert pages.still(found) is None
    found = pages.find(repo.root)
    repo.write(".memory/more.md", "x")
    assert pages.still(found) is None


def test_what_was_new_is_known_by_its_times_later(repo: Any, pages: GitPages, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit(rules="aaa")
    found = pages.find(repo.root)
    assert any(one.digest for one in found.watched or ())
    monkeypatch.setattr(watch, "RACY", -(10**12))
    later = pages.still(found)
    assert later is not None and later is not found
    assert not any(one.digest for one in later.watched or ())
    assert pages.still(later) is later
    repo.write(".memory/rules.md", "bbb")
    assert pages.still(later) is None


def test_what_has_nothing_to_do_with_pages_is_not_looked_at(repo: Any, pages: GitPages) -> None:
    repo.write("src/x.py", "x")
    repo.commit(rules="aaa")
    found = pages.find(repo.root)
    repo.write("src/x.py", "y")
    repo.write("new.txt", "y")
    repo.write(".git/index.lock", "")
    repo.git("update-ref", "refs/heads/other", "HEAD")
    assert pages.still(found) is not None


@pytest.mark.parametrize(
    ("ref", "move"),
    [
        ("v1", ["tag", "--force", "v1"]),
        ("side", ["update-ref", "refs/heads/side", "HEAD"]),
        ("side~0", ["update-ref", "refs/heads/side", "HEAD"]),
        ("origin/main", ["update-ref", "refs/remotes/origin/main", "HEAD"]),
        ("origin", ["update-ref", "refs/remotes/origin/main", "HEAD"]),
        ("side", ["tag", "side", "HEAD"]),  # a tag comes before a branch of the same name
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_ref_that_moves_is_read_again(repo: Any, pages: GitPages, ref: str, move: list[str], packed: bool) -> None:
    first = repo.commit(rules="one")
    repo.git("tag", "v1")
    repo.git("branch", "side")
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD")
    repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    last = repo.commit(rules="two")
    if packed:
        repo.git("pack-refs", "--all")
    found = pages.find(repo.root, ref)
    assert found.version.commit == first and pages.still(found) is not None
    repo.git(*move)
    assert pages.still(found) is None
    assert pages.find(repo.root, ref).version.commit == last


def test_a_whole_id_never_changes_and_a_moment_always_may(repo: Any, pages: GitPages) -> None:
    first = repo.commit(rules="one")
    found = pages.find(repo.root, first)
    repo.commit(rules="two")
    assert pages.still(found) is not None
    assert pages.still(pages.find(repo.root, "HEAD@{0}")) is None
