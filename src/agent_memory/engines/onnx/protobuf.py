"""Just enough protobuf to write an ONNX graph of our own, without the `onnx` package or a protobuf runtime."""

from __future__ import annotations

import struct

VARINT, COUNTED, FOUR_BYTES = 0, 2, 5  # protobuf's wire types


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # a negative number is written as its two's complement
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(number: int, value: int) -> bytes:
    """A field that holds a whole number."""
    return _varint(number << 3 | VARINT) + _varint(value)


def floating(number: int, value: float) -> bytes:
    """A field that holds a 32-bit float."""
    return _varint(number << 3 | FOUR_BYTES) + struct.pack("<f", value)


def counted(number: int, value: str | bytes) -> bytes:
    """A field that holds text, bytes or another message."""
    raw = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | COUNTED) + _varint(len(raw)) + raw
