"""Small makers of what the ports take, for tests: a text becomes a `Put` with words, a vector and a salt.

Everything is a pure function of its arguments, so a test says only what it is about.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agent_memory.models.kinds.kind import canonical_json
from agent_memory.models.record import Record, Scope, Status
from agent_memory.ports.changes import (
    Applied,
    Author,
    Change,
    Connect,
    Content,
    Derived,
    Outcome,
    Put,
    Terms,
    Vector,
    VersionState,
    Vocabulary,
)
from agent_memory.ports.embedder import Space
from agent_memory.ports.index import Called, Calling, Embedded, LinkStep, Pool, Probe
from agent_memory.ports.records import Filter, View
from agent_memory.ports.store import Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NOW = 1_700_000_000_000_000
DAY = 86_400_000_000
SPACE = Space("tiny", "1", 4)
OTHER_SPACE = Space("tiny", "2", 3)

SHARED = Scope(tenant="acme")
ALICE = Scope(tenant="acme", user="alice")
ALICES_BOT = Scope(tenant="acme", user="alice", agent="bot")
BOT = Scope(tenant="acme", agent="bot")
BOB = Scope(tenant="acme", user="bob")
STRANGER = Scope(tenant="rival", user="alice")

EVERYTHING = Filter(statuses=tuple(Status))
CALLING: Calling = {"thing": lambda payload: [payload["name"], *payload.get("others", ())]}


PLAIN, LOUD = Vocabulary("plain", "1"), Vocabulary("loud", "1")


def term(word: str) -> int:
    """The 64-bit hash under which a word is found."""
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")


def terms(text: str) -> Terms:
    """Split at blanks, nothing more."""
    words = Counter(text.lower().split())
    hashes = b"".join(term(word).to_bytes(8, "little") for word in words)
    return Terms(hashes, bytes(min(count, 255) for count in words.values()), sum(words.values()))


def direction(*numbers: float) -> NDArray[np.float32]:
    """A query: these numbers at length one."""
    from agent_memory.ledger.quantise import unit

    return unit(numbers)


def vector(*numbers: float, part: int = 0) -> Vector:
    """A stored vector in the direction of these numbers."""
    return Vector.of(part, 0, 1, direction(*numbers))


def text_vector(text: str, part: int = 0, space: Space = SPACE) -> Vector:
    """One that depends on the text alone. Its numbers are 128ths, the largest 127 of them, so that int8 keeps them
    as they are, and sums of them are exact on every machine, in any order."""
    import numpy as np

    digest = hashlib.blake2b(text.encode(), digest_size=space.dimension).digest()
    counts = [127 if digest[0] % 2 else -127, *(number % 17 - 8 for number in digest[1:])]
    return Vector.of(part, 0, len(text), np.array(counts, np.float32) / np.float32(128))


def put(text: str, *, id: str, kind: str = "note", payload: Mapping[str, Any] | None = None, **state: Any) -> Put:
    """A record with words, and with the payload's plain values as indexed fields, but without vectors.
    `state` holds fields of `VersionState`; it is valid from `NOW` unless it says otherwise."""
    values = dict(payload or {})
    fields = tuple((name, value) for name, value in values.items() if isinstance(value, (str, int, float)))
    salt = hashlib.blake2b(f"{id} {text}".encode(), digest_size=16).digest()
    content = Content(text, canonical_json(values), salt)
    return Put(id, kind, content, VersionState(**{"valid_from": NOW, **state}), Derived(terms(text), fields))


def succeeding(new: Put) -> Put:
    """The same, following what was believed rather than correcting it."""
    return new._replace(succeeds=True)


def with_vectors(new: Put, *vectors: Vector, space: Space = SPACE, complete: bool = True) -> Put:
    """The same, with vectors made before it was written."""
    return new._replace(derived=new.derived._replace(vectors=vectors, space=space, complete=complete))


def link(source: str, target: str, type: str = "about", weight: float = 1.0, **properties: Any) -> Connect:
    return Connect(source, target, type, b"salt of a link..", weight, canonical_json(properties))


def view(scope: Scope = ALICE, *, now: int = NOW, seq: int | None = None, valid_at: int | None = None) -> View:
    return View(scope, now, seq, valid_at)


def write(store: Store, *changes: Change, scope: Scope = ALICE, now: int = NOW) -> Applied:
    """Apply changes in somebody's name."""
    return store.records.apply(changes, author=Author(scope, "tester"), now=now)


def write_one(store: Store, change: Change, scope: Scope = ALICE, now: int = NOW) -> Outcome:
    """What became of a single change."""
    return write(store, change, scope=scope, now=now).outcomes[0]


def ids(records: Iterable[Record]) -> list[str]:
    return [record.id for record in records]


def gather(store: Store, probe: Probe) -> Pool:
    """The evidence as of now."""
    return store.index.gather(store.index.snapshot(probe.view.scope), [probe])[0]


def called(store: Store, seen_by: View, names: Iterable[str], most: int) -> list[Called]:
    """What goes by these names as of now."""
    return store.index.called(store.index.snapshot(seen_by.scope), seen_by, [*names], CALLING, most=most)


def steps(store: Store, seen_by: View, handles: Sequence[int], most: int = 1000) -> list[LinkStep]:
    """One hop as of now."""
    return store.index.steps(store.index.snapshot(seen_by.scope), seen_by, handles, most=most)


def beyond(store: Store, seen_by: View, *starts: str, most: int = 1000) -> list[Record]:
    """What one hop over links leads to from these records, as the view shows it, in the order of the links."""
    handles = [record.seq for record in store.records.get(seen_by, starts)]
    found = steps(store, seen_by, handles, most)
    records = {record.seq: record for record in store.index.hydrate(seen_by, [step.there for step in found])}
    return [records[step.there] for step in found]


def embed_all(store: Store, space: Space = SPACE, seen_by: View | None = None, now: int = NOW) -> Sequence[str]:
    """Give everything that is pending its `text_vector`; the texts, in the order in which they were handed out."""
    texts: list[str] = []
    while waiting := store.index.unembedded(space, seen_by, 10_000):
        batch = [Embedded(one.handle, (text_vector(one.text, one.part, space),), complete=True) for one in waiting]
        store.index.embedded(space, waiting[0].tenant, batch, now=now)
        texts += [one.text for one in waiting]
    return texts
