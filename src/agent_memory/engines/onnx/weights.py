"""The weights that ship with this package, read where they lie; `WEIGHTS.md` says what each file is and comes from.

The layout is that of safetensors: eight bytes that say how long the header is, a header in JSON, the arrays one after
another. Large matrices are int8 with one float32 scale for each column (for each row in the word table), which is what
our graph wants. Embedder and ranker share one word table, which is never loaded as a whole.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from agent_memory.models.errors import PartMissing

if TYPE_CHECKING:
    from numpy.typing import NDArray

HERE = Path(__file__).parent
_DTYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype(np.float32), "I8": np.dtype(np.int8)}
_REINSTALL = "pip install --force-reinstall --no-deps agent-memory"


class Shipped(NamedTuple):
    """A file of weights as this version was built with it."""

    name: str
    sha256: str

    def locate(self) -> Path:
        return HERE / self.name


WORDS = Shipped("words.safetensors", "7db4716ae49e9e6d580a8c5d465149327d2db47e1d6be90a3c684d5e68c96e6d")
EMBEDDER = Shipped("embedder.safetensors", "45623b6839b83b2612f926fe258eede6e9293ba4f234d9b63f40d58bd9c02e89")
RANKER = Shipped("ranker.safetensors", "69450e0ec56b694847edea7e6b59f586a140249edffd25c50e473a909742ce7e")


@dataclass(frozen=True)
class Norm:
    """A layer normalisation."""

    weight: NDArray[np.float32]
    bias: NDArray[np.float32]


@dataclass(frozen=True)
class Linear:
    """`x @ (values * scales) + bias`; values are [in, out]."""

    values: NDArray[np.int8]
    scales: NDArray[np.float32]
    bias: NDArray[np.float32]


@dataclass(frozen=True)
class EncoderLayer:
    attention: Linear  # query, key and value side by side
    attended: Linear
    attended_norm: Norm
    widen: Linear
    narrow: Linear
    narrow_norm: Norm


@dataclass(frozen=True)
class Weights:
    """Of an encoder. `others` are arrays that only the ranker has."""

    positions: NDArray[np.float32]
    norm: Norm
    layers: tuple[EncoderLayer, ...]
    others: Mapping[str, NDArray[Any]]


class WordTable:
    """Where its rows lie in the file. A row is read when it is needed: a mapping would end up resident, all 12 MB."""

    def __init__(self, path: Path | None = None) -> None:
        path = path or WORDS.locate()
        self.data, found = _opened(path, WORDS.sha256)
        self.path = path
        self.scales: NDArray[np.float32] = found["word_scales"].values.copy()
        self.start = found["words"].start


def read(shipped: Shipped, path: Path | None = None) -> Weights:
    """Those of a file whose hash is right; the arrays of its layers are views into the file."""
    _, arrays = _opened(path or shipped.locate(), shipped.sha256)
    found = {name: one.values for name, one in arrays.items()}
    count = 1 + max(int(name.split(".")[1]) for name in found if name.startswith("layers."))
    return Weights(
        positions=found["positions"].copy(),
        norm=_norm(found, "norm"),
        layers=tuple(_layer(found, f"layers.{number}") for number in range(count)),
        others={name: found[name].copy() for name in found if not name.startswith(("layers.", "norm.", "positions"))},
    )


class _Array(NamedTuple):
    start: int  # in the file
    values: NDArray[Any]


def _opened(path: Path, sha256: str) -> tuple[mmap, dict[str, _Array]]:
    """`PartMissing` unless it is the file that this version was built with."""
    try:
        with path.open("rb", buffering=0) as file:
            right = hashlib.file_digest(file, "sha256").hexdigest() == sha256
            data = mmap(file.fileno(), 0, access=ACCESS_READ) if right else None
    except (OSError, ValueError) as error:
        raise PartMissing(f"{path} cannot be read: {error}", hint=_REINSTALL) from error
    if data is None:
        raise PartMissing(f"{path} is not the file that this version was built with", hint=_REINSTALL)
    (size,) = struct.unpack_from("<Q", data)
    arrays = {}
    for name, about in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            dtype, start = _DTYPES[about["dtype"]], 8 + size + about["data_offsets"][0]
            count = (about["data_offsets"][1] - about["data_offsets"][0]) // dtype.itemsize
            arrays[name] = _Array(start, np.frombuffer(data, dtype, count, start).reshape(about["shape"]))
    return data, arrays


def _layer(found: Mapping[str, NDArray[Any]], name: str) -> EncoderLayer:
    return EncoderLayer(
        attention=_linear(found, f"{name}.qkv"),
        attended=_linear(found, f"{name}.out"),
        attended_norm=_norm(found, f"{name}.out_norm"),
        widen=_linear(found, f"{name}.widen"),
        narrow=_linear(found, f"{name}.narrow"),
        narrow_norm=_norm(found, f"{name}.narrow_norm"),
    )


def _linear(found: Mapping[str, NDArray[Any]], name: str) -> Linear:
    return Linear(found[f"{name}.weight"], found[f"{name}.scales"], found[f"{name}.bias"])


def _norm(found: Mapping[str, NDArray[Any]], name: str) -> Norm:
    return Norm(found[f"{name}.weight"], found[f"{name}.bias"])
