"""A conversation under a limit of tokens. When it fills its prompt, the oldest turns are paged out: a summary stands
for them in the prompt, and they stay in the store as they were said.

    turns 0 … upto            paged out: a summary of them, and a search over them
    turns upto + 1 … newest   shown as they were said

`laid_out` decides what is shown, from what is stored and nothing else: it is pure, so a session that is taken up again
renders the same, and what is forgotten is missing from the next prompt, whatever the summary was made of. A read that
finds too many turns pages them out for itself; only `page_out`, after a turn was added, stores it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agent_memory.core.context.excerpt import excerpt
from agent_memory.core.context.tokens import Counter
from agent_memory.core.talk.extract import QuotedSentence, extracted, picked, within
from agent_memory.core.talk.prompt import (
    PromptHead,
    PromptMessage,
    Summary,
    clipped,
    cost,
    message_shown,
    total,
    turn_shown,
)
from agent_memory.models.kinds.conversation import turn_key
from agent_memory.models.kinds.talk import EXTRACTED, MemoryBlock, SessionPayload
from agent_memory.models.record import Record, Scope
from agent_memory.ports.changes import DERIVED_FROM
from agent_memory.ports.records import Filter, RecordStore, View

FULL = 0.75  # of the limit: then turns are paged out
FOR_BLOCKS = 0.5  # of the limit, at most
FOR_SUMMARY = 0.25
PAGE = 32  # turns that are read at once


class Limit(NamedTuple):
    """How many tokens, and who counts them."""

    tokens: int
    count: Counter

    @property
    def summary(self) -> int:
        return int(self.tokens * FOR_SUMMARY)


class Talk(NamedTuple):
    """What is stored of a conversation: turns that are not paged out, in order; those that the summary quotes; how far
    it is paged out, and the record that says so. `stale`: a summary in a model's words whose turns are not all there
    any more; it counts for nothing."""

    turns: tuple[Record, ...]
    quoted: tuple[Record, ...] = ()
    state: SessionPayload | None = None
    record: Record | None = None
    stale: Record | None = None


class WrittenPrompt(NamedTuple):
    """A prompt, what of its head and which turns are in it, and whether the newest is clipped."""

    messages: list[PromptMessage]
    head: PromptHead
    turns: tuple[Record, ...]
    clipped: bool = False


class Laid(NamedTuple):
    """What a prompt shows. `leaving` are the turns that have to be paged out for it, the oldest first; `ranked` is what
    their summary quotes, if no model writes one."""

    head: PromptHead
    shown: tuple[Record, ...]
    leaving: tuple[Record, ...] = ()
    ranked: tuple[QuotedSentence, ...] = ()


def read(records: RecordStore, view: View, scope: Scope, conversation_id: str) -> Talk:
    """What is there at this moment."""
    record, stale = records.head(scope, "session", key=conversation_id), None
    state = None if record is None else SessionPayload.model_validate(record.payload)
    if record and state and state.made_by != EXTRACTED and _sources(records, view, record) < state.turns:
        record, stale, state = None, record, None
    turns = _after(records, view, conversation_id, -1 if state is None else state.upto)
    ids = list(dict.fromkeys(one.turn_id for one in state.picks)) if state else []
    return Talk(turns, tuple(records.get(view, ids)) if ids else (), state, record, stale)


def _after(records: RecordStore, view: View, conversation_id: str, upto: int) -> tuple[Record, ...]:
    """The turns after this one, in order. The newest are found by time, and those after them by their index, if a
    clock went back."""
    where = Filter(kinds=("turn",), conversation_id=conversation_id)
    found: dict[int, Record] = {}
    last: str | None = None
    while page := records.find(view, where, limit=PAGE, after=last):
        last = page[-1].id
        found |= {one.payload["index"]: one for one in page if one.payload["index"] > upto}
        if len(page) < PAGE or all(one.payload["index"] <= upto for one in page):
            break
    index = max(found, default=upto) + 1
    while one := records.by_key(view, "turn", turn_key(conversation_id, index)):
        found[index] = one
        index += 1
    return tuple(found[index] for index in sorted(found))


def _sources(records: RecordStore, view: View, record: Record) -> int:
    links = records.links(view, [record.id])
    return sum(one.type == DERIVED_FROM and one.source_id == record.id for one in links)


def laid_out(talk: Talk, blocks: Sequence[MemoryBlock], limit: Limit) -> Laid:
    """What is shown of it: never more than the limit, however long a turn or a block is."""
    before, head = _headed(talk, blocks, limit)
    stored = head.summary
    leaving = _leaving(talk.turns, head, limit)
    if not leaving:
        return Laid(head, talk.turns)
    ranked = extracted(before, leaving, limit.summary, limit.count)
    retold = () if stored.made_by == EXTRACTED else stored.lines
    room = limit.summary - limit.count("\n".join(retold))
    summary = stored._replace(lines=(*retold, *_lines(ranked, room, limit.count)), turns=stored.turns + len(leaving))
    return Laid(head._replace(summary=summary), talk.turns[len(leaving) :], leaving, tuple(ranked))


def has_room(talk: Talk, blocks: Sequence[MemoryBlock], limit: Limit, role: str, content: str) -> bool:
    """Whether one more turn leaves the prompt less than full, so that nothing has to be paged out."""
    costs = [cost(turn_shown(one), limit.count) for one in talk.turns]
    more = cost(message_shown(role, content), limit.count)
    return sum(costs) + more <= _room(_headed(talk, blocks, limit)[1], limit)


def written(laid: Laid, limit: Limit) -> WrittenPrompt:
    """What an odd counter makes of the whole decides: the oldest turns go first, then what stands before them, then the
    end of the newest turn."""
    turns, shown = list(laid.shown), [turn_shown(one) for one in laid.shown]
    head = laid.head.messages()
    while len(turns) > 1 and total([*head, *shown], limit.count) > limit.tokens:
        del turns[0], shown[0]
    kept = laid.head
    if total([*head, *shown], limit.count) > limit.tokens:
        kept = next(one for one in _shorter(laid.head) if total(one.messages(), limit.count) <= limit.tokens * FULL)
        head = kept.messages()
    room = limit.tokens - total(head, limit.count)
    if not shown or total(shown, limit.count) <= room:
        return WrittenPrompt([*head, *shown], kept, tuple(turns))
    return WrittenPrompt([*head, clipped(shown[-1], room, limit.count)], kept, tuple(turns), clipped=True)


def _shorter(head: PromptHead) -> Iterator[PromptHead]:
    """With fewer and fewer lines of its summary, and at last nothing."""
    for lines in range(len(head.summary.lines), -1, -1):
        yield head._replace(summary=head.summary._replace(lines=head.summary.lines[:lines]))
    yield head._replace(summary=Summary())
    yield PromptHead()


def _headed(talk: Talk, blocks: Sequence[MemoryBlock], limit: Limit) -> tuple[list[QuotedSentence], PromptHead]:
    """The sentences that the stored summary quotes, and what stands before the turns."""
    before = picked(talk.state.picks, talk.quoted) if talk.state else []
    return before, with_blocks(blocks, limit)._replace(summary=_summary(talk, before, limit))


def with_blocks(blocks: Sequence[MemoryBlock], limit: Limit) -> PromptHead:
    """Whole blocks, as long as they leave half of the prompt to the conversation."""
    head = PromptHead()
    for block in blocks:
        wider = head._replace(blocks=(*head.blocks, block))
        if total(wider.messages(), limit.count) <= limit.tokens * FOR_BLOCKS:
            head = wider
        else:
            head = head._replace(left_out=(*head.left_out, block.label))
    while head.blocks and total(head.messages(), limit.count) > limit.tokens * FOR_BLOCKS:
        *blocks, last = head.blocks
        head = head._replace(blocks=tuple(blocks), left_out=(last.label, *head.left_out))
    return head


def _summary(talk: Talk, before: Sequence[QuotedSentence], limit: Limit) -> Summary:
    if talk.state is None or talk.record is None:
        return Summary()
    if talk.state.made_by == EXTRACTED:
        return Summary(_lines(before, limit.summary, limit.count), EXTRACTED, talk.state.turns)
    text, _ = excerpt(talk.record.text, frozenset(), limit.summary, limit.count)
    return Summary(tuple(text.splitlines()), talk.state.made_by, talk.state.turns)


def _lines(ranked: Sequence[QuotedSentence], tokens: int, count: Counter) -> tuple[str, ...]:
    """In the order in which they were said."""
    kept = within(ranked, tokens, count)
    return tuple(one.shown for one in sorted(kept, key=lambda one: (one.place, one.pick.start)))


def _leaving(turns: Sequence[Record], head: PromptHead, limit: Limit) -> tuple[Record, ...]:
    """The oldest turns, if all together fill the prompt: so many that the rest takes half of the room, and has time to
    grow. The newest always stays."""
    costs, room = [cost(turn_shown(one), limit.count) for one in turns], _room(head, limit)
    left, gone = sum(costs), 0
    if left <= room:
        return ()
    while gone < len(turns) - 1 and left > room / 2:
        left -= costs[gone]
        gone += 1
    return tuple(turns[:gone])


def _room(head: PromptHead, limit: Limit) -> float:
    """For turns, before the prompt counts as full."""
    fixed = total(head.messages(), limit.count)
    return max(limit.tokens * FULL - fixed, (limit.tokens - fixed) / 2)
