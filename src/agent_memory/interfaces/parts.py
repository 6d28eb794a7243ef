"""Optional parts: whatever of one is not installed, the error names the extra that brings it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agent_memory.models.errors import PartMissing


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """For imports of what this extra brings, and of our own modules that import it."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "agent_memory"):  # a bug of ours
            raise
        raise PartMissing(
            f"the package {package!r} is not installed", hint=f"pip install 'agent-memory[{extra}]'"
        ) from error
