"""Every benchmark runs small where AGENT_MEMORY_BENCH_SMALL is set, in seconds: to see that it works, not for figures.

The tests run every command of the documentation so (`tests/house/test_benchmarks.py`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

SMALL = bool(os.environ.get("AGENT_MEMORY_BENCH_SMALL"))


def at_most(number: float, small: int) -> Any:
    """So many; in a small run no more than `small`."""
    return min(number, small) if SMALL else number


def bytecode(folder: Path) -> dict[str, str]:
    """So that Python keeps its bytecode in `folder`, beside the sources of nobody; a small run takes what there is."""
    return {} if SMALL else {"PYTHONPYCACHEPREFIX": str(folder)}
