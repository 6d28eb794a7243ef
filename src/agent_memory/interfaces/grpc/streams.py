"""Three methods that a single answer does not fit: take everything out, put much in, follow what happens.

Each is built on an operation of the table, page by page, so permissions, limits and checks are those of the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from agent_memory.app.transfer import PAGE, Import, exported
from agent_memory.models.model import Model
from agent_memory.models.record import JournalLine, Linked

RESTORE = "restore_forgotten"


class StreamsImported(Model):
    """How many records came, and what became of them. `held` wait for review; `forgotten` were passed over:
    they were forgotten before."""

    received: int
    created: int
    updated: int
    unchanged: int
    held: int
    forgotten: int


@dataclass(frozen=True)
class StreamCaller:
    """Whose stream it is, and how it runs an operation by its name."""

    tenant: str
    user: str
    call: Callable[[str, dict[str, Any]], Any]


def export(session: StreamCaller, said: dict[str, Any]) -> Iterator[list[Linked]]:
    """Every version of the user's own that is believed, with its links, one message each: of every standing unless one
    is named, in the order in which the store came to them.

    A reader that is slow slows the stream down; nothing is kept for it.
    """
    return (page for page in exported(session.call, session.user, said) if page)


def journal(session: StreamCaller, said: dict[str, Any]) -> Iterator[list[JournalLine]]:
    """Who changed what, as it happens: first the lines after `after`, then each new one, until the caller hangs up.

    With `follow` false it ends with the last line that there is.
    """
    follow = said.pop("follow", True)
    said = {"after": 0, **said, "limit": PAGE}
    while True:
        lines = session.call("records.journal", said)
        if not lines and not follow:
            return
        said["after"] = lines[-1].seq if lines else said["after"]
        yield lines


def take_in(session: StreamCaller) -> Import:
    """Store a stream of records: what `records.add` takes, and what an export gave.

    If one is refused, those before it are stored, and the error says how many. Sending them again with their ids or
    keys is harmless. Their vectors are made later. Those with the id of something that was forgotten are passed over,
    unless they say `restore_forgotten`.
    """
    return Import(session.call)


@dataclass(frozen=True)
class Stream:
    """A method with a stream on one side. Its request has the arguments of `operation`, without some and with more;
    `run` gives pages of what is sent back, or, if it `takes_many`, what takes them in."""

    name: str
    run: Callable[..., Any]
    operation: str
    without: frozenset[str]
    gives: Any
    more: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    takes_many: bool = False


STREAMS = (
    Stream("Export", export, "records.versions", frozenset({"limit", "after_seq"}), Linked),
    Stream(
        "Import",
        take_in,
        "records.add",
        frozenset({"reason", "idempotency_key"}),
        StreamsImported,
        {RESTORE: (bool, False)},
        takes_many=True,
    ),
    Stream("Journal", journal, "records.journal", frozenset({"limit"}), JournalLine, {"follow": (bool, True)}),
)
