"""Where a page stands. Apart from how one is read, so that records can follow pages where there are none."""

from __future__ import annotations

from pathlib import PurePosixPath

from agent_memory.ports.pages import MEMORY


def beside(path: str) -> str:
    """The folder that a page is about: pages of one folder stand side by side."""
    parts = PurePosixPath(path).parts[:-1]
    for name in (MEMORY, ".claude", "skills"):
        if name in parts:
            parts = parts[: len(parts) - 1 - parts[::-1].index(name)]
    return "/".join(parts)
