"""Search in documents: chunks by relevance, each with its place in the document that it is from."""

from __future__ import annotations

from agent_memory.core.experience.finding import considered
from agent_memory.core.recall.gather import Recalling
from agent_memory.models.answer import Hit
from agent_memory.models.kinds.documents import CHUNK, FoundChunk
from agent_memory.models.record import Record
from agent_memory.ports.records import Filter, RecordStore, View


def search(recalling: Recalling, records: RecordStore, query: str, view: View, limit: int) -> list[FoundChunk]:
    """Chosen as a recall ranks them, which finds more than relevance alone; then the most relevant first. What several
    documents say in the same words is one answer, which names all of them."""
    alike: dict[str, list[Hit]] = {}
    for hit in considered(recalling, query, view, Filter(kinds=(CHUNK,)), limit, "query"):
        alike.setdefault(hit.record.text, []).append(hit)
    chosen = sorted(list(alike.values())[:limit], key=lambda hits: -hits[0].relevance)
    hits = [first for first, *_ in chosen]
    ids = list(dict.fromkeys(hit.record.payload["document_id"] for hit in hits))
    documents = {one.id: one for one in records.get(view, ids)} if ids else {}
    return [
        FoundChunk(
            content=hit.record.text,
            metadata=_metadata(hit.record, documents.get(hit.record.payload["document_id"]))
            | ({"also_in": [one.record.source for one in others]} if others else {}),
            relevance=hit.relevance,
        )
        for hit, *others in chosen
    ]


def _metadata(chunk: Record, document: Record | None) -> dict[str, object]:
    said = {"id": chunk.id, "source": chunk.source, **chunk.payload}
    if document is None:
        return said
    places = document.payload["places"]
    place = next(((number, one) for number, one in enumerate(places, 1) if one["id"] == chunk.id), None)
    said |= {"title": document.text, "media_type": document.payload["media_type"], "of": len(places)}
    if place is not None:
        number, one = place
        said |= {
            "ordinal": number,
            **{name: one[name] for name in ("start", "end", "page") if one.get(name) is not None},
        }
    return said
