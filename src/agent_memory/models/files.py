"""What came of bringing people's files and the memory together. P7."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agent_memory.models.model import Model

Side = Literal["file", "memory"]


class FileConflict(Model):
    """Both have changed it since they last agreed; None: it is not there any more."""

    entry: str
    file: str | None = None
    memory: str | None = None


class SyncedFile(Model):
    """One file. `remembered` and `ended` are entries that the memory took from it, `written` and `removed` those that
    it took from the memory; `not_understood` are lines that stay as they are. `problem`: why it could not be read."""

    path: str
    repository: str | None = None
    remembered: list[str] = Field(default_factory=list)
    ended: list[str] = Field(default_factory=list)
    written: list[str] = Field(default_factory=list)
    removed: list[str] = Field(default_factory=list)
    conflicts: list[FileConflict] = Field(default_factory=list)
    not_understood: list[str] = Field(default_factory=list)
    problem: str | None = None


class SyncedFiles(Model):
    """`untrusted` is the repository whose files were left alone, because nobody has trusted it. `dry_run`: nothing was
    changed, this is what would be."""

    files: list[SyncedFile]
    dry_run: bool = False
    untrusted: str | None = None
