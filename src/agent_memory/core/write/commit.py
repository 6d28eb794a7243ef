"""The way in: normalise → embed → one `apply`. Links of a draft are written in the same transaction."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent_memory.core.write.embed import Embedding
from agent_memory.core.write.normalise import SALT_BYTES, normalise, unit_interval
from agent_memory.models.draft import Draft
from agent_memory.models.errors import Conflict, InvalidInput
from agent_memory.models.kinds.kind import Kind, canonical_json
from agent_memory.models.model import clean_name
from agent_memory.models.record import Link
from agent_memory.ports.changes import Applied, Author, Change, Connect, Expect, Once, Put
from agent_memory.ports.records import RecordStore

SELF = "*self*"
"""As an end of a draft's link: the record that the draft becomes."""

MOST_LINKS = 1000
ATTEMPTS = 8


@dataclass(frozen=True)
class Writing:
    """What every write needs."""

    records: RecordStore
    embedding: Embedding
    kinds: Mapping[str, Kind]


@dataclass(frozen=True)
class How:
    """`embed`: make vectors before returning. `expect`: only if the store is still so. `once`: only if it was not
    done before."""

    embed: bool = True
    expect: Sequence[Expect] = ()
    once: Once | None = None


def commit(writing: Writing, drafts: Sequence[Draft], author: Author, now: int, how: How = How()) -> Applied:  # noqa: B008
    """Write drafts, all or none."""
    writing.embedding.agree()
    changes: list[Change] = []
    for draft in drafts:
        put = normalise(draft, writing.kinds, now)
        changes.append(_with_vectors(writing.embedding, put, draft, how.embed))
        if len(draft.links) > MOST_LINKS:
            raise InvalidInput(f"links: {len(draft.links)}; the limit is {MOST_LINKS} a write", field="links")
        changes += [connect(_named(link, put.id)) for link in draft.links]
    return writing.records.apply(changes, author=author, now=now, expect=how.expect, once=how.once)


def commit_after_reading(
    writing: Writing, read: Callable[[], tuple[Draft, Expect]], author: Author, now: int
) -> Applied:
    """Write what `read` makes of the present, and only if it is still the present; otherwise read again."""
    for attempt in range(ATTEMPTS):
        draft, expect = read()
        try:
            return commit(writing, [draft], author, now, How(expect=(expect,)))
        except Conflict:
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


def once(key: str | None, drafts: Sequence[Draft]) -> Once | None:
    """The fingerprint is of what the caller said: the same request has it, whatever is filled in later."""
    if key is None:
        return None
    try:
        return Once(clean_name(key), hashlib.sha256(repr(drafts).encode(errors="replace")).digest())
    except ValueError as error:
        raise InvalidInput(f"idempotency_key: {error}", field="idempotency_key") from None


def connect(link: Link) -> Connect:
    return Connect(
        source_id=link.source_id,
        target_id=link.target_id,
        type=link.type,
        salt=secrets.token_bytes(SALT_BYTES),
        weight=unit_interval("weight", link.weight),
        properties=canonical_json(link.properties, "properties"),
    )


def _with_vectors(embedding: Embedding, put: Put, draft: Draft, embed: bool) -> Put:
    if draft.embedding is not None:
        vectors, complete = embedding.given(draft.embedding, put.content.text), True
    elif embed:
        vectors, complete = embedding.vectors(put.content.text)
    else:
        return put
    return replace(put, derived=replace(put.derived, vectors=vectors, space=embedding.space, complete=complete))


def _named(link: Link, id: str) -> Link:
    ends = {end: id for end in ("source_id", "target_id") if getattr(link, end) == SELF}
    return link.model_copy(update=ends) if ends else link
