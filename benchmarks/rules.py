"""What it costs to ask the rules: a check with 200 of them, warm, and a command of ours from its start to its verdict.

python benchmarks/rules.py
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from small import at_most, bytecode

RULES = at_most(200, 10)
CLEAN = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
SORTS = (
    "- **c-{n}** (deny) No.\n  - command: `tool{n} delete --context=prod*`, `git frob{n}`\n  - unless: `tool{n} -h`\n",
    "- **p-{n}** (deny) No.\n  - path: `src/{n}/**/*.gen`, `/^lib{n}/`\n",
    "- **m-{n}** (deny) No.\n  - commit message: `NOPE-{n}`, `/(?i)\\bwip{n}\\b/`\n",
    "- **t-{n}** (deny) No.\n  - tool: `mcp__{n}__*`\n  - where: `database` = `prod*`\n",
    "- **l-{n}** (require) Yes.\n  - path: `logs/{n}/*.log`\n  - every line: `request_id=`\n",
)
ACTIONS: dict[str, dict[str, Any]] = {
    "command": {"command": "cd app && FOO=1 git -C x commit -m 'x y' | tee log; make test"},
    "command, not git": {"argv": ("kubectl", "get", "pods", "-n", "prod")},
    "path": {"path": "src/app/module.py"},
    "commit message": {"commit_message": "feat(app): read empty files\n\nThey were refused.\n"},
    "tool": {"tool": "mcp__files__write", "arguments": {"path": "x", "content": "y" * 1000}},
}


def git(root: Path, *words: str) -> None:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", *who, *words], cwd=root, check=True, env={**os.environ, **CLEAN})


def written(root: Path) -> None:
    (root / ".memory").mkdir()
    text = "".join(SORTS[number % len(SORTS)].format(n=number) for number in range(RULES))
    (root / ".memory" / "procedural.md").write_text(f"## Rules\n\n{text}")
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "x")


def timed(what: str, call: Callable[[], object], times: int, cpu: Callable[[], float]) -> None:
    times = at_most(times, 2)
    took, spent = [], cpu()
    for _ in range(times):
        start = time.perf_counter()
        call()
        took.append(time.perf_counter() - start)
    took.sort()
    each = (cpu() - spent) / times * 1e3
    middle, late = statistics.median(took) * 1e3, took[int(times * 0.95)] * 1e3
    print(f"{what:28} CPU {each:8.3f} ms, wall median {middle:8.3f} ms, p95 {late:8.3f} ms")


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def warm(root: Path) -> None:
    from agent_memory.app.checking import verdict
    from agent_memory.models.rules import Action

    for name, given in ACTIONS.items():
        action = Action(**given)
        assert verdict(action, root).allowed
        time.sleep(at_most(2.1, 0))  # files that changed just now are looked at more closely
        verdict(action, root)
        timed(f"warm check: {name}", lambda action=action: verdict(action, root), 300, time.process_time)


def started(root: Path) -> None:
    """Processes of ours, with compiled modules, as they are installed."""
    ours = [sys.executable, "-P", "-m", "agent_memory.interfaces.cli"]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = {**kept, **CLEAN, **bytecode(root.parent / "compiled")}
    call = json.dumps({"tool_name": "Bash", "tool_input": {"command": "git status"}, "cwd": str(root)}).encode()

    def run(*words: str) -> None:
        subprocess.run(words, cwd=root, env=environment, input=call, capture_output=True, check=True)

    for name, words in {
        "python -c pass": [sys.executable, "-c", "pass"],
        "import pydantic, click": [sys.executable, "-c", "import click; from pydantic import BaseModel"],
        "rules check": [*ours, "rules", "check", "--command", "git status"],
        "rules hook": [*ours, "rules", "hook"],
        "guard -- true": [*ours, "guard", "--", "true"],
    }.items():
        run(*words)
        timed(f"process: {name}", lambda words=words: run(*words), 10, children)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "repository"
        root.mkdir()
        os.environ["AGENT_MEMORY_CONFIG"] = str(Path(folder) / "own")
        os.environ |= CLEAN
        written(root)
        warm(root)
        started(root)


if __name__ == "__main__":
    main()
