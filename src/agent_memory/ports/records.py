"""The canonical store: versioned records, links and the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from agent_memory.models.kinds.kind import Kind
from agent_memory.models.record import JournalLine, Link, Linked, Record, Scope, Status
from agent_memory.ports.changes import Applied, Author, Change, Derived, Expect, Mark, Once, Verified, Vocabulary
from agent_memory.ports.feed import Work


class View(NamedTuple):
    """Who looks, and at which moment.

    `seq` is recorded time, a line of the tenant's journal (None: the latest). `valid_at` is valid time, taken strictly;
    without it a reader sees what holds at `now`, and of a record that has not begun yet, its first version.
    `era` is that of the `Snapshot` by which numbers were found, where some were.
    """

    scope: Scope
    now: int
    seq: int | None = None
    valid_at: int | None = None
    era: int | None = None


CONFINED = ("procedure", "origin")
"""The kind that belongs to places, and its indexed field that names the place."""


class Filter(NamedTuple):
    """Which records: everything that is given must hold. `after` and `before` bound `valid_from`, half open.
    `fields` compares payload fields that the kind has indexed. `pages` are the places whose pages may be seen: a record
    that is `CONFINED` to another place is not; None confines nothing."""

    kinds: tuple[str, ...] | None = None
    statuses: tuple[Status, ...] = (Status.ACTIVE,)
    conversation_id: str | None = None
    repository: str | None = None
    after: int | None = None
    before: int | None = None
    min_confidence: float | None = None
    fields: tuple[tuple[str, str | int | float], ...] = ()
    pages: tuple[str, ...] | None = None


Deriver = Callable[[str, str, str], Derived]
"""(kind, text, payload) -> what is derived from it, without vectors."""

Checker = Callable[[str, str, str, str], Derived | None]
"""The same, for comparing, in the vocabulary of this name, which comes last; None: nobody here knows (the kind is not
installed)."""


class Analysis(NamedTuple):
    """How everything derived is made again, in the words of a vocabulary: `derive` is for contents, `asked` gives the
    words of a query, for its receipt."""

    vocabulary: Vocabulary
    derive: Deriver
    asked: Callable[[str], bytes]


class RecordStore(Protocol):
    """All reads take a `View`; none ever shows a row of a scope that it may not see.

    Each tenant has a journal of its own, whose lines number its rows: two tenants' numbers have nothing to do with each
    other. The store has one, too, for what concerns all of them."""

    def apply(
        self,
        changes: Sequence[Change],
        *,
        author: Author,
        now: int,
        expect: Sequence[Expect] = (),
        once: Once | None = None,
        work: Work | None = None,
    ) -> Applied:
        """All or nothing, durable when it returns. `Conflict` when an expectation does not hold.
        A request that was already answered under the same `once` is answered again, and not repeated.
        With `work`, it is a job's: `LeaseLost` or `Changed` as `Feed.advance` says, and its cursor moves with it."""
        ...

    def get(self, view: View, ids: Sequence[str]) -> list[Record]:
        """In the order of `ids`, whatever their status; unknown ones are left out."""
        ...

    def by_key(self, view: View, kind: str, key: str) -> Record | None: ...

    def head(self, scope: Scope, kind: str, *, key: str | None = None, id: str | None = None) -> Record | None:
        """For writers: the record of exactly this scope with this key or id, whether or not it holds now, as the
        version that begins last; its `version` is the newest number, which `Expect` compares."""
        ...

    def find(
        self, view: View, where: Filter, *, limit: int, after: str | None = None, oldest_first: bool = False
    ) -> list[Record]:
        """Newest `valid_from` first (ties: latest id); `after` is the last id of the page before."""
        ...

    def history(self, view: View, id: str) -> list[Record]:
        """Every version that this store ever believed, in the order it came to."""
        ...

    def beginning(self, view: View, prefix: str, *, limit: int) -> list[str]:
        """Ids that begin with these characters, in their order: of every record that this reader may know of, whether
        or not it holds now. It reads no more than the ids that begin so."""
        ...

    def believed(self, view: View, where: Filter, *, after: int, limit: int) -> list[Linked]:
        """Every version that is believed, whether or not it holds now (at `valid_at`, if that is given), in the order
        the store came to them, with the links that start at its record; `after` is the `seq` of the last one."""
        ...

    def links(self, view: View, ids: Sequence[str]) -> list[Link]:
        """Links that start or end at these records, both ends visible."""
        ...

    def agents(self, tenant: str, user: str) -> list[str]:
        """Those of a user that wrote for themselves, by name."""
        ...

    def seq_at(self, tenant: str, moment: int) -> int:
        """The last line of a tenant's journal at or before this moment (0: before all)."""
        ...

    def journal(self, view: View, *, after: int = 0, limit: int = 100, id: str | None = None) -> list[JournalLine]: ...

    def verify(
        self, tenant: str | None, derive: Checker | None = None, expect: Mark | None = None, *, alone: bool = False
    ) -> Verified:
        """Prove the chains of all journals, every version, link, key and tenant against its line (what it says, whose
        it is, which ones it ended), and that nothing is loose. `alone`: only this tenant's journal, and what it tells
        of. No tenant: the store's own journal. With `derive`, words and fields are made again and compared. With
        `expect`, this journal must still hold that line. Damage is reported, never raised."""
        ...

    def rebuild(self, analysis: Analysis) -> Mapping[str, int]:
        """Make words, fields and views again from the contents; vectors that are missing become pending. From its
        beginning on all is written in the words of that vocabulary. It is done in steps, between which others write; if
        it is stopped, the next one goes on where it was. `Conflict` when another begins in other words meanwhile."""
        ...

    def stats(self, view: View) -> dict[str, Any]: ...

    def prepare(self, kinds: Iterable[Kind]) -> None:
        """Tell the store which kinds there are, so that it can offer them to other tools (views)."""
        ...
