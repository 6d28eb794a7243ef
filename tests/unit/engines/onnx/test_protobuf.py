"""What we write, we read back."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from agent_memory.engines.onnx.protobuf import ByteSpan, counted, fields, floating, integer

numbers = st.integers(1, 2**29 - 1)


@given(numbers, st.integers(-(2**63), 2**64 - 1), numbers, st.binary())
def test_round_trip(first: int, value: int, second: int, raw: bytes) -> None:
    message = integer(first, value) + counted(second, raw)
    (one, two) = fields(message, ByteSpan(0, len(message)))
    assert one == (first, value % 2**64)
    assert two[0] == second
    assert isinstance(two[1], ByteSpan)
    assert message[two[1].start : two[1].end] == raw


def test_a_float_and_a_text() -> None:
    message = b"before" + floating(2, 1e-12) + counted(3, "naïve") + b"after"
    (one, two) = fields(message, ByteSpan(6, len(message) - 5))
    assert isinstance(one[1], ByteSpan)
    assert (
        struct.unpack("<f", message[one[1].start : one[1].end])[0] == struct.unpack("<f", struct.pack("<f", 1e-12))[0]
    )
    assert isinstance(two[1], ByteSpan)
    assert message[two[1].start : two[1].end].decode() == "naïve"


def test_eight_bytes_are_stepped_over() -> None:
    message = bytes([1 << 3 | 1]) + b"\xff" * 8 + integer(2, 7)
    assert list(fields(message, ByteSpan(0, len(message)))) == [(1, ByteSpan(1, 9)), (2, 7)]
