"""A write as it is asked for, and what has to be read before it can be planned."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from agent_memory.ledger.rows import Wanted
from agent_memory.models.errors import InvalidInput
from agent_memory.models.record import Scope
from agent_memory.ports.changes import Amend, Author, Change, Connect, Erase, Expect, Key, Once, Put
from agent_memory.ports.feed import Work

MOST_CHANGES = 10_000  # of one write: others wait for it
SALT_BYTES = 16


@dataclass(frozen=True, slots=True)
class Request:
    """Changes, and what goes with them. `salt` hides the fingerprint of `once`."""

    changes: Sequence[Change]
    author: Author
    now: int
    expect: Sequence[Expect] = ()
    once: Once | None = None
    work: Work | None = None
    salt: bytes = field(default_factory=partial(secrets.token_bytes, SALT_BYTES))

    def __post_init__(self) -> None:
        check_number(self.changes)


def check_number(changes: Sequence[Change]) -> None:
    if len(changes) > MOST_CHANGES:
        raise InvalidInput(
            f"{len(changes)} changes in one write; the limit is {MOST_CHANGES}: each record, each of its links and "
            "each erasure is one",
            hint="write them in several parts; of turns, which bring their links, at most 2,499 at once",
            field="records",
        )


def own(scope: Scope) -> tuple[Scope, ...]:
    """Of the scopes that a writer sees, those that it may change: what all users share is changed for all of them."""
    return tuple(one for one in scope.readable() if one.user == scope.user)


def wanted(requests: Iterable[Request]) -> Wanted:
    found = Wanted()
    for request in requests:
        _Asking(found, request.author.scope).all_of(request)
    return found


class _Asking:
    """What one request wants."""

    def __init__(self, found: Wanted, scope: Scope) -> None:
        self.found = found
        self.scope = scope
        found.authors.add(scope)

    @cached_property
    def _ids(self) -> set[str]:
        return self.found.ids.setdefault(self.scope, set())

    @cached_property
    def _told(self) -> list[set[str]]:
        return [self.found.told.setdefault(one, set()) for one in self.scope.readable()]

    @cached_property
    def _readable(self) -> list[set[str]]:
        return [self.found.ids.setdefault(one, set()) for one in self.scope.readable()]

    @cached_property
    def _keys(self) -> set[tuple[str, str]]:
        return self.found.keys.setdefault(self.scope, set())

    @cached_property
    def _forgotten(self) -> set[str]:
        return self.found.forgotten.setdefault((self.scope.tenant, self.scope.user), set())

    def all_of(self, request: Request) -> None:
        if request.once is not None:
            self.found.answers.add((self.scope, request.once.key))
        if request.work is not None:
            self.found.works.add(request.work)
        for expect in request.expect:
            if expect.id is not None:
                self._ids.add(expect.id)
            elif expect.key is not None:
                self._keys.add((expect.kind or "", expect.key))
        for change in request.changes:
            self._change(change)

    def _change(self, change: Change) -> None:
        match change:
            case Connect(scope=Scope() as other) if other != self.scope:
                _Asking(self.found, other)._change(change)
            case Put():
                self._ids.add(change.id)
                self._told[0].add(change.id)  # its own scope is the narrowest that a writer reads
                if change.state.key is not None:
                    self._keys.add((change.kind, change.state.key))
                if change.unless_forgotten:
                    self._forgotten.add(change.id)
            case Amend() | Erase():
                self._end(change.id)
                if isinstance(change, Amend):
                    for told in self._told:
                        told.add(change.id)
                elif change.with_derived:
                    self.found.deriving.add(self.scope.user)
            case _:
                self.found.types.add(change.type)
                for end in (change.source_id, change.target_id):
                    self._end(end)
                    if isinstance(change, Connect) and change.unless_forgotten and isinstance(end, str):
                        self._forgotten.add(end)

    def _end(self, end: str | Key) -> None:
        if isinstance(end, Key):
            self._keys.add((end.kind, end.key))
        else:
            for ids in self._readable:
                ids.add(end)
