"""Scopes: no read of any port ever shows a row that its reader may not see."""

from __future__ import annotations

import pytest

from agent_memory.models.errors import NotFound
from agent_memory.models.record import Scope
from agent_memory.ports.changes import Amend, Effect, Erase
from agent_memory.ports.index import Probe
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.store import Store
from agent_memory.testing.builders import (
    ALICE,
    ALICES_BOT,
    BOB,
    BOT,
    EVERYTHING,
    NOW,
    SHARED,
    SPACE,
    STRANGER,
    beyond,
    called,
    direction,
    gather,
    ids,
    link,
    put,
    steps,
    term,
    vector,
    view,
    with_vectors,
    write,
    write_one,
)

SEES = {
    ALICES_BOT: {ALICES_BOT, ALICE, BOT, SHARED},
    ALICE: {ALICE, SHARED},
    BOT: {BOT, SHARED},
    SHARED: {SHARED},
    BOB: {BOB, SHARED},
    STRANGER: {STRANGER},
}


def name(scope: Scope) -> str:
    return f"{scope.tenant}-{scope.user}-{scope.agent}"


def everybody(store: Store) -> None:
    """In every scope two records that are linked, each with the same key, words and vector."""
    store.index.begin(SPACE)
    for scope in SEES:
        own = with_vectors(put("secret", id=name(scope), key="k", conversation_id="c"), vector(1, 0, 0, 0))
        write(
            store, own, put("other", id=f"{name(scope)}-other"), link(name(scope), f"{name(scope)}-other"), scope=scope
        )


class WallConformance:
    """A reader sees the rows of its tenant whose user and agent are its own or shared."""

    @pytest.mark.parametrize("reader", SEES, ids=name)
    def test_get_and_history(self, store: Store, reader: Scope) -> None:
        everybody(store)
        for scope in SEES:
            seen = store.records.get(view(reader), [name(scope)])
            assert [record.scope for record in seen] == ([scope] if scope in SEES[reader] else [])
            if scope in SEES[reader]:
                assert len(store.records.history(view(reader), name(scope))) == 1
            else:
                with pytest.raises(NotFound):
                    store.records.history(view(reader), name(scope))

    @pytest.mark.parametrize("reader", SEES, ids=name)
    def test_ids_by_how_they_begin(self, store: Store, reader: Scope) -> None:
        everybody(store)
        begins = {name(scope)[:1] for scope in SEES}
        found = {id for start in begins for id in store.records.beginning(view(reader), start, limit=100)}
        assert found == {f"{name(scope)}{end}" for scope in SEES[reader] for end in ("", "-other")}

    @pytest.mark.parametrize("reader", SEES, ids=name)
    def test_by_key_gives_the_narrowest(self, store: Store, reader: Scope) -> None:
        everybody(store)
        found = store.records.by_key(view(reader), "note", "k")
        assert found is not None
        assert found.scope == reader

    def test_by_key_falls_back_to_what_is_shared(self, store: Store) -> None:
        write(store, put("for all", id="a", key="k"), scope=SHARED)
        write(store, put("alice's", id="b", key="k", valid_to=NOW + 5), scope=ALICE)
        for scope, now, text in ((BOB, NOW, "for all"), (ALICES_BOT, NOW, "alice's"), (ALICE, NOW + 5, "for all")):
            found = store.records.by_key(view(scope, now=now), "note", "k")
            assert found is not None
            assert found.text == text
        assert store.records.by_key(view(STRANGER), "note", "k") is None

    @pytest.mark.parametrize("reader", SEES, ids=name)
    def test_find(self, store: Store, reader: Scope) -> None:
        everybody(store)
        seen = store.records.find(view(reader), EVERYTHING, limit=100)
        assert {record.scope for record in seen} == SEES[reader]
        assert len(seen) == 2 * len(SEES[reader])
        hidden = next(scope for scope in SEES if scope not in SEES[reader])
        with pytest.raises(NotFound):
            store.records.find(view(reader), EVERYTHING, limit=100, after=name(hidden))

    @pytest.mark.parametrize("reader", SEES, ids=name)
    def test_links_and_walks(self, store: Store, reader: Scope) -> None:
        everybody(store)
        starts = [name(scope) for scope in SEES]
        expected = {name(scope) for scope in SEES[reader]}
        assert {one.source_id for one in store.records.links(view(reader), starts)} == expected
        assert {one.scope for one in beyond(store, view(reader), *starts)} == SEES[reader]
        everything = store.records.find(view(ALICES_BOT), EVERYTHING, limit=100)
        foreign = [one.seq for one in everything if one.scope not in SEES[reader] and one.scope.tenant == reader.tenant]
        assert steps(store, view(reader), foreign, 1000) == []

    @pytest.mark.parametrize("reader", SEES, ids=name)
    def test_names(self, store: Store, reader: Scope) -> None:
        for scope in SEES:
            write(store, put("x", id=name(scope), kind="thing", payload={"name": "pump"}), scope=scope)
        found = called(store, view(reader), ["pump"], most=len(SEES[reader]))
        records = store.index.hydrate(view(reader), [one.handle for one in found])
        assert {record.scope for record in records} == SEES[reader] and len(records) == len(found)

    @pytest.mark.parametrize("reader", SEES, ids=name)
    def test_handles(self, store: Store, reader: Scope) -> None:
        everybody(store)
        handles = [one.seq for scope in SEES for one in store.records.get(view(scope), [name(scope)])]
        assert {record.scope for record in store.index.hydrate(view(reader), handles)} == SEES[reader]
        assert store.index.damaged(view(reader), handles) == 0

    @pytest.mark.parametrize("reader", SEES, ids=name)
    def test_the_journal(self, store: Store, reader: Scope) -> None:
        everybody(store)
        own = {name(scope) for scope in SEES[reader]}
        lines = store.records.journal(view(reader), limit=1000)
        assert {str(line.record_id).removesuffix("-other") for line in lines} == own
        assert len(lines) == 3 * len(own)
        for scope in SEES:
            lines = store.records.journal(view(reader), id=name(scope))
            assert len(lines) == (2 if scope in SEES[reader] else 0)

    @pytest.mark.parametrize("reader", SEES, ids=name)
    def test_search_and_its_statistics(self, store: Store, reader: Scope) -> None:
        everybody(store)
        pool = gather(
            store,
            Probe(
                view(reader),
                EVERYTHING,
                pool=1,
                terms=(term("secret"),),
                vector=direction(1, 0, 0, 0),
                space=SPACE,
                key="k",
            ),
        )
        hits = store.index.hydrate(view(reader), pool.handles.tolist())
        assert {record.scope for record in hits if record.text == "secret"} == SEES[reader]
        assert {record.scope for record in hits} <= SEES[reader]
        assert pool.documents == 2 * len(SEES[reader])
        assert pool.frequencies.tolist() == [len(SEES[reader])]

    @pytest.mark.parametrize("reader", SEES, ids=name)
    def test_what_is_pending_and_the_statistics(self, store: Store, reader: Scope) -> None:
        everybody(store)
        seen = len(SEES[reader])
        assert store.index.pending(SPACE, view(reader)) == seen
        assert len(store.index.unembedded(SPACE, view(reader), 100)) == seen
        stats = store.records.stats(view(reader))
        assert stats["kinds"] == {"note": 2 * seen}
        assert (stats["records"], stats["versions"]) == (2 * seen, 2 * seen)
        assert (stats["links"], stats["vectors"], stats["pending_vectors"]) == (seen, seen, seen)

    @pytest.mark.parametrize("reader", SEES, ids=name)
    def test_receipts_and_accesses(self, store: Store, reader: Scope) -> None:
        everybody(store)
        for scope in SEES:
            [record] = store.records.get(view(scope), [name(scope)])
            [handle] = [one for one in gather(store, Probe(view(scope), EVERYTHING, pool=0, key="k")).handles
                        if store.index.hydrate(view(scope), [int(one)]) == [record]]  # fmt: skip
            store.receipts.keep([ReceiptLine(f"r-{name(scope)}", view(scope), 1, "{}", (int(handle),))])
        everything = [name(scope) for scope in SEES]
        expected = {name(scope) for scope in SEES[reader]}
        assert set(store.receipts.accesses(view(reader), everything)) == expected
        for scope in SEES:
            kept = store.receipts.receipt(view(reader), f"r-{name(scope)}")
            assert (kept is not None) == (scope in SEES[reader])
        assert store.records.stats(view(reader))["receipts"] == len(expected)

    @pytest.mark.parametrize("writer", SEES, ids=name)
    def test_nobody_changes_what_they_do_not_see(self, store: Store, writer: Scope) -> None:
        everybody(store)
        before = store.records.stats(view(writer))["seq"]
        for scope in SEES:
            if scope not in SEES[writer]:
                for change in (Amend(name(scope), importance=0.9), Erase(name(scope))):
                    with pytest.raises(NotFound):
                        write(store, change, scope=writer)
        assert store.records.stats(view(writer))["seq"] == before

    def test_the_same_id_in_two_scopes_is_two_records(self, store: Store) -> None:
        write(store, put("for all", id="a"), scope=SHARED)
        assert write_one(store, put("alice's", id="a", kind="fact"), scope=ALICE).effect is Effect.CREATED
        assert write_one(store, put("bob's", id="a"), scope=BOB).effect is Effect.CREATED
        for scope, text in ((SHARED, "for all"), (ALICE, "alice's"), (ALICES_BOT, "alice's"), (BOB, "bob's")):
            assert [record.text for record in store.records.get(view(scope), ["a"])] == [text]
            assert [record.text for record in store.records.history(view(scope), "a")] == [text]
        assert ids(store.records.find(view(ALICE), EVERYTHING, limit=5)) == ["a", "a"]

    def test_of_the_same_id_the_narrowest_is_changed_and_erased(self, store: Store) -> None:
        write(store, put("for all", id="a"), scope=SHARED)
        write(store, put("alice's", id="a"), scope=ALICE)
        write(store, Amend("a", importance=0.9), scope=ALICE)
        assert [record.importance for record in store.records.get(view(BOB), ["a"])] == [0.5]
        write(store, Erase("a"), scope=ALICE)
        assert [record.text for record in store.records.get(view(ALICE), ["a"])] == ["for all"]
        assert [record.text for record in store.records.get(view(BOB), ["a"])] == ["for all"]

    def test_a_put_never_changes_a_record_of_a_wider_scope(self, store: Store) -> None:
        write(store, put("for all", id="a", key="k"), scope=SHARED)
        outcome = write_one(store, put("alice's", id="b", key="k"), scope=ALICE)
        assert (outcome.effect, outcome.id) == (Effect.CREATED, "b")
        assert [record.text for record in store.records.get(view(BOB), ["a"])] == ["for all"]
