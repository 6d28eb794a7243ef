"""`memory.keys`: who may call over the network. P23."""

from __future__ import annotations

from datetime import timedelta

from agent_memory.app.operations import Namespace, Permission, operation
from agent_memory.core.govern.access import Issued, issue
from agent_memory.models.access import ApiKey, Denial, NewKey
from agent_memory.models.errors import InvalidInput, NotFound
from agent_memory.models.model import Name
from agent_memory.models.moment import from_micros, to_micros
from agent_memory.ports.access import KeyRow

DEFAULT = [Permission.READ, Permission.WRITE]


class Keys(Namespace):
    """API keys of this tenant. Once there is one, every call over the network needs one."""

    @operation("keys.create", "POST /keys", permission=Permission.ADMIN)
    def create(
        self,
        label: Name,
        permissions: list[Permission] | None = None,
        for_user: Name | None = None,
        expires_days: float | None = None,
    ) -> NewKey:
        """Make an API key. Its secret is in the answer, and nowhere else from then on.

        It may read and write, unless `permissions` says otherwise; with `for_user` it speaks for that user alone.
        """
        expires = None
        if expires_days is not None:
            if not 0 < expires_days <= 36_500:
                raise InvalidInput(f"expires_days: {expires_days}; use more than 0", field="expires_days")
            expires = to_micros(self._client.clock.now() + timedelta(days=expires_days))
        chosen = tuple(dict.fromkeys(Permission(one) for one in (DEFAULT if permissions is None else permissions)))
        if not chosen:
            raise InvalidInput("permissions: none", hint="read, write, review, admin", field="permissions")
        made = issue(label, self._client.scope.tenant, for_user, chosen, self._client.now(), expires)
        self._client.runtime.store.access.add(made.row)
        return _new(made)

    @operation("keys.rotate", "POST /keys/{key_id}/rotate", permission=Permission.ADMIN)
    def rotate(self, key_id: str) -> NewKey:
        """A new secret for the same rights; the old key ends at once."""
        old = self._own(key_id)
        permissions = tuple(Permission(one) for one in old.permissions)
        made = issue(old.label, old.tenant, old.user, permissions, self._client.now(), old.expires_at)
        self._client.runtime.store.access.add(made.row, instead=old.id)
        return _new(made)

    @operation("keys.revoke", "DELETE /keys/{key_id}", permission=Permission.ADMIN)
    def revoke(self, key_id: str) -> ApiKey:
        """End a key: from now on it opens nothing."""
        self._own(key_id)
        self._client.runtime.store.access.end(key_id, self._client.now())
        return ApiKey(**_shown(self._own(key_id)))

    @operation("keys.denials", "GET /denials", permission=Permission.ADMIN)
    def denials(self, limit: int = 100) -> list[Denial]:
        """Calls to this tenant that were refused, the newest first."""
        if not 1 <= limit <= 10_000:
            raise InvalidInput(f"limit: {limit}; use 1 to 10000", field="limit")
        self._client.runtime.refusals.flush()
        found = self._client.runtime.store.access.refused(self._client.scope.tenant, limit)
        return [
            Denial(
                at=from_micros(one.at),
                tenant=one.tenant,
                user=one.user,
                operation=one.operation,
                reason=one.reason,
                key=one.key,
            )
            for one in found
        ]

    @operation("keys.list", "GET /keys", permission=Permission.ADMIN)
    def list(self) -> list[ApiKey]:
        """The keys of this tenant, the newest first, without their secrets."""
        return [ApiKey(**_shown(row)) for row in self._client.runtime.store.access.keys(self._client.scope.tenant)]

    def _own(self, id: str) -> KeyRow:
        found = self._client.runtime.store.access.find(id)
        if found is None or found.tenant != self._client.scope.tenant:
            raise NotFound(f"no key {id!r}", hint="`agent-memory keys list` shows them", field="key_id")
        return found


def _new(made: Issued) -> NewKey:
    return NewKey(**_shown(made.row), secret=made.secret)


def _shown(row: KeyRow) -> dict[str, object]:
    moments = {"created_at": row.created_at, "expires_at": row.expires_at, "ended_at": row.ended_at}
    return {
        "id": row.id,
        "label": row.label,
        "tenant": row.tenant,
        "user": row.user,
        "permissions": list(row.permissions),
        **{name: None if at is None else from_micros(at) for name, at in moments.items()},
    }
