"""Secrets beside the records: on desks, and in the metadata of vectors. There they are written over in place."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from agent_memory.core.govern.redact import KnownSecrets, LocatedSecret
from agent_memory.core.govern.redaction import Redaction
from agent_memory.models.record import Scope
from agent_memory.ports.shipping import Cells
from agent_memory.ports.store import Store
from agent_memory.ports.vectors import called, inside
from agent_memory.ports.working import Desk


class AsideStain(NamedTuple):
    secret: LocatedSecret
    scope: Scope


class OnDesk(NamedTuple):
    """A value, or an item of a list, as JSON."""

    desk: Desk
    listed: bool
    name: str
    value: str
    expires_at: int


class Aside(NamedTuple):
    """Of one tenant. An engine that does not show what it holds, and a working set on a server of its own, are not
    looked at."""

    store: Store
    redaction: Redaction
    tenant: str
    now: int

    def found(self) -> Iterator[AsideStain]:
        for one in self._desks():
            place = f"working.{self._plain(one.name)}"
            yield from self._within(place, [one.desk.conversation, one.name, _read(one.value)], one.desk.scope)
        for namespace, id, _, metadata, _ in self._rows("namespaces"):
            place = f"vectors.{self._plain(called(namespace))}.{self._plain(id)}"
            yield from self._within(place, [called(namespace), id, _read(metadata)], _scope(namespace))

    def clean(self) -> None:
        """Write everything over that holds one. What somebody changed meanwhile stays as they left it."""
        known = self.redaction.known(self.tenant)
        self._clean_desks(known)
        self._clean_vectors(known)

    def _clean_desks(self, known: KnownSecrets) -> None:
        working, desks = self.store.working, defaultdict[Desk, list[OnDesk]](list)
        for one in self._desks():
            desks[one.desk].append(one)
        for desk, held in desks.items():
            changed = [one for one in held if self._without(one, known) != one]
            if not changed:
                continue
            if any(one.listed or self._without(one, known).desk != desk for one in changed):
                working.clear(desk)  # no item of a list can be taken out alone
                changed = held
            else:
                changed = [one for one in changed if working.get(desk, one.name, now=self.now) == one.value]
                for one in changed:
                    working.delete(desk, one.name)
            self._write([self._without(one, known) for one in changed])
            working.forget(desk.scope, [])  # what was written over leaves the disk

    def _write(self, held: list[OnDesk]) -> None:
        working = self.store.working
        for one in held:
            times = {"expires_at": one.expires_at, "now": self.now}
            if one.listed:
                working.push(one.desk, one.name, one.value, keep=len(held), **times)
            else:
                working.set(one.desk, one.name, one.value, **times)

    def _clean_vectors(self, known: KnownSecrets) -> None:
        vectors, cleaned = self.store.vectors, set[Scope]()
        for namespace, id, _, text, model in self._rows("namespaces"):
            scope, metadata = _scope(namespace), _read(text)
            place = inside(scope, self.redaction.name(called(namespace), known)), self.redaction.name(id, known)
            after = self.redaction.redactor.value(metadata, known)
            held = [one for one in vectors.held(scope, id) if one.namespace == namespace and one.metadata == metadata]
            if (place == (namespace, id) and after == metadata) or not held:
                continue
            if place != (namespace, id):
                vectors.delete(namespace, [id])
            vectors.upsert(*place, held[0].vector, after, model)
            cleaned.add(scope)
        for scope in cleaned:
            vectors.forget(scope, [])

    def _without(self, one: OnDesk, known: KnownSecrets) -> OnDesk:
        try:
            value = self.redaction.json(one.value, known)
        except ValueError:  # no JSON
            value = self.redaction.redactor.text(one.value, known)
        desk = one.desk._replace(conversation=self.redaction.name(one.desk.conversation, known))
        return one._replace(desk=desk, name=self.redaction.name(one.name, known), value=value)

    def _plain(self, name: str) -> str:
        return self.redaction.redactor.text(name, self.redaction.known(self.tenant))

    def _within(self, place: str, values: list[Any], scope: Scope) -> Iterator[AsideStain]:
        allowed = self.redaction.known(self.tenant).allowed
        for value in values:
            for one in self.redaction.redactor.located(value, allowed):
                yield AsideStain(one._replace(where=f"{place}.{one.where}".rstrip(".")), scope)

    def _desks(self) -> Iterator[OnDesk]:
        """What holds now; lists from their oldest item on."""
        for tenant, user, agent, conversation, key, value, expires_at in self._rows("values"):
            if expires_at > self.now:
                scope = Scope(tenant=tenant, user=user, agent=agent)
                yield OnDesk(Desk(scope, conversation), False, key, value, expires_at)
        for tenant, user, agent, conversation, name, _, value, expires_at in self._rows("lists"):
            scope = Scope(tenant=tenant, user=user, agent=agent)
            yield OnDesk(Desk(scope, conversation), True, name, value, expires_at)

    def _rows(self, section: str) -> list[Cells]:
        if self.store.shipping is None:
            return []
        with self.store.shipping.showing(self.tenant) as show:
            return list(show(section))


def _scope(namespace: str) -> Scope:
    tenant, user, agent, _ = namespace.split("\x1f")
    return Scope(tenant=tenant, user=user, agent=agent)


def _read(text: Any) -> Any:
    """What JSON says, or a text that is none."""
    if not isinstance(text, str):
        return text
    with suppress(ValueError):
        return json.loads(text)
    return text
