"""A repository with rules, real git in it, and commands as processes of their own."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_memory.app import trust
from patience import PATIENCE
from warm import SAFE as PROGRAM

PAGE = """\
# Procedures

## Rules

- **never-merge** (deny) Always rebase, never merge.
  - command: `git merge`, `git pull`
  - unless: `git pull --rebase`, `git pull --ff-only`, `git merge --abort`
  - because: a linear history can be bisected
  - fix: `git rebase main`

- **conventional-commits** (require) Commit messages follow Conventional Commits.
  - commit message: conventional

- **audit-request-id** (require) Audit logs must include the request id.
  - path: `logs/audit*.log`
  - every line: `request_id=`

- **made-files** (warn) Lock files are made, not edited.
  - path: `*.lock`

- **prod-db** (deny) No tool deletes in the production database.
  - tool: `sql`, `mcp__db__*`
  - where: `database` = `prod*`, `query` = `/(?i)\\b(drop|delete)\\b/`

- **protected** (deny) Nobody pushes to release.
  - command: `git push origin release`

- **no-secrets** (deny) No answer holds a password.
  - text: `answer`
  - contains: `password`
"""


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


def run(*words: str, cwd: Path, input: str = "", **environment: str) -> Ran:
    done = subprocess.run(
        words,
        cwd=cwd,
        input=input.encode(),
        capture_output=True,
        env={**os.environ, **environment},
        timeout=PATIENCE,
    )
    return Ran(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


@dataclass(frozen=True)
class Repository:
    """A folder; `git` and `ours` run in it."""

    root: Path

    def git(self, *words: str, **environment: str) -> Ran:
        return run("git", *words, cwd=self.root, **environment)

    def good(self, *words: str) -> str:
        ran = self.git(*words)
        assert ran.code == 0, ran.err
        return ran.out

    def ours(self, *words: str, input: str = "", **environment: str) -> Ran:
        return run(*PROGRAM, *words, cwd=self.root, input=input, **environment)

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def commit(self, message: str, path: str = "file.txt", text: str = "x\n") -> None:
        self.write(path, text)
        self.good("add", "-A")
        self.good("commit", "-q", "-m", message)


@pytest.fixture(autouse=True)
def own_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's own settings of git."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (tmp_path / "gitconfig").write_text(
        "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
    )


@pytest.fixture
def repository(tmp_path: Path, own_git: None, warm: None) -> Repository:
    """With rules, one commit, and a branch `feature` that is one commit ahead."""
    made = Repository(tmp_path / "repository")
    made.root.mkdir()
    made.good("init", "-q")
    made.write(".memory/procedural.md", PAGE)
    trust.trust(trust.TrustTarget(made.root))
    made.commit("feat: begin")
    made.good("checkout", "-q", "-b", "feature")
    made.commit("feat: more", "feature.txt")
    made.good("checkout", "-q", "main")
    return made
