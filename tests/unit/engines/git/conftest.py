"""Pages of a repository and of the folder of a user's own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_memory.engines.git.pages import GitPages


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return tmp_path / "own"


@pytest.fixture
def pages(own_git: None, own: Path) -> GitPages:
    return GitPages(own, os.environ)
