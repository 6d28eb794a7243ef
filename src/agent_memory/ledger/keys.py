"""API keys in the store's journal: a line when one is made and when it ends, so that none is revived or slipped in
unseen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_memory.ledger.journal import KEY, Head, Journal, Line, LineSubject, Signature
from agent_memory.ledger.seals import key_seal
from agent_memory.ports.access import KeyRow


def cells(key: KeyRow) -> tuple[Any, ...]:
    """A key as it is stored and sealed."""
    permissions = " ".join(key.permissions)
    told = (key.id, key.digest, key.label, key.tenant, key.user, permissions)
    return (*told, key.created_at, key.expires_at, key.ended_at)


def restored(row: Sequence[Any]) -> KeyRow:
    id, digest, label, tenant, user, permissions, *times = row
    return KeyRow(id, digest, label, tenant, user, tuple(str(permissions).split()), *times)


def noting(head: Head, row: Sequence[Any], at: int) -> Line:
    """The line that seals a key (its cells) as it stands after a change, for the transaction of the change."""
    id, *_ = row
    journal = Journal(head)
    journal.append(KEY, LineSubject(), Signature(at, reason=id), key_seal(*row))
    return journal.lines[0]
