"""Receipts: what reads left behind, and how often each record was recalled."""

from __future__ import annotations

from agent_memory.ports.changes import Amend, Erase
from agent_memory.ports.index import Probe
from agent_memory.ports.receipts import ReceiptLine, access
from agent_memory.ports.records import View
from agent_memory.ports.store import Store
from agent_memory.testing.builders import (
    ALICE,
    ALICES_BOT,
    BOB,
    DAY,
    EVERYTHING,
    NOW,
    SHARED,
    STRANGER,
    gather,
    put,
    terms,
    view,
    write,
)


def handles(store: Store, moment: View | None = None) -> dict[str, int]:
    """text -> the handle of the version that says it."""
    found = gather(store, Probe(moment or view(), EVERYTHING, pool=100)).handles.tolist()
    return {store.index.hydrate(moment or view(), [handle])[0].text: handle for handle in found}


class ReceiptConformance:
    """Kept for whoever may see them; what they show counts as accessed."""

    def test_a_receipt_comes_back_to_its_reader(self, store: Store) -> None:
        store.receipts.keep(
            [ReceiptLine("r1", view(), 0, '{"query": "ü"}', ()), ReceiptLine("r2", view(), 0, "{}", ())]
        )
        assert store.receipts.receipt(view(), "r1") == '{"query": "ü"}'
        assert store.receipts.receipt(view(), "r2") == "{}"
        assert store.receipts.receipt(view(), "r3") is None

    def test_a_receipt_is_seen_like_a_record_of_its_scope(self, store: Store) -> None:
        store.receipts.keep([ReceiptLine("r", view(ALICE), 0, "{}", ()), ReceiptLine("s", view(SHARED), 0, "{}", ())])
        assert store.receipts.receipt(view(ALICES_BOT), "r") == "{}"
        for other in (BOB, SHARED, STRANGER):
            assert store.receipts.receipt(view(other), "r") is None
        assert store.receipts.receipt(view(BOB), "s") == "{}"
        assert store.receipts.receipt(view(STRANGER), "s") is None

    def test_receipts_since_a_moment(self, store: Store) -> None:
        lines = [ReceiptLine(f"r{number}", view(now=NOW + number), 0, f"{number}", ()) for number in range(4)]
        others = [ReceiptLine("bobs", view(BOB, now=NOW + 2), 0, "{}", ())]
        store.receipts.keep([*lines, *others, ReceiptLine("far", view(STRANGER, now=NOW + 9), 0, "{}", ())])
        mine = store.receipts.since(view(), NOW + 1, 10)
        assert [(one.id, one.scope, one.at, one.body) for one in mine] == [
            (f"r{number}", ALICE, NOW + number, f"{number}") for number in (3, 2, 1)
        ]
        assert [one.id for one in store.receipts.since(view(), NOW, 2)] == ["r3", "r2"]
        all_of_them = store.receipts.since(ALICE.tenant, NOW + 2, 10)
        assert sorted(one.id for one in all_of_them) == ["bobs", "r2", "r3"]
        assert store.receipts.since("nobody", NOW, 10) == []

    def test_nothing_to_keep_is_fine(self, store: Store) -> None:
        store.receipts.keep([])
        assert store.receipts.accesses(view(), []) == {}

    def test_an_access_alone_counts_and_leaves_no_receipt(self, store: Store) -> None:
        write(store, put("one", id="a"))
        (handle,) = handles(store).values()
        store.receipts.keep([access(view(), handle), access(view(now=NOW + 3), handle), access(view(), handle + 9)])
        assert store.receipts.accesses(view(), ["a"]) == {"a": (2, NOW + 3)}
        assert store.receipts.since(view(), 0, 10) == []
        write(store, put("red", id="b"), Erase("b"))
        store.receipts.keep([access(view(), handle)])  # late, after something was erased
        assert store.receipts.accesses(view(), ["a"])["a"].times == 3

    def test_accesses_are_counted_per_record(self, store: Store) -> None:
        write(store, put("one", id="a"), put("two", id="b"), put("three", id="c"))
        known = handles(store)
        store.receipts.keep(
            [
                ReceiptLine("r1", view(now=NOW + 5), 3, "{}", (known["one"], known["two"])),
                ReceiptLine("r2", view(now=NOW + 9), 3, "{}", (known["one"],)),
            ]
        )
        store.receipts.keep([ReceiptLine("r3", view(now=NOW + 7), 3, "{}", (known["one"],))])
        assert store.receipts.accesses(view(), ["a", "b", "c", "nobody"]) == {"a": (3, NOW + 9), "b": (1, NOW + 5)}
        assert store.records.stats(view())["receipts"] == 3

    def test_all_versions_of_a_record_count_for_it(self, store: Store) -> None:
        write(store, put("one", id="a"))
        old = handles(store)["one"]
        write(store, put("two", id="a"), Amend("a", importance=0.1))
        store.receipts.keep([ReceiptLine("r1", view(), 3, "{}", (old,))])
        store.receipts.keep([ReceiptLine("r2", view(), 3, "{}", (handles(store)["two"],))])
        assert store.receipts.accesses(view(), ["a"]) == {"a": (2, NOW)}

    def test_a_line_whose_handle_leads_nowhere_is_dropped(self, store: Store) -> None:
        write(store, put("one", id="a"))
        known = handles(store)["one"]
        store.receipts.keep(
            [ReceiptLine("r1", view(), 1, "{}", (known, 10**9)), ReceiptLine("r2", view(), 1, "{}", (known,))]
        )
        assert store.receipts.receipt(view(), "r1") is None
        assert store.receipts.receipt(view(), "r2") == "{}"
        assert store.receipts.accesses(view(), ["a"]) == {"a": (1, NOW)}

    def test_accesses_until_a_moment(self, store: Store) -> None:
        write(store, put("one", id="a"), put("two", id="b"))
        known = handles(store)
        for number, (name, at) in enumerate((("one", 1), ("one", 3), ("two", 3), ("one", 3), ("one", 7))):
            store.receipts.keep([ReceiptLine(f"r{number}", view(now=NOW + at), 2, "{}", (known[name],))])
        told = {
            until: store.receipts.accesses(view(), ["a", "b"], until=NOW + until) for until in (0, 1, 2, 3, 6, 7, 9)
        }
        assert told == {
            0: {},
            1: {"a": (1, NOW + 1)},
            2: {"a": (1, NOW + 1)},
            3: {"a": (3, NOW + 3), "b": (1, NOW + 3)},
            6: {"a": (3, NOW + 3), "b": (1, NOW + 3)},
            7: {"a": (4, NOW + 7), "b": (1, NOW + 3)},
            9: {"a": (4, NOW + 7), "b": (1, NOW + 3)},
        }

    def test_accesses_outlive_receipts_that_went_with_another_record(self, store: Store) -> None:
        write(store, put("one", id="a"), put("two", id="b"))
        known = handles(store)
        store.receipts.keep([ReceiptLine("r", view(now=NOW + 5), 2, "{}", (known["one"], known["two"]))])
        write(store, Erase("b"))
        assert store.receipts.receipt(view(), "r") is None
        assert store.receipts.accesses(view(), ["a", "b"], until=NOW + 4) == {}
        assert store.receipts.accesses(view(), ["a", "b"], until=NOW + 5) == {"a": (1, NOW + 5)}

    def test_beyond_the_retention_only_the_total_is_known(self, store: Store) -> None:
        write(store, put("one", id="a"), put("two", id="b"), put("three", id="c"))
        known = handles(store)
        days = (("one", 0), ("one", 10), ("two", 0), ("one", 95), ("three", 95))
        for number, (name, day) in enumerate(days):
            store.receipts.keep([ReceiptLine(f"r{number}", view(now=NOW + day * DAY), 3, "{}", (known[name],))])
        assert store.receipts.receipt(view(), "r0") is None and store.receipts.receipt(view(), "r1") == "{}"
        told = {day: store.receipts.accesses(view(), ["a", "b", "c"], until=NOW + day * DAY) for day in (1, 6, 20, 95)}
        assert told[95] == {"a": (3, NOW + 95 * DAY), "b": (1, NOW), "c": (1, NOW + 95 * DAY)}
        assert told[20] == {"a": (2, NOW + 10 * DAY), "b": (1, NOW)}
        assert told[6] == {"a": (1, None), "b": (1, NOW)}, "the first is known to be earlier, and not when"
        assert told[1] == {"a": (None, None), "b": (1, NOW)}, "it may have been before or after"

    def test_time_alone_ends_the_retention(self, store: Store) -> None:
        write(store, put("one", id="a"))
        shown = (handles(store)["one"],)
        store.receipts.keep([ReceiptLine(f"r{day}", view(now=NOW + day * DAY), 1, "{}", shown) for day in (0, 10)])
        assert store.receipts.expire(NOW + 80 * DAY) == 0
        assert store.receipts.expire(NOW + 95 * DAY) == 1 and store.receipts.expire(NOW + 95 * DAY) == 0
        assert store.receipts.receipt(view(), "r0") is None and store.receipts.receipt(view(), "r10") == "{}"
        assert store.receipts.accesses(view(), ["a"], until=NOW + 6 * DAY) == {"a": (1, None)}
        assert store.receipts.accesses(view(), ["a"]) == {"a": (2, NOW + 10 * DAY)}

    def test_a_clock_far_ahead_ends_nothing(self, store: Store) -> None:
        write(store, put("one", id="a"))
        shown = (handles(store)["one"],)
        store.receipts.keep([ReceiptLine("r", view(), 1, "{}", shown)])
        for day in (3650, 3651):
            store.receipts.keep([ReceiptLine(f"r{day}", view(now=NOW + day * DAY), 1, "{}", shown)])
            assert store.receipts.expire(NOW + day * DAY) == 0
        assert store.receipts.receipt(view(), "r") == "{}"
        assert store.receipts.accesses(view(), ["a"], until=NOW) == {"a": (1, NOW)}
        assert store.receipts.expire(NOW + 3670 * DAY) == 1, "it went on: so that is the time"

    def test_what_is_only_named_counts_as_no_access(self, store: Store) -> None:
        write(store, put("one", id="a"), put("two", id="b"))
        known = handles(store)
        store.receipts.keep([ReceiptLine("r", view(), 2, "{}", (known["one"],), named=(known["one"], known["two"]))])
        assert store.receipts.accesses(view(), ["a", "b"]) == {"a": (1, NOW)}
        store.receipts.keep([ReceiptLine("s", view(), 2, "{}", (), named=(known["two"], 10**9))])
        assert store.receipts.receipt(view(), "s") is None

    def test_a_line_that_comes_after_an_erasure_tells_no_query(self, store: Store) -> None:
        asked = terms("my secret").hashes
        before = write(store, put("my secret", id="a"), put("other", id="b")).seq
        after = write(store, Erase("a")).seq
        body = '{"query":"my secret","k":1}'
        store.receipts.keep(
            [
                ReceiptLine("late", view(), before, body, (handles(store)["other"],), asked),
                ReceiptLine("bot", view(ALICES_BOT), before, body, (), asked),
                ReceiptLine("new", view(), after, body, (), asked),
                ReceiptLine("bob", view(BOB), before, body, (), asked),
            ]
        )
        assert store.receipts.receipt(view(), "late") == '{"query":null,"k":1}'
        assert store.receipts.receipt(view(ALICES_BOT), "bot") == '{"query":null,"k":1}'
        assert store.receipts.receipt(view(), "new") == body
        assert store.receipts.receipt(view(BOB), "bob") == body  # he never saw that scope

    def test_accesses_cross_no_wall(self, store: Store) -> None:
        write(store, put("his", id="b"), scope=BOB)
        write(store, put("for all", id="s"), scope=SHARED)
        known = handles(store, view(BOB))
        store.receipts.keep([ReceiptLine("r1", view(BOB), 2, "{}", (known["his"], known["for all"]))])
        assert store.receipts.accesses(view(ALICE), ["b", "s"]) == {"s": (1, NOW)}
        assert store.receipts.accesses(view(STRANGER), ["b", "s"]) == {}

    def test_of_the_same_id_the_narrowest_is_meant(self, store: Store) -> None:
        write(store, put("bob's", id="a"), scope=BOB)
        write(store, put("for all", id="a"), scope=SHARED)
        write(store, put("alice's", id="a"), scope=ALICE)
        shared, hers = handles(store, view(SHARED))["for all"], handles(store)["alice's"]
        store.receipts.keep([ReceiptLine("r1", view(SHARED), 3, "{}", (shared,))])
        assert store.receipts.accesses(view(ALICE), ["a"]) == {}
        assert store.receipts.accesses(view(SHARED), ["a"]) == {"a": (1, NOW)}
        store.receipts.keep([ReceiptLine(f"r{n}", view(ALICE), 3, "{}", (hers,)) for n in (2, 3)])
        assert store.receipts.accesses(view(ALICE), ["a"]) == {"a": (2, NOW)}

    def test_receipts_bring_no_line_in_the_journal(self, store: Store) -> None:
        before = write(store, put("one", id="a")).seq
        store.receipts.keep([ReceiptLine("r1", view(), 1, "{}", (handles(store)["one"],))])
        assert store.records.stats(view())["seq"] == before
