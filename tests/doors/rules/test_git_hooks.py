"""Git hooks: what a rule denies does not happen, in real git; what was there before still works, and comes back."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.requirement("P4")
HOOKS = "applypatch-msg commit-msg pre-commit pre-merge-commit pre-push pre-rebase reference-transaction".split()


@pytest.fixture
def hooked(repository: Any) -> Any:
    ran = repository.ours("rules", "install-hooks")
    assert ran.code == 0, ran.err
    return repository


def head(repository: Any) -> str:
    return str(repository.good("rev-parse", "HEAD"))


def refused(ran: Any, rule: str) -> None:
    assert ran.code != 0
    assert f"rule: {rule}, .memory/procedural.md:" in ran.err, ran.err


def hook(repository: Any, name: str, text: str, folder: str = ".git/hooks") -> Path:
    repository.write(f"{folder}/{name}", text)
    path = Path(repository.root / folder / name)
    path.chmod(0o755)
    return path


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


# -- merges


@pytest.mark.parametrize("words", [[], ["--no-verify"], ["--ff-only"], ["--squash"]])
def test_a_fast_forward_is_stopped_before_anything_changes(hooked: Any, words: list[str]) -> None:
    before = head(hooked)
    refused(hooked.git("merge", *words, "feature"), "never-merge")
    assert head(hooked) == before
    assert hooked.good("status", "--porcelain") == ""


@pytest.mark.parametrize("words", [[], ["--no-verify"], ["--no-commit"], ["--squash"]])
def test_a_true_merge_is_stopped_before_anything_changes(hooked: Any, words: list[str]) -> None:
    hooked.commit("fix: elsewhere", "other.txt")
    before = head(hooked)
    refused(hooked.git("merge", "--no-edit", *words, "feature"), "never-merge")
    assert head(hooked) == before
    assert hooked.good("status", "--porcelain") == ""
    assert not (hooked.root / ".git/MERGE_HEAD").exists()


def test_a_merge_is_still_stopped_where_only_the_last_hook_sees_it(hooked: Any) -> None:
    """Whoever sets GIT_REFLOG_ACTION hides the beginning of a merge; its commit is stopped all the same."""
    hooked.commit("fix: elsewhere", "other.txt")
    before = head(hooked)
    refused(hooked.git("merge", "--no-edit", "feature", GIT_REFLOG_ACTION="something"), "never-merge")
    assert head(hooked) == before


def test_an_alias_for_a_merge_is_stopped(hooked: Any) -> None:
    hooked.good("config", "alias.mg", "merge")
    refused(hooked.git("mg", "feature"), "never-merge")


def test_very_many_files_are_answered_in_time(hooked: Any) -> None:
    for number in range(600):
        hooked.write(f"logs/audit-{number}.log", "login\n")
    hooked.good("add", "-A")
    ran = hooked.git("commit", "-q", "-m", "feat: logs")
    refused(ran, "audit-request-id")
    assert "… and 590 more" in ran.err


def test_exceptions_count_as_they_were_typed(hooked: Any) -> None:
    page = (hooked.root / ".memory/procedural.md").read_text().replace("`git merge --abort`", "`git merge --ff-only`")
    hooked.write(".memory/procedural.md", page)
    refused(hooked.git("merge", "feature"), "never-merge")
    hooked.good("config", "alias.ff", "merge --ff-only")
    assert hooked.git("ff", "feature").code == 0
    hooked.good("reset", "-q", "--hard", "HEAD~1")
    hooked.write(".memory/procedural.md", page)
    assert hooked.git("merge", "--ff-only", "feature").code == 0


def test_a_rebase_goes_on_and_so_does_what_no_rule_is_about(hooked: Any) -> None:
    hooked.commit("fix: elsewhere", "other.txt")
    hooked.good("checkout", "-q", "feature")
    hooked.good("rebase", "-q", "main")
    hooked.good("checkout", "-q", "main")
    hooked.good("reset", "-q", "--hard", "feature")
    hooked.good("branch", "third")
    hooked.good("stash", "list")


def test_a_pull_that_merges_is_stopped_and_one_that_rebases_is_not(hooked: Any, tmp_path: Path) -> None:
    hooked.good("clone", "-q", str(hooked.root), str(tmp_path / "clone"))
    clone = type(hooked)(tmp_path / "clone")
    assert clone.ours("rules", "install-hooks").code == 0
    hooked.commit("fix: more", "more.txt")
    before = head(clone)
    refused(clone.git("pull"), "never-merge")
    assert head(clone) == before
    assert clone.git("pull", "--rebase").code == 0
    hooked.commit("fix: yet more", "more2.txt")
    clone.good("config", "pull.rebase", "true")
    assert clone.git("pull").code == 0
    assert head(clone) == head(hooked)


def test_a_rebase_can_be_what_is_denied(hooked: Any) -> None:
    page = "# Procedures\n\n## Rules\n\n- **no-rebase** (deny) What is public stays.\n  - command: `git rebase`\n"
    hooked.good("checkout", "-q", "feature")
    hooked.commit("feat: page", ".memory/procedural.md", page)
    refused(hooked.git("rebase", "--force-rebase", "main"), "no-rebase")


# -- commits


def test_a_bad_message_is_refused_and_a_good_one_passes(hooked: Any) -> None:
    before = head(hooked)
    refused(hooked.git("commit", "-q", "--allow-empty", "-m", "add things"), "conventional-commits")
    assert head(hooked) == before
    hooked.good("commit", "-q", "--allow-empty", "-m", "feat: add things")


def test_a_patch_by_mail_is_refused_by_its_message(hooked: Any, tmp_path: Path) -> None:
    hooked.good("checkout", "-q", "feature")
    hooked.good("commit", "-q", "--allow-empty", "--no-verify", "-m", "add things")
    hooked.write("more.txt", "x\n")
    hooked.good("add", "-A")
    hooked.good("commit", "-q", "--amend", "--no-verify", "-m", "add things")
    (tmp_path / "mail").write_text(hooked.good("format-patch", "-1", "--stdout"))
    hooked.good("checkout", "-q", "main")
    before = head(hooked)
    refused(hooked.git("am", "-q", str(tmp_path / "mail")), "conventional-commits")
    assert head(hooked) == before


def test_comments_count_only_where_git_drops_them(hooked: Any) -> None:
    page = "# Procedures\n\n## Rules\n\n- **no-wip** (deny) Finish it.\n  - commit message: `WIP`\n"
    hooked.write(".memory/procedural.md", page)
    refused(hooked.git("commit", "-q", "--allow-empty", "-m", "feat: x", "-m", "# WIP"), "no-wip")
    editor = f"{sys.executable} -c \"import sys; open(sys.argv[1], 'w').write('feat: x\\n# WIP\\n')\""
    assert hooked.git("commit", "-q", "--allow-empty", GIT_EDITOR=editor).code == 0
    assert "WIP" not in hooked.good("log", "-1", "--format=%B")


def test_what_is_staged_is_checked_and_not_what_lies_around(hooked: Any) -> None:
    hooked.write("logs/audit.log", "login ada\n")
    hooked.good("add", "-A")
    hooked.write("logs/audit.log", "login ada request_id=1\n")
    ran = hooked.git("commit", "-q", "-m", "feat: logs")
    refused(ran, "audit-request-id")
    assert "line 1 lacks `request_id=`: login ada" in ran.err
    hooked.good("add", "-A")
    hooked.write("logs/audit.log", "bad again\n")
    hooked.good("commit", "-q", "-m", "feat: logs")
    refused(hooked.git("commit", "-q", "-a", "-m", "feat: logs"), "audit-request-id")
    hooked.good("rm", "-q", "-f", "logs/audit.log")
    hooked.good("commit", "-q", "-m", "feat: no logs")


def test_a_path_can_be_closed_also_for_removing(hooked: Any) -> None:
    hooked.commit("feat: tables", "migrations/1 x.sql")
    page = "# Procedures\n\n## Rules\n\n- **past** (deny) What ran stays.\n  - path: `migrations/**`\n"
    hooked.write(".memory/procedural.md", page)
    hooked.good("rm", "-q", "migrations/1 x.sql")
    refused(hooked.git("commit", "-q", "-m", "feat: x"), "past")


def test_the_first_commit_of_all(tmp_path: Path, own_git: None, repository: Any) -> None:
    fresh = type(repository)(tmp_path / "fresh")
    fresh.root.mkdir()
    fresh.good("init", "-q")
    assert fresh.ours("rules", "install-hooks").code == 0
    fresh.write(".memory/procedural.md", (repository.root / ".memory/procedural.md").read_text())
    fresh.write("logs/audit.log", "login ada\n")
    fresh.good("add", "-A")
    refused(fresh.git("commit", "-q", "-m", "feat: x"), "audit-request-id")
    fresh.good("rm", "-q", "--cached", "logs/audit.log")
    fresh.good("commit", "-q", "-m", "feat: x")


def test_nobody_commits_on_main(hooked: Any) -> None:
    page = (
        "# Procedures\n\n## Rules\n\n- **main-is-protected** (deny) Nobody commits on main.\n"
        "  - commit message:\n  - branch: `main`\n"
    )
    hooked.write(".memory/procedural.md", page)
    refused(hooked.git("commit", "-q", "--allow-empty", "-m", "feat: x"), "main-is-protected")
    hooked.good("checkout", "-q", "feature")
    hooked.good("commit", "-q", "--allow-empty", "-m", "feat: x")


# -- pushes


def test_a_push_is_stopped_by_where_it_goes(hooked: Any, tmp_path: Path) -> None:
    hooked.good("init", "-q", "--bare", str(tmp_path / "remote.git"))
    hooked.good("remote", "add", "origin", str(tmp_path / "remote.git"))
    hooked.good("push", "-q", "origin", "main")
    refused(hooked.git("push", "-q", "origin", "main:release"), "protected")
    refused(hooked.git("push", "-q", "origin", "HEAD:refs/heads/release"), "protected")
    hooked.good("checkout", "-q", "-b", "release")
    refused(hooked.git("push", "-q", "--set-upstream", "origin", "HEAD"), "protected")
    refused(hooked.git("push", "-q", "-o", "x", "origin", "HEAD"), "protected")
    hooked.good("config", "push.default", "current")
    refused(hooked.git("push", "-q"), "protected")
    assert "release" not in hooked.good("ls-remote", "origin")


# -- beside what is there


def test_hooks_that_were_there_run_first_with_all_they_are_told(repository: Any, tmp_path: Path) -> None:
    log = tmp_path / "log"
    hook(repository, "pre-push", f'#!/bin/sh\necho "push $*" >> {log}\ncat >> {log}\n')
    hook(repository, "commit-msg", f'#!/bin/sh\necho "msg $(cat "$1")" >> {log}\n')
    hook(repository, "pre-commit", "#!/bin/sh\necho no >&2\nexit 3\n")
    unused = hook(repository, "pre-rebase", "#!/bin/sh\nexit 1\n")
    unused.chmod(0o644)
    ran = repository.ours("rules", "install-hooks")
    assert "run first, as before: commit-msg, pre-commit, pre-push, pre-rebase" in ran.out
    failed = repository.git("commit", "-q", "--allow-empty", "-m", "feat: x")
    assert failed.code != 0
    assert failed.err == "no\n"
    (repository.root / ".git/hooks/pre-commit.before-agent-memory").unlink()
    repository.good("commit", "-q", "--allow-empty", "-m", "feat: x")
    repository.good("init", "-q", "--bare", str(tmp_path / "remote.git"))
    repository.good("push", "-q", str(tmp_path / "remote.git"), "main")
    said = log.read_text()
    assert "msg feat: x\n" in said
    assert f"push {tmp_path}/remote.git {tmp_path}/remote.git\nrefs/heads/main " in said
    repository.good("checkout", "-q", "feature")
    repository.good("rebase", "-q", "main")  # git never ran a hook that may not be executed


@pytest.mark.parametrize("words", [["install-hooks"], ["install-hooks", "--uninstall"], ["apply"]])
def test_a_folder_that_cannot_be_written_is_named(hooked: Any, process: Any, words: list[str]) -> None:
    folder = hooked.root / ".git" / "hooks"
    before = snapshot(folder)
    folder.chmod(0o500)
    try:
        ran = process("rules", *words, str(hooked.root), anybody=True)
    finally:
        folder.chmod(0o700)
    named = "FOLDER" if words == ["apply"] else "folder"  # an operation names what was typed
    assert ran.code == 2 and ran.err.startswith(f"error: {named}: '{folder}"), ran.err
    assert "cannot be written: Permission denied" in ran.err
    assert snapshot(folder) == before


def test_twice_is_once_and_uninstall_restores_every_byte(repository: Any) -> None:
    hook(repository, "pre-commit", "#!/bin/sh\n# mine\nexit 0\n").chmod(0o711)
    (repository.root / ".git/hooks/commit-msg").symlink_to("pre-commit")
    hooks = repository.root / ".git/hooks"
    before = snapshot(hooks)
    config = (repository.root / ".git/config").read_bytes()
    assert repository.ours("rules", "install-hooks").code == 0
    once = snapshot(hooks)
    assert repository.ours("rules", "install-hooks").code == 0
    assert snapshot(hooks) == once
    assert repository.ours("rules", "install-hooks", "--uninstall").code == 0
    assert snapshot(hooks) == before
    assert (hooks / "commit-msg").is_symlink()
    assert (repository.root / ".git/config").read_bytes() == config
    again = repository.ours("rules", "install-hooks", "--uninstall")
    assert again.code == 0
    assert snapshot(hooks) == before


def test_a_hook_that_replaced_ours_is_not_lost(repository: Any) -> None:
    hook(repository, "pre-commit", "#!/bin/sh\n# first\n")
    assert repository.ours("rules", "install-hooks").code == 0
    hook(repository, "pre-commit", "#!/bin/sh\n# second\n")
    before = snapshot(repository.root / ".git/hooks")
    ran = repository.ours("rules", "install-hooks")
    assert ran.code == 2
    assert "was replaced after our hook was installed" in ran.err
    assert snapshot(repository.root / ".git/hooks") == before


HUSKY = '#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n'
HUSKY_H = """\
#!/usr/bin/env sh
n=$(basename "$0")
s=$(dirname "$(dirname "$0")")/$n
[ ! -f "$s" ] && exit 0
sh -e "$s" "$@"
"""


def test_a_setup_like_husky_keeps_working(repository: Any) -> None:
    hook(repository, "pre-commit", HUSKY, ".husky/_")
    hook(repository, "post-commit", HUSKY, ".husky/_")
    hook(repository, "h", HUSKY_H, ".husky/_")
    repository.write(".husky/pre-commit", "echo husky-before >&2\n")
    repository.write(".husky/post-commit", "echo husky-after >&2\n")
    repository.good("config", "core.hooksPath", ".husky/_")
    config = (repository.root / ".git/config").read_bytes()
    before = snapshot(repository.root / ".husky")
    for _ in range(2):
        assert repository.ours("rules", "install-hooks").code == 0
    ran = repository.git("commit", "-q", "--allow-empty", "-m", "feat: x")
    assert ran.code == 0
    assert ran.err == "husky-before\nhusky-after\n"
    refused(repository.git("merge", "feature"), "never-merge")
    assert snapshot(repository.root / ".husky") == before
    assert repository.ours("rules", "install-hooks", "--uninstall").code == 0
    assert (repository.root / ".git/config").read_bytes() == config
    assert not (repository.root / ".git/agent-memory/hooks").exists()
    assert repository.git("merge", "feature").code == 0


def test_hooks_that_all_repositories_share_are_left_alone(repository: Any, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "pre-commit").write_text("#!/bin/sh\necho shared >&2\n")
    (shared / "pre-commit").chmod(0o755)
    repository.good("config", "--global", "core.hooksPath", str(shared))
    config = (repository.root / ".git/config").read_bytes()
    for _ in range(2):
        assert repository.ours("rules", "install-hooks").code == 0
    ran = repository.git("commit", "-q", "--allow-empty", "-m", "x")
    assert ran.err.startswith("shared\n")
    refused(ran, "conventional-commits")
    assert os.listdir(shared) == ["pre-commit"]
    assert repository.ours("rules", "install-hooks", "--uninstall").code == 0
    assert (repository.root / ".git/config").read_bytes() == config


def test_worktrees_share_the_hooks(hooked: Any, tmp_path: Path) -> None:
    hooked.good("worktree", "add", "-q", str(tmp_path / "tree"), "-b", "other")
    tree = type(hooked)(tmp_path / "tree")
    refused(tree.git("merge", "feature"), "never-merge")
    assert tree.ours("rules", "install-hooks", "--uninstall").code == 0
    assert tree.git("merge", "feature").code == 0


def test_without_us_it_refuses_and_says_how_to_remove_it(hooked: Any) -> None:
    for name in HOOKS:
        path = hooked.root / ".git/hooks" / name
        path.write_text(path.read_text().replace(sys.executable, "/no/such/python"))
    ran = hooked.git("commit", "-q", "--allow-empty", "-m", "feat: x", PATH="/usr/bin:/bin")
    assert ran.code == 1
    assert "could not check the rules of this repository, so this is refused" in ran.err
    assert f"rm {hooked.root}/.git/hooks/pre-commit" in ran.err


def test_nothing_of_the_repository_is_run_as_ours(hooked: Any) -> None:
    for name in ("click", "json", "agent_memory", "re2"):
        hooked.write(f"{name}.py", "raise SystemExit(0)\n")
    refused(hooked.git("commit", "-q", "--allow-empty", "-m", "add things"), "conventional-commits")


def test_a_folder_that_is_no_repository(tmp_path: Path, repository: Any) -> None:
    ran = repository.ours("rules", "install-hooks", str(tmp_path))
    assert ran.code == 2
    assert "not a git repository" in ran.err
