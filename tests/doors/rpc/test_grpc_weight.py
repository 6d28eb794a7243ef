"""A message with more fields than a server reads at once is refused before it is read. P23."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from calling import refused
from foreign import PACKAGE, Foreign
from google.protobuf.message import DecodeError
from google.protobuf.struct_pb2 import Struct
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.interfaces.grpc import weight
from patience import PATIENCE

pytestmark = pytest.mark.requirement("P23")
JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=30,
)


def expected(message: Any) -> int:
    """Counted in what protobuf read, and not in the bytes. Entries of a map have two."""
    count = 0
    for field, value in message.ListFields():
        if field.message_type is None:
            count += 1
        elif field.message_type.GetOptions().map_entry:
            count += sum(3 + expected(one) for one in value.values())
        elif field.is_repeated:
            count += sum(1 + expected(one) for one in value)
        else:
            count += 1 + expected(value)
    return count


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=5))
def test_fields_are_counted_however_deep(said: dict[str, Any]) -> None:
    message = Struct()
    message.update(said)
    assert weight._fields(message.SerializeToString(), Struct.DESCRIPTOR) == expected(message)


@given(st.binary(max_size=40))
def test_what_cannot_be_counted_cannot_be_read(raw: bytes) -> None:
    """Or has groups, which are none of ours."""
    try:
        weight._fields(raw, Struct.DESCRIPTOR)
    except DecodeError as error:
        if "wire type 3" not in str(error):
            with pytest.raises(DecodeError):
                Struct.FromString(raw)


def test_numbers_count_one_by_one(client: Foreign) -> None:
    vector = client.request("VectorsService/Upsert", {"vector": [0.5] * 100, "namespace": "n"})
    assert weight._fields(vector.SerializeToString(), vector.DESCRIPTOR) == 102


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("RecordsService/Versions", {"kinds": [""]}),
        ("StreamService/Export", {"kinds": [""]}),
        ("StreamService/Import", {"links": [{}]}),
    ],
)
def test_too_many_are_refused(client: Foreign, method: str, said: dict[str, Any]) -> None:
    raw = client.request(method, said).SerializeToString() * (weight.MOST_FIELDS + 1)
    begun = client.channel.stream_stream(f"/{PACKAGE}.{method}")
    code, told, more = refused(lambda: list(begun(iter([raw]), metadata=client.metadata, timeout=PATIENCE)))
    assert code is grpc.StatusCode.INVALID_ARGUMENT and f"more than {weight.MOST_FIELDS} fields" in told
    assert "in several parts" in more["memory-hint"]
