"""A small world made of what was read, in which changes happen one after the other. What became of it are rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from agent_memory.ledger.feed import check
from agent_memory.ledger.journal import Journal
from agent_memory.ledger.repeats import FORGOTTEN, wrote
from agent_memory.ledger.rows import (
    AnswerRow,
    BelievedRecord,
    ContentRow,
    CursorRow,
    Ended,
    Gone,
    KeptAnswer,
    LinkRow,
    Present,
    RecordPlace,
    Rows,
    StoredVersion,
    VersionRow,
)
from agent_memory.models.errors import Changed
from agent_memory.models.record import SHARED, Scope
from agent_memory.ports.changes import DERIVING, Key, Terms, Vocabulary
from agent_memory.ports.feed import Cursor, Work


class World:
    """What is there, and beside it the rows that are new. A row that came and went again is not written at all."""

    def __init__(self, present: Present) -> None:
        self.present = present
        self.journal = Journal(present.head, present.scopes)
        self._records: dict[int, BelievedRecord] = {}
        self._ids: dict[tuple[Scope, str], int] = {}
        self._keys: dict[tuple[Scope, str, str], int] = {}
        self._standing = {_ends(link): link for link in present.links}
        self._descendants: defaultdict[int, dict[int, RecordPlace]] = defaultdict(
            dict
        )  # target -> what ever came from it
        self._sources: defaultdict[int, set[tuple[int, Scope]]] = defaultdict(set)  # source -> where links lead to now
        self._kinds: dict[int, str] = {}  # of what came from something
        self._settled: Vocabulary | None = None
        self._erased: set[int] = set()
        self._forgotten = set(present.forgotten)
        self._answers = dict(present.answers)
        self._gone: list[Gone] = []
        self._contents: dict[int, ContentRow] = {}
        self._versions: dict[int, VersionRow] = {}
        self._links: dict[int, LinkRow] = {}
        self._ended_versions: dict[int, int] = {}
        self._ended_links: dict[int, int] = {}
        self._answered: dict[tuple[Scope, str], int] = {}  # when
        self._moved: dict[tuple[str, str], Cursor] = {}  # by job and tenant
        self._rows_of: defaultdict[int, list[int]] = defaultdict(list)  # record -> its new versions and links
        for held in present.records:
            self._hold(held)
        for one in present.descents:
            self._kinds[one.source.record] = one.kind
            self._descends(one.source, one.target, one.scope, stands=one.stands)

    def rows(self) -> Rows:
        return Rows(
            tuple(self.journal.lines),
            tuple(self._gone),
            tuple(self._contents.values()),
            tuple(self._versions.values()),
            tuple(Ended(*one) for one in self._ended_versions.items()),
            tuple(self._links.values()),
            tuple(Ended(*one) for one in self._ended_links.items()),
            tuple(AnswerRow(*key, at, self._answers[key]) for key, at in self._answered.items()),
            tuple(CursorRow(job, cursor) for (job, _), cursor in self._moved.items()),
            self._settled,
        )

    def go_on(self, work: Work) -> None:
        """What is written from here on is the work of a job, if that may still do it; its cursor moves with it."""
        found, name = self.present.works[work], work.lease.name
        if work.to is None:
            check(work, found)
            return
        place = name, work.to.tenant
        check(work, found._replace(cursor=self._moved.get(place, found.cursor)))
        self._moved[place] = work.to

    def settle(self, given: Vocabulary | None) -> None:
        """The first to write words says how they are made; who makes them otherwise would not be found."""
        stored = self.present.vocabulary or self._settled
        if given is not None and stored is None:
            self._settled = given
        elif given is not None and stored is not None and given.name != stored.name:
            raise Changed(f"the words of the store are made by {stored.name!r} now", hint="open it again")

    # -- records

    def by_id(self, scope: Scope, id: str) -> BelievedRecord | None:
        number = self._ids.get((scope, id))
        return None if number is None else self._records[number]

    def by_key(self, scope: Scope, kind: str, key: str) -> BelievedRecord | None:
        number = self._keys.get((scope, kind, key))
        return None if number is None else self._records[number]

    def add(self, row: VersionRow, body: ContentRow | StoredVersion) -> None:
        """A version: with a new content, or with the one of another version."""
        if isinstance(body, ContentRow):
            self._contents[row.content] = body
        self._versions[row.version] = row
        self._rows_of[row.place.record].append(row.version)
        stored = StoredVersion(row.version, row.number, row.content, body.body, row.state)
        old = self._records.get(row.place.record)
        versions = (*old.versions, stored) if old else (stored,)
        order = sorted(versions, key=lambda one: (one.state.valid_from, one.version))
        self._hold(BelievedRecord(row.place, row.kind, tuple(order)))

    def end(self, held: BelievedRecord, ended: Iterable[StoredVersion], line: int) -> None:
        """These versions of a record are believed no longer."""
        numbers = {one.version for one in ended}
        for number in numbers:
            if row := self._versions.get(number):
                self._versions[number] = row._replace(ended=line)
            else:
                self._ended_versions[number] = line
        self._drop_keys(held)
        self._hold(held._replace(versions=tuple(one for one in held.versions if one.version not in numbers)))

    def _hold(self, held: BelievedRecord) -> None:
        record, id, scope = held.place
        self._records[record] = held
        self._ids[scope, id] = record
        for one in held.versions:
            if one.state.key is not None:
                self._keys[scope, held.kind, one.state.key] = record

    def _drop_keys(self, held: BelievedRecord) -> None:
        for one in held.versions:
            if one.state.key is not None:
                self._keys.pop((held.place.scope, held.kind, one.state.key), None)

    # -- links

    def standing(self, source: int, target: int, type: str, scope: Scope) -> LinkRow | None:
        return self._standing.get((source, target, type, scope))

    def connect(self, row: LinkRow, source: RecordPlace) -> None:
        self._links[row.link] = row
        for end in (row.source, row.target):
            self._rows_of[end].append(row.link)
        self._standing[_ends(row)] = row
        if row.type in DERIVING:
            self._kinds[row.source] = self._records[row.source].kind
            self._descends(source, row.target, row.scope, stands=True)

    def cut(self, link: LinkRow, line: int) -> None:
        if row := self._links.get(link.link):
            self._links[link.link] = row._replace(ended=line)
        else:
            self._ended_links[link.link] = line
        del self._standing[_ends(link)]
        self._sources[link.source].discard((link.target, link.scope))

    def _descends(self, source: RecordPlace, target: int, scope: Scope, *, stands: bool) -> None:
        self._descendants[target][source.record] = source
        if stands and source.record != target:
            self._sources[source.record].add((target, scope))

    # -- erasing

    def derived(self, record: int, user: str, retelling: Collection[str]) -> list[RecordPlace]:
        """What goes with a record of this user's: it was once derived from it, and is not derived from anything that
        stays, or is of a kind that retells it. Followed for as long as something goes."""
        found: dict[int, RecordPlace] = {}
        gone, frontier = {record}, [record]
        while frontier:
            for place in self._descendants[frontier.pop()].values():
                if user not in (SHARED, place.scope.user) or place.record in gone or place.record in self._erased:
                    continue
                if self._kinds[place.record] in retelling or not self._rooted(place.record, gone):
                    gone.add(place.record)
                    frontier.append(place.record)
                    found[place.record] = place
        return [place for _, place in sorted(found.items())]

    def _rooted(self, record: int, gone: Collection[int]) -> bool:
        """Whether it has a source that stays."""
        if record in self.present.rooted:
            return True
        return any(target not in gone and target not in self._erased for target, _ in self._sources[record])

    def erase(self, place: RecordPlace, line: int) -> None:
        """Its number is never used again: what is known of its links need not be found."""
        if held := self._records.pop(place.record, None):
            self._drop_keys(held)
        self._ids.pop((place.scope, place.id), None)
        self._erased.add(place.record)
        self._forgotten.add((place.scope.tenant, place.scope.user, place.id))
        for key, kept in self._answers.items():
            if place.scope in key[0].readable() and kept.text and wrote(kept.text, {place.id}):
                self._answers[key] = FORGOTTEN
        self._gone.append(Gone(place, line, tuple(self._taken_back(place.record))))

    def forgotten(self, scope: Scope, id: str | Key) -> bool:
        """Whether this user ever erased it, for whichever agent it was."""
        return (scope.tenant, scope.user, id) in self._forgotten

    def _taken_back(self, record: int) -> Iterator[Terms]:
        """Rows of a record that are not to be written; the words that were in them."""
        for row in self._rows_of.pop(record, ()):
            self._links.pop(row, None)
            if self._versions.pop(row, None) and (content := self._contents.pop(row, None)):
                yield content.terms

    # -- answers

    def answered(self, scope: Scope, key: str) -> KeptAnswer | None:
        return self._answers.get((scope, key))

    def answer(self, row: AnswerRow) -> None:
        self._answers[row.scope, row.key] = row.answer
        self._answered[row.scope, row.key] = row.at


def _ends(link: LinkRow) -> tuple[int, int, str, Scope]:
    """What there is at most one standing link of."""
    return link.source, link.target, link.type, link.scope
