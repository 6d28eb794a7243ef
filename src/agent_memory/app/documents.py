"""Documents as they come: files on the disk of whoever calls, or what somebody sends. Read with bounds, and understood
by their media type."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal, get_args

from agent_memory.models.errors import Denied, InvalidInput, PartMissing
from agent_memory.models.kinds.documents import DocumentPayload, Encoding, Ingested, MediaType
from agent_memory.models.model import clean_name
from agent_memory.models.size import sized

if TYPE_CHECKING:
    from agent_memory.app.client import Client
    from agent_memory.core.knowledge.structure import Structure

LARGEST_FILE = 10 * 1024 * 1024  # bytes; as base64 it still fits into one request to a server
LONGEST_DOCUMENT = 3_000_000  # characters
VECTOR_SECONDS = 10.0  # that a caller over the network waits for the vectors of a very long document
PDF: Literal["application/pdf"] = "application/pdf"
SUFFIXES: dict[str, MediaType] = {
    **dict.fromkeys((".md", ".markdown"), "text/markdown"),
    **dict.fromkeys((".txt", ".text", ".rst", ".log"), "text/plain"),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "text/html"),
    ".pdf": PDF,
}


def media_type_of(name: str, given: MediaType | None, field: str) -> MediaType:
    if given is not None:
        return given
    found = SUFFIXES.get(PurePath(name).suffix.lower())
    if found is None:
        raise InvalidInput(
            f"{field}: {name[:200]!r} has an unknown file type",
            hint=f"give a media_type ({', '.join(get_args(MediaType))}); known endings are {', '.join(SUFFIXES)}",
            field=field,
        )
    return found


def described(name: str, media_type: MediaType, data: bytes, form: int) -> DocumentPayload:
    digest = hashlib.sha256(data).hexdigest()
    return DocumentPayload(source=name, media_type=media_type, size_bytes=len(data), digest=digest, form=form)


def decoded(content: str, encoding: Encoding) -> bytes:
    """What was sent, as bytes."""
    if encoding == "text":
        data = content.encode()
    else:
        try:
            data = base64.b64decode(content, validate=True)
        except (binascii.Error, ValueError):
            raise InvalidInput("content: is not base64", hint="send the bytes as base64", field="content") from None
    _check_size(len(data), "content:", "content")
    return data


def understood(data: bytes, media_type: MediaType) -> Structure:
    """`InvalidInput` says why there is nothing to be had from it."""
    from agent_memory.core.knowledge import html, structure

    if media_type == PDF:
        read = pdf()(data, LONGEST_DOCUMENT)
        return structure.paged(read.texts, read.outline, read.title)
    text = as_text(data, "content:", "content")
    if len(text) > LONGEST_DOCUMENT:
        raise InvalidInput(
            f"content: has {len(text):,} characters; the limit is {LONGEST_DOCUMENT:,}",
            hint="split it, and ingest the parts",
            field="content",
        )
    try:
        by_type = {"text/html": html.html, "text/markdown": structure.markdown, "text/plain": structure.plain}
        return by_type[media_type](text)
    except html.Truncated as error:
        raise InvalidInput(
            f"content: is cut off: it {error}", hint="get the whole file, or mend it", field="content"
        ) from None


def pdf() -> Callable[[bytes, int], Any]:
    try:
        from agent_memory.engines.pypdf.pages import pages
    except ImportError as error:
        raise PartMissing(
            f"media_type: reading PDF needs the package {error.name!r}",
            hint="pip install 'agent-memory[knowledge]'",
            field="media_type",
        ) from None
    return pages


def as_text(data: bytes, said: str, field: str) -> str:
    if b"\0" in data:
        raise InvalidInput(f"{said} is binary, not text", hint="ingest text, HTML or PDF", field=field)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{said} is not UTF-8: {error.reason} at byte {error.start}", hint="save it as UTF-8", field=field
        ) from None


def reachable(client: Client, path: str, field: str) -> Path:
    """The file or folder that a caller means. Whoever comes over the network is held to the folder of the server, where
    it was given one, and sees nothing hidden in it."""
    workplace, start = client.workplace, start_of(client)
    if workplace.shut or (start is not None and client.settings.workplace is None):
        raise InvalidInput(
            f"{field}: this server reads no files",
            hint="upload the document; or whoever runs the server names a folder with AGENT_MEMORY_WORKPLACE",
            field=field,
        )
    found = workplace.path(path, field=field)
    if start is not None and any(part.startswith(".") for part in Path(source_of(client, found)).parts):
        raise Denied(f"{field}: {path[:200]!r} is hidden", hint="name a file that is not", field=field)
    return found


def source_of(client: Client, path: Path) -> str:
    """What a file is called in the memory: its path. Of where a server keeps its folder, callers hear nothing."""
    start = start_of(client)
    return path.relative_to(start).as_posix() if start and path.is_relative_to(start) else path.as_posix()


def start_of(client: Client) -> Path | None:
    """The folder that callers over the network are held to."""
    return None if client.workplace.own else client.workplace.root


def path_here(client: Client, name: str) -> list[str]:
    """What a document is called that somebody names by its path, seen from where they are; nothing if it is none."""
    if start_of(client):
        return []
    try:
        return [client.workplace.path(name).as_posix()]
    except (InvalidInput, Denied):
        return []


def read_file(path: Path, called: str) -> bytes:
    """A file of bounded size, which whoever asks calls so; no pipe or device is waited for."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            found = os.fstat(file.fileno())
            if stat.S_ISDIR(found.st_mode):
                raise IsADirectoryError
            if not stat.S_ISREG(found.st_mode):
                raise InvalidInput(f"path: {called!r} is not a file", hint="name a file", field="path")
            _check_size(found.st_size, f"path: {called!r}", "path")
            data = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise InvalidInput(f"path: there is no {called!r}", hint="name a file that exists", field="path") from None
    except IsADirectoryError:
        raise InvalidInput(
            f"path: {called!r} is a folder", hint="`knowledge sync FOLDER` reads all of it", field="path"
        ) from None
    except OSError as error:
        raise InvalidInput(
            f"path: {called!r} cannot be read: {error.strerror}", hint="check its permissions", field="path"
        ) from None
    _check_size(len(data), f"path: {called!r}", "path")
    return data


def ingest_file(client: Client, called: str, name: str, kind: MediaType, data: bytes) -> Ingested:
    """Send a file to where the memory is. What is wrong with its content is wrong with the file."""
    try:
        clean_name(name)
    except ValueError as error:
        raise InvalidInput(f"name: {error}", hint="give the document a shorter name", field="name") from None
    text = None if kind == PDF else as_text(data, f"path: {called!r}", "path")
    content = base64.b64encode(data).decode() if text is None else text
    encoding: Encoding = "base64" if text is None else "text"
    try:
        told: Ingested = client.ask("knowledge.upload", name=name, content=content, media_type=kind, encoding=encoding)
    except InvalidInput as error:
        if error.field != "content":
            raise
        said = error.message.removeprefix("content: ")
        raise InvalidInput(f"path: {called!r} {said}", hint=error.hint, field="path") from None
    return told


def _check_size(size: int, said: str, field: str) -> None:
    if size > LARGEST_FILE:
        raise InvalidInput(
            f"{said} has {sized(size)}; the limit is {sized(LARGEST_FILE)}",
            hint="split it, and ingest the parts",
            field=field,
        )
