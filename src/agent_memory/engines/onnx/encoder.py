"""The loaded model: word-piece ids go in, a vector comes out.

Import this module only when a vector is needed: it brings in numpy, and an `Encoder` brings in onnxruntime. It
is built for a small process: the matrices live once, in the form that the kernels want, and the rows of the
word table are read from the file as they are needed (the system keeps them in its own cache).

onnxruntime sends telemetry unless told otherwise before it is imported; here it is told.
"""

from __future__ import annotations

import os
import weakref
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from agent_memory.engines.onnx.graph import DIMENSION, ROWS, VECTOR, build
from agent_memory.engines.onnx.resident import release
from agent_memory.models.errors import PartMissing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from agent_memory.engines.onnx.weights import Weights, WordTable


class Encoder:
    """Safe to share between threads (they run side by side) and to use in a forked child: it has no threads.

    What it gives is the sum over the pieces, or where `unit` is set, that at length 1."""

    def __init__(self, found: Weights, table: WordTable, *, unit: bool) -> None:
        self._scales, self._positions = table.scales, found.positions
        self._segments = found.others.get("segments")
        self._row = self._rows(table)
        self._session = _session(*build(found, unit=unit))
        del found  # the session holds the matrices now, packed for its kernels
        release()

    def __call__(self, ids: Sequence[int], segments: Sequence[int] = ()) -> NDArray[np.float32]:
        """Of one text, or of several, one behind the other: `segments` says which of them each piece is of."""
        rows = np.frombuffer(b"".join(map(self._row, ids)), np.int8).reshape(1, len(ids), DIMENSION)
        hidden = rows * self._scales[ids]
        hidden += self._positions[: len(ids)]
        if self._segments is not None:
            hidden += self._segments[segments]
        vector: NDArray[np.float32] = self._session.run([VECTOR], {ROWS: hidden})[0]
        return vector

    def _rows(self, table: WordTable) -> Callable[[int], bytes]:
        """How to fetch one row of the word table."""
        start = table.start
        if hasattr(os, "pread"):  # costs 1 % of a run; a mapping would end up resident, all 12 MB of it
            file = os.open(table.path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
            weakref.finalize(self, os.close, file)
            return lambda number: os.pread(file, DIMENSION, start + number * DIMENSION)
        mapped = table.data
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
