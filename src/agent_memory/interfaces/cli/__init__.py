"""The command line. Commands are a loop over the table of operations; nothing here knows one of them by heart.

Only click is imported until a command needs more, so that `--version` and completion answer at once.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence

PROGRAM = "agent-memory"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; gives the exit status (see `exits`)."""
    if arguments is None:  # a process of its own: what is loaded now stays, and `root` says when it is all there
        gc.disable()
    try:
        from agent_memory.interfaces.cli import exits

        return exits.guarded(arguments)
    except KeyboardInterrupt:  # while still importing, or already reporting
        return 130
