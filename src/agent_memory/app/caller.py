"""Who calls, for whom, and what they may do. Every client has a caller, and `dispatch` asks it."""

from __future__ import annotations

from typing import NamedTuple

from agent_memory.app.workplace import Workplace
from agent_memory.models.access import Permission
from agent_memory.models.errors import Denied
from agent_memory.models.record import Scope

EVERYTHING = frozenset(Permission)


class Caller(NamedTuple):
    """By default somebody who can open the store itself, and may do everything.

    `key` is the id of the API key that was shown, `user` the one that it is bound to, where it is. `stranger`: came
    over the network and showed no key, because none was ever made. `workplace` is where they work, if that is not
    where the service does.
    """

    scope: Scope
    conversation_id: str | None = None
    permissions: frozenset[Permission] = EVERYTHING
    key: str | None = None
    user: str | None = None
    stranger: bool = False
    workplace: Workplace | None = None

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
