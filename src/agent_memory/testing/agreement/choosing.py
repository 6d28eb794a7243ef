"""What random writers do and random readers ask for, while engines are compared."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from agent_memory.models.record import Link, Scope, Status
from agent_memory.ports.changes import (
    DERIVED_FROM,
    Amend,
    Change,
    Connect,
    Disconnect,
    Expect,
    Key,
    Put,
)
from agent_memory.ports.index import Calling
from agent_memory.ports.records import Filter
from agent_memory.testing.builders import (
    ALICE,
    ALICES_BOT,
    BOB,
    BOT,
    OTHER_SPACE,
    SHARED,
    SPACE,
    STRANGER,
    put,
    text_vector,
    with_vectors,
)

NAMESPACES = ("space", "other space")
IDS, KINDS, KEYS, TYPES = "abcd", ("note", "procedure"), ("k1", "k2"), ("about", DERIVED_FROM)
WORDS, UNITS = ("red", "green", "blue"), (0.0, 0.25, 0.5, 1.0)
READERS, TENANTS = ("job one", "job two"), ("acme", "rival")
RIVAL = Scope(tenant=STRANGER.tenant)
SCOPES = (ALICE, ALICES_BOT, BOT, SHARED, BOB, STRANGER, RIVAL)
WRITERS = (*SCOPES, ALICE, ALICE, SHARED, ALICES_BOT)  # where most happens, most meets
QUESTIONS = {SPACE: (1.0, 1.0, 1.0, 1.0), OTHER_SPACE: (1.0, 0.0, 0.0)}  # exact halves and ones: no rounding anywhere

CALLING: Calling = {"note": lambda payload: [str(payload["n"]), "x"]}

NOTHING = (None, None)  # what is chosen from (*NOTHING, x) is mostly not x


def moment(pick: Random) -> int:
    return pick.randrange(21)


def some_put(pick: Random) -> Put:
    id, begin, lasts = pick.choice(IDS), moment(pick), pick.choice((*NOTHING, 1, 3, 9))
    new = put(
        " ".join(pick.choices(WORDS, k=pick.randint(1, 4))),
        id=id,
        kind=KINDS[id in "ab"] if pick.randrange(10) else KINDS[0],  # the wrong kind is an error: rarely
        payload={"n": pick.randrange(3), **pick.choice(({}, {"origin": "r1"}, {"origin": "r2"}))},
        key=pick.choice((None, *KEYS)),
        conversation_id=pick.choice((None, "c1", "c2")),
        position=pick.choice((*NOTHING, 0, 1)),
        repository=pick.choice((None, "r1")),
        status=pick.choice((Status.ACTIVE, Status.ACTIVE, Status.HELD)),
        importance=pick.choice(UNITS),
        confidence=pick.choice(UNITS),
        source=pick.choice(("user", "tool")),
        valid_from=begin,
        valid_to=None if lasts is None else begin + lasts,
    )
    parts = tuple(text_vector(f"{new.content.text}{part}", part) for part in range(pick.randrange(3)))
    new = with_vectors(new, *parts, complete=pick.random() < 0.5)
    return new._replace(succeeds=pick.random() < 0.5, dated=pick.random() < 0.5, if_absent=pick.random() < 0.1)


def some_change(pick: Random, ids: Sequence[str], links: Sequence[Link] = ()) -> Change:
    """Of what is there already; a link among these is mostly one that stands."""
    source, target = pick.choice(ids), pick.choice(ids)
    type, properties = pick.choice(TYPES), pick.choice(("{}", '{"why":1}'))
    match pick.randrange(5):
        case 0:
            status, units = pick.choice((None, *Status)), (*NOTHING, *UNITS)
            return Amend(source, status, pick.choice(units), pick.choice(units), pick.choice((*NOTHING, moment(pick))))
        case 1:
            key = Key(pick.choice(KINDS), pick.choice(KEYS))
            here, there = pick.choice(((key, target), (source, key)))
            return Connect(here, there, type, b"salt", if_there=pick.random() < 0.7)
        case 2:
            if links and pick.random() < 0.8:
                link = pick.choice(links)
                source, target, type = link.source_id, link.target_id, link.type
            return Disconnect(source, target, type)
    return Connect(source, target, type, b"salt", pick.choice(UNITS), properties)


def some_condition(pick: Random) -> Expect:
    if pick.random() < 0.5:
        return Expect(pick.randrange(3), id=pick.choice(IDS))
    return Expect(pick.randrange(3), kind=pick.choice(KINDS), key=pick.choice(KEYS))


def some_filter(pick: Random) -> Filter:
    return Filter(
        kinds=pick.choice((*NOTHING, ("note",), ("procedure", "unheard", "note"))),
        statuses=pick.choice(((Status.ACTIVE,), tuple(Status))),
        conversation_id=pick.choice((*NOTHING, "c1", "unheard")),
        repository=pick.choice((*NOTHING, "r1")),
        after=pick.choice((*NOTHING, moment(pick))),
        before=pick.choice((*NOTHING, moment(pick))),
        min_confidence=pick.choice((*NOTHING, *UNITS)),
        fields=pick.choice(((), (("n", 1),))),
        pages=pick.choice((*NOTHING, (), ("r1",))),
    )
