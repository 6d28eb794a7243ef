"""Every command that the documentation gives for a benchmark runs, small: a promise about every later commit.

They run as they are written, in a copy, with `AGENT_MEMORY_BENCH_SMALL` set. The evaluation script and the harness of
the references are not ours; where they are (`AGENT_MEMORY_EVAL`) they get a little data of the shape that they know.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from patience import PATIENCE

ROOT = Path(__file__).parents[2]
EVAL = Path(os.environ.get("AGENT_MEMORY_EVAL", ROOT.parent / "shared" / "benchmarks"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "benchmarks").rglob("*.md"))]
OURS_ALONE = {
    *"doors load workers links/run past/run prose/run grpc_overhead tracing rules rules_read tokens".split(),
    *"extraction/run extraction/alike operations/build".split(),
    *"before lean life locks postgres kills operational rot knowledge redaction/run".split(),
}


def commands() -> Iterator[str]:
    """As they stand on the pages, without comments and optional words."""
    for page in PAGES:
        for said in re.findall(r"(?:python (?:benchmarks|EVAL)/|make bench\b)[^`\n]*", page.read_text("utf-8")):
            yield re.sub(r" \[.*?\]", "", re.sub(r"\s+#.*", "", said)).strip()


def distinct(found: Iterable[str]) -> list[str]:
    """Of commands that differ in their numbers alone, one: a small run cuts them down to the same."""
    return sorted({re.sub(r"\b\d+\b", "N", one): one for one in sorted(found)}.values())


COMMANDS = distinct(commands())


def script(command: str) -> str:
    return command.split()[1].removeprefix("benchmarks/").removesuffix(".py")


def test_the_pages_name_them() -> None:
    assert len(COMMANDS) > 20 and {"doors", "load", "scale", "bench"} <= set(map(script, COMMANDS))


def conversation(number: int) -> dict[str, Any]:
    """A sample as LoCoMo has them: two sessions, questions about them, and one that nothing answers."""
    talk: dict[str, Any] = {"speaker_a": "Ada", "speaker_b": "Bob"}
    for session in (1, 2):
        talk[f"session_{session}_date_time"] = f"1:0{session} pm on {7 + session} May, 2023"
        talk[f"session_{session}"] = [
            {
                "speaker": ("Ada", "Bob")[turn % 2],
                "dia_id": f"D{session}:{turn + 1}",
                "text": f"On trip {number} we saw {turn + 3} boats, {session} islands and a red lighthouse in the rain"
                f" before the long way home began at number {number * 10 + turn}.",
            }
            for turn in range(6)
        ]
    asked = [f"How many boats did Ada see on trip {number}, for the {place}th time?" for place in range(22)]
    return {
        "sample_id": f"talk-{number}",
        "conversation": talk,
        "qa": [
            {"question": text, "answer": "3", "evidence": ["D1:1"], "category": 1 + place % 5}
            for place, text in enumerate(asked)
        ],
    }


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a benchmark finds around it."""
    folder = tmp_path_factory.mktemp("benchmarks")
    evaluation = folder / "shared" / "benchmarks"
    (evaluation / "locomo").mkdir(parents=True)
    (evaluation / "locomo" / "locomo10.json").write_text(json.dumps([conversation(number) for number in range(10)]))
    if EVAL.is_dir():
        shutil.copyfile(EVAL / "retrieval_eval.py", evaluation / "retrieval_eval.py")
        for name in ("benchmarks/performance", "parts/proto"):
            shutil.copytree(EVAL.parent / name, folder / "shared" / name, copy_function=shutil.copyfile)
    (folder / "tmp").mkdir()
    shutil.copytree(ROOT / "benchmarks", folder / "here" / "benchmarks", ignore=shutil.ignore_patterns("out"))
    for name in ("src", "docs", "scripts", "models"):
        (folder / "here" / name).symlink_to(ROOT / name)
    return {
        "PWD": str(folder / "here"),
        "AGENT_MEMORY_BENCH_SMALL": "1",
        "AGENT_MEMORY_EVAL": str(evaluation),
        "AGENT_MEMORY_HARNESS": str(evaluation / "performance"),
        "AGENT_MEMORY_BENCH_OUT": str(folder / "out"),
        "TMPDIR": str(folder / "tmp"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def ran(command: str, around: dict[str, str]) -> str:
    """Its output. An interpreter with LangGraph is not there; the evaluation script has small runs of its own; and what
    `make bench` does is done once."""
    words = command.replace("make bench", "python benchmarks/run.py").replace(" --langgraph PYTHON", "")
    words = words.replace("EVAL/", around["AGENT_MEMORY_EVAL"] + "/").replace(" SRC", f" {ROOT / 'src'}")
    words += {"EVAL/retrieval_eval": " --limit 2 --collections 1-2", "run": " --help"}.get(script(command), "")
    if script(command) not in OURS_ALONE and not EVAL.is_dir():
        assert os.environ.get("CI") != "true", f"no evaluation in {EVAL}"
        pytest.skip(f"no evaluation in {EVAL}: AGENT_MEMORY_EVAL names it")
    done = subprocess.run(
        [sys.executable, *shlex.split(words)[1:]],
        cwd=around["PWD"],
        env={**os.environ, **around},
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("command", [one for one in COMMANDS if script(one) != "tokens"])
def test_a_benchmark_runs(command: str, around: dict[str, str]) -> None:
    told = ran(command, around)
    assert told.strip()
    if "--patience 0" in command:
        assert "sentences, shared" in told and "verified: True" in told


@pytest.mark.foreign
def test_the_estimate_of_tokens_beside_real_tokenizers(around: dict[str, str]) -> None:
    installed = ROOT / ".foreign" / "npm" / "node_modules"
    folder = Path(around["AGENT_MEMORY_BENCH_OUT"]) / "tokens"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "node_modules").symlink_to(installed)
    assert "Llama 3" in ran(next(one for one in COMMANDS if script(one) == "tokens"), around)
