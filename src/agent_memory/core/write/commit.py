"""The way in: normalise → gate → embed → one `apply`. `write` takes every change to records; nothing else does.
Links of a draft are written in the same transaction."""

from __future__ import annotations

import hashlib
import json
import random
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeVar

from pydantic import BaseModel

from agent_memory.core.govern.book import Book
from agent_memory.core.govern.gate import Gate
from agent_memory.core.write.debts import Debts
from agent_memory.core.write.embed import Embedding
from agent_memory.core.write.holders import held, holder_of
from agent_memory.core.write.merged import company
from agent_memory.core.write.normalise import SALT_BYTES, normalise, unit_interval
from agent_memory.core.write.wording import Wording
from agent_memory.ledger.request import check_number, own
from agent_memory.models.draft import Draft
from agent_memory.models.errors import Changed, Corrupt, Denied, InvalidInput, NotFound, StoreError
from agent_memory.models.kinds.conversation import turn_key
from agent_memory.models.kinds.govern import DECIDED_APART
from agent_memory.models.kinds.kind import Kind, canonical_json
from agent_memory.models.model import clean_name
from agent_memory.models.moment import to_micros
from agent_memory.models.record import Link, Record, Status
from agent_memory.ports.changes import (
    HAS_TURN,
    Amend,
    Applied,
    Author,
    Change,
    Connect,
    Effect,
    Erase,
    Expect,
    Key,
    Once,
    Put,
    Vector,
)
from agent_memory.ports.embedder import Space
from agent_memory.ports.feed import Work
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.records import Filter, RecordStore, View
from agent_memory.ports.spans import span

R = TypeVar("R")
T = TypeVar("T")

SELF = "*self*"
"""As an end of a draft's link: the record that the draft becomes."""

MOST_LINKS = 1000
PATIENCE_SECONDS = 20.0
FOLLOWED_BY = "FOLLOWED_BY"


class Writing(NamedTuple):
    """What every write needs."""

    records: RecordStore
    embedding: Embedding
    kinds: Mapping[str, Kind]
    gate: Gate
    receipts: Book[ReceiptLine]
    debts: Debts
    wording: Wording


class How(NamedTuple):
    """`embed`: make vectors before returning. `expect`: only if the store is still so. `once`: only if it was not
    done before. `changes`: after the drafts, in the same transaction. `skip_forgotten`: drafts with the id of
    something that was forgotten are passed over, and so are links to it. `listed`: the argument whose items the drafts
    are, so that what is wrong with one of them says which. `work`: of which job it is, whose cursor moves with it.
    `decides`: it may say what is not a secret and what waits for review, as not everybody may who may write."""

    embed: bool = True
    expect: Sequence[Expect] = ()
    once: Once | None = None
    changes: Sequence[Change] = ()
    skip_forgotten: bool = False
    listed: str = ""
    work: Work | None = None
    decides: bool = False


def commit(writing: Writing, drafts: Sequence[Draft], author: Author, now: int, how: How = How()) -> Applied:  # noqa: B008
    """Write drafts, all or none."""
    writing.embedding.agree()
    changes: list[Change] = []
    with span("write.normalise", records=len(drafts)):
        for number, draft in enumerate(drafts):
            with item(how.listed, number):
                changes += _changes(writing, draft, now)
        held = _holders(writing, changes, author, now)
        changes += [*held, *_revived(writing, held, changes, author, now)]
    changes += how.changes
    if how.skip_forgotten:
        changes = [one._replace(unless_forgotten=True) if isinstance(one, Put | Connect) else one for one in changes]
    return write(writing, changes, author, now, how)


@contextmanager
def item(listed: str, number: int) -> Iterator[None]:
    """What is wrong in here is wrong with this item of a list: `records.17.text: is empty`."""
    try:
        yield
    except (InvalidInput, NotFound) as error:
        if not listed:
            raise
        place = f"{listed}.{number}"
        field = f"{place}.{error.field}" if error.field else place
        said = error.message.partition(": ")[2]
        raise type(error)(f"{field}: {said or error.message}", hint=error.hint, field=field) from None


def _changes(writing: Writing, draft: Draft, now: int) -> list[Change]:
    """What a draft comes to: the record, its links, and its place between its neighbours."""
    put = normalise(draft, writing.kinds, now, writing.wording.analyser)
    if draft.embedding is not None:
        put = with_vectors(put, writing.embedding.space, writing.embedding.given(draft.embedding), True)
    if len(draft.links) > MOST_LINKS:
        raise InvalidInput(f"links: {len(draft.links)}; the limit is {MOST_LINKS} per write", field="links")
    for link in draft.links:
        check_by_hand(link.type)
    return [put, *(connect(_named(link, put.id)) for link in draft.links), *_neighbours(put)]


def write(writing: Writing, changes: Sequence[Change], author: Author, now: int, how: How = How()) -> Applied:  # noqa: B008
    """Make changes to records, all or none, as the gate lets them in. An erasure also finds the receipts that
    wait, and places outside are told of it."""
    if not how.decides and (apart := {one.kind for one in changes if isinstance(one, Put)} & DECIDED_APART.keys()):
        kind = min(apart)
        raise Denied(
            f"kind: {kind!r} is not written like a memory", hint=f"`{DECIDED_APART[kind]}` makes one", field="kind"
        )
    changes = _with_company(writing, changes, author, now)
    check_number(changes)
    decided = writing.gate.decide(changes, author)
    if len(decided) != len(changes):
        raise StoreError("the gate did not decide about every change", hint="nothing was written: this is its mistake")
    if any(isinstance(one, Erase) for one in decided):
        writing.receipts.flush()
    if how.embed:
        decided = _embedded(writing.embedding, decided)
    with span("write.apply", changes=len(decided)):
        apply = partial(writing.records.apply, author=author, now=now, expect=how.expect, once=how.once, work=how.work)
        try:
            applied = apply(decided)
        except Changed:  # if only because somebody began a rebuild
            reworded = writing.wording.again(decided, writing.kinds)
            if reworded is None:
                raise
            applied = apply(reworded)
    applied = _with_held(applied, decided)
    if applied.erased:
        writing.embedding.forget()
        if not writing.debts.pay():
            return applied._replace(scrubbed=False)
    return applied


def _with_held(applied: Applied, decided: Sequence[Change]) -> Applied:
    """What was put aside is told so, where it is new."""
    aside = {at for at, one in enumerate(decided) if isinstance(one, Put) and one.state.status is Status.HELD}
    if not aside:
        return applied
    told = [
        one._replace(effect=Effect.HELD) if at in aside and one.effect is Effect.CREATED else one
        for at, one in enumerate(applied.outcomes)
    ]
    return applied._replace(outcomes=tuple(told))


def _with_company(writing: Writing, changes: Sequence[Change], author: Author, now: int) -> Sequence[Change]:
    """What retells several records goes with any one of them: its words would stay; so does what they were merged into.
    A conversation stays with any of its turns."""
    first = next((at for at, one in enumerate(changes) if isinstance(one, Erase) and one.with_derived), None)
    if first is None:
        return changes
    view, records = View(author.scope, now), writing.records
    kinds = tuple(name for name, kind in writing.kinds.items() if kind.retells)
    found = sound(records, view, sorted({one.id for one in changes if isinstance(one, Erase) and one.with_derived}))
    active = {one.id for one in changes if isinstance(one, Amend) and one.status is Status.ACTIVE}
    merged = company(records, view, found, active, lambda ids: sound(records, view, ids))
    made = [one._replace(retelling=kinds) if isinstance(one, Erase) else one for one in [*changes, *merged.along]]
    return [*made[:first], *_kept(writing, found, now), *merged.again, *made[first:]]


def _kept(writing: Writing, found: Sequence[Record], now: int) -> list[Connect]:
    """Of each conversation that loses a turn, the link to one that stays: it may be from before conversations were
    records, and nothing links it yet."""
    holder = writing.kinds["turn"].holder if "turn" in writing.kinds else None
    if holder is None:
        return []
    ids, links = {one.id for one in found}, list[Connect]()
    for scope, conversation_id in {(one.scope, one.conversation_id) for one in found if one.kind == "turn"}:
        by = writing.records.head(scope, holder.kind, key=conversation_id)
        where = Filter(kinds=("turn",), conversation_id=conversation_id)
        turns = writing.records.find(View(scope, now), where, limit=len(ids) + 1) if by else []
        stays = next((one for one in turns if one.id not in ids), None)
        if by is not None and stays is not None:
            salt = secrets.token_bytes(SALT_BYTES)
            links.append(Connect(by.id, stays.id, holder.type, salt, if_there=True))
    return links


def sound(records: RecordStore, view: View, ids: Sequence[str]) -> list[Record]:
    """Those that can be read: what is damaged can be forgotten, too."""
    try:
        return records.get(view, ids)
    except Corrupt:
        return [one for id in ids for one in sound(records, view, [id])] if len(ids) > 1 else []


class Revision(NamedTuple):
    """A draft that was made from what the store held: write it only if it still does."""

    draft: Draft
    expect: Expect
    author: Author


def commit_after_reading(writing: Writing, read: Callable[[], Revision], now: int) -> Applied:
    """Write what `read` makes of the present, and only if it is still the present; otherwise read again. A conflict
    that `read` itself finds, since the caller meant another version, ends it at once."""
    return until_settled(
        lambda revision: commit(writing, [revision.draft], revision.author, now, How(expect=(revision.expect,))), read
    )


def heads(records: RecordStore, author: Author, kind: str, id: str) -> tuple[Record | None, Author]:
    """The record of a user's own that is to be changed, and in whose name to write the next version of it."""
    for scope in own(author.scope):
        if (found := records.head(scope, kind, id=id)) is not None:
            return found, author._replace(scope=scope)
    return None, author


def until_settled(attempt: Callable[[R], T], read: Callable[[], R]) -> T:
    """Try again when something changed meanwhile, with what `read` gives then, a little later each time, so that many
    writers of one thing all get their turn."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    wait = 0.001
    while True:
        present = read()
        try:
            return attempt(present)
        except Changed:
            if time.monotonic() > deadline:
                raise
        time.sleep(random.uniform(0, wait))  # noqa: S311
        wait = min(wait * 2, 0.1)


def once(key: str | None, drafts: Sequence[Draft]) -> Once | None:
    """The fingerprint is of what the caller said: the same request has it, whatever is filled in later."""
    if key is None:
        return None
    try:
        return Once(clean_name(key), hashlib.sha256(_spelled(drafts)).digest())
    except ValueError as error:
        raise InvalidInput(f"idempotency_key: {error}", field="idempotency_key") from None


def _spelled(drafts: Sequence[Draft]) -> bytes:
    """As JSON, always in the same way. What nobody said is left out, so that a draft may learn new fields."""
    said = [
        {one.name: value for one in fields(draft) if (value := getattr(draft, one.name)) not in (one.default, {})}
        for draft in drafts
    ]
    try:
        return json.dumps(said, sort_keys=True, default=_plain).encode()
    except (TypeError, ValueError, RecursionError):
        return b""  # a payload that cannot be stored: `normalise` says why


def _plain(value: object) -> object:
    match value:
        case datetime():
            return to_micros(value)
        case BaseModel():
            return value.model_dump(mode="json", exclude_defaults=True)
        case _:
            return str(value)


def connect(link: Link) -> Connect:
    return Connect(
        source_id=link.source_id,
        target_id=link.target_id,
        type=link.type,
        salt=secrets.token_bytes(SALT_BYTES),
        weight=unit_interval("weight", link.weight),
        properties=canonical_json(link.properties, "properties"),
    )


def check_by_hand(type: str) -> None:
    """`InvalidInput` for a type of links that only the system writes: what has such a link is forgotten with what it
    leads to."""
    if type == HAS_TURN:
        raise InvalidInput(
            f"type: {HAS_TURN} links are made by storing turns, and cannot be written or ended by hand",
            hint="store the turn with its conversation_id, or use another type",
            field="type",
        )


def _embedded(embedding: Embedding, changes: Sequence[Change]) -> Sequence[Change]:
    """With the vectors of those for which the caller brought none; what is not made now is made later."""
    bare = [one.content.text for one in changes if isinstance(one, Put) and not one.derived.complete]
    made = iter(embedding.vectors(bare))
    return [
        with_vectors(one, embedding.space, *next(made)) if isinstance(one, Put) and not one.derived.complete else one
        for one in changes
    ]


def with_vectors(put: Put, space: Space, vectors: tuple[Vector, ...], complete: bool) -> Put:
    """With vectors that were made before, of the same text."""
    return put._replace(derived=put.derived._replace(vectors=vectors, space=space, complete=complete))


def _neighbours(put: Put) -> list[Connect]:
    """What has a place in a conversation is linked to what stands before and after it, whichever came first."""
    place, conversation = put.state.position, put.state.conversation_id
    if place is None or conversation is None:
        return []
    before, after = (Key(put.kind, turn_key(conversation, place + step)) for step in (-1, 1))
    return [
        Connect(source, target, FOLLOWED_BY, secrets.token_bytes(SALT_BYTES), if_there=True)
        for source, target in ((before, put.id), (put.id, after))
    ]


def _holders(writing: Writing, changes: Sequence[Change], author: Author, now: int) -> list[Change]:
    """What has these records, where there is none yet, and the links to them."""
    made: dict[tuple[str, str], Put] = {}
    holds: dict[str, list[str]] = {}
    links: list[Connect] = []
    for put in changes:
        holder = writing.kinds[put.kind].holder if isinstance(put, Put) else None
        if holder is None or not isinstance(put, Put) or (draft := holder_of(put, holder, author)) is None:
            continue
        if (named := (draft.kind, draft.text)) not in made:
            made[named] = normalise(draft, writing.kinds, now, writing.wording.analyser)._replace(if_absent=True)
        holds.setdefault(made[named].id, []).append(put.id)
        links.append(held(put, holder, made[named]))
    return [*(one._replace(holds=tuple(holds[one.id])) for one in made.values()), *links]


def _revived(
    writing: Writing, held: Sequence[Change], puts: Sequence[Change], author: Author, now: int
) -> Iterator[Change]:
    """Archived conversations that go on: with a turn of now, or of since they were archived. Older ones, as imports
    bring them, change nothing."""
    for holder in held:
        if not isinstance(holder, Put) or holder.kind != "conversation":
            continue
        old = writing.records.head(author.scope, holder.kind, key=holder.state.key)
        if old is None or not old.payload.get("archived"):
            continue
        archived = to_micros(old.recorded_at)
        turns = (one for one in puts if isinstance(one, Put) and one.id in holder.holds)
        if any(not one.dated or one.state.valid_from >= archived for one in turns):
            draft = replace(Draft.of(old), payload={**old.payload, "archived": False})
            yield normalise(draft, writing.kinds, now, writing.wording.analyser)._replace(holds=holder.holds)


def holders(writing: Writing, drafts: Sequence[Draft], author: Author, now: int) -> list[Change]:
    """The same for records that are in the store already."""
    puts = [normalise(one, writing.kinds, now, writing.wording.analyser) for one in drafts]
    found = _holders(writing, puts, author, now)
    return [one._replace(holds=()) if isinstance(one, Put) else one for one in found]


def _named(link: Link, id: str) -> Link:
    ends = {end: id for end in ("source_id", "target_id") if getattr(link, end) == SELF}
    return link.model_copy(update=ends) if ends else link
