"""How much memory a process may hold: what it takes in any case is measured, and searching gets what is left. E1."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agent_memory.models.errors import InvalidInput

if TYPE_CHECKING:
    from agent_memory.app.wiring import Runtime

AIM = 90.0  # MB of a process with one user; no machine refuses it, and `stats` says whether it is kept
RESERVE = 8.0  # MB for what a call takes for itself, whatever is stored
LEAST = 4.0  # MB to search in
MB = 1 << 20


class Resident(NamedTuple):
    """What this process holds now, and held at most, in MB."""

    now: float
    most: float


def resident() -> Resident | None:
    """None where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text("ascii", "replace").splitlines()
    except OSError:
        return None
    sizes = {name: size for name, _, size in (line.partition(":") for line in lines)}
    now, most = (int(sizes[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
    return Resident(now, most)


def hold(runtime: Runtime, megabytes: float, field: str, reserve: float = RESERVE) -> float:
    """Keep this process within so many MB, and give how many they are. `InvalidInput` where it cannot: what it holds
    once the model is there is more than that, with what a call takes. The model is loaded for it."""
    before = resident()
    _load(runtime)
    after = resident()
    if before is None or after is None:
        raise InvalidInput(
            f"{field}: this system does not tell how much memory a process holds, so it cannot be bounded",
            hint="leave it out; it works on Linux",
            field=field,
        )
    peak = after.most if after.most > before.most else after.now  # an older peak was of something else
    least = math.ceil(max(peak, after.now + reserve + LEAST))
    if megabytes < least and megabytes != AIM:
        raise InvalidInput(
            f"{field}: {megabytes:g} MB is less than this process takes with nothing stored",
            hint=f"the smallest that this machine can keep is {least}",
            field=field,
        )
    held = max(megabytes, float(least))
    runtime.store.bound(int((held - after.now - reserve) * MB))
    return held


def _load(runtime: Runtime) -> None:
    """What the first recall would load."""
    import agent_memory.core.recall.bundle
    import agent_memory.core.recall.recall
    import agent_memory.ledger.shelves.search  # noqa: F401

    runtime.embedder.embed_many(["warm"])
