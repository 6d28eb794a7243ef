"""A merge by another name: a pull that merges, and the commit of a merge that was begun."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.requirement("P4")
NEVER = (
    "# Procedures\n\n## Rules\n\n- **never-merge** (deny) Never merge.\n  - command: {}\n  - fix: `git rebase main`\n"
)


def head(repository: Any) -> str:
    return str(repository.good("rev-parse", "HEAD"))


def refused(ran: Any) -> None:
    assert ran.code != 0
    assert "rule: never-merge, .memory/procedural.md:" in ran.err + ran.out, ran.err


@pytest.fixture(params=["`git merge`", "@merge"])
def diverged(repository: Any, tmp_path: Path, request: Any) -> Any:
    """A clone whose branch and its upstream both went on, with hooks."""
    repository.commit("feat: page", ".memory/procedural.md", NEVER.format(request.param))
    repository.good("clone", "-q", str(repository.root), str(tmp_path / "clone"))
    clone = type(repository)(tmp_path / "clone")
    repository.commit("feat: theirs", "theirs.txt")
    clone.commit("feat: ours", "ours.txt")
    assert clone.ours("rules", "install-hooks").code == 0
    return clone


def test_a_pull_that_merges_is_stopped_at_the_start(diverged: Any) -> None:
    before = head(diverged)
    for words in (["pull", "--no-rebase"], ["pull", "--no-rebase", "--no-edit", "origin", "main"]):
        refused(diverged.git(*words))
        assert not (diverged.root / ".git/MERGE_HEAD").exists()
    diverged.good("config", "pull.rebase", "false")
    refused(diverged.git("pull"))
    refused(diverged.ours("rules", "check", "--command", "git pull"))
    assert diverged.ours("guard", "--", "git", "pull").code == 126
    assert head(diverged) == before
    assert diverged.good("status", "--porcelain") == ""
    diverged.good("config", "pull.rebase", "true")
    assert diverged.ours("rules", "check", "--command", "git pull").code == 0
    assert diverged.ours("guard", "--", "git", "pull", "-q").code == 0
    assert diverged.good("rev-list", "--merges", "HEAD") == ""


@pytest.mark.parametrize("words", [[], ["--no-verify"]])
def test_the_commit_of_a_merge_is_stopped_and_says_how_to_end_it(diverged: Any, words: list[str]) -> None:
    """Begun by somebody who hid it, or before the hooks were there."""
    diverged.good("fetch", "-q")
    before = head(diverged)
    ran = diverged.git("merge", "--no-edit", "origin/main", GIT_REFLOG_ACTION="something")
    refused(ran)
    assert "git merge --abort" in ran.err
    assert (diverged.root / ".git/MERGE_HEAD").exists()
    ran = diverged.git("commit", "--no-edit", *words)
    refused(ran)
    assert "fix: git merge --abort, then git rebase main" in ran.err
    assert head(diverged) == before
    for line in ("git commit --no-edit", "git -C . commit -m 'feat: x'"):
        ran = diverged.ours("rules", "check", "--command", line)
        assert ran.code == 9 and "fix: git merge --abort, then git rebase main" in ran.out
    assert diverged.ours("guard", "--", "git", "commit", "--no-edit").code == 126
    diverged.good("merge", "--abort")
    assert head(diverged) == before
    diverged.good("commit", "-q", "--allow-empty", "-m", "feat: on")


def test_in_a_worktree_too(diverged: Any, tmp_path: Path) -> None:
    diverged.good("fetch", "-q")
    diverged.good("worktree", "add", "-q", str(tmp_path / "tree"), "-b", "other")
    tree = type(diverged)(tmp_path / "tree")
    refused(tree.git("merge", "--no-edit", "origin/main", GIT_REFLOG_ACTION="something"))
    before = head(tree)
    refused(tree.git("commit", "--no-edit"))
    tree.good("config", "alias.ci", "commit --no-verify")
    refused(tree.git("ci", "--no-edit"))
    assert head(tree) == before
    diverged.good("commit", "-q", "--allow-empty", "-m", "feat: elsewhere")
    tree.good("merge", "--abort")


def test_a_merge_that_conflicts_can_be_ended(repository: Any) -> None:
    repository.commit("feat: page", ".memory/procedural.md", NEVER.format("@merge"))
    repository.commit("feat: other", "feature.txt", "other\n")
    assert repository.git("merge", "feature").code != 0
    assert repository.ours("rules", "install-hooks").code == 0
    refused(repository.git("commit", "-q", "-am", "feat: both"))
    repository.good("merge", "--abort")
    repository.good("commit", "-q", "--allow-empty", "-m", "feat: on")


PUSHES = [
    (["push", "origin", "+feature"], "forced"),
    (["push", "origin", "feature:main"], "to-main"),
    (["push", "origin", "HEAD:main"], "to-main"),
    (["push", "origin", ":main"], "to-main"),
    (["push", "origin", "--delete", "main"], "to-main"),
    (["push", "--delete", "origin", "main"], "to-main"),
    (["push", "-f"], "forced"),
]


@pytest.mark.parametrize(("words", "name"), PUSHES)
def test_a_push_gets_the_same_answer_at_every_door(
    repository: Any, tmp_path: Path, words: list[str], name: str
) -> None:
    repository.good("init", "-q", "--bare", str(tmp_path / "remote.git"))
    repository.good("remote", "add", "origin", str(tmp_path / "remote.git"))
    repository.good("push", "-q", "origin", "main", "feature")
    repository.good("checkout", "-q", "feature")
    repository.good("commit", "-q", "--amend", "-m", "feat: otherwise")
    repository.good("branch", "-q", "-u", "origin/feature")
    page = (
        "# Procedures\n\n## Rules\n\n- **to-main** (deny) No.\n  - command: `git push origin main`\n"
        "- **forced** (deny) No.\n  - command: `git push --force`\n"
    )
    repository.write(".memory/procedural.md", page)
    assert repository.ours("rules", "install-hooks").code == 0
    before = repository.good("ls-remote", "origin")
    for ran in (
        repository.git(*words),
        repository.ours("rules", "check", "--", "git", *words),
        repository.ours("guard", "--", "git", *words),
    ):
        assert ran.code != 0 and f"rule: {name}," in ran.err + ran.out, ran
    assert repository.good("ls-remote", "origin") == before
