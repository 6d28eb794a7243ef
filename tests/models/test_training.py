"""Both trainings, small and on a CPU: `make models` runs these with PyTorch in an environment of its own."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patience import PATIENCE

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "scripts" / "train"
TRAINER = os.environ.get("TRAINER", "")
SHIPPED = ROOT / "src/agent_memory/engines/onnx"

pytestmark = [pytest.mark.models, pytest.mark.requirement("E6", "C9")]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The weights that ship, as a run begins with them: floats of matrices, and the word table."""
    sys.path.append(str(SCRIPTS))
    from weights import arrays, write

    given, made = arrays(SHIPPED / "embedder.safetensors"), dict(arrays(SHIPPED / "words.safetensors"))
    for name, value in given.items():
        if name.endswith(".weight") and value.dtype == np.int8:
            made[name] = value * given[name.removesuffix("weight") + "scales"]
        elif not name.endswith(".scales"):
            made[name] = value
    file = tmp_path_factory.mktemp("training") / "start.safetensors"
    write(file, made)
    return file


@pytest.fixture(scope="module")
def prepared(start: Path) -> Path:
    """Two of our own collections, and what a recall finds for their questions."""
    sys.path += [str(SCRIPTS), str(ROOT / "benchmarks"), str(ROOT / "benchmarks/operations")]
    import corpus

    chosen = [one for one in corpus.ours(ROOT / "models/data") if one.name in ("docs-a1", "notes-1", "docs-a6")]
    made = [corpus.prepared(corpus.Prepared(one.name, one.part, one.items, one.questions[:24])) for one in chosen]
    file = start.with_name("prepared.json.gz")
    with gzip.open(file, "wt", encoding="utf-8") as out:
        json.dump({"collections": made}, out)
    return file


def trained(which: str, prepared: Path, start: Path, name: str, *words: str) -> tuple[list[dict[str, Any]], bytes]:
    """The lines of its log, and the weights."""
    out = start.with_name(f"{name}.safetensors")
    command = [TRAINER, str(SCRIPTS / f"{which}.py"), str(prepared), str(start), str(out), "--threads", "1", *words]
    assert TRAINER, "make models names an interpreter with PyTorch: TRAINER"
    done = subprocess.run(command, capture_output=True, text=True, timeout=6 * PATIENCE)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], out.read_bytes()


@pytest.mark.parametrize(
    ("which", "words"), [("embedder", ()), ("ranker", ("--layers", "1", "--list", "4", "--rate", "1e-3"))]
)
def test_training_learns_and_is_the_same_again(which: str, words: tuple[str, ...], prepared: Path, start: Path) -> None:
    several = ["--epochs", "3", "--batch", "4", *words]
    log, weights = trained(which, prepared, start, which, *several)
    losses = [line["loss"] for line in log if "loss" in line]
    assert len(losses) >= 2 and losses[-1] < losses[0]
    assert log[0]["settings"]["seed"] == "1" and "dev docs-a" in log[-1]["after"]
    assert trained(which, prepared, start, which + "-again", *several)[1] == weights


def test_what_was_trained_can_be_shipped_and_read(prepared: Path, start: Path) -> None:
    trained("ranker", prepared, start, "small", "--layers", "1", "--list", "4", "--epochs", "1", "--only", "4")
    shipped = start.with_name("shipped.safetensors")
    command = [sys.executable, str(SCRIPTS / "weights.py"), "--ship", str(start.with_name("small.safetensors"))]
    subprocess.run([*command, str(shipped)], check=True)
    from agent_memory.engines.onnx import weights
    from agent_memory.engines.onnx.encoder import Encoder

    sha256 = hashlib.sha256(shipped.read_bytes()).hexdigest()
    found = weights.read(weights.Shipped(shipped.name, sha256), shipped)
    assert len(found.layers) == 1 and found.others["segments"].shape == (3, 384)
    assert Encoder(found, weights.WordTable(), unit=False)([101, 2000, 102], [0, 1, 1]).shape == (384,)
