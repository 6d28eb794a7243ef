"""The gate that holds what a person should see first. What is held is a record of its own, aside from what is in force:
its key tells what it would be, so that nothing is replaced before somebody approves it.

Held by default: facts, preferences and rules from outside, or made from such; preferences and rules that a model made;
facts that a model made below the threshold. A policy of the tenant comes before that. Never what the user stated,
unless the policy does not believe it of what comes through a door.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import NamedTuple, cast

from agent_memory.core.govern.gate import C
from agent_memory.core.govern.redact import Redactor
from agent_memory.core.govern.redaction import commons
from agent_memory.core.govern.shapes import PERSONAL
from agent_memory.models.errors import Denied, NotFound
from agent_memory.models.kinds.govern import POLICY, POLICY_KEY
from agent_memory.models.kinds.kind import Kind
from agent_memory.models.kinds.procedure import PROPOSED
from agent_memory.models.model import new_id
from agent_memory.models.record import Record, Status
from agent_memory.models.review import DOORS, ReviewPolicy
from agent_memory.models.trust import Trust, least, trust_of
from agent_memory.ports.changes import DERIVED_FROM, Amend, Author, Connect, Put
from agent_memory.ports.records import RecordStore, View

Evidence = Mapping[str, Sequence[Trust]]
HELD = "held"
SOURCE_TURN = "source_turn_id"
FURTHEST = 10  # steps that are followed from what was made to what it was made from
_APART = "\x1f"
WHY: Mapping[str, str] = MappingProxyType(
    {
        "foreign": "it comes from a source that is not trusted",
        "model": "a model made it, and it would guide every answer",
        "confidence": "its confidence is below the threshold",
        "policy": "the policy holds it",
        "personal": "it holds personal data",
        "asked": "its caller asked for a review",
    }
)


class HeldKey(NamedTuple):
    """The key of a held record: why it waits, of which record it would be a version (""), and under which key, where
    that is not made from what it says (""). The same proposal twice has the same key, whatever became of it."""

    why: str
    id: str
    key: str

    def spelled(self, put: Put) -> str:
        said = _APART.join((put.kind, put.state.key or "", put.content.text, put.content.payload))
        digest = hashlib.blake2b(said.encode(), digest_size=16).hexdigest()
        return _APART.join((HELD, digest, *self))

    def respelled(self, record: Record) -> str:
        """In the place of the one that a record has."""
        return _APART.join((*str(record.key).split(_APART, 2)[:2], *self))

    @classmethod
    def of(cls, record: Record) -> HeldKey | None:
        """None: it was not the gate that held it."""
        word, *rest = (record.key or "").split(_APART, 4)
        return cls(*rest[1:]) if word == HELD and len(rest) == 4 else None


class ReviewGate:
    """`now` tells the time. `holds`: False lets everything in but what its caller wants held. `personal`: what personal
    data is in waits, too."""

    def __init__(
        self,
        records: RecordStore,
        kinds: Mapping[str, Kind],
        threshold: float,
        now: Callable[[], int],
        holds: bool = True,
        personal: bool = False,
    ) -> None:
        self._personal = Redactor(PERSONAL) if personal else None
        self._records = records
        self._kinds = kinds
        self._threshold = threshold
        self._now = now
        self._holds = holds

    def decide(self, changes: Sequence[C], author: Author) -> Sequence[C]:
        if author.reviewed or not any(isinstance(one, Put | Amend) for one in changes):
            return changes
        policy = cache(lambda: self.policy(author.scope.tenant))
        evidence = self._evidence(changes, author) if self._holds else {}
        decided = [cast(C, self._decided(one, evidence, author, policy)) for one in changes]
        moved = {
            old.id: new.id
            for old, new in zip(changes, decided, strict=True)
            if isinstance(old, Put) and isinstance(new, Put) and old.id != new.id
        }
        return [_moved(one, moved) for one in decided] if moved else decided

    def policy(self, tenant: str) -> ReviewPolicy:
        found = self._records.head(commons(tenant), POLICY, key=POLICY_KEY)
        return ReviewPolicy() if found is None else ReviewPolicy(**found.payload)

    def _decided(
        self, change: object, evidence: Evidence, author: Author, policy: Callable[[], ReviewPolicy]
    ) -> object:
        match change:
            case Put() if not change.holds and not _proposes_a_rule(change):
                if change.state.status is Status.HELD:
                    self._check_not_held(change.id, author, "edit")
                    return self._aside(change, "asked", author)
                if (why := self._why(change, evidence.get(change.id, ()), author.door, policy)) is not None:
                    return self._aside(change, why, author)
            case Amend(status=Status()):
                self._check_not_held(change.id, author, "approve")
        return change

    def _why(self, put: Put, evidence: Sequence[Trust], door: str, policy: Callable[[], ReviewPolicy]) -> str | None:
        asserts, state = self._kinds[put.kind].asserts, put.state
        trust = least((trust_of(state.source), *evidence))
        stated = trust is Trust.USER
        if not self._holds or (stated and door not in DOORS):
            return None
        for rule in policy().rules:
            if rule.fits(put.kind, state.source, trust, state.confidence, door):
                return "policy" if rule.hold else None
        if stated:
            return None
        if self._personal is not None and self._personal.spans(f"{put.content.text}\n{put.content.payload}"):
            return "personal"
        if asserts is None or trust is Trust.OWN:
            return None
        if trust.foreign:
            return "foreign"
        if asserts == "directive":
            return "model"
        return "confidence" if state.confidence < self._threshold else None

    def _evidence(self, changes: Sequence[object], author: Author) -> Evidence:
        """How far that is trusted which each put was made from, however many steps away."""
        made = _made_from(changes, self._kinds)
        if not made:
            return {}
        beside = {one.id: trust_of(one.state.source) for one in changes if isinstance(one, Put)}
        known, further = dict(beside), {id: list(ids) for id, ids in made.items()}
        asked = [*dict.fromkeys(id for ids in made.values() for id in ids if id not in beside)]
        view = View(author.scope, self._now())
        for _ in range(FURTHEST):
            if not asked:
                break
            known |= {id: self._trust(view, id) for id in asked}
            links = [one for one in self._records.links(view, asked) if one.type == DERIVED_FROM]
            for link in links:
                further.setdefault(link.source_id, []).append(link.target_id)
            asked = [*dict.fromkeys(link.target_id for link in links if link.target_id not in known)]
        return {id: [known[one] for one in _reached(id, further) if one in known] for id in made}

    def _trust(self, view: View, id: str) -> Trust:
        """What waits or was turned down is not trusted; of what cannot be found, nobody knows who said it."""
        try:
            record = self._records.history(view, id)[-1]
        except (NotFound, IndexError):
            return Trust.MODEL
        waits = record.status in (Status.HELD, Status.REJECTED) or HeldKey.of(record) is not None
        return Trust.UNKNOWN if waits else trust_of(record.source)

    def _check_not_held(self, id: str, author: Author, instead: str) -> None:
        """What was put aside comes back by a review alone, whatever became of it."""
        try:
            record = self._records.history(View(author.scope, self._now()), id)[-1]
        except (NotFound, IndexError):
            return
        if HeldKey.of(record) is not None:
            waits = "waits for review" if record.status is Status.HELD else f"was {record.status} by a review"
            hint = f"use `agent-memory review {instead} {id}`" if record.status is Status.HELD else "store it anew"
            raise Denied(f"id: {id!r} {waits}", hint=hint, field="id")

    def _aside(self, put: Put, why: str, author: Author) -> Put:
        """The same as a record of its own; nothing, where the very same is in force or was proposed before."""
        kind, state = self._kinds[put.kind], put.state
        taken = self._records.head(author.scope, put.kind, id=put.id)
        standing = taken or (state.key and self._records.head(author.scope, put.kind, key=state.key)) or None
        if standing is not None and standing.status is Status.ACTIVE and _says_the_same(standing, put):
            return put._replace(if_absent=True)
        natural = kind.key(put.content.text, json.loads(put.content.payload)) == state.key
        named = HeldKey(why, put.id if taken else "", "" if natural else state.key or "")
        return put._replace(
            id=new_id() if taken else put.id,
            state=state._replace(status=Status.HELD, key=named.spelled(put)),
            if_absent=True,
        )


def _proposes_a_rule(put: Put) -> bool:
    """It waits under a key of its own already, and takes effect on a page."""
    return put.kind == "procedure" and put.state.status is Status.HELD and _is_proposal(put.state.key)


def _is_proposal(key: str | None) -> bool:
    return key is not None and key.startswith(f"{PROPOSED}{_APART}")


def _made_from(changes: Sequence[object], kinds: Mapping[str, Kind]) -> dict[str, list[str]]:
    made: dict[str, list[str]] = {}
    for one in changes:
        if isinstance(one, Put) and kinds[one.kind].asserts and SOURCE_TURN in one.content.payload:
            if turn := json.loads(one.content.payload).get(SOURCE_TURN):
                made.setdefault(one.id, []).append(turn)
        elif isinstance(one, Connect) and one.type == DERIVED_FROM and isinstance(one.target_id, str):
            made.setdefault(str(one.source_id), []).append(one.target_id)
    return made


def _reached(id: str, further: Mapping[str, Sequence[str]]) -> list[str]:
    """Everything that something was made from."""
    found, left = dict[str, None](), [*further.get(id, ())]
    while left:
        one = left.pop()
        if one not in found and one != id:
            found[one] = None
            left += further.get(one, ())
    return [*found]


def _moved(change: C, moved: Mapping[str, str]) -> C:
    """Links of what is put aside lead to where it is now, and not to what stays in force."""
    match change:
        case Connect():
            source, target = (moved.get(one, one) if isinstance(one, str) else one for one in change[:2])
            return change._replace(source_id=source, target_id=target)
        case Put() if change.holds:
            return change._replace(holds=tuple(moved.get(one, one) for one in change.holds))
    return change


def _says_the_same(record: Record, put: Put) -> bool:
    return record.text == put.content.text and record.payload == json.loads(put.content.payload)
