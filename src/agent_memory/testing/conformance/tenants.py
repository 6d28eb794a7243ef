"""A tenant's journal is its own: what others write changes none of its numbers, moments or proofs."""

from __future__ import annotations

from agent_memory.ports.changes import Amend, Erase, Mark
from agent_memory.ports.index import Probe
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.records import View
from agent_memory.ports.store import Store
from agent_memory.testing.builders import (
    ALICE,
    BOB,
    EVERYTHING,
    NOW,
    SPACE,
    STRANGER,
    beyond,
    embed_all,
    gather,
    ids,
    link,
    put,
    steps,
    terms,
    view,
    write,
)

OURS, THEIRS = ALICE.tenant, STRANGER.tenant


class JournalsConformance:
    """Two tenants, one after the other: `acme` and `rival`."""

    def test_each_counts_its_own_lines(self, store: Store) -> None:
        applied = [write(store, put(f"{n}", id=f"{n}"), scope=(ALICE, STRANGER, STRANGER)[n % 3]) for n in range(6)]
        assert [one.seq for one in applied] == [1, 1, 2, 2, 3, 4]
        assert [line.seq for line in store.records.journal(view())] == [1, 2]
        assert [line.seq for line in store.records.journal(view(STRANGER))] == [1, 2, 3, 4]
        assert [store.records.stats(view(one))["seq"] for one in (ALICE, BOB, STRANGER)] == [2, 2, 4]
        assert [one.seq for one in store.records.get(view(STRANGER), ["5", "1"])] == [4, 1]

    def test_what_others_write_changes_no_head(self, store: Store) -> None:
        write(store, put("one", id="a"))
        before = store.records.verify(OURS, alone=True)
        write(store, put("one", id="a"), put("two", id="b"), link("a", "b"), Amend("a", importance=1.0), scope=STRANGER)
        write(store, Erase("b"), scope=STRANGER)
        after = store.records.verify(OURS)
        assert (after.seq, after.head) == (before.seq, before.head) == (1, store.records.journal(view())[0].chain)
        assert {name: mark.seq for name, mark in after.heads.items()} == {None: 2, OURS: 1, THEIRS: 5}
        assert before.problems == after.problems == () and before.heads == {OURS: Mark(before.seq, before.head)}

    def test_a_mark_is_that_of_a_tenant(self, store: Store) -> None:
        write(store, put("one", id="a"))
        write(store, put("one", id="a"), scope=STRANGER)
        ours, theirs = (store.records.verify(one) for one in (OURS, THEIRS))
        assert ours.head != theirs.head
        assert store.records.verify(OURS, expect=Mark(ours.seq, ours.head)).problems == ()
        assert store.records.verify(OURS, expect=Mark(theirs.seq, theirs.head)).problems

    def test_a_moment_is_a_line_of_ones_own(self, store: Store) -> None:
        for n in range(3):
            write(store, put(f"{n}", id="a"), now=NOW + 10 * n)
            write(store, put(f"{n}", id=f"{n}"), put("more", id=f"more {n}"), scope=STRANGER, now=NOW + 10 * n + 5)
        assert [store.records.seq_at(OURS, NOW + n) for n in (-1, 0, 9, 10, 99)] == [0, 1, 1, 2, 3]
        assert [store.records.seq_at(THEIRS, NOW + n) for n in (0, 5, 14, 15, 99)] == [0, 2, 2, 4, 6]
        assert store.records.seq_at("nobody", NOW + 99) == 0
        assert [one.text for one in store.records.get(view(seq=2), ["a"])] == ["1"]
        assert ids(store.records.get(view(STRANGER, seq=2), ["0", "1"])) == ["0"]

    def test_clocks_of_others_do_not_drag_ones_own(self, store: Store) -> None:
        write(store, put("later", id="a"), scope=STRANGER, now=NOW + 1000)
        assert write(store, put("now", id="a"), now=NOW).at == NOW

    def test_handles_are_read_with_the_readers_own_eyes(self, store: Store) -> None:
        """The same small numbers mean something else to each tenant, and nothing to who may not see it."""
        for scope in (STRANGER, ALICE, BOB):
            write(
                store, put(f"of {scope.user} at {scope.tenant}", id="a"), put("b", id="b"), link("a", "b"), scope=scope
            )
        for reader, seqs in ((ALICE, [1, 2]), (BOB, [4, 5]), (STRANGER, [1, 2])):
            mine = View(reader, NOW)
            pool = gather(store, Probe(mine, EVERYTHING, pool=9))
            assert sorted(pool.handles.tolist()) == seqs and pool.head == store.records.stats(mine)["seq"]
            assert [one.scope for one in store.index.hydrate(mine, range(9))] == [reader, reader]
            assert ids(beyond(store, mine, "a")) == ["b"]
            assert {one.here for one in steps(store, mine, [*range(9)], 9) if one.outward} == {seqs[0]}

    def test_a_search_as_of_a_line_is_not_disturbed(self, store: Store) -> None:
        write(store, put("red", id="a"))
        write(store, put("red", id="a"), put("red", id="b"), put("red", id="c"), scope=STRANGER)
        write(store, put("red", id="b"))
        for seq, expected in ((1, ["a"]), (2, ["a", "b"])):
            pool = gather(store, Probe(view(seq=seq), EVERYTHING, pool=9, terms=(1,)))
            assert (pool.seq, pool.documents) == (seq, len(expected))
            assert sorted(ids(store.index.hydrate(view(), pool.handles.tolist()))) == expected

    def test_vectors_are_made_for_one_tenant_at_a_time(self, store: Store) -> None:
        store.index.begin(SPACE)
        for scope in (ALICE, STRANGER, BOB):
            write(store, put(f"of {scope.user}", id="a"), put(f"more of {scope.user}", id="b"), scope=scope)
        assert store.index.pending(SPACE) == 6
        assert len({one.tenant for one in store.index.unembedded(SPACE, None, 10)}) == 1
        assert {one.tenant for one in store.index.unembedded(SPACE, view(STRANGER), 10)} == {THEIRS}
        assert len(embed_all(store)) == 6 and store.index.pending(SPACE) == 0
        lines = [line.operation for line in store.records.journal(view(STRANGER))]
        assert lines == ["put", "put", "embed"], "a line for their vectors, and none for anybody else's"
        assert store.records.verify(OURS).problems == ()

    def test_a_space_is_noted_in_the_stores_own_journal(self, store: Store) -> None:
        write(store, put("one", id="a"))
        pool = gather(store, Probe(view(), EVERYTHING, pool=9))
        assert not store.index.adopted(pool.store)
        store.index.begin(SPACE)
        assert store.index.adopted(pool.store) and store.records.stats(view())["seq"] == 1
        again = gather(store, Probe(view(), EVERYTHING, pool=9))
        assert again.store > pool.store and again.head == pool.head and not store.index.adopted(again.store)

    def test_a_receipt_comes_late_only_for_erasures_of_its_own_tenant(self, store: Store) -> None:
        write(store, put("red", id="a"))
        for n in range(3):
            write(store, put("red", id=f"{n}"), scope=STRANGER)
            write(store, Erase(f"{n}"), scope=STRANGER)
        store.receipts.keep([ReceiptLine("r1", view(), 1, '{"query":"blue"}', (1,), terms("blue").hashes)])
        assert store.receipts.receipt(view(), "r1") == '{"query":"blue"}'
        assert store.receipts.accesses(view(), ["a"])["a"].times == 1
        write(store, Erase("a"))
        assert store.receipts.receipt(view(), "r1") is None
        assert store.records.verify(OURS).problems == ()

    def test_labels_of_others_stay(self, store: Store) -> None:
        """Both talk in a conversation of the same name; one of them forgets it."""
        for scope in (ALICE, STRANGER):
            write(store, put("red", id="a", conversation_id="c1", repository="r1"), scope=scope)
        write(store, Erase("a"), scope=STRANGER)
        assert store.records.get(view(), ["a"])[0].conversation_id == "c1"
        assert store.records.verify(OURS).problems == ()
