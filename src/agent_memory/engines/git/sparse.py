"""What a sparse checkout leaves out of the working tree: it was not deleted, and its rules hold."""

from __future__ import annotations

import os

from agent_memory.engines.git import files
from agent_memory.engines.git.layout import Repository, shown
from agent_memory.engines.git.program import Git, lines
from agent_memory.engines.git.watch import PathWatch

LEFT_OUT = b"S "


def left_out(git: Git, repository: Repository, watch: PathWatch) -> set[str]:
    """Paths, as they are shown, that the index knows and the checkout skips."""
    watch.see(os.path.join(repository.git, "index"))
    roots = [path for level in repository.levels for path in files.roots(level)]
    found = lines(git, repository.root, ["ls-files", "-t", "-z", "--full-name", "--", *roots], b"\0")
    return {shown(os.fsdecode(line[len(LEFT_OUT) :])) for line in found if line.startswith(LEFT_OUT)}
