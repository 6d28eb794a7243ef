"""What holds in a folder is read once and seen anew when something changes, from any thread."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from agent_memory.app import config
from agent_memory.app.procedures import Procedures, procedures
from agent_memory.engines.git.pages import GitPages
from agent_memory.models.errors import InvalidInput
from agent_memory.models.rules import Rulebook

pytestmark = pytest.mark.requirement("P1", "P2")
PAGE = "## Rules\n\n- **{}** ({}) {}\n"


def told(book: Rulebook) -> dict[str, str]:
    return {rule.id: rule.text for rule in book.rules}


class Counted:
    """Procedures whose git writes down each of its runs."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._runs = folder / "runs"
        self._runs.touch()
        (folder / "git").write_text(f'#!/bin/sh\necho "$1" >> {self._runs}\nexec {shutil.which("git")} "$@"\n')
        (folder / "git").chmod(0o755)
        environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
        self.procedures = Procedures(GitPages(folder / "own", environment))

    @property
    def runs(self) -> int:
        return len(self._runs.read_text().splitlines())


@pytest.fixture
def counted(own_git: None, tmp_path: Path) -> Counted:
    return Counted(tmp_path / "counted")


def test_the_nearest_rule_wins_and_says_where_it_stands(repo: Any, tmp_path: Path) -> None:
    commit = repo.commit(procedural=PAGE.format("style", "warn", "of the repository"))
    repo.write("deep/.memory/more.md", PAGE.format("style", "deny", "of the folder"))
    (tmp_path / "config").mkdir()
    (tmp_path / "config/own.md").write_text(PAGE.format("style", "warn", "mine") + "- **short** (advise) Be short.\n")
    top, deep = procedures().book(repo.root), procedures().book(repo.root / "deep")
    assert told(top) == {"style": "of the repository", "short": "Be short."}
    assert told(deep) == {"style": "of the folder", "short": "Be short."}
    place = next(rule.at for rule in top.rules if rule.id == "style")
    assert (place.path, place.line, place.commit, place.dirty) == (".memory/procedural.md", 3, commit, False)
    assert str(place) == f".memory/procedural.md:3 ({commit[:10]})"
    place = next(rule.at for rule in deep.rules if rule.id == "style")
    assert (place.commit, place.dirty) == (commit, True) and deep.version.dirty
    own = next(rule.at for rule in top.rules if rule.id == "short")
    assert (own.path, own.layer, own.commit) == (str(tmp_path / "config/own.md"), "user", None)


def test_an_unchanged_state_starts_no_program_and_a_changed_one_is_seen(repo: Any, counted: Counted) -> None:
    repo.commit(a=PAGE.format("a", "warn", "one"), b=PAGE.format("b", "warn", "one"))
    known = counted.procedures
    first = known.book(repo.root)
    assert counted.runs == 1
    assert known.book(repo.root) is first
    assert counted.runs == 1
    repo.write(".memory/a.md", PAGE.format("a", "warn", "two"))
    second = known.book(repo.root)
    assert told(second) == {"a": "two", "b": "one"} and counted.runs == 2
    assert second.rules[1] is first.rules[1]  # what did not change is not read again


def test_a_state_of_the_past_is_kept_too(repo: Any, counted: Counted) -> None:
    repo.commit(a=PAGE.format("a", "warn", "one"))
    repo.git("tag", "v1")
    repo.commit(a=PAGE.format("a", "warn", "two"))
    known = counted.procedures
    first = known.book(repo.root, "v1")
    assert told(first) == {"a": "one"} and known.book(repo.root, "v1") is first and counted.runs == 1
    repo.git("tag", "--force", "v1")
    assert told(known.book(repo.root, "v1")) == {"a": "two"}


def test_a_page_that_cannot_be_read_is_a_finding(repo: Any) -> None:
    repo.commit(a=PAGE.format("a", "warn", "one"), b=b"\xff")
    book = procedures().book(repo.root)
    assert told(book).pop("a") == "one" and [rule.id for rule in book.rules if rule.broken] == ["unreadable-b-md"]
    errors = [(one.path, one.code) for one in book.findings if one.level == "error"]
    assert errors == [(".memory/b.md", "unreadable")]


def test_the_log_tells_of_rules_and_not_of_lines(repo: Any) -> None:
    repo.commit("feat: begin", a=PAGE.format("a", "warn", "one"))
    repo.commit("docs: only prose", a="# A title\n\n" + PAGE.format("a", "warn", "one"))
    repo.commit("feat: more", a=PAGE.format("a", "deny", "one"), b=PAGE.format("b", "warn", "x"))
    (repo.root / ".memory/b.md").unlink()
    repo.commit("fix: less")
    found = procedures().log(repo.root, 10)
    assert [(one.subject, one.added, one.removed, one.changed) for one in found] == [
        ("fix: less", [], ["b"], []),
        ("feat: more", ["b"], [], ["a"]),
        ("feat: begin", ["a"], [], []),
    ]
    assert [one.subject for one in procedures().log(repo.root, 2)] == ["fix: less", "feat: more"]


def test_a_merge_is_told_by_the_commits_that_it_brings(repo: Any) -> None:
    repo.commit("feat: begin", a=PAGE.format("a", "warn", "one"))
    repo.git("checkout", "--quiet", "-b", "side")
    repo.commit("feat: side", b=PAGE.format("b", "warn", "x"))
    repo.git("checkout", "--quiet", "main")
    repo.commit("feat: main", c=PAGE.format("c", "warn", "x"))
    repo.git("merge", "--quiet", "--message", "merge", "side")
    subjects = [one.subject for one in procedures().log(repo.root, 10)]
    assert {"feat: begin", "feat: side", "feat: main"} <= set(subjects)


def test_a_cut_history_does_not_claim_what_nobody_knows(repo: Any, tmp_path: Path) -> None:
    for text in ("one", "two", "three"):
        repo.commit(text, a=PAGE.format("a", "warn", text))
    repo.git("clone", "--quiet", "--depth=2", f"file://{repo.root}", tmp_path / "shallow")
    found = procedures().log(tmp_path / "shallow", 10)
    assert [(one.subject, one.cut, one.added, one.changed) for one in found] == [
        ("three", False, [], ["a"]),
        ("two", True, [], []),
    ]


def test_a_difference_may_end_at_the_disk(repo: Any) -> None:
    repo.commit(a=PAGE.format("a", "warn", "one"))
    repo.git("tag", "v1")
    repo.commit(a=PAGE.format("a", "deny", "one"))
    repo.write(".memory/b.md", PAGE.format("b", "warn", "new"))
    told = [(one.change, one.rule, one.fields) for one in procedures().diff(repo.root, "v1", "HEAD")]
    assert told == [("changed", "a", ["severity"])]
    told = [(one.change, one.rule, one.fields) for one in procedures().diff(repo.root, "v1")]
    assert told == [("changed", "a", ["severity"]), ("added", "b", [])]


def test_many_threads_see_each_change(repo: Any, tmp_path: Path) -> None:
    repo.commit(a=PAGE.format("a", "warn", "0"))
    known = Procedures(GitPages(tmp_path / "config", os.environ))
    failures: list[object] = []

    def look(expected: str, barrier: threading.Barrier) -> None:
        barrier.wait()
        try:
            for _ in range(5):
                seen = told(known.book(repo.root))["a"]
                if seen != expected:
                    failures.append(seen)
        except Exception as error:
            failures.append(error)

    for number in range(5):
        repo.write(".memory/a.md", PAGE.format("a", "warn", str(number)))
        barrier = threading.Barrier(8)
        threads = [threading.Thread(target=look, args=(str(number), barrier)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


def test_where_a_persons_own_pages_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.config_folder() == tmp_path / "config"
    (tmp_path / ".env").write_text("AGENT_MEMORY_CONFIG=/elsewhere\n")
    assert config.config_folder() == tmp_path / "config"
    assert config.config_folder({"AGENT_MEMORY_CONFIG": "/x"}) == Path("/x")
    monkeypatch.setattr("sys.platform", "linux")
    assert config.config_folder({"XDG_CONFIG_HOME": "/y"}) == Path("/y/agent-memory")


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="folder"):
        procedures().book(tmp_path / "gone")
