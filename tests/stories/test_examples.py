"""The stories in `examples/` run, and say what they are meant to say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from patience import PATIENCE

EXAMPLES = Path(__file__).parents[2] / "examples"
SAID = {
    "goals": [
        "refused: blocked_by would close a circle",
        "now: release 2.0, announce it",
        "refused: from completed it can become active",
    ],
    "tasks": [
        *("done: build the image", "done: test the image", "done: push the image"),
        "the dead worker's report is refused",
    ],
    "runs": ["deploy 2.0 to staging: it is live, 800 tokens, 1 recall, 1 tool call"],
    "agent": ["the first process was killed: True", "1 interrupted", "2 complete", "payments: 1"],
}


ALL = sorted(path.stem for path in EXAMPLES.glob("*.py"))


@pytest.mark.local
@pytest.mark.parametrize("name", ALL)
def test_an_example_runs(name: str, home: Path, tmp_path: Path) -> None:
    command = [sys.executable, EXAMPLES / f"{name}.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == SAID[name] if name in SAID else ran.stdout.strip()


def test_the_page_lists_all_of_them() -> None:
    page = (EXAMPLES / "README.md").read_text("utf-8")
    assert [name for name in ALL if f"[{name}.py]({name}.py)" not in page] == []
