"""Texts with NUL, which PostgreSQL does not have: it stands there as two characters, of which the first is U+FFFF, not
a character and in no sensible text. Where a text has it all the same, it is doubled."""

from __future__ import annotations

import re
from typing import Any

import psycopg
from psycopg.types.string import StrDumper, TextBinaryLoader, TextLoader

_MARK = "\uffff"
_PAIR = re.compile(f"{_MARK}(.)", re.DOTALL)


def stored(text: str) -> str:
    if _MARK in text:
        text = text.replace(_MARK, _MARK + _MARK)
    return text.replace("\0", _MARK + "0") if "\0" in text else text


def restored(text: str) -> str:
    return _PAIR.sub(lambda pair: "\0" if pair[1] == "0" else pair[1], text) if _MARK in text else text


class _Dumper(StrDumper):
    def dump(self, obj: str) -> Any:
        return super().dump(stored(obj))


class _Loader(TextLoader):
    def load(self, data: Any) -> Any:
        return restored(str(super().load(data)))


class _BinaryLoader(TextBinaryLoader):
    def load(self, data: Any) -> Any:
        return restored(str(super().load(data)))


def adapt(connection: psycopg.Connection[Any]) -> None:
    connection.adapters.register_dumper(str, _Dumper)
    connection.adapters.register_loader("text", _Loader)
    connection.adapters.register_loader("text", _BinaryLoader)
