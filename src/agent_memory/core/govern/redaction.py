"""Redaction where it is done: on the arguments of every operation, and as a gate on every change, for what comes from
elsewhere (pages, files, jobs). What a tenant allowed by its fingerprint is left alone."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, Literal, TypeVar

from agent_memory.core.govern.gate import C
from agent_memory.core.govern.redact import Allowed, Redactor
from agent_memory.core.govern.shapes import PERSONAL, SECRETS
from agent_memory.models.errors import InvalidInput
from agent_memory.models.kinds.govern import ALLOWANCE
from agent_memory.models.kinds.kind import Kind, canonical_json
from agent_memory.models.record import Scope
from agent_memory.ports.changes import Author, Connect, Key, Put
from agent_memory.ports.feed import Cursor
from agent_memory.ports.records import Deriver
from agent_memory.ports.store import Store

FINGERPRINT_DIGITS = 16
PersonalData = Literal["off", "mask"]
T = TypeVar("T")


@cache
def redactor(personal: PersonalData) -> Redactor:
    return Redactor(SECRETS if personal == "off" else (*SECRETS, *PERSONAL))


def redacted(arguments: dict[str, Any], personal: PersonalData, allowed: Allowed) -> dict[str, Any]:
    """The arguments of an operation without secrets. Their own names are ours, and tell nothing of their values."""
    try:
        return dict(redactor(personal).items(arguments, allowed, ours=arguments.keys()))
    except RecursionError:
        raise InvalidInput("a value is nested too deeply", hint="nest it less deeply") from None


class Redaction:
    def __init__(self, store: Store, kinds: Mapping[str, Kind], derive: Deriver, personal: PersonalData) -> None:
        self.redactor = redactor(personal)
        self._store = store
        self._kinds = kinds
        self._derive = derive

    def decide(self, changes: Sequence[C], author: Author) -> Sequence[C]:
        allowed = self.allowed(author.scope.tenant)
        return [self.change(one, allowed) for one in changes]

    def change(self, change: T, allowed: Allowed) -> T:
        match change:
            case Put():
                return self._put(change, allowed)  # type: ignore[return-value]
            case Connect():
                return change._replace(
                    source_id=self._end(change.source_id, allowed),
                    target_id=self._end(change.target_id, allowed),
                    type=self.redactor.text(change.type, allowed),
                    properties=self.json(change.properties, allowed),
                )
        return change

    def _put(self, put: Put, allowed: Allowed) -> Put:
        """What was made of words that go is made again. Its id stays: what else is written names it."""
        text, content = self.redactor.text(put.content.text, allowed), put.content
        kind = self._kinds.get(put.kind)
        payload = self.json(content.payload, allowed, ours=kind.payload.model_fields if kind else ())
        state = put.state._replace(
            key=self.redactor.value(put.state.key, allowed),
            conversation_id=self.redactor.value(put.state.conversation_id, allowed),
            repository=self.redactor.value(put.state.repository, allowed),
            source=self.redactor.text(put.state.source, allowed),
        )
        if text == content.text and payload == content.payload:
            return put if state == put.state else put._replace(state=state)
        made = self._derive(put.kind, text, payload)
        return put._replace(content=content._replace(text=text, payload=payload), state=state, derived=made)

    def _end(self, end: str | Key, allowed: Allowed) -> str | Key:
        return end._replace(key=self.redactor.text(end.key, allowed)) if isinstance(end, Key) else end

    def json(self, text: str, allowed: Allowed, ours: Collection[str] = ()) -> str:
        """JSON, value by value."""
        if not self.redactor.hinted(text):
            return text
        before = json.loads(text)
        after = self.redactor.value(before, allowed, ours=ours)
        return text if after is before else canonical_json(after)

    def allowed(self, tenant: str) -> Allowed:
        """Looked up when something is found, which is seldom; the same answer throughout a call."""
        known: dict[str, bool] = {}

        def allowed(secret: str) -> bool:
            if secret not in known:
                known[secret] = self.allows(tenant, secret)
            return known[secret]

        return allowed

    def allows(self, tenant: str, secret: str) -> bool:
        said = self.fingerprint(tenant, secret)
        return said is not None and self._store.records.head(commons(tenant), ALLOWANCE, key=said) is not None

    def fingerprint(self, tenant: str, secret: str) -> str | None:
        """The same for the same secret in the same tenant, and useless to whoever has not got the store: it is keyed
        by the first line of the tenant's journal. None: there is no line yet."""
        for line in self._store.feed.lines(Cursor(tenant), limit=1):
            return hmac.new(line.chain.encode(), secret.encode(), hashlib.sha256).hexdigest()[:FINGERPRINT_DIGITS]
        return None


def commons(tenant: str) -> Scope:
    """What all users of a tenant share: what is allowed there is allowed for all."""
    return Scope(tenant=tenant)
