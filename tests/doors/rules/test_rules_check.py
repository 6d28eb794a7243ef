"""`agent-memory rules check`: the verdict, what it cites, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.requirement("P4")


def test_a_merge_is_denied_citing_rule_file_line_and_commit(repository: Any) -> None:
    ran = repository.ours("rules", "check", "--command", "git merge main")
    head = repository.good("rev-parse", "HEAD").strip()
    assert ran.code == 9
    assert ran.err == ""
    assert ran.out.splitlines() == [
        "denied: Always rebase, never merge.",
        f"  rule: never-merge, .memory/procedural.md:5 ({head[:10]})",
        "  by: git merge main",
        "  because: a linear history can be bisected",
        "  fix: git rebase main",
        f"denied (2 rules asked; commit {head[:10]})",
    ]


def test_the_answer_in_json(repository: Any) -> None:
    ran = repository.ours("rules", "check", "--json", "--command", "git $WHAT")
    verdict = json.loads(ran.out)
    assert ran.code == 9
    assert not verdict["allowed"]
    assert {one["rule"]: one["certain"] for one in verdict["violations"]} == {"never-merge": False, "protected": False}
    assert verdict["violations"][0]["at"]["path"] == ".memory/procedural.md"
    assert verdict["version"]["branch"] == "main"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--command", "git rebase main"], 0),
        (["--command", "git -C x merge"], 9),
        (["--", "git", "merge", "--no-ff", "x"], 9),
        (["--", "echo", "git merge"], 0),
        (["git merge main"], 9),
        (["git rebase main"], 0),
        (["/opt/My Tools/run"], 0),
        (["--tool", "sql", "--args", '{"database": "prod", "query": "drop table x"}'], 9),
        (["--tool", "sql", "--args", '{"database": "dev", "query": "drop table x"}'], 0),
        (["--tool", "sql"], 0),
        (["--path", "logs/audit-1.log", "--text", "-"], 9),
        (["--path", "logs/other.log", "--text", "-"], 0),
        (["--text", "-", "--label", "answer"], 9),
        (["--text", "-", "--label", "note"], 0),
        (["--commit-msg", "-"], 9),
    ],
)
def test_every_sort_of_action(repository: Any, words: list[str], code: int) -> None:
    ran = repository.ours("rules", "check", *words, input="the password is x\n")
    assert ran.code == code, ran.out + ran.err


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--command", "x", "--tool", "y"],
        ["--tool", "x", "--args", "[1]"],
        ["--tool", "x", "--args", "{"],
        ["--commit-msg", "no-such-file"],
        ["--command", "x", "--at", "no-such-ref"],
        ["--command", "x", "--folder", "no-such-folder"],
        ["--path", "a", "--path", "b", "--text", "-"],
    ],
)
def test_what_cannot_be_checked_is_an_error_and_not_a_verdict(repository: Any, words: list[str]) -> None:
    ran = repository.ours("rules", "check", *words)
    assert ran.code == (3 if "no-such-ref" in words else 2)
    assert ran.out == ""
    assert ran.err.startswith("error:")


def test_a_warning_is_on_the_standard_error_and_allows(repository: Any) -> None:
    ran = repository.ours("rules", "check", "--path", "deep/uv.lock")
    assert ran.code == 0
    assert ran.out.startswith("allowed")
    assert "warning: Lock files are made, not edited." in ran.err


def test_a_message_file_is_read_as_git_will_store_it(repository: Any) -> None:
    repository.write("message", "# Please enter the commit message\nfeat: x\n\n# On branch main\n")
    assert repository.ours("rules", "check", "--commit-msg", "message").code == 0
    repository.good("config", "core.commentChar", ";")
    ran = repository.ours("rules", "check", "--commit-msg", "message")
    assert ran.code == 9
    assert "has no type" in ran.out


def test_paths_are_seen_from_the_root_however_they_are_named(repository: Any, tmp_path: Path) -> None:
    repository.write("logs/audit.log", "login ada\n")
    (repository.root / "sub").mkdir()
    (repository.root / "sub" / "link").symlink_to("../logs")
    (repository.root / "file-link").symlink_to("logs/audit.log")
    other = tmp_path / "way-in"
    other.symlink_to(repository.root)
    for path, folder in [
        ("logs/audit.log", "."),
        ("./sub/../logs/audit.log", "."),
        ("../logs/audit.log", "sub"),
        ("link/audit.log", "sub"),
        ("file-link", "."),
        (str(repository.root / "logs/audit.log"), "sub"),
        ("logs/audit.log", str(other)),
    ]:
        ran = repository.ours("rules", "check", "--path", path, "--folder", folder)
        assert ran.code == 9, path
        assert "line 1 lacks `request_id=`: login ada" in ran.out
    repository.write("logs/audit.log", "login ada request_id=1\n")
    assert repository.ours("rules", "check", "--path", "logs/audit.log").code == 0


def test_a_file_that_nobody_can_read_counts_against_it(repository: Any) -> None:
    (repository.root / "logs").mkdir()
    for path in ("logs/audit-none.log", "logs/audit-folder.log", "logs/audit-large.log"):
        if "folder" in path:
            (repository.root / path).mkdir()
        if "large" in path:
            with (repository.root / path).open("wb") as file:
                file.truncate(9 * 1024 * 1024)
        ran = repository.ours("rules", "check", "--path", path)
        assert ran.code == 9
        assert "why: its content is not known" in ran.out


def test_the_rules_of_another_commit(repository: Any) -> None:
    repository.good("tag", "v1")
    repository.write(".memory/procedural.md", "# Procedures\n\n## Rules\n\n- **x** (deny) No.\n  - command: `ls`\n")
    assert repository.ours("rules", "check", "--command", "git merge x").code == 0
    assert repository.ours("rules", "check", "--command", "git merge x", "--at", "v1").code == 9
    assert repository.ours("rules", "check", "--command", "ls", "--at", "v1").code == 0


def test_rules_of_a_folder_hold_for_the_files_in_it(repository: Any) -> None:
    page = "# Procedures\n\n## Rules\n\n- **frozen** (deny) Nothing here changes.\n  - path: `services/api/**`\n"
    repository.write("services/api/.memory/procedural.md", page)
    assert repository.ours("rules", "check", "--path", "services/api/x.py").code == 9
    assert repository.ours("rules", "check", "--path", "services/web/x.py").code == 0


def test_aliases_of_git_are_what_they_stand_for(repository: Any) -> None:
    assert repository.ours("rules", "check", "--command", "git mg x").code == 0
    repository.good("config", "alias.mg", "merge --no-ff")
    assert repository.ours("rules", "check", "--command", "git mg x").code == 9
    repository.good("config", "--global", "alias.up", "!f() { git pull; }; f")
    assert repository.ours("rules", "check", "--command", "git up").code == 9


def test_a_branch_is_the_one_that_is_checked_out(repository: Any) -> None:
    page = "# Procedures\n\n## Rules\n\n- **x** (deny) No.\n  - command: `make deploy`\n  - branch: `main`\n"
    repository.write(".memory/procedural.md", page)
    assert repository.ours("rules", "check", "--command", "make deploy").code == 9
    assert repository.ours("rules", "check", "--command", "make deploy", "--branch", "feature").code == 0
    repository.good("checkout", "-q", "feature")
    assert repository.ours("rules", "check", "--command", "make deploy").code == 0
    repository.good("checkout", "-q", "--detach")
    assert repository.ours("rules", "check", "--command", "make deploy").code == 0


def test_a_broken_rule_denies_and_says_where_it_is(repository: Any) -> None:
    page = "# Procedures\n\n## Rules\n\n- **x** (deny) No.\n  - path: `/(?=a)/`\n"
    repository.write(".memory/procedural.md", page)
    ran = repository.ours("rules", "check", "--path", "b")
    assert ran.code == 9
    assert "the rule cannot be used" in ran.out
    assert ".memory/procedural.md:5" in ran.out
    assert repository.ours("rules", "check", "--command", "ls").code == 0


def test_outside_git_it_works_and_says_so(tmp_path: Path, repository: Any) -> None:
    folder = tmp_path / "plain"
    (folder / ".memory").mkdir(parents=True)
    page = "# Procedures\n\n## Rules\n\n- **x** (deny) No.\n  - path: `a/**`\n"
    (folder / ".memory" / "procedural.md").write_text(page)
    ran = repository.ours("rules", "check", "--path", "a/b", "--folder", str(folder))
    assert ran.code == 9
    assert "version unknown: not in a git repository" in ran.out


def test_no_store_is_opened(repository: Any, home: Path) -> None:
    assert repository.ours("rules", "check", "--command", "git merge main").code == 9
    assert not home.exists()
