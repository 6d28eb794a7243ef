"""The tables of a run: ratios to the reference of the same round, then the figures behind them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

Row = dict[str, Any]
OURS = "agent_memory"


class Measure(NamedTuple):
    name: str
    reference: str
    aim: str
    phase: str
    cpu: Callable[[Row], float]  # milliseconds an operation
    wall: Callable[[Row], float]


def _searches(name: str, reference: str, aim: str, which: str = "warm") -> Measure:
    return Measure(name, reference, aim, "load", lambda row: row[f"{which}_cpu_ms"], lambda row: row[which]["p50"])


def _single(row: Row) -> float:
    return float(row["single"]["p50"])


MEASURES = [
    Measure("single durable add", "sqlite_fts", "≤ 2", "load", lambda r: r["single_cpu_ms"], _single),
    Measure("batch add", "sqlite_numpy", "≤ 2", "load", lambda r: r["batch_cpu_ms"], lambda r: 1e3 / r["batch_per_s"]),
    _searches("recall", "sqlite_numpy_user", "≤ 3"),
    _searches("recall, the first 200 of a process", "sqlite_numpy_user", "≤ 3", "search"),
    _searches("recall", "lg_sqlite", "< 1"),
    _searches("recall", "sqlite_numpy", "–"),
    Measure("cold start", "sqlite_numpy", "≤ 2", "cold", lambda r: r["cold_cpu_s"] * 1e3, lambda r: r["cold_s"] * 1e3),
]


def against(rows: list[Row]) -> Iterable[str]:
    """The issue's table. A ratio is that of one round; the median over rounds is given, and the extremes."""
    yield "| measure | reference | ratio of CPU (min–max) | aim | CPU ms: ours / reference | wall p50 ms: the same |"
    yield "|---|---|---|---|---|---|"
    for measure in MEASURES:
        ours, theirs = (_rounds(rows, measure, system) for system in (OURS, measure.reference))
        both = sorted(set(ours) & set(theirs))
        if not both:
            continue
        ratios = [ours[r][0] / theirs[r][0] for r in both]
        cpu, wall = (
            " / ".join(f"{statistics.median(side[r][at] for r in both):.3g}" for side in (ours, theirs))
            for at in (0, 1)
        )
        yield f"| {measure.name} | `{measure.reference}` | {spread(ratios)} | {measure.aim} | {cpu} | {wall} |"


def spread(ratios: list[float]) -> str:
    return f"**{statistics.median(ratios):.2f}** ({min(ratios):.2f}–{max(ratios):.2f})"


def _rounds(rows: list[Row], measure: Measure, system: str) -> dict[int, tuple[float, float]]:
    """CPU and wall of each round: the median where a round has several."""
    found: dict[int, list[Row]] = {}
    for row in rows:
        if row["phase"] == measure.phase and row["system"] == system:
            found.setdefault(row["round"], []).append(row)
    return {
        number: (statistics.median(map(measure.cpu, some)), statistics.median(map(measure.wall, some)))
        for number, some in found.items()
    }


def disk(rows: list[Row]) -> Iterable[str]:
    yield "| system | bytes a memory, after the adds | bytes a recall adds |"
    yield "|---|---|---|"
    loads = [row for row in rows if row["phase"] == "load"]
    for system in dict.fromkeys(row["system"] for row in loads):
        row = next(row for row in loads if row["system"] == system)
        grown = row["disk_after_searches"] - row["disk_before_searches"]
        each = grown / (row["search"]["n"] + row["warm"]["n"])
        yield f"| `{system}` | {row['disk_before_searches'] / row['rows']:.0f} | {each:.0f} |"


def resident(steps: list[Row]) -> Iterable[str]:
    yield "| step | RSS MB | of it anonymous | added | over an empty interpreter | CPU ms |"
    yield "|---|---|---|---|---|---|"
    empty = before = steps[0]["rss"]
    for step in steps:
        rss = step["rss"]
        yield (
            f"| {step['step']} | {rss:.1f} | {step['own']:.1f} | {rss - before:+.1f} | {rss - empty:.1f} "
            f"| {step['cpu_ms']:.0f} |"
        )
        before = rss


def imports(times: dict[str, list[tuple[float, float]]]) -> Iterable[str]:
    """`times`: statement -> (CPU, wall) seconds of each round."""
    base = times["import pydantic"]
    yield "| statement | CPU ms | wall ms | ratio of CPU to `import pydantic` (min–max) |"
    yield "|---|---|---|---|"
    for statement, some in times.items():
        cpu, wall = (statistics.median(one[at] for one in some) * 1e3 for at in (0, 1))
        ratios = [one[0] / other[0] for one, other in zip(some, base, strict=True)]
        yield f"| `{statement}` | {cpu:.1f} | {wall:.1f} | {spread(ratios)} |"
