"""Pages are found wherever people keep repositories, with the commit that they belong to."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from seen import page, paths

from agent_memory.engines.git.pages import GitPages
from agent_memory.models.errors import InvalidInput, NotFound
from patience import until

pytestmark = pytest.mark.requirement("P1", "P2")


def test_pages_are_found_upwards_to_the_root_the_nearest_last(repo: Any, pages: GitPages, own: Path) -> None:
    for path in (
        ".memory/procedural.md",
        ".memory/git.md",
        ".memory/working.md",
        ".memory/.#git.md",
        ".memory/notes.txt",
        ".memory/deeper/none.md",
        "AGENTS.md",
        "CLAUDE.md",
        "README.md",
        "skills/deploy/SKILL.md",
        "skills/deploy/README.md",
        ".claude/skills/review/SKILL.md",
        "service/.memory/procedural.md",
        "service/api/AGENTS.md",
        "other/.memory/procedural.md",
        ".git/agent-memory/approved.md",
    ):
        repo.write(path, path)
    own.mkdir()
    (own / "mine.md").write_text("mine")
    (repo.root / "service/api/v1").mkdir()
    found = pages.find(repo.root / "service/api/v1")
    assert paths(found) == [
        str(own / "mine.md"),
        ".git/agent-memory/approved.md",
        "AGENTS.md",
        "CLAUDE.md",
        "skills/deploy/SKILL.md",
        ".claude/skills/review/SKILL.md",
        ".memory/git.md",
        ".memory/procedural.md",
        "service/.memory/procedural.md",
        "service/api/AGENTS.md",
    ]
    assert [one.layer for one in found.files] == ["user", "clone", *["repository"] * 8]
    assert page(found, "AGENTS.md").text == "AGENTS.md"


def test_a_page_says_its_commit_and_whether_it_differs(repo: Any, pages: GitPages) -> None:
    commit = repo.commit(rules="old", same="same", lines="a\nb\n")
    clean = pages.find(repo.root)
    assert {(one.commit, one.dirty) for one in clean.files} == {(commit, False)}
    assert clean.version.model_dump() == dict(commit=commit, ref=None, branch="main", dirty=False, why=None)
    repo.write(".memory/rules.md", "new")
    repo.write(".memory/lines.md", "a\r\nb\r\n")  # as core.autocrlf would leave it
    repo.write(".memory/untracked.md", "x")
    repo.write("elsewhere.txt", "x")
    found = pages.find(repo.root)
    assert {one.path[8:-3]: one.dirty for one in found.files} == dict(
        rules=True, same=False, lines=False, untracked=True
    )
    assert {one.commit for one in found.files} == {commit}
    assert found.version.dirty
    repo.git("add", ".memory/rules.md")
    assert page(pages.find(repo.root)).dirty  # staged is not committed


def test_other_files_do_not_make_it_dirty_and_a_deleted_page_does(repo: Any, pages: GitPages) -> None:
    repo.commit(rules="x", gone="x")
    repo.write("src/main.py", "x")
    assert not pages.find(repo.root).version.dirty
    (repo.root / ".memory/gone.md").unlink()
    assert pages.find(repo.root).version.dirty


def test_any_commit_tag_or_branch_can_be_read(repo: Any, pages: GitPages) -> None:
    first = repo.commit(rules="one", gone="x")
    repo.git("tag", "--annotate", "v0.1", "--message", "first")
    repo.git("branch", "side/way")
    (repo.root / ".memory/gone.md").unlink()
    repo.commit(rules="two")
    repo.write(".memory/rules.md", "three")
    index = (repo.root / ".git/index").read_bytes()
    for ref in (
        "v0.1",
        "HEAD~1",
        "HEAD^",
        "@~1",
        first,
        first[:10],
        "side/way",
        "refs/tags/v0.1",
        "v0.1^0",
    ):
        found = pages.find(repo.root, ref)
        assert page(found).text == "one", ref
        assert found.version.ref == ref and not found.version.dirty
        assert found.version.commit == page(found).commit == first
        assert paths(found) == [".memory/gone.md", ".memory/rules.md"]
    assert (repo.root / ".memory/rules.md").read_text() == "three"
    assert (repo.root / ".git/index").read_bytes() == index
    assert page(pages.find(repo.root)).text == "three"


@pytest.mark.parametrize(
    ("ref", "hint"),
    [("v0.l", "did you mean v0.1"), ("mian", "main"), ("nothing-like-it", "git fetch"), ("abcdef1", "more digits")],
)
def test_an_unknown_ref_is_named_with_what_was_meant(repo: Any, pages: GitPages, ref: str, hint: str) -> None:
    repo.commit(rules="x")
    repo.git("tag", "v0.1")
    with pytest.raises(NotFound, match="at:") as caught:
        pages.find(repo.root, ref)
    assert caught.value.field == "at" and hint in caught.value.hint and ref in caught.value.message


@pytest.mark.parametrize("ref", ["", "-x", "--batch-all-objects", "a\nHEAD", "a\0b", " HEAD", "x" * 2000])
def test_a_ref_that_can_be_none_is_refused(repo: Any, pages: GitPages, ref: str) -> None:
    repo.commit(rules="x")
    with pytest.raises(InvalidInput, match="at:") as caught:
        pages.find(repo.root, ref)
    assert caught.value.field == "at" and caught.value.hint


def test_a_commit_is_what_its_id_says(repo: Any, pages: GitPages) -> None:
    first = repo.commit(rules="one")
    second = repo.commit(rules="two")
    repo.git("replace", first, second)
    assert page(pages.find(repo.root, first)).text == "one"


@pytest.mark.parametrize("ref", ["HEAD:.memory/rules.md", "HEAD^{tree}", "HEAD:.memory"])
def test_what_is_no_commit_is_no_version(repo: Any, pages: GitPages, ref: str) -> None:
    repo.commit(rules="x")
    with pytest.raises(NotFound, match="at:"):
        pages.find(repo.root, ref)


def test_a_folder_that_is_none_is_refused(pages: GitPages, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="folder"):
        pages.find(tmp_path / "nowhere")


class TestLog:
    def test_commits_that_touched_pages_with_both_states(self, repo: Any, pages: GitPages) -> None:
        first = repo.commit("feat: begin", rules="one")
        repo.write("src/x.py", "x")
        repo.commit("feat: code")
        last = repo.commit("fix: rules\n\nAt length.", rules="two")
        found = list(pages.log(repo.root))
        assert [(one.commit, one.subject, one.author) for one in found] == [
            (last, "fix: rules", "Ada"),
            (first, "feat: begin", "Ada"),
        ]
        assert [[page.text for page in one.before] for one in found] == [["one"], []]
        assert [[page.text for page in one.after] for one in found] == [["two"], ["one"]]

    def test_what_is_cut_off_is_said(self, repo: Any, pages: GitPages, tmp_path: Path) -> None:
        for text in ("one", "two", "three"):
            repo.commit(rules=text)
        repo.git("clone", "--quiet", "--depth=2", f"file://{repo.root}", tmp_path / "shallow")
        assert [one.cut for one in pages.log(tmp_path / "shallow")] == [False, True]

    def test_nothing_to_tell(self, repo: Any, pages: GitPages) -> None:
        assert list(pages.log(repo.root)) == []

    def test_a_reader_who_has_enough_leaves_no_process(self, repo: Any, pages: GitPages) -> None:
        for text in ("one", "two", "three"):
            repo.commit(rules=text)
        before = threading.active_count()
        told = pages.log(repo.root)
        next(told)
        told.close()
        until(lambda: threading.active_count() <= before)
