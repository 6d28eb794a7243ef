"""Just enough protobuf to read the weights out of an ONNX file and to write a graph of our own.

It exists so that neither the `onnx` package nor a protobuf runtime is needed. Reading gives spans into the file
instead of copies: a weight is used where it lies. Written for files whose hash has been checked, not for hostile ones.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from mmap import mmap

VARINT, EIGHT_BYTES, COUNTED, FOUR_BYTES = 0, 1, 2, 5  # protobuf's wire types


class ByteSpan(NamedTuple):
    """Where a field's bytes lie: `data[start:end]`."""

    start: int
    end: int


def fields(data: bytes | mmap, within: ByteSpan) -> Iterator[tuple[int, int | ByteSpan]]:
    """(number, value) for each field of one message: the value of a varint, the span of anything else."""
    view = memoryview(data)
    at = within.start
    while at < within.end:
        key, at = _read_varint(view, at)
        wire = key & 7
        if wire == VARINT:
            value, at = _read_varint(view, at)
            yield key >> 3, value
            continue
        if wire == COUNTED:
            size, at = _read_varint(view, at)
        else:
            size = {EIGHT_BYTES: 8, FOUR_BYTES: 4}[wire]
        yield key >> 3, ByteSpan(at, at + size)
        at += size


def _read_varint(view: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = view[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


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
