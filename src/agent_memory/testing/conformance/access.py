"""Keys and refusals: kept, found, ended, and each tenant's own."""

from __future__ import annotations

from agent_memory.models.record import Scope
from agent_memory.ports.access import KeyRow, Refusal
from agent_memory.ports.records import View
from agent_memory.ports.store import Store
from agent_memory.testing.builders import ALICE, NOW

KEY = KeyRow("a1", b"digest", "laptop", "acme", None, ("read", "write"), NOW)


class AccessConformance:
    """The `AccessStore` port."""

    def test_a_key_comes_back_as_it_was(self, store: Store) -> None:
        bound = KEY._replace(id="b2", user="ada", permissions=("admin",), created_at=NOW + 1, expires_at=NOW + 9)
        for key in (KEY, bound):
            store.access.add(key)
        assert [store.access.find(id) for id in ("a1", "b2", "zz")] == [KEY, bound, None]
        assert store.access.keys() == [bound, KEY]

    def test_keys_of_one_tenant(self, store: Store) -> None:
        store.access.add(KEY)
        store.access.add(KEY._replace(id="b2", tenant="zeta"))
        assert [key.id for key in store.access.keys("acme")] == ["a1"]
        assert store.access.keys("nobody") == []

    def test_ending_a_key_once(self, store: Store) -> None:
        store.access.add(KEY)
        assert store.access.end("a1", NOW + 5) is True
        assert store.access.end("a1", NOW + 9) is False
        assert store.access.end("zz", NOW) is False
        assert store.access.find("a1") == KEY._replace(ended_at=NOW + 5)

    def test_a_new_key_instead_of_an_old_one(self, store: Store) -> None:
        store.access.add(KEY)
        store.access.add(KEY._replace(id="b2", created_at=NOW + 3), instead="a1")
        assert store.access.find("a1") == KEY._replace(ended_at=NOW + 3)
        assert store.access.find("b2") == KEY._replace(id="b2", created_at=NOW + 3)

    def test_nothing_comes_instead_of_a_key_that_has_ended(self, store: Store) -> None:
        assert store.access.add(KEY)
        assert store.access.add(KEY._replace(id="b2"), instead="a1")
        for ended in ("a1", "zz"):
            assert not store.access.add(KEY._replace(id="c3"), instead=ended)
        assert store.access.find("c3") is None and store.access.find("b2") == KEY._replace(id="b2")

    def test_each_change_of_a_key_has_its_line(self, store: Store) -> None:
        store.access.add(KEY)
        store.access.add(KEY._replace(id="b2", created_at=NOW + 3), instead="a1")
        store.access.end("a1", NOW + 9)
        assert store.records.verify(ALICE.tenant).heads[None].seq == 3, "two were made, and one ended once"
        assert store.records.journal(View(Scope(tenant="acme"), NOW)) == [], "they concern no reader"
        assert store.records.verify(ALICE.tenant).problems == ()

    def test_refusals_the_newest_first_and_each_tenants_own(self, store: Store) -> None:
        lines = [Refusal(NOW + number, "acme", "ada", "recall", "no key", None) for number in range(3)]
        other = Refusal(NOW, "zeta", "bob", "records.add", "needs write", "a1")
        store.access.refuse([*lines, other])
        assert store.access.refused("acme", 2, keyed=False) == [lines[2], lines[1]]
        assert store.access.refused("zeta", 10, keyed=True) == [other]
        assert store.access.refused("zeta", 10, keyed=False) == store.access.refused("acme", 10, keyed=True) == []
        assert store.access.refused("nobody", 10, keyed=False) == []
