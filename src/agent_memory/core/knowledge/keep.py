"""Documents in the memory. A document and its chunks are written at once: what was killed in between was not written,
and the next call does it.

What a document said before is compared with what it says now. A chunk that says the same is left alone, wherever it
stands now; one under the same headings that says something else gets a new version; others are new, or archived.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import NamedTuple

from agent_memory.core.knowledge.chunk import DocumentPiece
from agent_memory.core.work.ground import Ground
from agent_memory.core.write.commit import SELF, How, commit, heads, until_settled, write
from agent_memory.models.draft import Draft
from agent_memory.models.errors import InvalidInput, NotFound
from agent_memory.models.kinds.documents import CHUNK, DOCUMENT, ChunkPlace, DocumentPayload, Ingested
from agent_memory.models.model import new_id
from agent_memory.models.record import Link, Record, Status
from agent_memory.ports.changes import DERIVED_FROM, Amend, Author, Expect
from agent_memory.ports.records import Filter

FORM = 1
"""How chunks are made. Whoever changes that counts on: then documents are cut anew when they are next ingested."""

MOST_CHUNKS = 3000  # with their links, and as many that go, within the changes of one write
EMBED_AT_ONCE = 128  # chunks whose vectors are made before they are written; more are written first
PAGE = 1000
EVERY = (Status.ACTIVE, Status.ARCHIVED)
REMOVED = Status.REJECTED  # of a document that somebody removed; one whose file is gone is archived


class _Difference(NamedTuple):
    """`drafts` are new or say something else, `amends` archive and restore, and `places` are the new order."""

    drafts: list[Draft]
    amends: list[Amend]
    places: list[ChunkPlace]
    told: dict[str, int]


def keep(
    ground: Ground, said: DocumentPayload, title: str, pieces: Sequence[DocumentPiece], seconds: float | None = None
) -> Ingested:
    """Make the memory say what a document says, and tell what that changed. Vectors of very many chunks are made after
    they are written, for at most `seconds`; the rest later, as those of any bulk write."""
    if not pieces:
        raise InvalidInput("content: is empty", hint="ingest a document that says something", field="content")
    if len(pieces) > MOST_CHUNKS:
        raise InvalidInput(
            f"content: {len(pieces):,} chunks; the limit is {MOST_CHUNKS:,}",
            hint="split the document, and ingest the parts",
            field="content",
        )

    def read() -> tuple[Record | None, list[Record]]:
        head = ground.records.head(ground.author.scope, DOCUMENT, key=said.source)
        return head, [] if head is None else chunks_of(ground, head.id)

    def attempt(present: tuple[Record | None, list[Record]]) -> Ingested:
        return _same(present[0], said) or _kept(ground, said, title, pieces, *present)

    told = until_settled(attempt, read)
    embedding = ground.writing.embedding
    if told.added + told.updated > EMBED_AT_ONCE:
        embedding.catch_up(ground.view(), seconds=seconds, now=ground.clock())
    return told.model_copy(update={"pending": embedding.pending(ground.view())})


def unchanged(ground: Ground, said: DocumentPayload) -> Ingested | None:
    """The answer where the memory has exactly these bytes, cut as they would be now."""
    return _same(ground.records.head(ground.author.scope, DOCUMENT, key=said.source), said)


def _same(head: Record | None, said: DocumentPayload) -> Ingested | None:
    if head is None or head.status != Status.ACTIVE:
        return None
    if any(head.payload[name] != getattr(said, name) for name in ("digest", "form", "media_type")):
        return None
    count, notes = len(head.payload["places"]), head.payload["notes"]
    return Ingested(id=head.id, source=said.source, title=head.text, effect="unchanged", unchanged=count, notes=notes)


def _kept(
    ground: Ground,
    said: DocumentPayload,
    title: str,
    pieces: Sequence[DocumentPiece],
    head: Record | None,
    known: list[Record],
) -> Ingested:
    id = head.id if head else new_id()
    found = _difference(id, said.source, pieces, head, known)
    payload = said.model_copy(update={"places": found.places}).model_dump(exclude_none=True)
    draft = Draft(DOCUMENT, title, payload, id=id, source=said.source)
    expect = (Expect(head.version if head else 0, kind=DOCUMENT, key=said.source),)
    how = How(embed=len(found.drafts) <= EMBED_AT_ONCE, expect=expect, changes=found.amends)
    commit(ground.writing, [draft, *found.drafts], ground.author, ground.clock(), how)
    effect = "updated" if head and head.status == Status.ACTIVE else "created"
    return Ingested(id=id, source=said.source, title=title, effect=effect, notes=said.notes, **found.told)


def _difference(
    id: str, source: str, pieces: Sequence[DocumentPiece], head: Record | None, known: list[Record]
) -> _Difference:
    """What is known of a document, and what it says now."""
    others = {one.id: one for one in known}
    before = [others.pop(one["id"]) for one in (head.payload["places"] if head else ()) if one["id"] in others]
    said: dict[str, deque[Record]] = defaultdict(deque)
    for one in (*before, *others.values()):
        said[one.text].append(one)
    same = [said[piece.text].popleft() if said[piece.text] else None for piece in pieces]
    left = {one.id: one for one in before}
    shown = set(left) if head and head.status == Status.ACTIVE else set()
    for match in same:
        left.pop(match.id if match else "", None)
    under: dict[tuple[str, ...], deque[str]] = defaultdict(deque)
    for one in left.values():
        under[tuple(one.payload["headings"])].append(one.id)
    found = _Difference([], [], [], dict.fromkeys(("added", "updated", "unchanged", "removed"), 0))
    for piece, match in zip(pieces, same, strict=True):
        if match is not None:
            restored = match.status != Status.ACTIVE and match.id not in shown  # what was hidden by hand stays so
            found.amends.extend([Amend(match.id, status=Status.ACTIVE)] if restored else [])
            found.told["added" if restored else "unchanged"] += 1
            place = match.id
        else:
            old = under[piece.headings].popleft() if under[piece.headings] else None
            left.pop(old or "", None)
            place = old or new_id()
            found.drafts.append(_draft(id, source, piece, place, new=old is None))
            found.told["added" if old is None else "updated"] += 1
        found.places.append(ChunkPlace(id=place, start=piece.start, end=piece.end, page=piece.page))
    found.amends.extend(Amend(id, status=Status.ARCHIVED) for id in left)
    found.told["removed"] = len(left)
    return found


def _draft(document_id: str, source: str, piece: DocumentPiece, id: str, *, new: bool) -> Draft:
    """A chunk; a new one is linked to its document, which takes it along when it is forgotten."""
    links = (Link(source_id=SELF, target_id=document_id, type=DERIVED_FROM),) if new else ()
    payload = {"document_id": document_id, "headings": list(piece.headings)}
    return Draft(CHUNK, piece.text, payload, id=id, source=source, links=links)


def remove(ground: Ground, names: Sequence[str], *, gone: bool = False) -> Ingested:
    """Put a document and its chunks away: `keep` brings them back. It has one of these names as its source or id.
    `gone`: because its file is, and not because somebody said so."""

    def read() -> tuple[Record, Author]:
        for name in names:
            found, author = ground.records.head(ground.author.scope, DOCUMENT, key=name), ground.author
            if found is None:
                found, author = heads(ground.records, ground.author, DOCUMENT, name)
            if found is not None and found.status == Status.ACTIVE:
                return found, author
        raise NotFound(
            f"document: there is no document {names[0]!r}",
            hint="name it as `knowledge documents` lists it",
            field="document",
        )

    def attempt(present: tuple[Record, Author]) -> Ingested:
        head, author = present
        chunks = [one for one in chunks_of(ground, head.id) if one.status == Status.ACTIVE]
        amends = [Amend(head.id, status=Status.ARCHIVED if gone else REMOVED)]
        amends += [Amend(one.id, status=Status.ARCHIVED) for one in chunks]
        how = How(expect=(Expect(head.version, id=head.id),))
        write(ground.writing, amends, author, ground.clock(), how)
        source = head.payload["source"]
        return Ingested(id=head.id, source=source, title=head.text, effect="removed", removed=len(chunks))

    return until_settled(attempt, read)


def chunks_of(ground: Ground, document_id: str) -> list[Record]:
    """All that there are, archived ones too."""
    where = Filter(kinds=(CHUNK,), statuses=EVERY, fields=(("document_id", document_id),))
    found: list[Record] = []
    view = ground.view()
    while page := ground.records.find(view, where, limit=PAGE, after=found[-1].id if found else None):
        found += page
    return found
