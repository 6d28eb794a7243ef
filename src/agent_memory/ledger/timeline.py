"""How a new version meets those that are believed now. Pure, and the same for every engine.

A record believes, at each moment of valid time, at most one version. A *correction* replaces them all, and begins when
they did unless it says otherwise. A
*succession* (a preference, a fact) takes its own interval and leaves the rest of the others as it was:

    believed   |---- Berlin ------------------->
    new                    |---- Lisbon ------->
    then       |-- Berlin -|---- Lisbon ------->

A late arrival whose end is open ends where what follows begins: older news never overwrite newer ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from agent_memory.ports.changes import Content, VersionState

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Believed(Generic[V]):
    """A version that is believed now; `handle` is the engine's own name for it."""

    handle: V
    text: str
    payload: str
    state: VersionState


@dataclass(frozen=True, slots=True)
class Plan(Generic[V]):
    """End the recorded interval of `ends`; write `keeps` again with another valid interval; write `state`.
    All empty: nothing changes."""

    ends: tuple[V, ...] = ()
    keeps: tuple[tuple[V, VersionState], ...] = ()
    state: VersionState | None = None


def meet(
    believed: Sequence[Believed[V]], content: Content, state: VersionState, *, succeeds: bool, dated: bool
) -> Plan[V]:
    """Where `state` (of `content`) leads from what is believed."""
    if not succeeds:
        return _correct(believed, content, state, dated)
    if state.valid_to is None:
        following = [b.state.valid_from for b in believed if b.state.valid_from > state.valid_from]
        state = state._replace(valid_to=min(following, default=None))
    for version in believed:
        if _covers(version.state, state) and _says_the_same(version, content, state):
            return Plan()
    ends: list[V] = []
    keeps: list[tuple[V, VersionState]] = []
    for version in believed:
        old = version.state
        if not _overlap(old, state):
            continue
        ends.append(version.handle)
        if old.valid_from < state.valid_from:
            keeps.append((version.handle, old._replace(valid_to=state.valid_from)))
        if state.valid_to is not None and _after(old.valid_to, state.valid_to):
            keeps.append((version.handle, old._replace(valid_from=state.valid_to)))
    return Plan(tuple(ends), tuple(keeps), state)


def _correct(believed: Sequence[Believed[V]], content: Content, state: VersionState, dated: bool) -> Plan[V]:
    if believed and not dated:
        begin = min(version.state.valid_from for version in believed)
        if state.valid_to is None or begin < state.valid_to:  # else it would hold at no moment at all
            state = state._replace(valid_from=begin)
    if len(believed) == 1:
        old = believed[0].state
        moved = dated and old.valid_from != state.valid_from
        if not moved and old.valid_to == state.valid_to and _says_the_same(believed[0], content, state):
            return Plan()
    return Plan(tuple(version.handle for version in believed), (), state)


def _says_the_same(version: Believed[V], content: Content, state: VersionState) -> bool:
    """Same content and same standing, whatever their intervals."""
    interval = {"valid_from": 0, "valid_to": None}
    return (
        version.text == content.text
        and version.payload == content.payload
        and version.state._replace(**interval) == state._replace(**interval)  # type: ignore[arg-type]
    )


def _after(end: int | None, moment: int) -> bool:
    return end is None or end > moment


def _covers(old: VersionState, new: VersionState) -> bool:
    """Whether `old` holds at every moment of `new`."""
    return old.valid_from <= new.valid_from and (
        old.valid_to is None or (new.valid_to is not None and new.valid_to <= old.valid_to)
    )


def _overlap(old: VersionState, new: VersionState) -> bool:
    return _after(old.valid_to, new.valid_from) and _after(new.valid_to, old.valid_from)
