"""API keys: made, checked and limited. A secret is 256 random bits, so a plain hash of it is enough.

A key reads `am_ID_SECRET`: the id finds it, the secret opens it, and only the hash of the secret is kept.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import threading
from typing import NamedTuple, Protocol

from agent_memory.models.access import Permission
from agent_memory.models.errors import TooMany, Unauthenticated
from agent_memory.ports.access import AccessStore, KeyRow

_TOKEN = re.compile(r"am_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
MOST_METERS = 10_000
NEW_KEY = "ask for a new one: `agent-memory keys create`"


class Issued(NamedTuple):
    row: KeyRow
    secret: str


def issue(
    label: str, tenant: str, user: str | None, permissions: tuple[Permission, ...], now: int, expires_at: int | None
) -> Issued:
    """A new key; nothing is stored yet."""
    id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    row = KeyRow(id, _digest(secret), label, tenant, user, tuple(map(str, permissions)), now, expires_at)
    return Issued(row, f"am_{id}_{secret}")


def known(store: AccessStore, token: str | None) -> KeyRow:
    """The key behind a token, whether or not it is still good; `Unauthenticated` says nothing that helps to guess."""
    if token is None:
        raise Unauthenticated("no API key", hint="set AGENT_MEMORY_API_KEY, or send `Authorization: Bearer am_…`")
    shape = _TOKEN.fullmatch(token)
    row = store.find(shape[1]) if shape else None
    good = row is not None and shape is not None and hmac.compare_digest(row.digest, _digest(shape[2]))
    if row is None or not good:
        raise Unauthenticated("this API key is not known", hint="`agent-memory keys create` makes one")
    return row


def check_good(key: KeyRow, now: int) -> None:
    """`Unauthenticated` if it was revoked or replaced, or its time is over."""
    if key.ended_at is not None:
        raise Unauthenticated(f"the API key {key.id} was revoked", hint=NEW_KEY)
    if key.expires_at is not None and key.expires_at <= now:
        raise Unauthenticated(f"the API key {key.id} has expired", hint=NEW_KEY)


Bucket = tuple[float, float]
"""How many calls are left in it, and at which second that was so."""


def drawn(bucket: Bucket | None, rate: float, seconds: float) -> tuple[Bucket, float]:
    """A bucket after one more call at this second, and what was missing for the call, if it was not let in."""
    most = max(rate, 1.0)
    left, before = bucket or (most, seconds)
    left = min(most, left + max(seconds - before, 0.0) * rate)
    now = max(seconds, before)
    return ((left - 1.0, now), 0.0) if left >= 1.0 else ((left, now), 1.0 - left)


class Buckets(Protocol):
    """Where buckets stand. `draw` takes one call out of the one of a name, and gives what was missing for it."""

    def draw(self, name: str, rate: float, seconds: float) -> float: ...


class OwnBuckets:
    """Those of one process; the ones that were not used for longest go first when there are too many."""

    def __init__(self) -> None:
        self._buckets: dict[str, Bucket] = {}
        self._lock = threading.Lock()

    def draw(self, name: str, rate: float, seconds: float) -> float:
        with self._lock:
            self._buckets[name], missing = drawn(self._buckets.pop(name, None), rate, seconds)
            if len(self._buckets) > MOST_METERS:
                del self._buckets[next(iter(self._buckets))]
        return missing


class Meter:
    """So many calls a second for each name, with as many at once: a bucket that fills steadily."""

    def __init__(self, per_second: float, buckets: Buckets | None = None) -> None:
        self._rate = per_second
        self._buckets = buckets or OwnBuckets()

    def take(self, key: str, seconds: float) -> None:
        """Count one call at this moment (of a clock that never goes back); `TooMany` when there are too many."""
        if self._rate and (missing := self._buckets.draw(key, self._rate, seconds)):
            wait = missing / self._rate
            raise TooMany(f"more than {self._rate:g} calls a second", hint=f"wait {wait:.2g} seconds", wait=wait)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
