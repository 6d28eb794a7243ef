"""The daily jobs of forgetting. `decay` writes nothing: it counts what crossed a threshold. `cleanup` archives
conversations that nobody goes on with, and what may be pruned; it removes what was pruned and not missed. C11, C12,
L11.

Both look at every record in its newest version, as the journals name them, a slice at a time: killed anywhere the next
run does the rest, and a second run finds nothing left to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from agent_memory.core.upkeep.job import SLICE, Did, JobTurn, Keeping
from agent_memory.core.upkeep.pruning import LOW, Pins, Pruner, pins_of
from agent_memory.core.upkeep.quiet import put_away, quiet
from agent_memory.core.write.commit import sound
from agent_memory.ledger.journal import AMEND, PUT
from agent_memory.models.decay import Decay
from agent_memory.models.moment import maybe_moment
from agent_memory.models.record import Record, Scope, Status
from agent_memory.ports.feed import Cursor, JobOutcome, Work
from agent_memory.ports.records import View

CLEANUP, DECAY = "cleanup", "decay"
CLOCK = "cleanup clock"  # under which name the store keeps what the last run took for the time
JUMP = 2 * 86_400  # seconds between two runs, after which the clock has to be confirmed
LATER = 64_800  # seconds that confirm it: the next day's run may come a little early
MOST_TENANTS = 100_000


def decay(keeping: Keeping, turn: JobTurn) -> Did:
    """How many entities are below the salience at which they may go, and how many inferred facts are not certain any
    more."""
    crossed, terms = Counter(entities=0, facts=0), keeping.terms
    for scope, found in visited(keeping, turn, ("entity", "fact")):
        at = Decay(_pruner(keeping, turn).moment, terms.rate)
        entities = [one for one in found if one.kind == "entity" and one.status == Status.ACTIVE]
        told = keeping.store.receipts.accesses(View(scope, turn.now), [one.id for one in entities])
        for one in entities:
            last = maybe_moment(told[one.id].last) if one.id in told else None
            crossed["entities"] += at.salience(one, last) < LOW <= one.importance
        crossed["facts"] += sum(
            at.confidence(one) < terms.certain <= one.confidence
            for one in found
            if one.kind == "fact" and one.status == Status.ACTIVE
        )
    return crossed


def cleanup(keeping: Keeping, turn: JobTurn) -> Did:
    did = Counter(conversations=0, archived=0, removed=0)
    keeping.writing.receipts.flush()
    removes, pruner, pins = confirmed(keeping, turn), _pruner(keeping, turn), dict[Scope, Pins]()
    for scope, found in visited(keeping, turn, tuple(keeping.writing.kinds)):
        if scope not in pins:
            pins[scope] = pins_of(keeping.store.records, scope, turn.now)
        silent = [one.record.id for one in quiet(pruner, found, pins[scope])]
        did["conversations"] += len(put_away(pruner, scope, silent, pins[scope]))
        prunable = [one.record.id for one in pruner.prunable(scope, found, pins[scope])]
        did["archived"] += len(pruner.archive(scope, prunable, pins[scope]))
        if removes:
            overdue = [one.id for one in pruner.overdue(scope, found, pins[scope])]
            did["removed"] += pruner.remove(scope, overdue, pins[scope])
    return did


def confirmed(keeping: Keeping, turn: JobTurn) -> bool:
    """Whether the clock may be believed for what cannot be undone. One that moved more than two days, or back, since
    the last run has to say about the same a day later; so has the first. What was found is kept with the job's lease,
    so that it holds for whichever process comes next."""
    feed, now = keeping.store.feed, turn.now // 1_000_000
    known = next((one.did for one in feed.states() if one.name == CLOCK), {})
    since = doubted(known.get("now"), known.get("doubted_since", 0), now)
    lease = feed.lease(CLOCK, turn.lease.holder, 60.0)
    if lease is None:
        return False
    feed.release(lease, JobOutcome(0.0, {"now": now, "doubted_since": since}))
    return since == 0


def doubted(last: int | None, since: int, now: int) -> int:
    """Since when the clock is doubted, in seconds; 0: it is not. `last` is when the job ran before."""
    if last is None or not 0 <= now - last <= JUMP:
        return now
    return since if since and now - since < LATER else 0


def _pruner(keeping: Keeping, turn: JobTurn) -> Pruner:
    return Pruner(keeping.writing, keeping.store.receipts, keeping.terms, turn.now, Work(turn.lease))


def visited(keeping: Keeping, turn: JobTurn, kinds: Sequence[str]) -> Iterator[tuple[Scope, list[Record]]]:
    """Every record of these kinds, in its newest version, with others of its scope."""
    feed, wanted = keeping.store.feed, frozenset(kinds)
    for tenant in feed.news(CLOCK, limit=MOST_TENANTS):  # nobody moves this cursor: all that have lines
        after = Cursor(tenant)
        while lines := feed.lines(after, limit=SLICE):
            after, named = lines[-1].cursor, dict[Scope, dict[str, int]]()
            for line in lines:
                if line.id is not None and line.operation in (PUT, AMEND) and line.kind in wanted:
                    named.setdefault(line.scope, {})[line.id] = line.seq
            for scope, known in named.items():
                found = sound(keeping.store.records, View(scope, turn.now), list(known))
                yield scope, [one for one in found if one.scope == scope and one.seq == known[one.id]]
