"""Documents that were read into the memory, and the chunks that they were cut into. T4."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from agent_memory.models.kinds.kind import Kind
from agent_memory.models.model import Model, Moment, Name, Text
from agent_memory.models.record import Record

DOCUMENT, CHUNK = "document", "document_chunk"
MediaType = Literal["text/markdown", "text/plain", "text/html", "application/pdf"]
Encoding = Literal["text", "base64"]
FilePath = Annotated[str, BeforeValidator(lambda path: os.fspath(path) if isinstance(path, os.PathLike) else path)]
"""As text; in Python also a `Path`."""


class ChunkPlace(Model):
    """Where a chunk stands: from which character of the text that was read to which, and on which page."""

    id: Name
    start: int
    end: int
    page: int | None = None


class DocumentPayload(Model):
    """`source` is the file, or what somebody called it. `form` says how its chunks were made, `places` in which order
    they stand and where. A chunk does not say this itself: what moved, and did not change, is not written again."""

    source: Name
    media_type: MediaType
    size_bytes: int
    digest: str
    form: int
    places: list[ChunkPlace] = Field(default_factory=list)
    notes: list[Text] = Field(default_factory=list)


class ChunkPayload(Model):
    """`headings` are those that it stands under, the title of the document first."""

    document_id: Name
    headings: list[Text] = Field(default_factory=list)


class Document(Model):
    """A document that is known. `chunks` is how many it has; `digest` is the SHA-256 of its bytes, and
    `form` says how it was cut."""

    id: str
    source: str
    title: str
    media_type: str
    size_bytes: int
    digest: str
    form: int
    chunks: int
    version: int
    ingested_at: Moment
    notes: list[str] = Field(default_factory=list)

    @classmethod
    def of(cls, record: Record) -> Document:
        said = record.payload
        return cls(
            id=record.id,
            title=record.text,
            chunks=len(said["places"]),
            version=record.version,
            ingested_at=record.valid_from,
            **{name: said[name] for name in ("source", "media_type", "size_bytes", "digest", "form", "notes")},
        )


class Ingested(Model):
    """What became of a document: `created`, `updated`, `unchanged`, or `removed`. The numbers are of its chunks: those
    that are new, that say something else now, that are what they were, and that are not there any more. `pending` of
    the memories still lack a vector, and are found by their words alone. `notes` tell what could not be read."""

    id: str
    source: str
    title: str
    effect: Literal["created", "updated", "unchanged", "removed"]
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    pending: int = 0
    notes: list[str] = Field(default_factory=list)


class SkippedFile(Model):
    path: str
    why: str


class SyncedFolder(Model):
    """What a folder and the memory differed in. `added` and `changed` files were read, those that are `gone` were
    archived, and what was `skipped` says why. `others` counts the files that are not documents, by their endings. With
    `dry_run` nothing was done yet."""

    folder: str
    added: list[str] = Field(default_factory=list)
    changed: list[str] = Field(default_factory=list)
    gone: list[str] = Field(default_factory=list)
    unchanged: int = 0
    skipped: list[SkippedFile] = Field(default_factory=list)
    others: dict[str, int] = Field(default_factory=dict)
    chunks_added: int = 0
    chunks_updated: int = 0
    chunks_removed: int = 0
    dry_run: bool = False


class FoundChunk(Model):
    """What a search in documents found. `metadata` names the document (`document_id`, `title`, `source`), the
    `headings` that it stands under, and its place: `ordinal` (the first is 1) `of` how many, the characters from
    `start` to `end`, and the `page` where there are pages. `also_in` are other documents that say the same words."""

    content: str
    metadata: dict[str, Any]
    relevance: float


KINDS = (
    Kind(
        DOCUMENT,
        "documents",
        DocumentPayload,
        key=lambda text, payload: f"{payload['source']}",
        succeeds=True,
        searchable=False,
        tier="knowledge",
    ),
    Kind(CHUNK, "document_chunks", ChunkPayload, succeeds=True, indexed=("document_id",), tier="knowledge"),
)
