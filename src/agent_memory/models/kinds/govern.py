"""What a tenant decided about what may be stored, and what waits for review. P8, P23."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, WithJsonSchema

from agent_memory.models.kinds.adapter import ADAPTER
from agent_memory.models.kinds.kind import Kind
from agent_memory.models.model import Model
from agent_memory.models.review import ReviewPolicy

ALLOWANCE, POLICY = "allowance", "review_policy"
DECIDED_APART = {ALLOWANCE: "govern.allow", POLICY: "review.set_policy", ADAPTER: "upkeep.learn"}
"""Kinds that are not written like memories, and what writes them."""
POLICY_KEY = "review"
NO_SECRETS, FIRST = "0" * 16, "Begins the journal, by whose first line fingerprints are keyed. Allows nothing."


def _fingerprint(said: str) -> str:
    if not re.fullmatch("[0-9a-f]{16}", said):
        raise ValueError("is not a fingerprint: take the 16 characters that `govern check` or `scan` shows")
    return said


Fingerprint = Annotated[
    str, AfterValidator(_fingerprint), WithJsonSchema({"type": "string", "pattern": "^[0-9a-f]{16}$"})
]


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
    Kind(
        POLICY,
        "review_policies",
        ReviewPolicy,
        key=lambda text, payload: POLICY_KEY,
        searchable=False,
        needs_text=False,
    ),
)
