"""Redaction where it is done: on the arguments of every operation, and as a gate on every change, for what comes from
elsewhere (pages, files, jobs). What a tenant allowed by its fingerprint is left alone."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from typing import Any, Literal, TypeVar

from agent_memory.core.govern.gate import C
from agent_memory.core.govern.redact import KnownSecrets, Redactor
from agent_memory.core.govern.shapes import PERSONAL, SECRETS
from agent_memory.models.errors import InvalidInput
from agent_memory.models.kinds.conversation import turn_key
from agent_memory.models.kinds.govern import ALLOWANCE
from agent_memory.models.kinds.kind import Kind, canonical_json, fold
from agent_memory.models.record import Scope
from agent_memory.ports.changes import Author, Connect, Key, Put, VersionState
from agent_memory.ports.feed import Cursor
from agent_memory.ports.records import Deriver
from agent_memory.ports.store import Store

FINGERPRINT_DIGITS, SIGNATURE_DIGITS = 16, 8
PersonalData = Literal["off", "mask", "hold"]
T = TypeVar("T")


@cache
def redactor(personal: PersonalData) -> Redactor:
    return Redactor((*SECRETS, *PERSONAL) if personal == "mask" else SECRETS)


def redacted(
    arguments: dict[str, Any], personal: PersonalData, known: KnownSecrets, names: Collection[str] = ()
) -> dict[str, Any]:
    """The arguments of an operation without secrets. Their own names are ours, and tell nothing of their values; those
    in `names` identify something here, if not elsewhere."""
    made = redactor(personal)
    try:
        plain = dict(made.items(arguments, known, ours=arguments.keys()))
        signed = {name: made.value(arguments[name], known, identifying=True) for name in names if name in arguments}
    except RecursionError:
        raise InvalidInput("a value is nested too deeply", hint="nest it less deeply") from None
    return plain | signed


class Redaction:
    """`found` begins the journal of a tenant that has none: what is signed is signed by its first line."""

    def __init__(
        self,
        store: Store,
        kinds: Mapping[str, Kind],
        derive: Deriver,
        personal: PersonalData,
        found: Callable[[str], None],
    ) -> None:
        self.redactor = redactor(personal)
        self._store = store
        self._kinds = kinds
        self._derive = derive
        self._found = found

    def decide(self, changes: Sequence[C], author: Author) -> Sequence[C]:
        known = self.known(author.scope.tenant)
        return [self.change(one, known) for one in changes]

    def change(self, change: T, known: KnownSecrets) -> T:
        match change:
            case Put():
                return self._put(change, known)  # type: ignore[return-value]
            case Connect():
                return change._replace(
                    source_id=self._end(change.source_id, known),
                    target_id=self._end(change.target_id, known),
                    type=self.name(change.type, known),
                    properties=self.json(change.properties, known),
                )
        return change

    def name(self, name: T, known: KnownSecrets) -> T:
        """Of what identifies something; None stays."""
        made: T = self.redactor.value(name, known, identifying=True)
        return made

    def _put(self, put: Put, known: KnownSecrets) -> Put:
        """What was made of words that go is made again. Its id stays: what else is written names it."""
        text, payload, content = *self._content(put, known), put.content
        state = put.state._replace(
            conversation_id=self.name(put.state.conversation_id, known),
            repository=self.name(put.state.repository, known),
            source=self.name(put.state.source, known),
        )
        state = state._replace(key=self._key(put, text, payload, state, known))
        if text == content.text and payload == content.payload:
            return put if state == put.state else put._replace(state=state)
        made = self._derive(put.kind, text, payload)
        return put._replace(content=content._replace(text=text, payload=payload), state=state, derived=made)

    def _content(self, put: Put, known: KnownSecrets) -> tuple[str, str]:
        """Text and payload. Where the natural key is made of what would be the same for different secrets, all of it is
        signed: a claim is what identifies a fact."""
        kind, content = self._kinds.get(put.kind), put.content
        ours = kind.payload.model_fields if kind else ()
        text, payload = self.redactor.text(content.text, known), self.json(content.payload, known, ours)
        if (text, payload) == content[:2] or kind is None or not _natural(kind, put):
            return text, payload
        signed = self.name(content.text, known), self.json(content.payload, known, ours, identifying=True)
        return (text, payload) if _key(kind, text, payload) == _key(kind, *signed) else signed

    def _key(self, put: Put, text: str, payload: str, state: VersionState, known: KnownSecrets) -> str | None:
        """One that was made of what a record says is made of what is left of that."""
        key, place, talk = put.state.key, put.state.position, put.state.conversation_id
        if key is None or not self.redactor.hinted(f"{key}\n{put.content.text}\n{put.content.payload}"):
            return self.name(key, known)
        if place is not None and talk is not None and key == turn_key(talk, place):
            return turn_key(str(state.conversation_id), place)
        kind = self._kinds.get(put.kind)
        return _key(kind, text, payload) if kind and _natural(kind, put) else self.name(key, known)

    def _end(self, end: str | Key, known: KnownSecrets) -> str | Key:
        return end._replace(key=self.name(end.key, known)) if isinstance(end, Key) else end

    def json(self, text: str, known: KnownSecrets, ours: Collection[str] = (), *, identifying: bool = False) -> str:
        """JSON, value by value."""
        if not self.redactor.hinted(text):
            return text
        before = json.loads(text)
        after = self.redactor.value(before, known, ours=ours, identifying=identifying)
        return text if after is before else canonical_json(after)

    def known(self, tenant: str, *, found: bool = True) -> KnownSecrets:
        """Looked up when something is found, which is seldom; the same answer throughout a call. Who only reads may not
        `found` a journal: where there is none, there is nothing to be found by a name."""
        return KnownSecrets(cache(partial(self.allows, tenant)), cache(partial(self._signature, tenant, found)))

    def allows(self, tenant: str, secret: str) -> bool:
        said = self.fingerprint(tenant, secret)
        return said is not None and self._store.records.head(commons(tenant), ALLOWANCE, key=said) is not None

    def _signature(self, tenant: str, found: bool, secret: str) -> str | None:
        """Of a secret as keys are compared: some have been folded when they get here."""
        made = self.fingerprint(tenant, fold(secret))
        if made is None and found and not self._store.read_only:
            self._found(tenant)
            made = self.fingerprint(tenant, fold(secret))
        return made and made[:SIGNATURE_DIGITS]

    def fingerprint(self, tenant: str, secret: str) -> str | None:
        """The same for the same secret in the same tenant, and useless to whoever has not got the store: it is keyed
        by the first line of the tenant's journal. None: there is no line yet."""
        for line in self._store.feed.lines(Cursor(tenant), limit=1):
            return hmac.new(line.chain.encode(), secret.encode(), hashlib.sha256).hexdigest()[:FINGERPRINT_DIGITS]
        return None


def commons(tenant: str) -> Scope:
    """What all users of a tenant share: what is allowed there is allowed for all."""
    return Scope(tenant=tenant)


def _natural(kind: Kind, put: Put) -> bool:
    return put.state.key is not None and put.state.key == _key(kind, put.content.text, put.content.payload)


def _key(kind: Kind, text: str, payload: str) -> str | None:
    return kind.key(text, json.loads(payload))
