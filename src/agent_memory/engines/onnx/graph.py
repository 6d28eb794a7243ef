"""Our own ONNX graph of the encoder: the fast operators of onnxruntime, and no weights inside.

The skeleton is some 240 kB; the int8 matrices are only named in it and handed over beside it, straight from the
file in which they lie. So there is nothing to convert, nothing to cache on disk, and no second copy in memory.

    rows [1, n, 384] -> norm -> 6 x (QAttention, +, norm, widen, Gelu, narrow, +, norm) -> sum -> unit length

One text a run, without padding, hence without a mask: with dynamic int8 a text's vector would depend on what
shares its batch. `Add`, `LayerNormalization` and `Gelu` are the plain ones on purpose: their fused forms
(SkipLayerNormalization, BiasGelu) have slower kernels, so load with ORT_ENABLE_BASIC or they are fused again.
The rows of the word table are looked up outside, so that the table (half of the model) need not be resident.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from agent_memory.engines.onnx.protobuf import counted, floating, integer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from agent_memory.engines.onnx.weights import EncoderLayer, Linear, Norm, Weights

ROWS, VECTOR = "rows", "vector"  # the graph's input and output
DIMENSION = 384
HEADS = 12
EPSILON = 1e-12

_TYPES = {"float32": 1, "int8": 3, "int64": 7}
_FLOAT, _INT = 1, 2  # kinds of attribute
_IR_VERSION, _OPSET = 9, 17
_MICROSOFT = "com.microsoft"


class OnnxGraph:
    """A graph in the making. Operators return the name of their output."""

    def __init__(self) -> None:
        self.outside: dict[str, NDArray[np.int8]] = {}
        self._nodes: list[bytes] = []
        self._tensors: list[bytes] = []

    def constant(self, values: NDArray[np.generic]) -> str:
        """A small tensor, stored in the graph."""
        return self._tensor(values, counted(9, values.tobytes()))

    def matrix(self, values: NDArray[np.int8]) -> str:
        """A large tensor, which the session gets from `outside`."""
        # The location is never read, but a tensor without data must have one.
        place = counted(13, counted(1, "location") + counted(2, "outside"))
        name = self._tensor(values, place + integer(14, 1))
        self.outside[name] = values
        return name

    def _tensor(self, values: NDArray[np.generic], content: bytes) -> str:
        name = f"t{len(self._tensors)}"
        shape = b"".join(integer(1, size) for size in values.shape)
        self._tensors.append(shape + integer(2, _TYPES[values.dtype.name]) + counted(8, name) + content)
        return name

    def operator(self, kind: str, *inputs: str, domain: str = "", **attributes: float) -> str:
        return self.operators(kind, *inputs, outputs=1, domain=domain, **attributes)[0]

    def operators(self, kind: str, *inputs: str, outputs: int, domain: str = "", **attributes: float) -> list[str]:
        """The same for an operator with several outputs."""
        names = [f"n{len(self._nodes)}.{number}" for number in range(outputs)]
        self._nodes.append(
            b"".join(counted(1, name) for name in inputs)
            + b"".join(counted(2, name) for name in names)
            + counted(4, kind)
            + b"".join(counted(5, _attribute(name, value)) for name, value in attributes.items())
            + counted(7, domain)
        )
        return names

    def finish(self, result: str) -> bytes:
        """The bytes of an ONNX model."""
        self._nodes.append(counted(1, result) + counted(2, VECTOR) + counted(4, "Identity"))
        graph = (
            b"".join(counted(1, node) for node in self._nodes)
            + counted(2, "encoder")
            + b"".join(counted(5, tensor) for tensor in self._tensors)
            + counted(11, _floats(ROWS, 1, "length", DIMENSION))
            + counted(12, _floats(VECTOR, DIMENSION))
        )
        opsets = counted(8, counted(1, "") + integer(2, _OPSET))
        opsets += counted(8, counted(1, _MICROSOFT) + integer(2, 1))
        return integer(1, _IR_VERSION) + counted(2, "agent-memory") + counted(7, graph) + opsets


def _attribute(name: str, value: float) -> bytes:
    if isinstance(value, int):
        return counted(1, name) + integer(3, value) + integer(20, _INT)
    return counted(1, name) + floating(2, value) + integer(20, _FLOAT)


def _floats(name: str, *shape: int | str) -> bytes:
    """A float32 input or output; a size that is a word may vary."""
    sizes = b"".join(counted(1, counted(2, s) if isinstance(s, str) else integer(1, s)) for s in shape)
    return counted(1, name) + counted(2, counted(1, integer(1, _TYPES["float32"]) + counted(2, sizes)))


def build(weights: Weights, *, unit: bool) -> tuple[bytes, dict[str, NDArray[np.int8]]]:
    """The model, and the matrices that the session must be given beside it. It ends with the sum over the pieces, or
    where `unit` is set, with that at length 1."""
    graph = OnnxGraph()
    hidden = _norm(graph, ROWS, weights.norm)
    for layer in weights.layers:
        hidden = _layer(graph, hidden, layer)
    # Of a vector of length 1, dividing by the number of pieces would be undone by the last step.
    end = graph.operator("ReduceSum", hidden, graph.constant(np.array([0, 1], np.int64)), keepdims=0)
    return graph.finish(graph.operator("LpNormalization", end, axis=-1, p=2) if unit else end), graph.outside


def _layer(graph: OnnxGraph, hidden: str, layer: EncoderLayer) -> str:
    attended = _linear(graph, _attention(graph, hidden, layer.attention), layer.attended)
    hidden = _norm(graph, graph.operator("Add", attended, hidden), layer.attended_norm)
    wide = graph.operator("Gelu", _linear(graph, hidden, layer.widen), domain=_MICROSOFT)
    return _norm(graph, graph.operator("Add", _linear(graph, wide, layer.narrow), hidden), layer.narrow_norm)


def _attention(graph: OnnxGraph, hidden: str, joined: Linear) -> str:
    values, scale, zero = graph.operators("DynamicQuantizeLinear", hidden, outputs=3)
    return graph.operator(
        "QAttention",
        values,
        graph.matrix(joined.values),
        graph.constant(joined.bias),
        scale,
        graph.constant(joined.scales),
        "",  # no mask
        zero,
        graph.constant(np.zeros(joined.scales.shape, np.int8)),
        domain=_MICROSOFT,
        num_heads=HEADS,
    )


def _linear(graph: OnnxGraph, hidden: str, linear: Linear) -> str:
    matrix, scales, bias = graph.matrix(linear.values), graph.constant(linear.scales), graph.constant(linear.bias)
    return graph.operator("DynamicQuantizeMatMul", hidden, matrix, scales, "", bias, domain=_MICROSOFT)


def _norm(graph: OnnxGraph, hidden: str, norm: Norm) -> str:
    weight, bias = graph.constant(norm.weight), graph.constant(norm.bias)
    return graph.operator("LayerNormalization", hidden, weight, bias, axis=-1, epsilon=EPSILON)
