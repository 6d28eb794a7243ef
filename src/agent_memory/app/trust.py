"""Folders that the user trusts. So far nobody can name one, and so there is none."""

from __future__ import annotations

from pathlib import Path


def trusted(folder: Path) -> bool:
    """Whether the user said that this folder, and who writes to it, may decide for them."""
    return False
