"""What a tenant decided about what may be stored. P23."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from agent_memory.models.kinds.kind import Kind
from agent_memory.models.model import Model

ALLOWANCE = "allowance"
NO_SECRETS, FIRST = "0" * 16, "Begins the journal, by whose first line fingerprints are keyed. Allows nothing."
Fingerprint = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]


class AllowancePayload(Model):
    """What looks like a secret, has this fingerprint, and is none."""

    fingerprint: Fingerprint


KINDS = (
    Kind(
        ALLOWANCE,
        "allowances",
        AllowancePayload,
        key=lambda text, payload: payload["fingerprint"],
        searchable=False,
        needs_text=False,
    ),
)
