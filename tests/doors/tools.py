"""Commands of others. `make foreign` installs them, and puts them on the PATH."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from patience import PATIENCE


def found(command: str) -> str:
    there = shutil.which(command)
    if there is None:
        pytest.fail(f"{command} is not installed: `make foreign` installs and finds it")
    return there


def run(command: str, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([found(command), *words], cwd=cwd, capture_output=True, text=True, timeout=3 * PATIENCE)
