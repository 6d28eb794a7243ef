"""Weights in files: the original's, those of training (float32), and what ships (int8).

    python3 scripts/train/weights.py ORIGINAL.safetensors .train/start.safetensors    # renamed, the table as int8
    python3 scripts/train/weights.py --ship TRAINED.safetensors SHIPPED.safetensors   # int8, a scale for each column

safetensors' own layout: eight bytes that say how long the header is, a header in JSON, the arrays one after another.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy

LAYERS = 6
MATRICES = ("qkv", "out", "widen", "narrow")
NORMS = ("out_norm", "narrow_norm")
TYPES = {"F32": numpy.float32, "F16": numpy.float16, "I8": numpy.int8, "I64": numpy.int64}
NAMES = {numpy.dtype(kind).name: name for name, kind in TYPES.items()}


def arrays(file: Path) -> dict[str, numpy.ndarray]:
    data = file.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])
    found = {}
    for name, about in header.items():
        if name != "__metadata__":
            start, end = (8 + size + place for place in about["data_offsets"])
            found[name] = numpy.frombuffer(data[start:end], TYPES[about["dtype"]]).reshape(about["shape"])
    return found


def write(file: Path, found: dict[str, numpy.ndarray], about: dict[str, str] | None = None) -> None:
    """Names in order, so that the same arrays are the same bytes."""
    header: dict[str, Any] = {"__metadata__": about or {}}
    end = 0
    for name in sorted(found):
        start, end = end, end + found[name].nbytes
        header[name] = {
            "dtype": NAMES[found[name].dtype.name],
            "shape": list(found[name].shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header, sort_keys=True).encode()
    text += b" " * (-len(text) % 8)
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for name in sorted(found):
            out.write(numpy.ascontiguousarray(found[name]).tobytes())


def load(file: Path) -> tuple[dict[str, Any], Any]:
    """Parameters as float32 tensors, and the word table, which is not trained, if it is there."""
    import torch

    found = {name: torch.from_numpy(value.astype(numpy.float32)) for name, value in arrays(file).items()}
    table = found.pop("words") * found.pop("word_scales") if "words" in found else None
    return found, table


def save(file: Path, params: dict[str, Any]) -> None:
    """Without the table, in half precision: what a run ends with, and is shipped as int8 at last."""
    write(file, {name: value.detach().cpu().numpy().astype(numpy.float16) for name, value in params.items()})


def rounded(matrix: numpy.ndarray, axis: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """int8 with one scale for each column (axis 0) or row (axis 1)."""
    scales = numpy.abs(matrix).max(axis=axis, keepdims=True) / 127
    scales[scales == 0] = 1
    return numpy.clip(numpy.rint(matrix / scales), -127, 127).astype(numpy.int8), scales.astype(numpy.float32)


def started(original: Path) -> dict[str, numpy.ndarray]:
    """The published weights under our names: query, key and value joined, matrices as [in, out], words as int8."""
    given = {
        name.removeprefix("bert."): value.astype(numpy.float32)
        for name, value in arrays(original).items()
        if value.dtype.kind == "f"
    }
    words, scales = rounded(given["embeddings.word_embeddings.weight"], 1)
    found = {"words": words, "word_scales": scales}
    found["positions"] = (
        given["embeddings.position_embeddings.weight"] + given["embeddings.token_type_embeddings.weight"][0]
    )
    found |= _both("norm", given, "embeddings.LayerNorm")
    for number in range(LAYERS):
        old, new = f"encoder.layer.{number}", f"layers.{number}"
        own = [f"{old}.attention.self.{part}" for part in ("query", "key", "value")]
        found[f"{new}.qkv.weight"] = numpy.concatenate([given[f"{one}.weight"].T for one in own], axis=1)
        found[f"{new}.qkv.bias"] = numpy.concatenate([given[f"{one}.bias"] for one in own])
        for name, other in {
            "out": "attention.output.dense",
            "widen": "intermediate.dense",
            "narrow": "output.dense",
        }.items():
            found[f"{new}.{name}.weight"] = given[f"{old}.{other}.weight"].T
            found[f"{new}.{name}.bias"] = given[f"{old}.{other}.bias"]
        found |= _both(f"{new}.out_norm", given, f"{old}.attention.output.LayerNorm")
        found |= _both(f"{new}.narrow_norm", given, f"{old}.output.LayerNorm")
    return found


def _both(name: str, given: dict[str, numpy.ndarray], other: str) -> dict[str, numpy.ndarray]:
    return {f"{name}.{part}": given[f"{other}.{part}"] for part in ("weight", "bias")}


def is_matrix(name: str, value: numpy.ndarray) -> bool:
    """One of the large ones of the layers."""
    return name.startswith("layers.") and value.ndim == 2


def shipped(trained: dict[str, numpy.ndarray]) -> dict[str, numpy.ndarray]:
    """Matrices of the layers as int8; all else is small and stays float32."""
    found: dict[str, numpy.ndarray] = {}
    for name, value in trained.items():
        value = value.astype(numpy.float32)
        if is_matrix(name, value):
            values, scales = rounded(value, 0)
            found |= {name: values, name.removesuffix("weight") + "scales": scales.reshape(-1)}
        else:
            found[name] = value
    return found


def main() -> None:
    import sys

    if sys.argv[1] == "--ship":
        write(Path(sys.argv[3]), shipped(arrays(Path(sys.argv[2]))))
    else:
        made = started(Path(sys.argv[1]))
        halved = {name: value.astype(numpy.float16) for name, value in made.items() if is_matrix(name, value)}
        write(Path(sys.argv[2]), made | halved)


if __name__ == "__main__":
    main()
