"""PDF as texts of pages, by pypdf. What a stranger's file can do to the parser stays an error about that file."""

from __future__ import annotations

import logging
import struct
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Any, NamedTuple

import pypdf
from pypdf.errors import DependencyError, PyPdfError

from agent_memory.models.errors import InvalidInput
from agent_memory.ports.progress import counted

MARK, FIRST_BYTES = b"%PDF-", 1024
MOST_HEADINGS = 2000
# Besides its own errors, pypdf raises what Python does where a file breaks the format.
BROKEN = (
    *(PyPdfError, ValueError, KeyError, IndexError, TypeError, AttributeError, AssertionError, RecursionError),
    *(ArithmeticError, NotImplementedError, EOFError, MemoryError, zlib.error, struct.error),
)
logging.getLogger("pypdf").addHandler(logging.NullHandler())


class PdfPages(NamedTuple):
    """`outline` are (level, title, page), the first page is 1."""

    texts: list[str]
    outline: list[tuple[int, str, int]]
    title: str


def pages(data: bytes, longest: int) -> PdfPages:
    """`InvalidInput` where there is no text to be had; `longest` is how many characters it may be."""
    if MARK not in data[:FIRST_BYTES]:
        raise _refused("is not a PDF: it does not begin as one", "check the file, or say what it is with media_type")
    try:
        reader = pypdf.PdfReader(BytesIO(data))
        if reader.is_encrypted and not _opened(reader):
            raise _refused("is encrypted", "save a copy without a password, for example with `qpdf --decrypt`")
        texts: list[str] = []
        length = 0
        for page in counted(reader.pages, "pages", lambda: len(reader.pages)):
            texts.append(page.extract_text())
            length += len(texts[-1])
            if length > longest:
                raise _refused(f"has more than {longest:,} characters", "split it, and ingest the parts")
        title = str((reader.metadata and reader.metadata.title) or "")
        outline = list(_outline(reader, reader.outline, 1))[:MOST_HEADINGS]
    except BROKEN as error:
        if isinstance(error, InvalidInput):
            raise
        said = " ".join(str(error).split())[:120] or type(error).__name__
        raise _refused(f"cannot be read as a PDF: {said}", "open it in a viewer, and save a new copy") from None
    if not any(text.strip() for text in texts):
        raise _refused(
            f"has no text on any of its {len(texts)} pages: they are pictures, as of a scan",
            "recognise its text first, for example with `ocrmypdf IN.pdf OUT.pdf`",
        )
    return PdfPages([_clean(text) for text in texts], outline, _clean(title))


def _opened(reader: pypdf.PdfReader) -> bool:
    """Many files can be read by anybody, and are encrypted against changes alone: their password is empty."""
    try:
        return bool(reader.decrypt(""))
    except DependencyError:
        return False


def _outline(reader: pypdf.PdfReader, items: Any, level: int) -> Iterator[tuple[int, str, int]]:
    for item in items:
        if isinstance(item, list):
            yield from _outline(reader, item, level + 1)
        elif (page := reader.get_destination_page_number(item)) is not None and item.title:
            yield level, " ".join(_clean(str(item.title)).split()), page + 1


def _clean(text: str) -> str:
    """A font may map to anything: lone surrogates and NULs are no text."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")


def _refused(what: str, hint: str) -> InvalidInput:
    return InvalidInput(f"content: {what}", hint=hint, field="content")
