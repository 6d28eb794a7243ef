"""Two servers and their database, killed in turn for half a minute; `benchmarks/kills.py` does it for ten."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.engines
@pytest.mark.timeout(900)
@pytest.mark.requirement("C13")
def test_nothing_that_was_acknowledged_is_lost() -> None:
    command = [sys.executable, BENCHMARKS / "kills.py", "--seconds", "30", "--every", "2", "--clients", "4"]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
