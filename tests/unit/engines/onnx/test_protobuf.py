"""What we write, protobuf's own runtime reads."""

from __future__ import annotations

import struct

from google.protobuf.wrappers_pb2 import BytesValue, FloatValue, Int64Value, StringValue
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.engines.onnx.protobuf import counted, floating, integer


@given(st.integers(-(2**63), 2**63 - 1))
def test_whole_numbers(value: int) -> None:
    assert Int64Value.FromString(integer(1, value)).value == value


@given(st.binary(max_size=300))
def test_bytes(value: bytes) -> None:
    assert BytesValue.FromString(counted(1, value)).value == value


def test_a_float_and_a_text() -> None:
    assert FloatValue.FromString(floating(1, 1e-12)).value == struct.unpack("<f", struct.pack("<f", 1e-12))[0]
    assert StringValue.FromString(counted(1, "naïve")).value == "naïve"


@given(st.integers(2, 2**29 - 1))
def test_numbers_of_fields(number: int) -> None:
    """Fields that a message does not know are passed over, whatever their number is."""
    message = integer(number, 7) + counted(number, "other") + floating(number, 0.5) + integer(1, 3)
    assert Int64Value.FromString(message).value == 3
