"""Requests that were answered, by idempotency key, so that a repetition changes nothing.

Of a request only a salted digest is kept, beside the answer. When a record that the answer names is erased, both go
and the key stays, for as long as it would have: a late repetition must not bring back what was forgotten.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection

from agent_memory.ledger.request import SALT_BYTES
from agent_memory.ledger.rows import KeptAnswer
from agent_memory.models.errors import Conflict
from agent_memory.ports.changes import Applied, Effect, Once, Outcome

LIVE = 7 * 86_400_000_000  # an idempotency key is remembered for a week
FORGOTTEN = KeptAnswer(b"", "")


def answered(once: Once, kept: KeptAnswer) -> Applied:
    """The answer to the same request. `Conflict` when the key means another, or a forgotten one."""
    if not kept.request:
        raise Conflict(
            f"idempotency key {once.key!r} was used for a request that wrote what is forgotten now",
            hint="use a new key to store it again",
        )
    if kept.request != _digest(kept.request[:SALT_BYTES], once):
        raise Conflict(
            f"idempotency key {once.key!r} was used for another request", hint="use a new key for a new request"
        )
    answer = json.loads(kept.text)
    outcomes = tuple(Outcome(Effect(effect), id, version) for effect, id, version in answer["outcomes"])
    return Applied(answer["seq"], answer["at"], outcomes, repeated=True, erased=tuple(answer["erased"]))


def kept(once: Once, salt: bytes, applied: Applied) -> KeptAnswer:
    outcomes = [(outcome.effect, outcome.id, outcome.version) for outcome in applied.outcomes]
    text = json.dumps({"seq": applied.seq, "at": applied.at, "outcomes": outcomes, "erased": applied.erased})
    return KeptAnswer(_digest(salt, once), text)


def wrote(text: str, ids: Collection[str]) -> bool:
    """Whether the request with this answer wrote one of these records."""
    return any(id in ids for _, id, _ in json.loads(text)["outcomes"])


def _digest(salt: bytes, once: Once) -> bytes:
    return salt + hashlib.sha256(salt + once.fingerprint).digest()
