"""What was found in a turn becomes records: entities, facts, relations, each derived from the turn, with the stretch of
text that says so. One turn is one write, whose ids are made from what it says: twice is once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from agent_memory.core.govern.review import HeldKey
from agent_memory.core.graph.draft import ABOUT
from agent_memory.core.upkeep.extract.entities import Resolved, Resolving, ids
from agent_memory.core.upkeep.extract.telling import told
from agent_memory.core.upkeep.extract.values import Claimed, Extract, Said, Wish
from agent_memory.core.upkeep.extract.when import dates
from agent_memory.core.upkeep.job import Keeping
from agent_memory.core.write.commit import SELF, How, commit, connect, until_settled
from agent_memory.models.draft import Draft
from agent_memory.models.errors import InvalidInput
from agent_memory.models.extraction import Extraction, MadeEntity
from agent_memory.models.kinds.kind import fold
from agent_memory.models.kinds.knowledge import Fact, fact_key
from agent_memory.models.kinds.person import INSTRUCTIONS, ORDERS, Preference
from agent_memory.models.moment import to_micros
from agent_memory.models.record import SHARED, Link, Record, Scope, Status
from agent_memory.models.trust import trust_of
from agent_memory.ports.changes import DERIVED_FROM, Applied, Author, Change, Connect, Disconnect, Effect, Expect
from agent_memory.ports.feed import Work
from agent_memory.ports.records import View

JOB = "consolidate"
ACTOR = "upkeep"
MENTIONS = "MENTIONS"
CONFIRMED_BY = "CONFIRMED_BY"
"""From a fact that somebody stated to a turn that says it again: it does not go with the turn."""
SAID_BY_A_MODEL = 0.7  # of the confidence is left of what an assistant says
RULES = "rules"
ROLES = ("user", "assistant")
"""Whose turns are read. What a tool or a prompt says is nobody's claim."""


class Keeper(NamedTuple):
    """On whose behalf, and under which lease."""

    keeping: Keeping
    scope: Scope
    now: int
    work: Work | None = None
    actor: str = ACTOR
    door: str = ""


@dataclass
class _Made:
    """What comes of one turn, while it is made."""

    drafts: list[Draft] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    relations: list[tuple[int | None, Change]] = field(default_factory=list)  # with the place of what claims them
    expect: list[Expect] = field(default_factory=list)
    facts: dict[int, Fact] = field(default_factory=dict)  # by the place of their drafts
    repeated: list[str] = field(default_factory=list)
    entities: dict[str, MadeEntity] = field(default_factory=dict)
    proposals: list[int] = field(default_factory=list)
    merges: list[Draft] = field(default_factory=list)
    pending: dict[str, Claimed] = field(default_factory=dict)  # keys that this turn writes already
    valued: set[tuple[str, str]] = field(default_factory=set)  # of what the turn gives a value
    by: dict[str, None] = field(default_factory=lambda: {RULES: None})  # who found it


def said_of(turn: Record) -> Said:
    """A turn as extractors see it. "I" is its speaker, or the user whose memory it is."""
    user = turn.scope.user
    speaker = turn.payload.get("speaker") or (user if user != SHARED else "user")
    return Said(turn.text, turn.valid_from, speaker, turn.payload.get("role", turn.source))


def keep(keeper: Keeper, turn: Record, found: Extract, conversation: Record | None) -> Extraction:
    """Write what was found in a turn."""

    def attempt(made: _Made) -> Extraction:
        if not (made.drafts or made.changes):
            return Extraction(turns=1)
        how = How(expect=made.expect, changes=made.changes, work=keeper.work, skip_forgotten=True)
        author = Author(keeper.scope, keeper.actor, JOB, door=keeper.door)
        applied = commit(keeper.keeping.writing, made.drafts, author, keeper.now, how)
        done = _told(keeper, made, applied)
        if related := _related(keeper, made, applied):
            again = how._replace(expect=(), changes=related)
            commit(keeper.keeping.writing, [], author, keeper.now, again)
        proposed = [one for merge in made.merges if (one := _proposed(keeper, merge, author))]
        return done.model_copy(update={"proposals": [*done.proposals, *proposed]})

    return until_settled(attempt, partial(_made, keeper, turn, found, conversation))


def _related(keeper: Keeper, made: _Made, applied: Applied) -> list[Change]:
    """What is claimed by what is in force: a claim that waits relates nothing. Whoever is killed before it is written
    finds the claim there the next time, and relates it then."""
    became, waits = _of_drafts(made, applied), (Effect.HELD, Effect.FORGOTTEN)
    some = [one for place, one in made.relations if place is None or became[place][0] not in waits]
    ends = sorted({str(id) for one in some if isinstance(one, Connect | Disconnect) for id in one[:2]})
    there = {one.id for one in keeper.keeping.store.records.get(View(keeper.scope, keeper.now), ends)} if ends else ()
    return [one for one in some if isinstance(one, Connect | Disconnect) and {*one[:2]} <= {*there}]


def _proposed(keeper: Keeper, merge: Draft, author: Author) -> str | None:
    """Apart from what it is about: links of what waits lead to what waits."""
    how = How(work=keeper.work, skip_forgotten=True)
    outcome = commit(keeper.keeping.writing, [merge], author, keeper.now, how).outcomes[0]
    return outcome.id if outcome.effect is Effect.HELD else None


def _made(keeper: Keeper, turn: Record, found: Extract, conversation: Record | None) -> _Made:
    made = _Made()
    resolving = Resolving(keeper.keeping, keeper.scope, keeper.now)
    resolved: dict[str, Resolved] = {}
    for named in found.entities:
        one = resolving.resolve(named, turn)
        resolved.setdefault(fold(named.name), one)
        if one.id not in made.entities:
            _mention(made, turn, conversation, one, (named.start, named.end))
    last = _last(found.claims, turn.valid_from)
    made.valued |= last.keys()
    for claim in found.claims:
        if last.get(_what(claim), claim) is not claim and claim.single and not claim.by:
            continue
        with suppress(InvalidInput):  # no fact can hold it, such as a name that is too long
            _claim(keeper, turn, claim, resolved, made)
    for wish in found.wishes:
        if wish.wanted in ORDERS:
            _propose(keeper, turn, wish, made)
        else:
            liked = Claimed(
                said_of(turn).speaker,
                "prefers" if wish.wanted == "prefers" else "likes",
                wish.what,
                wish.start,
                wish.end,
                negated=wish.wanted == "dislikes",
            )
            _claim(keeper, turn, liked, resolved, made)
    return made


def _last(claims: Sequence[Claimed], at: datetime) -> dict[tuple[str, str], Claimed]:
    """Where a turn gives one thing several values, the one that holds in the end: what corrects, then what began last,
    then what is said last."""
    found = dict[tuple[str, str], Claimed]()
    for one in claims:
        old = found.get(_what(one))
        if one.single and not one.by and (old is None or _rank(old, at) <= _rank(one, at)):
            found[_what(one)] = one
    return found


def _rank(claim: Claimed, at: datetime) -> tuple[bool, datetime]:
    return claim.corrects, min(claim.since or at, at)


def _what(claim: Claimed) -> tuple[str, str]:
    return fold(claim.subject), fold(claim.predicate)


def _mention(made: _Made, turn: Record, conversation: Record | None, one: Resolved, span: tuple[int, int]) -> None:
    made.entities[one.id] = MadeEntity(id=one.id, name=one.name, type=one.type, new=one.draft is not None)
    if one.draft is not None:
        made.drafts.append(one.draft)
    if one.proposal is not None:
        made.merges.append(one.proposal)
    made.changes.append(connect(Link(source_id=turn.id, target_id=one.id, type=MENTIONS, properties=_span(*span))))
    if conversation is not None:
        made.changes.append(connect(Link(source_id=conversation.id, target_id=one.id, type=MENTIONS)))
    if one.ours:
        made.changes.append(
            connect(Link(source_id=one.id, target_id=turn.id, type=DERIVED_FROM, properties=_span(*span)))
        )


def _claim(keeper: Keeper, turn: Record, claim: Claimed, resolved: Mapping[str, Resolved], made: _Made) -> None:
    payload, key, head = _placed(keeper, claim, made)
    if key in made.pending:  # the turn says it twice
        return
    made.pending[key] = claim
    about = [one for one in (resolved.get(fold(claim.subject)), _entity_in(claim.object, resolved)) if one]
    began = min(claim.since or turn.valid_from, turn.valid_from)
    standing = head is not None and head.status is Status.ACTIVE
    source = Link(source_id=SELF, target_id=turn.id, type=DERIVED_FROM, properties=_quoted(claim))
    if head is not None and standing and _same(head, payload) and (claim.corrects or head.valid_from <= began):
        type = DERIVED_FROM if head.source == "extraction" else CONFIRMED_BY
        made.changes.append(connect(source.model_copy(update={"source_id": head.id, "type": type})))
        made.repeated.append(head.id)
        if head.source == "extraction":
            _relate(keeper, turn, claim, about, made)
        return
    if claim.corrects and head is not None and standing and head.valid_from < began:
        began = head.valid_from
    fact = Fact(
        id=_id(turn, *map(str, claim[:3]), claim.negated, claim.start, claim.end),
        claim=told(claim, _day(claim, turn.valid_from)),
        source="extraction",
        confidence=round(claim.confidence * (1.0 if _spoken(turn) else SAID_BY_A_MODEL), 3),
        created_at=began,
        entity_ids=ids(about),
        source_turn_id=turn.id,
        **{name: payload.get(name) for name in ("subject", "predicate", "object", "negated", "many")},
    )
    if _decided(keeper, "fact", fact.id):
        return
    held_then = _held_at(keeper, head, began)
    if held_then is not None and not _same(held_then, payload):
        fact = fact.model_copy(update={"superseded": held_then.text})
    links = (source, *(Link(source_id=SELF, target_id=one.id, type=ABOUT) for one in _unique(about)))
    made.by[claim.by or RULES] = None
    made.facts[len(made.drafts)] = fact
    made.drafts.append(replace(fact.draft(), links=links, dated=True))
    made.expect.append(Expect(head.version, id=head.id) if head else Expect(0, kind="fact", key=key))
    if head is None or head.valid_from <= began:
        _relate(keeper, turn, claim, about, made, len(made.drafts) - 1)


def _propose(keeper: Keeper, turn: Record, wish: Wish, made: _Made) -> None:
    """A preference, which the review lets in or not."""
    id = _id(turn, wish.wanted, wish.what)
    if _decided(keeper, "preference", id):
        return
    wanted = Preference(domain=INSTRUCTIONS, name=wish.what, value=wish.wanted)
    source = Link(source_id=SELF, target_id=turn.id, type=DERIVED_FROM, properties=_span(wish.start, wish.end))
    made.proposals.append(len(made.drafts))
    draft = replace(wanted.draft(0.8), id=id, valid_from=turn.valid_from, source="extraction", links=(source,))
    made.drafts.append(draft)


def _decided(keeper: Keeper, kind: str, id: str) -> bool:
    """Whether just this was held before, whatever became of it."""
    record = keeper.keeping.store.records.head(keeper.scope, kind, id=id)
    return record is not None and HeldKey.of(record) is not None


def _placed(keeper: Keeper, claim: Claimed, made: _Made) -> tuple[dict[str, Any], str, Record | None]:
    """The payload, the key, and what stands there. What ends or denies the value of a predicate that has one at a time
    takes the place of that value; a denial of any other value, or of one that the same turn replaces, stands beside."""
    payload: dict[str, Any] = {"subject": claim.subject, "predicate": claim.predicate, "object": claim.object}
    if claim.negated:
        payload["negated"] = True
    records = keeper.keeping.store.records
    if not claim.single:
        key = fact_key("", payload)
        head = (
            records.head(keeper.scope, "fact", key=key) if claim.negated and _what(claim) not in made.valued else None
        )
        if head is not None and _object(head) == fold(claim.object):
            return payload, key, head
        payload["many"] = True
    key = fact_key("", payload)
    return payload, key, records.head(keeper.scope, "fact", key=key)


def _same(record: Record, payload: Mapping[str, Any]) -> bool:
    """Whether a record says what the payload says, however it is spelled."""
    return _object(record) == fold(payload["object"]) and bool(record.payload.get("negated")) == bool(
        payload.get("negated")
    )


def _object(record: Record) -> str:
    """A fact that somebody learned may name no object: its claim ends with it."""
    return fold(
        record.payload.get("object")
        or record.text.removeprefix(str(record.payload.get("subject", "")))
        .strip()
        .removeprefix(str(record.payload.get("predicate", "")))
        .strip(" .")
    )


def _held_at(keeper: Keeper, head: Record | None, then: datetime) -> Record | None:
    if head is None or head.status is not Status.ACTIVE:
        return None
    if head.valid_from <= then and (head.valid_to is None or then < head.valid_to):
        return head
    view = View(keeper.scope, keeper.now, None, to_micros(then))
    found = keeper.keeping.store.records.get(view, [head.id])
    return found[0] if found else None


def _spoken(turn: Record) -> bool:
    return turn.source in ("user", "user_stated") or trust_of(turn.source).value == "user"


def _relate(
    keeper: Keeper, turn: Record, claim: Claimed, about: Sequence[Resolved], made: _Made, place: int | None = None
) -> None:
    """Entities that a claim relates are linked; one that it denies, or takes the place of, ends."""
    type = claim.predicate.upper().replace(" ", "_").replace("-", "_")
    if len(about) != 2 or not _spoken(turn) or trust_of(turn.source).foreign:
        return
    one, other = about
    if one.id == other.id or not type.replace("_", "").isalnum():
        return
    links = keeper.keeping.store.records.links(View(keeper.scope, keeper.now), [one.id]) if one.draft is None else []
    for link in links:
        ends = link.source_id == one.id and link.type == type
        if ends and (link.target_id == other.id if claim.negated else claim.single and link.target_id != other.id):
            made.relations.append((place, Disconnect(*link.ends)))
    if not claim.negated:
        made.relations.append((place, connect(Link(source_id=one.id, target_id=other.id, type=type))))


def _entity_in(said: str, resolved: Mapping[str, Resolved]) -> Resolved | None:
    """The entity that an object names: alone, or as its first or last words ("Payments team")."""
    words = fold(said)
    return resolved.get(words) or next(
        (one for name, one in resolved.items() if words.startswith(f"{name} ") or words.endswith(f" {name}")), None
    )


def _day(claim: Claimed, at: datetime) -> str:
    """ "Next Monday" means another day when it is read."""
    found = dates(claim.object, at)
    if not found or found[-1].first <= at or found[-1].first.year >= 9000:
        return ""
    day = found[-1].first.date().isoformat()
    return "" if day in claim.object else f"({day})"


def _told(keeper: Keeper, made: _Made, applied: Applied) -> Extraction:
    """What became of it. Outcomes are of changes: what a draft became is found by its kind, in their order."""
    records, view = keeper.keeping.store.records, View(keeper.scope, keeper.now)
    became = _of_drafts(made, applied)
    facts, proposals = [], []
    for place, fact in made.facts.items():
        effect, id = became[place]
        if effect is Effect.UNCHANGED or effect is Effect.FORGOTTEN:
            continue
        held = effect is Effect.HELD
        facts.append(fact.model_copy(update={"id": id, "held": held, **({"superseded": None} if held else {})}))
    for place in made.proposals:
        effect, id = became[place]
        if effect in (Effect.HELD, Effect.CREATED):
            proposals.append(id)
    there = {one.id for one in records.get(view, [*made.entities])}
    return Extraction(
        turns=1,
        facts=facts,
        repeated=list(dict.fromkeys(made.repeated)),
        entities=[one for id, one in made.entities.items() if id in there],
        proposals=proposals,
        made_by=", ".join(made.by),
    )


def _of_drafts(made: _Made, applied: Applied) -> list[tuple[Effect, str]]:
    """Each draft is a put and one change for each of its links; what holds it comes after all of them."""
    found, at = [], 0
    for draft in made.drafts:
        outcome = applied.outcomes[at]
        found.append((outcome.effect, outcome.id))
        at += 1 + len(draft.links)
    return found


def _unique(found: Sequence[Resolved]) -> list[Resolved]:
    return list({one.id: one for one in found}.values())


def _span(start: int, end: int) -> dict[str, int]:
    return {"start": start, "end": end}


def _quoted(claim: Claimed) -> dict[str, Any]:
    """Where the turn says it, and who found that, where it was not the rules."""
    return {**_span(claim.start, claim.end), **({"by": claim.by} if claim.by else {})}


def _id(turn: Record, *parts: object) -> str:
    said = "\x1f".join((JOB, turn.id, *map(str, parts)))
    return hashlib.blake2b(said.encode(errors="replace"), digest_size=13).hexdigest()
