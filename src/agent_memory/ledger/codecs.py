"""Texts as they are stored: as they stand, or encoded by a codec that is named beside them. Seals are over the text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

from agent_memory.models.errors import PartMissing
from agent_memory.models.record import LONGEST_TEXT
from agent_memory.ports.codec import Codec
from agent_memory.ports.store import TextSizes

CODECS = "agent_memory.codecs"
MOST_BYTES = 4 * LONGEST_TEXT  # of a text in UTF-8: what says that it is longer is no text of ours
LEVEL = 19  # of texts that nobody waits for; one of a sentence takes a tenth of a millisecond
MAGIC = b"\x28\xb5\x2f\xfd"  # every frame of zstd begins so
WINDOW_LOG = 23  # zstd may want 8 MiB of memory to decode, and no more


class Zstd:
    """Of Python's own since 3.14."""

    name = "zstd"

    def __init__(self) -> None:
        self._zstd = _part("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd", Zstd.name)
        self._dictionary: Any = None

    def encode(self, data: bytes) -> bytes:
        encoded: bytes = self._zstd.compress(data, 9)
        return encoded

    def decode(self, data: bytes, most: int) -> bytes:
        zstd = self._zstd
        try:
            options = {zstd.DecompressionParameter.window_log_max: WINDOW_LOG}
            one = zstd.ZstdDecompressor(zstd_dict=self._dictionary, options=options)
            return _whole(one, one.decompress(data, max_length=most + 1), most)
        except zstd.ZstdError as error:
            raise ValueError(str(error)) from None


class ZstdTexts(Zstd):
    """With a dictionary of ours, for texts of a sentence or two, which alone would hardly be smaller. What is the same
    in front of each is left out. The number in its name is that of the dictionary: another one gets another name."""

    name = "zstd-1"

    def __init__(self) -> None:
        super().__init__()
        said = files("agent_memory.ledger").joinpath("texts-1.dictionary").read_bytes()
        self._dictionary = self._zstd.ZstdDict(said)

    def encode(self, data: bytes) -> bytes:
        what = self._zstd.CompressionParameter
        options = {what.compression_level: LEVEL, what.dict_id_flag: 0}
        one = self._zstd.ZstdCompressor(options=options, zstd_dict=self._dictionary.as_digested_dict)
        encoded: bytes = one.compress(data, mode=one.FLUSH_FRAME)
        return encoded.removeprefix(MAGIC)

    def decode(self, data: bytes, most: int) -> bytes:
        return super().decode(MAGIC + data, most)


class Lz4:
    """Larger than zstd, and faster."""

    name = "lz4"

    def __init__(self) -> None:
        self._lz4 = _part("lz4.frame", self.name)

    def encode(self, data: bytes) -> bytes:
        encoded: bytes = self._lz4.compress(data, content_checksum=True)
        return encoded

    def decode(self, data: bytes, most: int) -> bytes:
        try:
            one = self._lz4.LZ4FrameDecompressor()
            return _whole(one, one.decompress(data, max_length=most + 1), most)
        except RuntimeError as error:
            raise ValueError(str(error)) from None


def encoded(text: bytes, codec: str) -> bytes | None:
    """None where it would not be smaller."""
    made = find(codec).encode(text)
    return made if len(made) < len(text) else None


def plain(stored: Any, codec: Any) -> Any:
    """A text out of what is stored of it. `TypeError` or `ValueError` where that is damaged; `PartMissing` where nobody
    here can read it."""
    if codec is None:
        return stored
    if not isinstance(stored, bytes) or not isinstance(codec, str):
        raise TypeError("an encoded text is not a blob")
    return find(codec).decode(stored, MOST_BYTES).decode()


def sized(counted: Sequence[Any], sample: Sequence[tuple[Any, str]]) -> TextSizes:
    """Of how many texts, how many of them encoded, the bytes of those that are not, and of those that are: what these
    say is about as much longer as it is in a sample."""
    texts, encoded, plain_bytes, stored = map(int, counted)
    small = large = 0
    for cell, codec in sample:
        with suppress(TypeError, ValueError, PartMissing):  # what cannot be read tells nothing
            large += len(plain(cell, codec).encode())
            small += len(cell)
    return TextSizes(texts, encoded, plain_bytes + (stored * large // small if small else stored), plain_bytes + stored)


@cache
def find(name: str) -> Codec:
    """By its name."""
    for ours in (ZstdTexts, Zstd, Lz4):
        if name == ours.name:
            return ours()
    from importlib.metadata import entry_points

    for entry in entry_points(group=CODECS, name=name):
        codec: Codec = entry.load()()
        return codec
    raise PartMissing(f"codec: no package here has {name!r}", hint=f"install the one that registers it in {CODECS}")


def _part(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise PartMissing(
            f"a text is to be encoded or read by {extra}, which is not installed",
            hint=f"pip install 'agent-memory[{extra}]'",
        ) from None


def _whole(decoder: Any, data: bytes, most: int) -> bytes:
    if len(data) > most or not decoder.eof or decoder.unused_data:
        raise ValueError("not one whole text")
    return data
