"""How many fields a message has, told before protobuf reads it. Whoever reads one holds the interpreter until it is
done, and that takes as long as it has fields: seven million empty words in 14 MB stop everybody else for a second.
Counting them does not: it lets others in between, and ends at the first that is too many.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from google.protobuf.descriptor import FieldDescriptor as Kind
from google.protobuf.message import DecodeError

from agent_memory.app.weight import MOST_VALUES

MOST_FIELDS = 4 * MOST_VALUES
"""Of one message, however deep: a value of JSON takes up to four."""
SMALLEST = 2  # bytes of a field
_VARINT, _EIGHT, _LENGTH, _FOUR = 0, 1, 2, 5
_WIDTHS = {Kind.TYPE_DOUBLE: 8, Kind.TYPE_FIXED64: 8, Kind.TYPE_FLOAT: 4, Kind.TYPE_FIXED32: 4}
_TEXTS = (Kind.TYPE_STRING, Kind.TYPE_BYTES)


def too_heavy(raw: bytes, message: Any) -> bool:
    """Whether `raw` has more fields than a server reads at once; `message` is the descriptor of what it should be. A
    `DecodeError` where it is none."""
    return len(raw) > MOST_FIELDS * SMALLEST and _fields(raw, message) > MOST_FIELDS


def _fields(raw: bytes, message: Any) -> int:
    """How many there are, as soon as that is too many. Numbers that are packed together count one by one; groups, which
    none of our messages has, are not followed, and refused."""
    inner, widths = _known(message)
    around: list[tuple[int, Any, Any]] = []
    count, place, end = 0, 0, len(raw)
    while count <= MOST_FIELDS:
        if place >= end:
            if place > end:
                raise DecodeError("a field is longer than what it stands in")
            if not around:
                break
            end, inner, widths = around.pop()
            continue
        tag, place = _varint(raw, place, end)
        count += 1
        wire = tag & 7
        if wire == _VARINT:
            _, place = _varint(raw, place, end)
        elif wire == _LENGTH:
            size, place = _varint(raw, place, end)
            number = tag >> 3
            if number in inner:
                if place + size > end:
                    raise DecodeError("a field is longer than what it stands in")
                around.append((end, inner, widths))
                end = place + size
                inner, widths = _known(inner[number])
            else:
                place += size
                count += size // widths[number] if number in widths else 0
        elif wire in (_EIGHT, _FOUR):
            place += 8 if wire == _EIGHT else 4
        else:
            raise DecodeError(f"a field has the wire type {wire}")
    return count


def _varint(raw: bytes, place: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while place < end and shift < 70:
        byte = raw[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7
    raise DecodeError("a number has no end")


@lru_cache(maxsize=1024)
def _known(message: Any) -> tuple[dict[int, Any], dict[int, int]]:
    """By their numbers: fields that are messages, with theirs, and those that may be packed, with bytes a value."""
    inner = {one.number: one.message_type for one in message.fields if one.message_type}
    plain = [one for one in message.fields if not one.message_type and one.type not in _TEXTS]
    return inner, {one.number: _WIDTHS.get(one.type, 1) for one in plain}
