"""Blocks as records: who sees which, edits that lose nobody's, and undo. E9.

Each edit is a version, and is written only while the block is what it was made from: of two edits at the same moment
one is made again on top of the other. An undo is a version, too. It steps back over edits as an editor does, so that a
second one goes further back, and an edit after it goes on from there; `to` brings any version back, also one that was
undone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from agent_memory.core.write.commit import Revision, Writing, commit_after_reading
from agent_memory.ledger.request import own
from agent_memory.models.draft import Draft
from agent_memory.models.errors import Changed, Denied, InvalidInput, NotFound
from agent_memory.models.kinds.kind import joined_key
from agent_memory.models.kinds.talk import MemoryBlock
from agent_memory.models.model import new_id
from agent_memory.models.moment import from_micros
from agent_memory.models.record import SHARED, Record, Scope
from agent_memory.ports.changes import Author, Expect
from agent_memory.ports.records import Filter, RecordStore, View

MOST = 1000
FIRST = ("persona", "human")
Edit = Callable[[str], str]


def visible(records: RecordStore, view: View) -> list[Record]:
    """Every block that this reader sees, persona and human first; of one label the agent's own before the shared."""
    order = {scope: place for place, scope in enumerate(view.scope.readable())}
    found = records.find(view, Filter(kinds=("block",)), limit=MOST)
    return sorted(found, key=lambda one: (*_rank(str(one.key)), order[one.scope]))


def in_force(found: list[Record]) -> list[MemoryBlock]:
    """Of each label the one that stands first."""
    return [MemoryBlock.of(one) for one in {one.key: one for one in reversed(found)}.values()][::-1]


def named(records: RecordStore, view: View, label: str) -> Record:
    found = records.by_key(view, "block", joined_key(label))
    if found is None:
        raise _unknown(label)
    return found


def change(
    writing: Writing, author: Author, now: int, label: str, edit: Edit, if_version: int | None = None
) -> MemoryBlock:
    """Its text as `edit` makes it of the present one. Refused where the block is read-only."""

    def read() -> Revision:
        old, by = _own(writing.records, author, label)
        _expected(old, if_version)
        _editable(old)
        return Revision(_next(old, edit(old.text), old.payload), _unchanged(old), by)

    return _written(writing, now, read)


def put(
    writing: Writing, author: Author, now: int, label: str, said: Mapping[str, Any], shared: bool | None
) -> MemoryBlock:
    """A block as somebody wants it: what is not said stays as it is. Without `shared` it is the one that there is, and
    otherwise a new one of this agent's own."""
    text, if_version = said.get("text"), said.get("if_version")
    settings = {name: value for name, value in said.items() if name not in ("text", "if_version")}
    scopes = own(author.scope) if shared is None else (_scope(author.scope, shared),)

    def read() -> Revision:
        _shared_editable(writing.records, author.scope, label)
        for scope in scopes:
            if (old := writing.records.head(scope, "block", key=joined_key(label))) is not None:
                break
        else:
            _expected(None, if_version)
            draft = Draft(kind="block", id=new_id(), text=text or "", payload={"label": label, **settings})
            key = joined_key(label)
            return Revision(draft, Expect(0, kind="block", key=key), author._replace(scope=scopes[0]))
        _expected(old, if_version)
        draft = _next(old, old.text if text is None else text, {**old.payload, **settings})
        return Revision(draft, _unchanged(old), author._replace(scope=old.scope))

    return _written(writing, now, read)


def undo(
    writing: Writing, view: View, author: Author, label: str, to: int | None = None, if_version: int | None = None
) -> MemoryBlock:
    """The version before the last edit that is not undone yet, or the version `to`, as a new version."""

    def read() -> Revision:
        old, by = _own(writing.records, author, label)
        _expected(old, if_version)
        _editable(old)
        past = {one.version: one for one in writing.records.history(view._replace(scope=old.scope), old.id)}
        aim = _before(past, old.version) if to is None else to
        if aim not in past:
            raise InvalidInput(f"to: block {label!r} has no version {to}", hint=f"use 1 to {old.version}", field="to")
        back = past[_standing(past, aim)]
        payload = {**back.payload, "restores": back.version}
        return Revision(replace(Draft.of(old), text=back.text, payload=payload), _unchanged(old), by)

    return _written(writing, view.now, read)


def versions(records: RecordStore, view: View, label: str) -> list[MemoryBlock]:
    """The oldest first."""
    found = named(records, view, label)
    return [MemoryBlock.of(one) for one in records.history(view._replace(scope=found.scope), found.id)]


def own_id(records: RecordStore, author: Author, label: str) -> str:
    """For whoever erases it. An agent cannot erase what it may not edit."""
    _shared_editable(records, author.scope, label)
    return _own(records, author, label)[0].id


def _next(old: Record, text: str, payload: dict[str, Any]) -> Draft:
    """What changes nothing stays the version that it is, also one that an undo brought back."""
    if (text, payload) != (old.text, old.payload):
        payload = {name: value for name, value in payload.items() if name != "restores"}
    return replace(Draft.of(old), text=text, payload=payload)


def _before(past: Mapping[int, Record], head: int) -> int:
    """What an undo at this version leads to."""
    at = _standing(past, head)
    if at - 1 not in past:
        raise InvalidInput(
            "nothing is left to undo: this is the first version", hint="`delete` takes the block away", field="label"
        )
    return _standing(past, at - 1)


def _standing(past: Mapping[int, Record], version: int) -> int:
    """The edit whose text a version has: the one that it restores, or itself."""
    return int(past[version].payload.get("restores") or version)


def _own(records: RecordStore, author: Author, label: str) -> tuple[Record, Author]:
    key = joined_key(label)
    for scope in own(author.scope):
        if (found := records.head(scope, "block", key=key)) is not None:
            return found, author._replace(scope=scope)
    everybody = [one for one in author.scope.readable() if one.user == SHARED]
    if any(records.head(scope, "block", key=key) is not None for scope in everybody):
        raise Denied(
            f"label: block {label!r} is shared by all users, and only their memory can change it",
            hint='open it with user_id="*" and shared=True, or set a block of your own with this label',
            field="label",
        )
    raise _unknown(label)


def _written(writing: Writing, now: int, read: Callable[[], Revision]) -> MemoryBlock:
    """The version that was written, also if there is a newer one by now."""
    made: list[Revision] = []

    def kept() -> Revision:
        made[:] = [read()]
        return made[0]

    applied = commit_after_reading(writing, kept, now)
    draft, shared = made[0].draft, made[0].author.scope.agent == SHARED
    outcome, at = applied.outcomes[0], from_micros(applied.at)
    return MemoryBlock(
        **draft.payload, id=outcome.id, text=draft.text, shared=shared, version=outcome.version, updated_at=at
    )


def _scope(scope: Scope, shared: bool) -> Scope:
    if not shared and scope.agent == SHARED:
        raise InvalidInput(
            "shared: a block of one agent alone needs an agent",
            hint="open the memory with agent='name', or leave shared out",
            field="shared",
        )
    return scope.model_copy(update={"agent": SHARED}) if shared else scope


def _unchanged(old: Record) -> Expect:
    return Expect(old.version, id=old.id)


def _expected(old: Record | None, if_version: int | None) -> None:
    version = old.version if old else 0
    if if_version not in (None, version):
        raise Changed(
            f"if_version: version {if_version} was expected, the block has {version}; nothing was written",
            hint="read it again and repeat the edit",
            field="if_version",
        )


def _editable(old: Record) -> None:
    if old.payload.get("read_only"):
        raise Denied(
            f"label: block {old.payload['label']!r} is read-only",
            hint="tell the user what should change: `agent-memory blocks set`, without an agent, can change it",
            field="label",
        )


def _shared_editable(records: RecordStore, scope: Scope, label: str) -> None:
    """`Denied` to an agent where its user's agents share a read-only block of this label: it neither changes that one
    nor puts one of its own before it."""
    if scope.agent == SHARED:
        return
    shared = records.head(_scope(scope, shared=True), "block", key=joined_key(label))
    if shared is not None:
        _editable(shared)


def _unknown(label: str) -> NotFound:
    hint = "`agent-memory blocks list` tells which there are"
    return NotFound(f"label: there is no block {label!r}", hint=hint, field="label")


def _rank(key: str) -> tuple[int, str]:
    return (FIRST.index(key) if key in FIRST else len(FIRST)), key
