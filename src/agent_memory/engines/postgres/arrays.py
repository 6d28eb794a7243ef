"""Lists of whole numbers, as one array of `bigint`: every statement casts it to what it needs. psycopg would look at
each number several times, and send other types for small ones, of which each is prepared anew."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.abc import DumperKey
from psycopg.adapt import Dumper, PyFormat
from psycopg.types import TypeInfo
from psycopg.types.array import BaseListDumper, ListDumper

_BIGINT: TypeInfo = psycopg.adapters.types["int8"]


class _WholeNumbers(Dumper):
    oid = _BIGINT.array_oid

    def dump(self, obj: Any) -> bytes:
        return b"{%s}" % str(obj)[1:-1].encode()


class _Lists(ListDumper):
    def get_key(self, obj: list[Any], format: PyFormat) -> DumperKey:
        return (list, _WholeNumbers) if {*map(type, obj)} == {int} else super().get_key(obj, format)

    def upgrade(self, obj: list[Any], format: PyFormat) -> BaseListDumper | Dumper:  # type: ignore[override]
        return _WholeNumbers(list, self._tx) if {*map(type, obj)} == {int} else super().upgrade(obj, format)


def adapt(connection: psycopg.Connection[Any]) -> None:
    connection.adapters.register_dumper(list, _Lists)
