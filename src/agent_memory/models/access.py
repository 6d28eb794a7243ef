"""Who may do what over the network: API keys, their permissions, and the calls that were refused. P23."""

from __future__ import annotations

from enum import StrEnum

from pydantic import ConfigDict

from agent_memory.models.model import Model, Moment, Name


class Permission(StrEnum):
    """What a key may do, within its tenant; `operator` and `metrics` are above tenants: about the store as a whole."""

    READ = "read"
    WRITE = "write"
    REVIEW = "review"
    ADMIN = "admin"
    OPERATOR = "operator"
    METRICS = "metrics"


class ApiKey(Model):
    """A key as it can be shown: everything but its secret, of which only a hash is kept.

    It speaks for one tenant, and for one user where it is bound to one; `ended_at` is when it was revoked or replaced.
    """

    model_config = ConfigDict(frozen=True)

    id: Name
    label: Name
    tenant: Name
    user: Name | None = None
    permissions: list[Permission]
    created_at: Moment
    expires_at: Moment | None = None
    ended_at: Moment | None = None


class NewKey(ApiKey):
    """A key that was just made. `secret` is what a caller sends, and is shown this once."""

    secret: str


class Denial(Model):
    """A call that was refused, and why. `key` is the one that was shown, if it is known at all."""

    model_config = ConfigDict(frozen=True)

    at: Moment
    tenant: str
    user: str
    operation: str
    reason: str
    key: str | None = None
