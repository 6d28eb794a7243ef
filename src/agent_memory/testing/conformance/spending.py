"""What models used: counted before and after, within a limit, by everybody together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from agent_memory.ports.spending import DaySpending, Most, Reserved, SpendingStore
from agent_memory.ports.store import Store

TODAY, TOMORROW = "2026-03-02", "2026-03-03"
MOST = Most(calls=3, tokens=100)


def spending(store: Store) -> SpendingStore:
    assert store.spending is not None
    return store.spending


class SpendingConformance:
    """The `SpendingStore` port."""

    def test_tokens_are_set_aside_and_then_settled(self, store: Store) -> None:
        kept = spending(store)
        assert kept.reserve(TODAY, "m", 40, MOST) == Reserved(True, MOST)
        assert kept.since(TODAY) == [DaySpending(TODAY, "m", calls=1, reserved=40)]
        kept.settle(TODAY, "m", 40, (10, 5))
        assert kept.since(TODAY) == [DaySpending(TODAY, "m", calls=1, prompt=10, completion=5)]
        assert kept.reserve(TODAY, "m", 85, MOST) == Reserved(True, Most(2, 85))

    def test_no_more_calls_than_there_may_be_of_all_models(self, store: Store) -> None:
        kept = spending(store)
        assert [kept.reserve(TODAY, f"m{number % 2}", 1, MOST).granted for number in range(5)] == [True] * 3 + [
            False
        ] * 2
        assert [(row.calls, row.refused) for row in kept.since(TODAY)] == [(2, 1), (1, 1)]

    def test_no_more_tokens_than_there_may_be_of_all_models(self, store: Store) -> None:
        kept = spending(store)
        assert kept.reserve(TODAY, "one", 60, MOST).granted
        assert kept.reserve(TODAY, "other", 41, MOST) == Reserved(False, Most(2, 40))
        assert kept.reserve(TODAY, "other", 40, MOST).granted
        assert kept.since(TODAY)[1] == DaySpending(TODAY, "other", calls=1, reserved=40, refused=1)

    def test_what_used_more_than_was_set_aside_leaves_nothing(self, store: Store) -> None:
        kept = spending(store)
        kept.reserve(TODAY, "m", 40, MOST)
        kept.settle(TODAY, "m", 40, (200, 5))
        assert kept.reserve(TODAY, "m", 1, MOST) == Reserved(False, Most(2, 0))

    def test_every_day_begins_anew(self, store: Store) -> None:
        kept = spending(store)
        kept.reserve(TODAY, "m", 100, MOST)
        assert kept.reserve(TOMORROW, "m", 100, MOST) == Reserved(True, MOST)
        kept.settle(TODAY, "m", 100, (1, 1))
        assert [row.day for row in kept.since(TODAY)] == [TODAY, TOMORROW]
        assert kept.since(TOMORROW) == [DaySpending(TOMORROW, "m", calls=1, reserved=100)]

    def test_several_at_once_get_no_more_together(self, store: Store) -> None:
        kept, most = spending(store), Most(calls=7, tokens=1000)
        with ThreadPoolExecutor(4) as threads:
            granted = list(threads.map(lambda n: kept.reserve(TODAY, f"m{n % 3}", 1, most).granted, range(20)))
        assert granted.count(True) == 7
        assert sum(row.refused for row in kept.since(TODAY)) == 13
