"""Three methods that a single answer does not fit: take everything out, put much in, follow what happens.

Each is built on an operation of the table, page by page, so permissions, limits and checks are those of the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from agent_memory.models.errors import AgentMemoryError
from agent_memory.models.model import Model
from agent_memory.models.record import JournalLine, Record

PAGE = 500
LOOK_SECONDS = 0.2  # how often a follower looks for something new


class Imported(Model):
    """How many records came, and what became of them. `seq` is the last line of the journal."""

    received: int = 0
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    seq: int = 0


@dataclass(frozen=True)
class Session:
    """The caller's side of a stream: run an operation by its name, see whether anybody still listens, and wait.
    `pause` raises when the server stops."""

    call: Callable[[str, dict[str, Any]], Any]
    alive: Callable[[], bool]
    pause: Callable[[float], None]


def export(session: Session, said: dict[str, Any]) -> Iterator[Record]:
    """Every record that `records.find` would list, one message each: the newest first unless told otherwise.

    Nothing is held back: a reader that is slow slows the stream down.
    """
    said = {**said, "limit": PAGE}
    while session.alive():
        page = session.call("records.find", said)
        yield from page
        if len(page) < PAGE:
            return
        said["after_id"] = page[-1].id


def take_in(session: Session, records: Iterator[dict[str, Any]]) -> Imported:
    """Store a stream of records, in transactions of 500: each all or none.

    If a record is refused, those of the transactions before it stay; the error tells how many. Sending them again with
    their ids or keys is harmless. Their vectors are made later.
    """
    done = Imported()
    while batch := list(islice(records, PAGE)):
        try:
            written = session.call("records.add_many", {"records": batch})
        except AgentMemoryError as error:
            kept = f"the first {done.received} records are stored" if done.received else "nothing was stored"
            error.hint = f"{error.hint}; {kept}" if error.hint else kept
            raise
        done.received += len(batch)
        for one in written:
            setattr(done, one.effect, getattr(done, one.effect) + 1)
            done.seq = one.seq
    return done


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
    Stream("Export", export, "records.find", frozenset({"limit", "after_id"}), Record),
    Stream("Import", take_in, "records.add", frozenset({"reason", "idempotency_key"}), Imported, takes_many=True),
    Stream("Journal", journal, "records.journal", frozenset({"limit"}), JournalLine, {"follow": (bool, True)}),
)
