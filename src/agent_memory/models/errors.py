"""Every error a caller can meet, in one tree.

    AgentMemoryError
    ├── InvalidInput      bad argument; names the field and the fix       (also a ValueError)
    ├── NotFound          no such record, key or kind for this reader     (also a LookupError)
    ├── Conflict          a precondition did not hold; nothing was written
    │   ├── Changed       it is not the version any more that the caller read
    │   └── LeaseLost     another worker does this job now; nothing was written
    ├── Denied            not allowed for this caller                     (also a PermissionError)
    │   ├── Unauthenticated  nobody knows who calls: no key, or none that opens
    │   ├── WriteRefused  the gate did not let a write in; nothing was written
    │   └── TooMany       more calls than this key may make
    ├── StoreError        the store cannot be opened, read or written
    │   ├── Busy          others use it just now; nothing was written
    │   ├── StoreFull     no space left; nothing was written
    │   └── StoreNewer    written by a newer agent-memory
    ├── SpaceMismatch     the embedder differs from the one that the store was built with
    ├── PartMissing       an optional part is not installed or not reachable
    │   └── Unfinished    a model was asked, and its whole answer did not come; it may have cost something
    ├── BudgetExceeded    models were asked as much as is allowed; nothing was asked
    └── Corrupt           the store contradicts its own journal

Each has a stable `code` for machines and a `hint` for people, and the `trace_id` of the call where calls are traced.
`wait` is after how many seconds the same call may succeed, where that is known.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any


class AgentMemoryError(Exception):
    """The root: catch this to catch everything that agent-memory raises on purpose."""

    code = "error"
    trace_id: str | None = None

    def __init__(self, message: str, *, hint: str = "", field: str | None = None, wait: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.field = field
        self.wait = wait

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def to_dict(self) -> dict[str, Any]:
        """What a door prints: code, message and, where they exist, field, hint, trace id and details."""
        shown = {"code": self.code, "message": self.message, "field": self.field, "hint": self.hint}
        shown["trace_id"] = self.trace_id
        return {name: value for name, value in shown.items() if value} | self.details()

    def details(self) -> dict[str, Any]:
        """What else this kind of error tells machines, as JSON."""
        return {}


class InvalidInput(AgentMemoryError, ValueError):
    code = "invalid_input"


class NotFound(AgentMemoryError, LookupError):
    code = "not_found"


class Conflict(AgentMemoryError):
    code = "conflict"


class Changed(Conflict):
    code = "changed"


class LeaseLost(Conflict):
    code = "lease_lost"


class Denied(AgentMemoryError, PermissionError):
    code = "denied"


class Unauthenticated(Denied):
    code = "unauthenticated"


class WriteRefused(Denied):
    code = "refused"


class TooMany(Denied):
    code = "too_many"


class StoreError(AgentMemoryError):
    code = "store_unavailable"


class Busy(StoreError):
    """It is worth trying again in a moment."""

    code = "store_busy"

    def __init__(self, message: str, *, hint: str = "", field: str | None = None, wait: float | None = 2.0) -> None:
        super().__init__(message, hint=hint, field=field, wait=wait)


class StoreFull(StoreError):
    code = "store_full"


class StoreNewer(StoreError):
    code = "store_newer"


class SpaceMismatch(AgentMemoryError):
    code = "space_mismatch"


class PartMissing(AgentMemoryError):
    code = "part_missing"


class Unfinished(PartMissing):
    code = "unfinished"


class BudgetExceeded(AgentMemoryError):
    """`limit` is what is allowed, `left` what is left of it, and at `resets_at` all of it is allowed again. `run_id` is
    the run whose own budget it is: that run has been aborted."""

    code = "budget_exceeded"
    limit: float | None = None
    left: float | None = None
    resets_at: datetime | None = None
    run_id: str | None = None

    def details(self) -> dict[str, Any]:
        until = None if self.resets_at is None else self.resets_at.isoformat()
        run = {} if self.run_id is None else {"run_id": self.run_id}
        return {"limit": self.limit, "left": self.left, "resets_at": until, **run}


class Corrupt(AgentMemoryError):
    code = "corrupt"
