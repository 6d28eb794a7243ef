"""A path that a rule closes is closed to commands as well: for the guard, for `rules check` and for agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_memory.app.checking import verdict
from agent_memory.models.rules import Action, Verdict

pytestmark = pytest.mark.requirement("P4")
PAGE = """\
# Procedures

## Rules

- **closed** (deny) Nothing changes in there.
  - path: `secrets/**`
  - unless: `secrets/README.md`

- **keys** (deny) No keys.
  - path: `*.pem`

- **made-files** (warn) Lock files are made, not edited.
  - path: `*.lock`

- **no-marks** (deny) No marks of a conflict.
  - path: `**`
  - contains: `/(?m)^<{7} /`
"""
CLOSED = [
    "echo x > secrets/a",
    "echo x | tee secrets/a",
    "sed -i s/x/y/ secrets/a",
    "cp file.txt secrets/a",
    "cp file.txt secrets",
    "mv secrets/a b",
    "rm -rf secrets",
    "git checkout -- secrets/a",
    "git restore secrets",
    "dd if=file.txt of=secrets/a",
    "install file.txt secrets/a",
    "ln -s file.txt secrets/a",
    "touch secrets/a",
    "truncate -s 0 secrets/a",
    "rsync file.txt secrets/",
    "sh -c 'echo x > ./secrets/../secrets/a'",
    "cd secrets && echo x > a",
    "cd build; echo x > ../secrets/a",
    "echo x > link/a",
    "cp x.pem build/",
    'echo x > "$FILE"',
    "rm -r *",
]
OPEN = [
    "cat secrets/a",
    "ls secrets > build/list.txt",
    "echo x > secrets/README.md",
    "echo '<<<<<<< x' > file.txt",
    "make > /tmp/out.txt 2>&1",
    "rm -rf build",
    "rm *.tmp",
    "git checkout feature",
    "git restore file.txt",
    "cp secrets/a build/",
]


@pytest.fixture
def closed(repository: Any) -> Any:
    repository.write("secrets/a", "x\n")
    repository.write("build/x", "x\n")
    (repository.root / "link").symlink_to("secrets")
    repository.write(".memory/procedural.md", PAGE)
    return repository


def asked(repository: Any, line: str, folder: str = ".") -> Verdict:
    return verdict(Action(command=line), repository.root / folder)


@pytest.mark.parametrize("line", CLOSED)
def test_a_closed_path_is_closed_to_commands(closed: Any, line: str) -> None:
    found = asked(closed, line)
    assert not found.allowed
    assert {one.rule for one in found.violations} <= {"closed", "keys"}


@pytest.mark.parametrize("line", OPEN)
def test_what_is_not_closed_stays_open(closed: Any, line: str) -> None:
    assert asked(closed, line).allowed


def test_a_verdict_names_the_file_and_what_is_not_known(closed: Any) -> None:
    (violation,) = asked(closed, "cd build && echo x >> ../secrets/a").violations
    assert (violation.matched, violation.certain) == ("secrets/a", True)
    hidden = next(one for one in asked(closed, 'echo x > "$FILE"').violations if one.rule == "closed")
    assert not hidden.certain and "known only when it runs" in (hidden.why or "")
    warned = asked(closed, "touch uv.lock")
    assert warned.allowed and [one.rule for one in warned.warnings] == ["made-files"]


def test_paths_are_seen_from_the_root_and_by_the_rules_of_their_folder(closed: Any) -> None:
    assert not asked(closed, "rm ../secrets/a", "build").allowed
    assert not asked(closed, 'rm "../secrets/$X"', "build").allowed
    assert asked(closed, 'rm "secrets/$X.txt"', "build").allowed
    assert not asked(closed, f"rm {closed.root}/secrets/a", "build").allowed
    page = "# Procedures\n\n## Rules\n\n- **frozen** (deny) No.\n  - path: `services/api/**`\n"
    closed.write("services/api/.memory/procedural.md", page)
    assert not asked(closed, "touch services/api/x.py").allowed
    assert asked(closed, "touch services/web/x.py").allowed


def test_at_every_door(closed: Any, tmp_path: Path) -> None:
    line = "echo y > secrets/a"
    ran = closed.ours("rules", "check", "--command", line)
    assert ran.code == 9 and "by: secrets/a" in ran.out
    assert closed.ours("guard", "--shell", line).code == 126
    assert closed.ours("guard", "--", "rm", "secrets/a").code == 126
    told = {"tool_name": "Bash", "tool_input": {"command": line}, "cwd": str(closed.root)}
    ran = closed.ours("rules", "hook", input=json.dumps(told))
    assert json.loads(ran.out)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert (closed.root / "secrets/a").read_text() == "x\n"


def test_very_many_files_are_answered(closed: Any) -> None:
    assert not asked(closed, "rm " + " ".join(f"build/{number}" for number in range(2000))).allowed
    assert asked(closed, "rm " + " ".join(f"build/{number}" for number in range(500))).allowed
