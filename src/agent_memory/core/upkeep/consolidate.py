"""What conversations say becomes entities, facts and relations, once they have been quiet for a while. C11, C18.

The journal is followed at a distance: a turn is looked at when it has been there for five minutes. If its conversation
went on meanwhile, it is passed over, since a later line of the same conversation comes. Otherwise all turns that were
stored since the last time are read, in their order, and the conversation notes how far that was. So a long talk keeps
no other one waiting, and whoever is killed or runs twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from itertools import takewhile
from typing import NamedTuple

from agent_memory.core.upkeep.cleanup import MOST_TENANTS
from agent_memory.core.upkeep.extract.keep import JOB, ROLES, Keeper, keep, said_of
from agent_memory.core.upkeep.extract.reading import read
from agent_memory.core.upkeep.extract.rules import extract
from agent_memory.core.upkeep.extract.values import Claimed
from agent_memory.core.upkeep.job import SLICE, Did, JobTurn, Keeping
from agent_memory.core.write.commit import How, commit, until_settled
from agent_memory.ledger.journal import PUT
from agent_memory.models.draft import Draft
from agent_memory.models.errors import InvalidInput, WriteRefused
from agent_memory.models.extraction import Extraction
from agent_memory.models.moment import to_micros
from agent_memory.models.record import Record, Scope
from agent_memory.ports.changes import Author, Expect
from agent_memory.ports.feed import FeedLine, Work
from agent_memory.ports.progress import LongWork
from agent_memory.ports.records import Filter, View
from agent_memory.ports.spending import SpendingAs, spender

QUIET = 300 * 1_000_000  # microseconds without a turn, after which a conversation is read
AT_ONCE = 10  # conversations
MOST_TURNS = 10_000
CONTEXT = 3  # turns before the new ones, which these may go back to


class QuietTalk(NamedTuple):
    """A conversation of one scope."""

    scope: Scope
    id: str


def consolidate(keeping: Keeping, turn: JobTurn) -> Did:
    """Ten conversations, or all that are quiet where nobody waits for the worker."""
    did = {"conversations": 0, "turns": 0, "facts": 0, "entities": 0, "proposals": 0}
    feed, seen = keeping.store.feed, set[QuietTalk]()
    told = LongWork("extracting", lambda: feed.behind(JOB))
    for tenant in feed.news(JOB, limit=MOST_TENANTS):  # those that never rest come first, perhaps
        while turn.seconds is None or did["conversations"] < AT_ONCE:
            since = feed.cursor(JOB, tenant)
            lines = takewhile(lambda line: not _fresh(line.at, turn), feed.lines(since, limit=SLICE))
            last = None
            for line in lines:
                _look(keeping, turn, line, seen, did)
                last = line
                told.one()
                if turn.seconds is not None and did["conversations"] >= AT_ONCE:
                    break
            if last is None:
                break
            feed.advance(Work(turn.lease, since, last.cursor))
    told.end()
    return {**did, "behind": keeping.store.feed.behind(JOB)}


def _look(keeping: Keeping, turn: JobTurn, line: FeedLine, seen: set[QuietTalk], did: dict[str, int]) -> None:
    if line.kind != "turn" or line.operation != PUT or line.id is None:
        return
    head = keeping.store.records.head(line.scope, "turn", id=line.id)
    if head is None or head.conversation_id is None:
        return
    talk = QuietTalk(line.scope, head.conversation_id)
    if talk in seen:
        return
    seen.add(talk)
    turns = turns_of(keeping, talk, turn.now)
    if any(_fresh(to_micros(one.recorded_at), turn) for one in turns):
        return
    with SpendingAs(spender()._replace(tenant=line.scope.tenant, user=line.scope.user)):  # whose talk it is pays
        made = read_talk(Keeper(keeping, line.scope, turn.now, Work(turn.lease)), talk, turns)
    if made.turns:
        did["conversations"] += 1
        did["turns"] += made.turns
        did["facts"] += len(made.facts)
        did["entities"] += sum(one.new for one in made.entities)
        did["proposals"] += len(made.proposals)


def _fresh(at: int, turn: JobTurn) -> bool:
    """A moment that has not come yet is of a clock that was ahead."""
    return turn.now - QUIET < at <= turn.now


def turns_of(keeping: Keeping, talk: QuietTalk, now: int) -> list[Record]:
    where = Filter(kinds=("turn",), conversation_id=talk.id)
    found = keeping.store.records.find(View(talk.scope, now), where, limit=MOST_TURNS)
    own = [one for one in found if one.scope == talk.scope]
    return sorted(own, key=lambda one: (one.payload["index"], one.id))


def read_talk(keeper: Keeper, talk: QuietTalk, turns: Sequence[Record], *, anew: bool = False) -> Extraction:
    """What is new in a conversation, or with `anew` all of it; then the conversation knows how far it was read."""
    records = keeper.keeping.store.records
    conversation = records.head(talk.scope, "conversation", key=talk.id)
    until = None if anew or conversation is None else conversation.payload.get("consolidated_until")
    done = [until is not None and one.recorded_at <= datetime.fromisoformat(until) for one in turns]
    if all(done):
        return Extraction()
    made, before = Extraction(), list[Claimed]()
    for turn, known in [*zip(turns, done, strict=True)][max(0, done.index(False) - CONTEXT) :]:
        if turn.payload.get("role") not in ROLES:
            continue
        said = said_of(turn)
        found = extract(said, before)
        if not known:
            whole = read(said, before, found, keeper.keeping.extractors())
            with _passed_over(asked=anew):
                made = joined(made, keep(keeper, turn, whole, conversation))
        before = [*before, *found.claims][-1:]
    with _passed_over(asked=anew):
        _note(keeper, talk, max(one.recorded_at for one in turns))
    return made.model_copy(update={"turns": done.count(False)})


@contextmanager
def _passed_over(*, asked: bool) -> Iterator[None]:
    """What a gate refuses, or no record can hold, is told to whoever asked. The job goes on: others wait for it."""
    try:
        yield
    except (InvalidInput, WriteRefused):
        if asked:
            raise


def joined(one: Extraction, other: Extraction) -> Extraction:
    known = {made.id: made for made in (*other.entities, *one.entities)}
    return Extraction(
        turns=one.turns + other.turns,
        facts=[*one.facts, *other.facts],
        repeated=list(dict.fromkeys([*one.repeated, *other.repeated])),
        entities=list(known.values()),
        proposals=[*one.proposals, *other.proposals],
        made_by=", ".join(dict.fromkeys(f"{one.made_by}, {other.made_by}".split(", "))),
    )


def _note(keeper: Keeper, talk: QuietTalk, until: datetime) -> None:
    """Last of all: whoever is killed before reads it again, and twice is once."""
    writing = keeper.keeping.writing

    def write(conversation: Record | None) -> None:
        if conversation is None:
            return
        standing = {"consolidated": True, "consolidated_until": until.isoformat()}
        draft = replace(Draft.of(conversation), payload={**conversation.payload, **standing})
        expect = Expect(conversation.version, id=conversation.id)
        author = Author(talk.scope, keeper.actor, JOB)
        commit(writing, [draft], author, keeper.now, How(expect=[expect], work=keeper.work))

    until_settled(write, lambda: writing.records.head(talk.scope, "conversation", key=talk.id))
