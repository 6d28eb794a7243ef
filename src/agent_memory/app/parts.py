"""Are the parts of a store that live elsewhere in reach? For the doctor: nothing is changed or created."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from agent_memory.app import compose, registry
from agent_memory.app.check import CheckState, Diagnosis
from agent_memory.app.config import Settings, shown
from agent_memory.engines.sqlite import schema
from agent_memory.models.errors import AgentMemoryError
from agent_memory.models.record import Scope
from agent_memory.ports.vectors import inside
from agent_memory.ports.working import Desk

NOBODY = Scope(tenant="doctor", user="doctor")  # of whom there is nothing
ASKED: dict[str, Callable[[Any], object]] = {
    "working": lambda part: part.values(Desk(NOBODY, "doctor"), now=0),
    "vectors": lambda part: part.query(inside(NOBODY, "doctor"), [1.0, 0.0], 1),
}
"""A question to each kind of part, to which the answer is nothing."""


def check_parts(settings: Settings) -> Iterator[Diagnosis]:
    try:
        found = compose.part_urls(settings)
    except AgentMemoryError as error:
        yield Diagnosis("part", CheckState.FAIL, error.message, error.hint)
        return
    for name, url in found.items():
        yield _file(name, url) if url.startswith("sqlite://") else _asked(name, url)


def places(settings: Settings) -> frozenset[str]:
    """The places outside that this process can tell what to forget."""
    with suppress(AgentMemoryError):
        return frozenset(compose.place(name, url) for name, url in compose.part_urls(settings).items())
    return frozenset()


def _file(name: str, url: str) -> Diagnosis:
    """It is only looked at: opening it would create or upgrade it."""
    path = registry.sqlite_path(url)
    if not path.exists():
        return Diagnosis(name, CheckState.OK, f"{path} is not there yet; the first use creates it")
    try:
        schema.version(path)
    except (AgentMemoryError, OSError) as error:
        return Diagnosis(name, CheckState.FAIL, str(error), f"name another file in {registry.variable(name)}")
    return Diagnosis(name, CheckState.OK, f"{path}")


def _asked(name: str, url: str) -> Diagnosis:
    where = shown(name, url)
    state, fix = CheckState.FAIL, f"start it, or correct {registry.variable(name)}"
    try:
        part, owner = compose.opened(name, url)
        if name == "vectors":  # from here on nothing breaks
            state, fix = CheckState.WARN, f"{fix}; until then the mirror in the store answers"
        try:
            started = time.perf_counter()
            ASKED[name](part)
            spent = (time.perf_counter() - started) * 1000
        finally:
            getattr(owner, "close", lambda: None)()
    except AgentMemoryError as error:
        return Diagnosis(name, state, f"{where}: {error.message}", error.hint or fix)
    except Exception as error:  # noqa: BLE001 - whatever a plug-in raises, the other checks go on
        return Diagnosis(name, state, f"{where}: {type(error).__name__}: {error}", fix)
    return Diagnosis(name, CheckState.OK, f"{where}: answers in {spent:.0f} ms")
