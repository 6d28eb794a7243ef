"""Keep this repository's own memory with the product itself: `make dogfood`.

Decisions, runs of the benchmarks, and failures with the rules that came of them are read from the pages and the git log
and stored in `.memory/store.db`, which git ignores. `.memory/notes/history.md` tells what became of them. Twice gives
the same."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from agent_memory import AgentMemory
from agent_memory.models import Decision
from agent_memory.models.errors import InvalidInput
from agent_memory.models.record import Status

ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]).resolve()
USER = "agent-memory"
BENCHMARK = "benchmark"


class Failure(NamedTuple):
    """What failed and why, the rule that would prevent it, and why that rule was refused, if it was."""

    what: str
    because: str
    rule: str
    refused: str = ""

    @property
    def rule_id(self) -> str:
        return self.rule.split("**")[1]


def main() -> None:
    with AgentMemory(USER, store=ROOT / ".memory/store.db") as memory:
        decided = [memory.state.log_decision(one) for one in decisions()]
        ran = [(title, *_run(memory, title, missed)) for title, missed in benchmarks()]
        came = [(one, _became(memory, one)) for one in [*written(), *committed()]]
        memory.upkeep.run_jobs()
    page = ROOT / ".memory/notes/history.md"
    page.write_text("\n".join(_history(decided, ran, came)) + "\n", "utf-8")
    print(f"{len(decided)} decisions, {len(ran)} benchmarks, {len(came)} failures: {page.relative_to(ROOT)}")  # noqa: T201


def decisions() -> Iterator[Decision]:
    for path in sorted((ROOT / "docs/decisions").glob("[0-9]*.md")):
        text = path.read_text("utf-8")
        title, parts = text.splitlines()[0].removeprefix("# "), _parts(text)
        added = _git("log", "--diff-filter=A", "--follow", "--format=%aI", "--", str(path)).split()
        yield Decision(
            id=f"decision-{path.stem}",
            decision=title,
            context=parts.get("Context"),
            decided_by="the maintainers",
            reason=parts.get("Decision"),
            alternatives=[parts["Not taken"]] if "Not taken" in parts else [],
            decided_at=datetime.fromisoformat(added[-1] if added else "2026-11-18T00:00:00+00:00").astimezone(UTC),
        )


def benchmarks() -> Iterator[tuple[str, list[str]]]:
    """Every section of the benchmarks' page with aims in a table, and the measures there that miss theirs."""
    for section in (ROOT / "benchmarks/README.md").read_text("utf-8").split("\n## ")[1:]:
        title, _, body = section.partition("\n")
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in body.splitlines() if line[:1] == "|"]
        if any("aim" in row for row in rows):
            yield title, [*dict.fromkeys(row[0] for row in rows if any("**missed**" in cell for cell in row))]


def written() -> Iterator[Failure]:
    for section in (ROOT / ".memory/notes/failures.md").read_text("utf-8").split("\n## ")[1:]:
        what, _, body = section.partition("\n")
        said = dict(re.findall(r"^- (because|rule|refused): (.+)$", body, re.M))
        yield Failure(what.strip(), **said)


def committed() -> Iterator[Failure]:
    """From the trailers of commits, the oldest first."""
    for body in _git("log", "--reverse", "--grep=^Failed: ", "--format=%(trailers:only,unfold)%x00").split("\0"):
        said = dict(re.findall(r"^(Failed|Because|Rule|Refused): (.+)$", body, re.M))
        if {"Failed", "Because", "Rule"} <= said.keys():
            yield Failure(said["Failed"], said["Because"], said["Rule"], said.get("Refused", ""))


def _run(memory: AgentMemory, title: str, missed: list[str]) -> tuple[bool, list[str]]:
    known = {(one.title, tuple(one.outcome or ())) for one in memory.runs.list(BENCHMARK, limit=500)}
    if (title, tuple(missed)) not in known:
        run = memory.runs.start(BENCHMARK, title)
        memory.runs.end(run.id, missed, success=not missed)
    return not missed, missed


def _became(memory: AgentMemory, failure: Failure) -> str:
    """What became of the rule: it is in force, was refused, or waits."""
    known = [one for one in memory.records.find("learning") if one.payload["what"] == failure.what]
    learned = (
        known[0] if known else memory.procedural.learn(failure.what, failure.because, failure.rule, confidence=0.9)
    )
    if f"**{failure.rule_id}**" in (ROOT / ".memory/procedural.md").read_text("utf-8"):
        return "in force"
    if failure.refused and memory.records.find("procedure", status=Status.REJECTED, fields={"name": failure.rule_id}):
        return f"refused: {failure.refused}"
    try:
        proposal = memory.rules.propose_rule(learned.id, into="repository", folder=str(ROOT))
    except InvalidInput as error:
        return f"not proposed: {error}"
    if failure.refused:
        memory.rules.reject(proposal.id, reason=failure.refused)
        return f"refused: {failure.refused}"
    return "waits for approval"


def _history(
    decided: list[Decision], ran: list[tuple[str, bool, list[str]]], came: list[tuple[Failure, str]]
) -> Iterator[str]:
    yield "# History\n\nMade by `make dogfood`: do not edit. Failures are written in [failures](failures.md)."
    yield "\n## Decisions\n"
    yield from (f"- {one.decided_at:%Y-%m-%d} {one.decision}" for one in decided)
    yield "\n## Benchmarks with an aim\n"
    yield from (f"- {title}: " + ("met" if met else "missed by " + ", ".join(missed)) for title, met, missed in ran)
    yield "\n## Failures\n"
    for one, became in came:
        yield f"- {one.what}, because {one.because}\n  - rule `{one.rule_id}`: {became}"


def _parts(text: str) -> dict[str, str]:
    """The parts of a decision's page that begin with a bold word."""
    found = re.split(r"^\*\*([A-Z][A-Za-z ]+)\.\*\*", text, flags=re.M)
    return {name: body.strip() for name, body in zip(found[1::2], found[2::2], strict=True)}


def _git(*words: str) -> str:
    asked = ["git", "-C", str(ROOT), *words]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
