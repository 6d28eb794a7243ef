"""Who calls, for whom, and what they may do. Every client has a caller, and `dispatch` asks it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import NamedTuple

from agent_memory.app.workplace import Workplace
from agent_memory.core.govern.reading import reason
from agent_memory.models.access import Permission
from agent_memory.models.errors import Denied
from agent_memory.models.record import Scope

EVERYTHING = frozenset(Permission)
_why: ContextVar[str | None] = ContextVar("agent-memory-why", default=None)
_NO_REASON = nullcontext()


def because(why: object) -> AbstractContextManager[None]:
    """What is read meanwhile is read for this reason, in the access log."""
    return _NO_REASON if why is None else _for_reason(reason(why))


@contextmanager
def _for_reason(why: str | None) -> Iterator[None]:
    token = _why.set(why)
    try:
        yield
    finally:
        _why.reset(token)


class Caller(NamedTuple):
    """By default somebody who can open the store itself, and may do everything.

    `key` is the id of the API key that was shown, `user` the one that it is bound to, where it is. `stranger`: came
    over the network and showed no key, because none was ever made. `workplace` is where they work, if that is not
    where the service does. `door` is the way they came, `why` what they read for: both are for the access log.
    """

    scope: Scope
    conversation_id: str | None = None
    permissions: frozenset[Permission] = EVERYTHING
    key: str | None = None
    user: str | None = None
    stranger: bool = False
    workplace: Workplace | None = None
    door: str = "python"
    why: str | None = None

    @property
    def reason(self) -> str | None:
        """What a read that is made now is for."""
        return _why.get() or self.why

    @property
    def operates(self) -> bool:
        """Whether they may be told of the store as a whole: where it is, how large, what it holds of other tenants."""
        return Permission.OPERATOR in self.permissions

    def admit(self, name: str, permission: Permission) -> None:
        """`Denied`, unless what has this name is open to them."""
        if permission not in self.permissions:
            raise Denied(
                f"{name} needs the permission {permission}",
                hint=f"this key has {', '.join(sorted(self.permissions)) or 'none'}",
            )
