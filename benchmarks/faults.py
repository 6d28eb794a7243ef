"""Two processes that add at once, and a writer killed in the middle: what was acknowledged must be there."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from pathlib import Path

import peer
from small import at_most

os.environ["AGENT_MEMORY_PROCEDURES"] = "false"  # this repository has pages of its own

ADDS, KILLS = at_most(500, 50), at_most(20, 1)


def _verified(folder: Path) -> str:
    from agent_memory import AgentMemory

    with AgentMemory("user00", store=f"sqlite:///{folder / 'memory.db'}") as memory:
        found = memory.upkeep.verify()
    return "clean" if found.ok else f"PROBLEMS {found.problems[:3]}"


def two(folder: Path) -> str:
    options = argparse.Namespace(adapter="agent_memory", n=ADDS, budget=120, model="cached", adds=ADDS)
    got = peer.run.two(options, folder)
    errors = [error for error in got["errors"] if error]
    return (
        f"two processes × {ADDS} adds: {got['acked']} acknowledged, {got['rows']} rows, errors {errors or 'none'}, "
        f"verify {_verified(folder / 'two')}"
    )


def kills(folder: Path) -> Iterable[str]:
    options = argparse.Namespace(adapter="agent_memory", n=ADDS, budget=120, model="cached", adds=ADDS)
    lost = unclean = missing = more = total = 0
    for number in range(KILLS):
        after = 7 + 31 * number  # 7 to 596 acknowledged adds
        got = peer.run.kill(options, folder, after)
        rows, reopened = got["rows"] or 0, got["reopen"]
        total += got["acked"]
        lost += max(0, got["acked"] - rows)
        more += max(0, rows - got["acked"])
        missing += reopened.get("probes", 1) - reopened.get("probes_found", 0)
        verdict = _verified(folder / f"kill{after}")
        if verdict != "clean" or "failed" in reopened or "search_error" in reopened:
            unclean += 1
            yield f"killed after {after}: {verdict} {reopened}"
    yield (
        f"kill -9 × {KILLS}: {total} acknowledged, {lost} lost, {missing} of the last and sampled not found, "
        f"{more} written but not yet acknowledged, {unclean} unclean"
    )
