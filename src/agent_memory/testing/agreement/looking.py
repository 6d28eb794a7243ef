"""What a store shows, in public values: what two engines that agree show alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from agent_memory.ledger.request import Request
from agent_memory.models.errors import AgentMemoryError
from agent_memory.models.record import Record
from agent_memory.ports.changes import Applied
from agent_memory.ports.index import Probe
from agent_memory.ports.records import Filter, View
from agent_memory.ports.store import Store
from agent_memory.ports.vectors import Match
from agent_memory.ports.working import Desk
from agent_memory.testing.agreement.choosing import IDS, KEYS, KINDS, NAMESPACES, QUESTIONS, READERS, SCOPES, TENANTS
from agent_memory.testing.builders import EVERYTHING, OTHER_SPACE, SPACE, called, direction, gather, steps, term


def public(record: Record) -> dict[str, Any]:
    return record.model_dump()


def answer(ask: Callable[[], Any]) -> Any:
    """What it gives, or the name of the error."""
    try:
        return ask()
    except AgentMemoryError as error:
        return type(error).__name__


def together(store: Store, requests: Sequence[Request]) -> list[Any]:
    """What each is answered, or the name of its error: written in one transaction by an engine that has `groups`
    (`ledger.groups`), or else one after the other."""
    groups = getattr(store.records, "groups", None)
    if groups is None:
        return [answer(partial(_alone, store, one)) for one in requests]
    told = groups.together(requests)
    return [one._replace(scrubbed=True) if isinstance(one, Applied) else type(one).__name__ for one in told]


def _alone(store: Store, one: Request) -> Applied:
    return store.records.apply(one.changes, author=one.author, now=one.now, expect=one.expect, once=one.once)


def gathered(
    store: Store, view: View, where: Filter, pool: int, until: int | None = None, past: Sequence[int] = ()
) -> Any:
    """A pool without handles: (id, scope, version) -> evidence. `past` are moments: what held between two of them."""
    space = store.index.space()
    question = direction(*QUESTIONS[space]) if space else None
    words = tuple(map(term, ("red", "unheard")))
    probe = Probe(view, where, pool, terms=words, vector=question, space=space, key="k1", tell_hidden=True)
    intervals = tuple(pairwise(past))
    found = gather(store, probe._replace(vectors_until=until, also=(1, 2, 3), past=intervals))
    hits = store.index.hydrate(view, found.handles.tolist())
    assert len(hits) == len(found.handles)
    columns: list[Any] = [found.valid_from, found.importance, found.similarity, found.lengths, found.exact]
    columns += [found.valid_to] if found.valid_to is not None else []
    rows = {
        (hit.id, str(hit.scope), hit.version): (
            [None if math.isnan(column[place]) else column[place].item() for column in columns],
            found.counts[place].tolist(),
        )
        for place, hit in enumerate(hits)
    }
    talks = [(hit.conversation_id, hit.id, str(hit.scope)) for hit in hits]
    numbers = [] if found.records is None else found.records.tolist()
    same = {
        number: {(hit.id, str(hit.scope)) for hit, own in zip(hits, numbers, strict=True) if own == number}
        for number in numbers
    }
    assert all(len(one) == 1 for one in same.values()) and len(same) == len(set().union(*same.values()))
    together = {talk: [one for one in talks if one[0] == talk] for talk, _, _ in talks}
    assert [one for run in together.values() for one in run] == talks, "a conversation is torn apart"
    return (
        found.seq,
        rows,
        together,
        found.documents,
        found.pending,
        found.frequencies.tolist(),
        found.hidden,
        found.head,
        found.vocabularies,
        found.store,
    )


def stepped(store: Store, view: View, most: int) -> Any:
    """Every link that leads from what somebody sees, without handles."""
    scopes = [scope for scope in SCOPES if scope.tenant == view.scope.tenant]
    everybody = (one for scope in scopes for one in store.records.find(View(scope, view.now), EVERYTHING, limit=100))
    handles = sorted({record.seq for record in everybody})
    found = steps(store, view, handles, most)
    ends = {handle: store.index.hydrate(view, [handle])[0] for one in found for handle in (one.here, one.there)}
    named = {handle: (one.id, str(one.scope), one.version) for handle, one in ends.items()}
    return [(named[one.here], named[one.there], one.type, one.weight, one.outward, one.status) for one in found]


def seen(store: Store, view: View, where: Filter) -> dict[str, Any]:
    """Everything that this view shows, in public values."""
    records, everywhere = store.records, (*IDS, "nobody")
    keyed = [records.by_key(view, kind, key) for kind in KINDS for key in KEYS]
    return {
        "get": [public(one) for one in records.get(view, everywhere)],
        "by_key": [one and public(one) for one in keyed],
        "head": [
            one and public(one)
            for kind in KINDS
            for one in (
                *(records.head(view.scope, kind, key=key) for key in KEYS),
                *(records.head(view.scope, kind, id=id) for id in IDS),
            )
        ],
        "find": [public(one) for one in records.find(view, where, limit=100)],
        "believed": [public(one) for one in records.believed(view, where, after=3, limit=100)],
        "oldest": [public(one) for one in records.find(view, where, limit=3, oldest_first=True)],
        "after": [
            answer(lambda id=id: [one.id for one in records.find(view, where, limit=2, after=id)])  # type: ignore[misc]
            for id in everywhere
        ],
        "history": [
            answer(lambda id=id: [public(one) for one in records.history(view, id)])  # type: ignore[misc]
            for id in everywhere
        ],
        "links": [one.model_dump() for one in records.links(view, everywhere)],
        "some links": [one.model_dump() for one in records.links(view, IDS[:1])],
        "steps": [stepped(store, view, most) for most in (1, 100)],
        "called": [
            (public(store.index.hydrate(view, [one.handle])[0]), sorted(one.names), one.status)
            for most in (1, 100)
            for one in called(store, view, ("0", "2", "x"), most)
        ],
        "journal": [
            one.model_dump(exclude={"digest", "chain"})
            for id in (None, "a")
            for one in records.journal(view, limit=500, id=id)
        ],
        "pools": [gathered(store, view, where, pool, until) for pool, until in ((0, None), (2, view.seq), (100, None))],
        "past": gathered(store, view, where, 100, past=(3, 6, 12)),
        "adopted": [store.index.adopted(after) for after in range(0, 40, 2)],
        "accesses": [
            store.receipts.accesses(view, everywhere, until=until) for until in (None, view.now, view.valid_at)
        ],
        "receipt": [store.receipts.receipt(view, f"r{number}") for number in range(3)],
        "pending": [store.index.pending(space, one) for space in (SPACE, OTHER_SPACE) for one in (view, None)],
        "waiting": [(one.text, one.part) for one in store.index.unembedded(SPACE, view, 5)],
        "stats": {**records.stats(view), "bytes_on_disk": 0, "scrub_owed_since": None},
        "feed": followed(store),
        **beside(store, view),
    }


def followed(store: Store) -> Any:
    """What the readers of the feed find; chains are each engine's own."""
    return [
        (
            *(reader, store.feed.news(reader, limit=2), store.feed.behind(reader)),
            [(one.tenant, one.seq) for one in (store.feed.cursor(reader, tenant) for tenant in TENANTS)],
            [
                [(one.seq, one.at, one.operation, one.scope, one.kind, one.id) for one in store.feed.lines(cursor)]
                for cursor in (store.feed.cursor(reader, tenant) for tenant in TENANTS)
            ],
            [(one.name, one.holder, one.did, one.error) for one in store.feed.states()],
        )
        for reader in READERS
    ]


def beside(store: Store, view: View) -> dict[str, Any]:
    """What stands beside the records: desks, receipts, plain vectors, keys and refusals."""
    working, desks = store.working, [Desk(view.scope, talk) for talk in ("c1", "c2")]
    tenant = view.scope.tenant
    matches = [
        answer(lambda place=place, where=where: store.vectors.query(place, (1.0, 2.0, 2.0), 100, where))  # type: ignore[misc]
        for place in NAMESPACES
        for where in (None, {"n": 1})
    ]
    nearest = answer(lambda: [round(one.score, 5) for one in store.vectors.query(NAMESPACES[0], (2.0, 1.0), 2)])
    return {
        "working": [(working.values(one, now=10), working.get(one, "brief", now=10)) for one in desks],
        "lists": [working.items(one, name, limit=2, now=10) for one in desks for name in ("l1", "over")],
        "receipts": [store.receipts.since(whose, 5, limit) for whose in (view, tenant) for limit in (2, 100)],
        "vectors": [found if isinstance(found, str) else {_rounded(one) for one in found} for found in matches],
        "nearest": nearest,
        "keys": [store.access.keys(), store.access.keys(tenant), [store.access.find(f"key{n}") for n in range(3)]],
        "refusals": [store.access.refused(tenant, limit, keyed=keyed) for limit in (2, 100) for keyed in (True, False)],
    }


def _rounded(match: Match) -> tuple[str, float, str]:
    return match.id, round(match.score, 5), str(match.metadata)
