"""How well secrets are found, beside gitleaks on the same texts, and what that costs an add.

    python benchmarks/redaction/run.py [--gitleaks COMMAND]

A secret is found if it does not stand in the text any more; gitleaks has found it if it reports anything there. Without
gitleaks on the PATH its columns are empty.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

from agent_memory import AgentMemory
from agent_memory.core.govern.redact import Redactor
from agent_memory.core.govern.shapes import SECRETS
from redaction.labelled import Sample, look_alikes, secrets
from small import at_most

PROSE = "On Friday Ada asked whether the staging database, which listens on port 5433, should move to the new rack {}."


def ours(samples: list[Sample]) -> set[int]:
    redactor = Redactor(SECRETS)
    after = [_without(redactor, one) for one in samples]
    return {
        number
        for number, (one, text) in enumerate(zip(samples, after, strict=True))
        if (one.secret not in text if one.secret else text != one.text)
    }


def _without(redactor: Redactor, sample: Sample) -> str:
    """A mapping counts as the values that it spells; where it holds none, its text must stay as well."""
    if not sample.mapping:
        return redactor.text(sample.text)
    values = json.loads(sample.text)
    after = redactor.value(values)
    return redactor.text(sample.text) if after == values else json.dumps(after, ensure_ascii=False)


def theirs(samples: list[Sample], command: str) -> set[int]:
    with tempfile.TemporaryDirectory() as folder:
        for number, one in enumerate(samples):
            Path(folder, f"{number}.txt").write_text(one.text + "\n")
        report = Path(folder, "report.json")
        say = [command, "dir", "--no-banner", "--exit-code", "0", "--log-level", "error", "--report-path", str(report)]
        subprocess.run([*say, folder], check=True)
        return {int(Path(one["File"]).stem) for one in json.loads(report.read_text()) if one["File"] != str(report)}


def told(name: str, found: set[int], samples: list[Sample]) -> str:
    secret = {number for number, one in enumerate(samples) if one.secret}
    recall, precision = len(found & secret) / len(secret), len(found & secret) / max(1, len(found))
    alarms = len(found - secret)
    others = len(samples) - len(secret)
    return f"{name:10} recall {recall:.3f}  precision {precision:.3f}  false alarms {alarms} of {others}"


def beside(adds: int) -> None:
    """Adds with and without redaction, in turn, each to a store of its own."""
    with tempfile.TemporaryDirectory() as folder:
        stores, took = dict[str, AgentMemory](), defaultdict[str, list[float]](list)
        for name in ("on", "off"):
            os.environ["AGENT_MEMORY_REDACT"] = name
            stores[name] = AgentMemory("ada", store=f"{folder}/{name}.db")
        for number in range(adds):
            for name in ("on", "off") if number % 2 else ("off", "on"):
                begun = time.perf_counter()
                stores[name].records.add(PROSE.format(number))
                took[name].append(time.perf_counter() - begun)
        for memory in stores.values():
            memory.close()
    on, off = (median(took[name]) for name in ("on", "off"))
    print(f"add with redaction {on * 1e3:.2f} ms, without {off * 1e3:.2f} ms: {on / off - 1:+.1%}")


def cost(adds: int) -> None:
    """The share of an add that is redaction: its arguments, and the same once more at the gate."""
    with tempfile.TemporaryDirectory() as folder:
        memory = AgentMemory("ada", store=f"{folder}/memory.db")
        redactor, add, look = Redactor(SECRETS), [], []
        for number in range(adds):
            text = PROSE.format(number)
            begun = time.perf_counter()
            memory.records.add(text)
            between = time.perf_counter()
            list(redactor.items({"text": text, "kind": "observation"}))
            redactor.text(text)
            redactor.hinted("{}")
            look.append(time.perf_counter() - between)
            add.append(between - begun)
        memory.close()
    share = median(look) / median(add)
    print(f"add: {median(add) * 1e3:.2f} ms, of which redaction {median(look) * 1e6:.1f} µs: {share:.1%}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gitleaks", default=shutil.which("gitleaks"))
    gitleaks = parser.parse_args().gitleaks
    samples = [*secrets(), *look_alikes()]
    found = ours(samples)
    others = theirs(samples, gitleaks) if gitleaks else set[int]()
    kinds: dict[str, list[int]] = defaultdict(list)
    for number, one in enumerate(samples):
        kinds[one.kind].append(number)
    print(f"{'kind':22} {'texts':>6} {'ours':>6} {'gitleaks':>9}")
    for kind, numbers in kinds.items():
        print(
            f"{kind:22} {len(numbers):6} {len(found & {*numbers}):6} {len(others & {*numbers}) if gitleaks else '':>9}"
        )
    print(told("ours", found, samples))
    if gitleaks:
        print(told("gitleaks", others, samples))
    cost(at_most(400, 20))
    beside(at_most(400, 20))
    for number, one in enumerate(samples):
        if bool(one.secret) != (number in found):
            print(f"  {'missed' if one.secret else 'false alarm'} ({one.kind}): {one.text[:100]!r}")


if __name__ == "__main__":
    main()
