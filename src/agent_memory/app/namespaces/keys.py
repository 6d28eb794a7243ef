"""`memory.keys`: who may call over the network. P23."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from operator import attrgetter

from agent_memory.app.operations import Namespace, Permission, operation
from agent_memory.core.govern.access import Issued, check_good, issue
from agent_memory.models.access import ApiKey, Denial, NewKey
from agent_memory.models.errors import Conflict, Denied, InvalidInput, NotFound, Unauthenticated
from agent_memory.models.limits import MOST_DENIALS, Days, Denials
from agent_memory.models.model import Name
from agent_memory.models.moment import from_micros, to_micros
from agent_memory.ports.access import KeyRow, Refusal

DEFAULT = [Permission.READ, Permission.WRITE]
ABOVE_TENANTS = frozenset({Permission.OPERATOR, Permission.METRICS})
OF_TENANTS = frozenset(Permission) - ABOVE_TENANTS


class Keys(Namespace):
    """API keys of this tenant. Once there is one, every call over the network needs one.

    A key that is bound to a user manages those of that user. Nobody gives what they do not have: a bound key gives
    permissions of its own, the admin of a tenant all but `operator` and `metrics`, and keys with these are there for
    operators.
    """

    @operation("keys.create", "POST /keys", permission=Permission.ADMIN)
    def create(
        self,
        label: Name,
        permissions: list[Permission] | None = None,
        for_user: Name | None = None,
        expires_days: Days | None = None,
    ) -> NewKey:
        """Make an API key. Its secret is in the answer, and cannot be shown again.

        It may read and write, unless `permissions` says otherwise; with `for_user` it acts for that user only. The
        first one is made where the store is, and not over the network.
        """
        caller = self._client.caller
        if caller.stranger:
            raise Denied(
                "the first API key is not made over the network",
                hint="run `agent-memory keys create LABEL` on the store itself, not at the address of its server",
            )
        expires = None
        if expires_days is not None:
            expires = to_micros(self._client.clock.now() + timedelta(days=expires_days))
        chosen = tuple(dict.fromkeys(Permission(one) for one in (DEFAULT if permissions is None else permissions)))
        if not chosen:
            raise InvalidInput("permissions: none was given", hint=", ".join(Permission), field="permissions")
        if caller.user is not None and for_user not in (None, caller.user):
            raise Denied(f"for_user: this key makes keys for {caller.user!r} alone", field="for_user")
        self._check_given(chosen)
        made = issue(label, caller.scope.tenant, for_user or caller.user, chosen, self._client.now(), expires)
        self._client.runtime.store.access.add(made.row)
        return _new(made)

    @operation("keys.rotate", "POST /keys/{key_id}/rotate", permission=Permission.ADMIN)
    def rotate(self, key_id: str) -> NewKey:
        """A new secret for the same rights; the old key ends at once. One that has ended or expired stays so."""
        old, now = self._own(key_id), self._client.now()
        permissions = tuple(Permission(one) for one in old.permissions)
        self._check_given(permissions)
        try:
            check_good(old, now)
        except Unauthenticated as error:
            raise Conflict(error.message, hint="make a new one: `agent-memory keys create`", field="key_id") from None
        made = issue(old.label, old.tenant, old.user, permissions, now, old.expires_at)
        if not self._client.runtime.store.access.add(made.row, instead=old.id):
            raise Conflict(
                f"the API key {old.id} was revoked by somebody else meanwhile", hint="nothing was made", field="key_id"
            )
        return _new(made)

    @operation("keys.revoke", "DELETE /keys/{key_id}", permission=Permission.ADMIN)
    def revoke(self, key_id: str) -> ApiKey:
        """End a key: it is refused from now on."""
        self._own(key_id)
        self._client.runtime.store.access.end(key_id, self._client.now())
        return ApiKey(**_shown(self._own(key_id)))

    @operation("keys.denials", "GET /denials", permission=Permission.ADMIN)
    def denials(self, limit: Denials = 100) -> list[Denial]:
        """Calls to this tenant that were refused, the newest first.

        Those that showed no key, or none that is known, never take more than half of the list from others; a key that
        is bound to a user is told of that user's keys alone.
        """
        self._client.runtime.refusals.flush()
        refused, tenant = self._client.runtime.store.access.refused, self._client.scope.tenant
        if self._client.caller.user is not None:
            own = {row.id for row in self._rows()}
            found = [one for one in refused(tenant, MOST_DENIALS, keyed=True) if one.key in own][:limit]
        else:
            known = refused(tenant, limit, keyed=True)
            strangers = refused(tenant, max(limit - len(known), limit // 2), keyed=False)
            found = sorted(known[: limit - len(strangers)] + strangers, key=attrgetter("at"), reverse=True)
        return [_denial(one) for one in found]

    @operation("keys.list", "GET /keys", permission=Permission.ADMIN)
    def list(self) -> list[ApiKey]:
        """The keys of this tenant, the newest first, without their secrets."""
        return [ApiKey(**_shown(row)) for row in self._rows()]

    def _rows(self) -> Iterable[KeyRow]:
        return filter(self._reaches, self._client.runtime.store.access.keys(self._client.scope.tenant))

    def _own(self, id: str) -> KeyRow:
        found = self._client.runtime.store.access.find(id)
        if found is None or not self._reaches(found):
            raise NotFound(f"no key {id!r}", hint="`agent-memory keys list` shows them", field="key_id")
        return found

    def _reaches(self, key: KeyRow) -> bool:
        """Whether this caller manages it."""
        caller = self._client.caller
        within = key.tenant == caller.scope.tenant and caller.user in (None, key.user)
        return within and (caller.operates or ABOVE_TENANTS.isdisjoint(key.permissions))

    def _check_given(self, permissions: Iterable[Permission]) -> None:
        """Whether this caller may give them to a key."""
        caller = self._client.caller
        most = caller.permissions if caller.user is not None else caller.permissions | OF_TENANTS
        if wider := [str(one) for one in permissions if one not in most]:
            raise Denied(
                f"permissions: this key cannot give {', '.join(wider)}",
                hint=f"it can give {', '.join(sorted(most))}",
                field="permissions",
            )


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


def _denial(one: Refusal) -> Denial:
    return Denial(
        at=from_micros(one.at),
        tenant=one.tenant,
        user=one.user,
        operation=one.operation,
        reason=one.reason,
        key=one.key,
    )
