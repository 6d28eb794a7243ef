"""Ids as people type them: `@last`, or the first characters of one that we give. A terminal shows as many as needed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from agent_memory.interfaces.cli import PROGRAM, journal
from agent_memory.interfaces.cli.cleaning import cut, one_line
from agent_memory.models.errors import InvalidInput, NotFound, PartMissing
from agent_memory.models.model import ID_ALPHABET

if TYPE_CHECKING:
    from agent_memory.app.memory import AgentMemory
    from agent_memory.models.record import Record

LAST = "@last"
SHOWN = 8  # characters at a terminal, if they tell ids apart
SHORTEST = 4  # characters that can stand for an id
MOST = 6  # that are named when several begin alike
LOOKED = 20  # lines of the journal, to find the last that this user wrote
WROTE = ("put", "amend")
GIVEN = re.compile(f"[{ID_ALPHABET}]{{26}}")  # the form of those that we give

REFERENCES = frozenset(
    {
        *(f"records.{name} id" for name in ("get", "history", "amend", "edit", "links", "journal")),
        *(f"goals.{name} id" for name in ("get", "children", "update")),
        *(
            f"{name} {end}_id"
            for name in ("records.unlink", "semantic.create_relationship")
            for end in "source target".split()
        ),
        "records.find after_id",
        *(f"upkeep.{name} id" for name in ("why", "restore", "pin", "unpin")),
        "records.forget ids",
        "receipts.accesses ids",
        "upkeep.compressed ids",
        "longterm.get_incident id",
        "state.get_tasks_for_goal goal_id",
        "state.record_outcome id",
        "state.update_goal id",
        "state.update_pattern_stats id",
        "semantic.get_entity id",
        "semantic.get_entity_graph entity_ids",
        "semantic.learn_fact entity_ids",
        "semantic.learn_fact source_turn_id",
        "procedural.reinforce_strategy strategy_id",
        "procedural.record_invocation turn_id",
        "working.set_active_goal goal_id",
    }
)
"""Operation and parameter, where that is the id of a record that is there."""


def resolved(memory: AgentMemory, operation: str, said: dict[str, Any]) -> dict[str, Any]:
    """The same arguments, with the ids that were meant."""
    meant = dict(said)
    for name, value in said.items():
        if value is not None and f"{operation} {name}" in REFERENCES:
            many = isinstance(value, list)
            meant[name] = [_meant(memory, one, name) for one in value] if many else _meant(memory, value, name)
    return meant


def abbreviated(ids: Sequence[str]) -> list[str]:
    """Of the ids that we give, so many characters that those shown here differ; those of somebody's own are whole."""
    given = {id for id in ids if GIVEN.fullmatch(id)}
    size = SHOWN
    while len({id[:size] for id in given}) < len(given):
        size += 1
    return [id[:size] if id in given else id for id in ids]


def _meant(memory: AgentMemory, typed: str, field: str) -> str:
    """What names nothing stays as it is: the operation itself says that there is no such record. Only ids that we give
    have a beginning: of somebody's own, `user-1` is never `user-10`."""
    if typed == LAST:
        return last(memory)
    if GIVEN.fullmatch(typed) or len(typed) < SHORTEST:
        return typed
    found: list[Record] = []
    with suppress(PartMissing):  # a server that is older than this
        found = memory.records.resolve(typed, MOST)
    given = [one for one in found if GIVEN.fullmatch(one.id)]
    if not given or any(one.id == typed for one in found):
        return typed
    if len(given) == 1 and len(found) < MOST:  # of more than that, some were not looked at
        return given[0].id
    raise InvalidInput(
        f"{field}: {typed!r} could be {_listed(given)}", hint="type more of the one that you mean", field=field
    )


def last(memory: AgentMemory) -> str:
    """The record that this user wrote last. If it was forgotten, nothing else takes its place: `forget @last`, said
    twice, must not erase another one."""
    said = f"{memory.user_id!r} wrote nothing lately"
    for line in reversed(journal.latest(memory, {"limit": LOOKED})):
        if line.actor == memory.user_id and line.operation in WROTE and line.record_id:
            try:
                memory.records.history(line.record_id)
            except NotFound:
                said = f"what {memory.user_id!r} wrote last was forgotten"
                break
            return line.record_id
    raise NotFound(f"{LAST}: {said}", hint=f"`{PROGRAM} list` shows what there is")


def _listed(found: Sequence[Record]) -> str:
    shown = zip(abbreviated([one.id for one in found]), found, strict=True)
    said = [f"{id} ({one.kind}: {cut(one_line(one.text), 40)})" for id, one in shown]
    return " or ".join([*said[: MOST - 1], *(["others"] if len(said) == MOST else [])])
