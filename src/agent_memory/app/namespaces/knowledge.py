"""`memory.knowledge`: documents, cut into chunks that can be found. T4."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any, Unpack

from agent_memory.app import documents as reading
from agent_memory.app.folders import sync_folder
from agent_memory.app.namespaces.asking import Moments, asked
from agent_memory.app.operations import Namespace, Operation, Permission, ToolSlot, operation
from agent_memory.core.knowledge import find, keep
from agent_memory.core.knowledge.chunk import chunks
from agent_memory.models.kinds.documents import (
    DOCUMENT,
    Document,
    Encoding,
    FilePath,
    FoundChunk,
    Ingested,
    MediaType,
    SyncedFolder,
)
from agent_memory.models.limits import Few, Hits, Query
from agent_memory.models.model import Name


class Knowledge(Namespace):
    """Documents: Markdown, text, HTML and PDF, cut by their headings into chunks that say where they are from."""

    @operation(
        "knowledge.ingest",
        "POST /knowledge/ingest",
        permission=Permission.WRITE,
        mcp=[ToolSlot("knowledge", "documents", "ingest")],
        here=True,
    )
    def ingest(self, path: FilePath, name: Name | None = None, media_type: MediaType | None = None) -> Ingested:
        """Read a file into the memory: Markdown, text, HTML or PDF.

        The same file again updates only what has changed in it. It is known by its path, or by the `name` you give it.
        The file is read where you call; if the store is on a server, its content is sent there.
        """
        file = reading.reachable(self._client, path, "path")
        source, data = name or reading.source_of(self._client, file), reading.read_file(file, path)
        kind = reading.media_type_of(path, media_type, "path")
        return reading.ingest_file(self._client, path, source, kind, data)

    @operation(
        "knowledge.upload",
        "POST /knowledge/documents",
        permission=Permission.WRITE,
        mcp=[ToolSlot("knowledge", "documents", "upload")],
    )
    def upload(
        self, name: Name, content: str, media_type: MediaType | None = None, encoding: Encoding = "text"
    ) -> Ingested:
        """Store a document that you send: its text, or its bytes as base64. The same name again is the same document.

        Without a `media_type`, the extension of its name decides.
        """
        client, kind = self._client, reading.media_type_of(name, media_type, "name")
        data = reading.decoded(content, encoding)
        said = reading.described(name, kind, data, keep.FORM)
        if (same := keep.unchanged(client.ground(), said)) is not None:
            return same
        structure = reading.understood(data, kind)
        title = structure.title or PurePath(name).name or name
        pieces = chunks(structure, title)
        said = said.model_copy(update={"notes": list(structure.notes)})
        seconds = None if client.workplace.root is None else reading.VECTOR_SECONDS
        return keep.keep(client.ground(), said, title, pieces, seconds)

    @operation("knowledge.search", "GET /knowledge", mcp=[ToolSlot("knowledge", "documents", "search")])
    def search(self, query: Query, n_results: Hits = 2, **at: Unpack[Moments]) -> list[FoundChunk]:
        """What documents say about something: chunks, the most relevant first, each with its document, headings and
        position."""
        view, runtime = self._client.view(**at), self._client.runtime
        return find.search(runtime.recalling, runtime.store.records, query, view, n_results)

    @operation("knowledge.documents", "GET /knowledge/documents", mcp=[ToolSlot("knowledge", "documents", "list")])
    def documents(self, limit: Few = 100, after_id: str | None = None) -> list[Document]:
        """The documents in memory, the newest first. `after_id` continues a page."""
        view, chosen = asked(self._client, {"kinds": [DOCUMENT]})
        found = self._client.runtime.store.records.find(view, chosen, limit=limit, after=after_id)
        return [Document.of(one) for one in found]

    @operation(
        "knowledge.remove",
        "POST /knowledge/remove",
        permission=Permission.WRITE,
        mcp=[ToolSlot("knowledge", "documents", "remove")],
    )
    def remove(self, document: Name, gone: bool = False) -> Ingested:
        """Archive a document, by its id, path or name, and its chunks: they are no longer found.

        Ingesting it again brings them back; `sync` skips it until then, unless it was removed because its file was
        `gone`. `forget` with its id erases all of it for real.
        """
        names = [document, *reading.path_here(self._client, document)]
        return keep.remove(self._client.ground(), names, gone=gone)

    @operation("knowledge.sync", "POST /knowledge/sync", permission=Permission.WRITE, here=True)
    def sync(
        self, folder: FilePath, glob: list[str] | None = None, dry_run: bool = False, force: bool = False
    ) -> SyncedFolder:
        """Make the memory follow a folder: read documents that are new or changed, archive those whose files are gone.

        `glob` chooses files, as a line of `.gitignore` would; by default it is every document. Hidden files, links that
        lead out of the folder, and documents that you removed are skipped. If the folder is missing, or more than a
        third of the documents known from it are gone, nothing is done without `force`.
        """
        return sync_folder(self._client, folder, glob, dry_run=dry_run, force=force)

    def _carried(self, operation: Operation, arguments: dict[str, Any]) -> dict[str, Any]:
        """A server cannot see a path as its caller does: it is told the whole one, where it knows that."""
        if operation.name != "knowledge.remove":
            return arguments
        name = arguments["document"]
        for path in reading.path_here(self._client, name):
            if path != name and not self._known(name) and self._known(path):
                return {**arguments, "document": path}
        return arguments

    def _known(self, source: str) -> bool:
        return self._client.ask("records.lookup", kind=DOCUMENT, key=source) is not None
