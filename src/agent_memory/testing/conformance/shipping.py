"""The `Shipping` port: a store shows everything that it holds, and takes what another one shows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from agent_memory.engines.sqlite import open_store
from agent_memory.ledger.shipment import ShippedRow, Tally, items, unlike
from agent_memory.models.errors import Conflict, StoreError
from agent_memory.ports.access import KeyRow, Refusal
from agent_memory.ports.changes import Author, Erase, Once
from agent_memory.ports.feed import Cursor, Work
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.records import View
from agent_memory.ports.shipping import Shipping
from agent_memory.ports.store import Store
from agent_memory.ports.working import Desk
from agent_memory.testing.builders import (
    ALICE,
    BOB,
    DAY,
    NOW,
    SPACE,
    STRANGER,
    ids,
    link,
    put,
    text_vector,
    view,
    with_vectors,
    write,
)

FAR = NOW + 1000 * DAY


def filled(store: Store) -> Store:
    """Something of everything."""
    store.index.begin(SPACE)
    for scope in (ALICE, BOB, STRANGER):
        one = with_vectors(put("red apples", id="one", payload={"n": 1}, key="k"), text_vector("red apples"))
        write(store, one, put("green pears", id="two", conversation_id="talk", position=3), scope=scope)
        write(store, put("blue plums", id="one", key="k", valid_from=NOW + 5), link("one", "two"), scope=scope)
        write(store, put("nobody is to know", id="gone"), scope=scope)
        write(store, Erase("gone"), scope=scope)
        seq = store.index.snapshot(scope).seq
        handle = store.records.get(view(scope), ["two"])[0].seq
        line = ReceiptLine(
            id=f"r-{scope.tenant}-{scope.user}", view=View(scope, NOW), seq=seq, body="{}", handles=(handle,)
        )
        store.receipts.keep([line])
        desk = Desk(scope, "talk")
        store.working.set(desk, "key", '"value"', expires_at=FAR, now=NOW)
        for item in ("1", "2", "3"):
            store.working.push(desk, "list", item, keep=9, expires_at=FAR, now=NOW)
        store.vectors.upsert("\x1f".join((scope.tenant, scope.user, scope.agent, "mine")), "v", [0.2, -0.9], {"a": 1})
        store.access.add(
            KeyRow(f"k-{scope.tenant}-{scope.user}", b"d" * 32, "label", scope.tenant, None, ("read",), NOW)
        )
        store.access.refuse([Refusal(NOW, scope.tenant, scope.user, "recall", "no key")])
    again = Once("once", b"fingerprint")
    store.records.apply([put("again", id="again")], author=Author(ALICE, "alice"), now=NOW, once=again)
    if store.debts is not None:
        store.debts.attach("somewhere://else")
        write(store, put("owed", id="owed"))
        write(store, Erase("owed"))
    lease = store.feed.lease("job", "me", 60.0)
    assert lease is not None
    last = store.feed.lines(Cursor("acme"), limit=2)[-1].cursor
    store.feed.advance(Work(lease, Cursor("acme"), last))
    return store


def port(store: Store) -> Shipping:
    assert store.shipping is not None
    return store.shipping


def stream(store: Store, tenant: str | None = None) -> list[ShippedRow]:
    with port(store).showing(tenant) as show:
        return list(items(show, tenant))


def told(cargo: list[ShippedRow]) -> dict[str, list[Any]]:
    tally = Tally()
    for item in cargo:
        tally.add(item)
    return tally.told()


def take(store: Store, cargo: list[ShippedRow], mark: str, after: str) -> None:
    rows = groupby(cargo, lambda item: item.section.name)
    port(store).take([(name, [item.cells for item in several]) for name, several in rows], mark, after=after)


def carry(cargo: list[ShippedRow], store: Store) -> None:
    port(store).begin("0")
    for start in range(0, len(cargo), 7):
        take(store, cargo[start : start + 7], str(start + 7), str(start))
    last = port(store).mark()
    assert last is not None
    port(store).finish(after=last)
    port(store).open(after=last)


def sound(store: Store) -> dict[str | None, Any]:
    found = store.records.verify(None)
    assert not found.problems
    return dict(found.heads)


class ShippingConformance:
    @pytest.fixture
    def other(self, tmp_path: Path) -> Iterator[Store]:
        opened = open_store(tmp_path / "other.db")
        yield opened
        opened.close()

    def test_what_it_shows_another_takes(self, store: Store, other: Store) -> None:
        cargo = stream(filled(store))
        carry(cargo, other)
        assert not unlike(told(cargo), told(stream(other)))
        assert sound(other) == sound(store)

    def test_what_another_shows_it_takes(self, store: Store, other: Store) -> None:
        cargo = stream(filled(other))
        carry(cargo, store)
        assert not unlike(told(cargo), told(stream(store)))
        assert sound(other) == sound(store)
        for scope in (ALICE, BOB, STRANGER):
            for seen in (view(scope), view(scope, seq=2), view(scope, valid_at=NOW)):
                assert store.records.get(seen, ["one", "two"]) == other.records.get(seen, ["one", "two"])
            assert store.working.items(Desk(scope, "talk"), "list", limit=9, now=NOW) == ["3", "2", "1"]
        assert store.feed.cursor("job", "acme") == other.feed.cursor("job", "acme")

    def test_it_is_written_as_before(self, store: Store, other: Store) -> None:
        carry(stream(filled(other)), store)
        write(store, put("new here", id="new"), Erase("two"))
        write(store, put("somebody new", id="first"), scope=ALICE.model_copy(update={"user": "new"}))
        assert ids(store.records.get(view(), ["new", "two", "one"])) == ["new", "one"]
        store.tenants.erase("rival", Author(ALICE, "alice"), NOW)
        write(store, put("begun anew", id="one"), scope=STRANGER)
        sound(store)

    def test_one_tenant_shows_nothing_of_others(self, store: Store, other: Store) -> None:
        cargo = stream(filled(store), "rival")
        assert not any(b"acme" in item.line for item in cargo)
        carry(cargo, other)
        assert not unlike(told(cargo), told(stream(other)))
        assert sound(other)["rival"] == sound(store)["rival"]

    def test_until_it_is_done_nobody_else_writes(self, store: Store, other: Store) -> None:
        cargo = stream(filled(other))
        assert port(store).mark() is None
        port(store).begin("begun")
        take(store, cargo[:20], "twenty", "begun")
        assert port(store).mark() == "twenty"
        with pytest.raises(Conflict, match="at the same time"):
            take(store, cargo[:20], "twenty", "begun")
        with pytest.raises(StoreError, match="being filled"):
            write(store, put("in between", id="new"))
        take(store, cargo[20:], "all", "twenty")
        port(store).finish(after="all")
        port(store).finish(after="all")  # who was killed in between does it again
        with pytest.raises(Conflict, match="at the same time"):
            port(store).open(after="twenty")
        port(store).open(after="all")
        assert port(store).mark() is None
        assert not unlike(told(cargo), told(stream(store)))

    def test_what_was_begun_can_be_abandoned(self, store: Store, other: Store) -> None:
        cargo = stream(filled(other))
        port(store).begin("begun")
        take(store, cargo[: len(cargo) // 2], "half", "begun")
        port(store).abandon()
        assert {item.section.name for item in stream(store)} <= {"tenants"}
        carry(cargo, store)
        assert not unlike(told(cargo), told(stream(store)))

    def test_what_is_in_use_is_not_abandoned(self, store: Store, other: Store) -> None:
        """Whoever gives up looks for the mark where they empty: it may have been opened a moment before."""
        cargo = stream(filled(other))
        carry(cargo, store)
        with pytest.raises(Conflict, match="no `migrate` is filling"):
            port(store).abandon()
        assert not unlike(told(cargo), told(stream(store)))

    def test_what_was_abandoned_is_not_opened(self, store: Store, other: Store) -> None:
        port(store).begin("begun")
        take(store, stream(filled(other)), "all", "begun")
        port(store).abandon()
        for late in (port(store).finish, port(store).open):
            with pytest.raises(Conflict, match="not being filled any more"):
                late(after="all")
        with pytest.raises(Conflict, match="not being filled any more"):
            take(store, [], "more", "all")
        write(store, put("it is used as any other", id="one"))

    def test_only_an_empty_store_is_filled(self, store: Store) -> None:
        write(store, put("here already", id="one"))
        with pytest.raises(Conflict, match="something in the target already"):
            port(store).begin("begun")
        assert ids(store.records.get(view(), ["one"])) == ["one"]
