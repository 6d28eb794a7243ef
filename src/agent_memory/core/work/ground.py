"""What the state machines of work stand on: records that are changed only while they are what was read, and leases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from agent_memory.core.write.commit import How, Writing, commit, heads, until_settled
from agent_memory.models.draft import Draft
from agent_memory.models.errors import NotFound
from agent_memory.models.kinds.kind import joined_key
from agent_memory.models.record import Record, Scope
from agent_memory.ports.changes import Author, Change, Expect
from agent_memory.ports.feed import Feed, Work
from agent_memory.ports.records import Filter, RecordStore, View


@dataclass(frozen=True, slots=True)
class WorkStep:
    """What one transaction changes, and what must still be so then. `answer` is for whoever asked."""

    author: Author
    drafts: Sequence[Draft] = ()
    expect: Sequence[Expect] = ()
    changes: Sequence[Change] = ()
    work: Work | None = None
    answer: object = None


class Ground(NamedTuple):
    """In whose name, by which clock, on which store. `idle`: by scope, the last line of its tenant's journal when no
    task that is called pending was found to be ready; as long as that is the last one, none is."""

    writing: Writing
    feed: Feed
    author: Author
    clock: Callable[[], int]
    idle: MutableMapping[Scope, int]

    @property
    def records(self) -> RecordStore:
        return self.writing.records

    def view(self, author: Author | None = None) -> View:
        return View((author or self.author).scope, self.clock())

    def seen(self, author: Author, ids: Iterable[str]) -> list[Record]:
        """Those that this author sees; the others are forgotten, or never were."""
        return self.records.get(self.view(author), asked) if (asked := sorted(set(ids))) else []

    def own(self, kind: str, id: str) -> tuple[Record, Author]:
        """The record of this user's own, and in whose name its next version is written."""
        found, author = heads(self.records, self.author, kind, id)
        if found is None:
            raise NotFound(f"no {kind} {id!r} of this user's own", field="id")
        return found, author

    def check_goal(self, author: Author, goal_id: str | None, before: str | None) -> None:
        """`NotFound`, if this is another goal than before, and there is none."""
        if goal_id in (None, before) or any(one.kind == "goal" for one in self.seen(author, [str(goal_id)])):
            return
        hint = "`agent-memory goals active` lists those there are"
        raise NotFound(f"goal_id: no goal {goal_id!r}", hint=hint, field="goal_id")

    def last(self, author: Author, kind: str, of: tuple[str, str]) -> Record | None:
        """Of what is numbered from 1 without gaps within what the field `of` names, the one with the highest index.
        Where a clock went back, the newest is not the last: those after it are found by their keys."""
        found = self.records.find(self.view(author), Filter(kinds=(kind,), fields=(of,)), limit=1)
        last = found[0] if found else None
        while True:
            index = 1 if last is None else last.payload["index"] + 1
            after = self.records.head(author.scope, kind, key=joined_key(of[1], index))
            if after is None:
                return last
            last = after

    def take(self, read: Callable[[], WorkStep]) -> WorkStep:
        """Write what `read` makes of the present, if it is still the present; otherwise read again."""

        def attempt(step: WorkStep) -> WorkStep:
            if step.drafts or step.changes:
                how = How(expect=tuple(dict.fromkeys(step.expect)), changes=step.changes, work=step.work)
                commit(self.writing, step.drafts, step.author, self.clock(), how)
            return step

        return until_settled(attempt, read)
