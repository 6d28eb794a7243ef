"""Which git command called a hook: git tells a hook too little of it, but the process above it has its words."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

FAR = 6  # processes above us that are looked at: ours, shells, a manager of hooks
SECONDS = 5


def calling() -> tuple[str, ...] | None:
    """The words of the nearest git above this process; None where that cannot be seen."""
    process = os.getppid()
    for _ in range(FAR):
        if process <= 1:
            return None
        seen = _of_proc(process) if Path("/proc/self/stat").exists() else _of_ps(process)
        if seen is None:
            return None
        words, process = seen
        if words and _is_git(words[0]):
            return ("git", *words[1:])
    return None


def _is_git(program: str) -> bool:
    return program.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe") == "git"


def _of_proc(process: int) -> tuple[tuple[str, ...], int] | None:
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().removesuffix(b"\0").split(b"\0")
        stat = Path(f"/proc/{process}/stat").read_bytes()
        parent = int(stat.rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return tuple(word.decode("utf-8", "replace") for word in words), parent


def _of_ps(process: int) -> tuple[tuple[str, ...], int] | None:
    """Where there is no /proc: words with blanks in them come apart, which no rule about git minds much."""
    program = shutil.which("ps")
    if program is None:
        return None
    try:
        ran = subprocess.run(  # noqa: S603 - words of ours, and no shell
            [program, "-o", "ppid=,args=", "-p", str(process)], capture_output=True, timeout=SECONDS, check=False
        )
        parent, *words = ran.stdout.decode("utf-8", "replace").split()
        return tuple(words), int(parent)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
