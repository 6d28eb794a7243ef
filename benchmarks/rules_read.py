"""What it costs to know the rules of a folder: ten pages in a repository of git, first and again.

python benchmarks/rules_read.py
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from agent_memory.app.procedures import Procedures
from agent_memory.engines.git.pages import GitPages
from small import at_most

PAGES, RULES = 10, 20
CLEAN = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def git(root: Path, *words: str) -> None:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", *who, *words], cwd=root, check=True, env={**os.environ, **CLEAN})


def written(root: Path) -> None:
    (root / ".memory").mkdir(exist_ok=True)
    for page in range(PAGES):
        rules = "".join(
            f"- **rule-{page}-{number}** (deny) No `git merge` here.\n  - command: `git merge`, `git pull`\n"
            for number in range(RULES)
        )
        (root / ".memory" / f"page{page}.md").write_text(f"## Rules\n\n{rules}")


def timed(what: str, call: Callable[[], object], times: int) -> None:
    times = at_most(times, 2)
    took = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        took.append(time.perf_counter() - start)
    took.sort()
    print(f"{what:44} median {statistics.median(took) * 1e3:8.3f} ms, p95 {took[int(times * 0.95)] * 1e3:8.3f} ms")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "repo"
        root.mkdir()
        git(root, "init", "--quiet", "--initial-branch=main")
        written(root)
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "--message", "x")
        pages = GitPages(Path(folder) / "own", os.environ)
        timed("cold: git, read, parse", lambda: Procedures(pages).book(root), 20)
        known = Procedures(pages)
        written(root)
        known.book(root)
        timed("warm, all pages written just now", lambda: known.book(root), 300)
        time.sleep(at_most(2.1, 0))
        known.book(root)
        timed("warm", lambda: known.book(root), 2000)
        known.book(root, "main")
        timed("warm, at a branch", lambda: known.book(root, "main"), 2000)
        page = root / ".memory" / "page0.md"
        text = page.read_text()

        def edited() -> None:
            page.write_text(f"{text}{time.time_ns()}\n")
            known.book(root)

        timed("after an edit of one page", edited, 20)


if __name__ == "__main__":
    main()
