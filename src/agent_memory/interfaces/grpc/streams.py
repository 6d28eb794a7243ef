"""Three methods that a single answer does not fit: take everything out, put much in, follow what happens.

Each is built on an operation of the table, page by page, so permissions, limits and checks are those of the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from pydantic_core import to_json

from agent_memory.app.transfer import PAGE, Import, exported
from agent_memory.models.errors import AgentMemoryError
from agent_memory.models.model import Model
from agent_memory.models.record import JournalLine, Record

LOOK_SECONDS = 0.2  # how often a follower looks for something new


class Imported(Model):
    """How many records came, and what became of them."""

    received: int
    created: int
    updated: int
    unchanged: int


@dataclass(frozen=True)
class Session:
    """The caller's side of a stream: run an operation by its name, see whether anybody still listens, and wait.
    `pause` raises when the server stops."""

    user: str
    call: Callable[[str, dict[str, Any]], Any]
    alive: Callable[[], bool]
    pause: Callable[[float], None]


def export(session: Session, said: dict[str, Any]) -> Iterator[Record]:
    """Every record of the user's own, one message each: of every standing unless one is named, the oldest first.

    A reader that is slow slows the stream down; nothing is kept for it.
    """
    for page in exported(session.call, session.user, said):
        if not session.alive():
            return
        yield from page


def take_in(session: Session, records: Iterator[dict[str, Any]]) -> Imported:
    """Store a stream of records: what `records.add` takes, and what an export gave.

    If one is refused, those before it are stored, and the error says how many. Sending them again with their ids or
    keys is harmless. Their vectors are made later.
    """
    taken = Import(session.call)
    try:
        while page := [to_json(one) for one in islice(records, PAGE)]:
            taken.take(page)
    except AgentMemoryError as error:
        kept = f"the first {taken.lines} records are stored"
        error.hint = f"{error.hint}; {kept}" if error.hint else kept
        raise
    return Imported(received=taken.lines, **taken.effects)


def journal(session: Session, said: dict[str, Any]) -> Iterator[JournalLine]:
    """Who changed what, as it happens: first the lines after `after`, then each new one, until the caller hangs up.

    With `follow` false it ends with the last line that there is.
    """
    follow = said.pop("follow", True)
    said = {"after": 0, **said, "limit": PAGE}
    while session.alive():
        lines = session.call("records.journal", said)
        yield from lines
        if lines:
            said["after"] = lines[-1].seq
        elif not follow:
            return
        else:
            session.pause(LOOK_SECONDS)


@dataclass(frozen=True)
class Stream:
    """A method with a stream on one side. Its request has the arguments of `operation`, without some and with more."""

    name: str
    run: Callable[..., Any]
    operation: str
    without: frozenset[str]
    gives: Any
    more: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    takes_many: bool = False


STREAMS = (
    Stream("Export", export, "records.find", frozenset({"limit", "after_id", "oldest_first"}), Record),
    Stream("Import", take_in, "records.add", frozenset({"reason", "idempotency_key"}), Imported, takes_many=True),
    Stream("Journal", journal, "records.journal", frozenset({"limit"}), JournalLine, {"follow": (bool, True)}),
)
