"""What models used: counted before and after, within every budget that concerns it, by everybody together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from agent_memory.ports.changes import Author
from agent_memory.ports.spending import (
    Account,
    Amount,
    DaySpending,
    Hold,
    Reserved,
    SpendingLimit,
    SpendingStore,
    Standing,
    Used,
)
from agent_memory.ports.store import Store
from agent_memory.testing.builders import ALICE, NOW, put, write

TODAY, TOMORROW = "2026-03-02", "2026-03-03"
M = Account(TODAY, kind="chat", model="m")
MOST = SpendingLimit("day", calls=3, tokens=100, kind="chat")
ADA = Account(TODAY, "acme", "ada", "coder", "r1", "models.ask", "chat", "m")


def spending(store: Store) -> SpendingStore:
    assert store.spending is not None
    return store.spending


class SpendingConformance:
    """The `SpendingStore` port."""

    def test_what_is_set_aside_is_settled(self, store: Store) -> None:
        kept, hold = spending(store), Hold(40, 7)
        assert kept.reserve(ADA, hold, [MOST]) == Reserved(True)
        assert kept.since(TODAY) == [DaySpending(*ADA, calls=1, reserved=40, held=7)]
        kept.settle(ADA, hold, Used(10, 5, 3, 250))
        assert kept.since(TODAY) == [DaySpending(*ADA, calls=1, prompt=10, completion=5, money=3, millis=250)]
        assert kept.reserve(ADA, Hold(85), [MOST]).granted
        assert kept.standing(ADA, [MOST]) == [Standing(MOST, Amount(2, 100, 3, 250))]

    def test_time_is_set_aside_where_it_is_limited(self, store: Store) -> None:
        kept, hold = spending(store), Hold(1, millis=600)
        assert kept.reserve(M, hold, []) == Reserved(True)
        most = SpendingLimit("day", millis=1000)
        assert kept.reserve(ADA, hold, [most]) == Reserved(True, millis=600)
        assert kept.reserve(ADA, hold, [most]) == Reserved(True, millis=400), "what is left"
        assert kept.reserve(ADA, hold, [most]) == Reserved(False, most, "millis", 0)
        kept.settle(ADA, hold, Used(1, 1, 0, 50))
        assert kept.reserve(ADA, Hold(1), [most]) == Reserved(True, millis=550), "nobody knows how long it lasts"

    def test_the_first_zone_that_is_wanted_is_kept(self, store: Store) -> None:
        kept = spending(store)
        assert kept.zone() is None
        assert [kept.zone("Europe/Berlin"), kept.zone("Asia/Tokyo"), kept.zone()] == ["Europe/Berlin"] * 3
        assert not store.records.verify("acme").problems

    def test_no_more_calls_than_there_may_be_of_all_models(self, store: Store) -> None:
        kept = spending(store)
        asked = [kept.reserve(M._replace(model=f"m{number % 2}"), Hold(1), [MOST]) for number in range(5)]
        assert [one.granted for one in asked] == [True] * 3 + [False] * 2
        assert asked[3] == Reserved(False, MOST, "calls", 0)
        assert [(row.calls, row.refused) for row in kept.since(TODAY)] == [(2, 1), (1, 1)]

    def test_no_more_tokens_than_there_may_be_of_all_models(self, store: Store) -> None:
        kept, other = spending(store), M._replace(model="other")
        assert kept.reserve(M, Hold(60), [MOST]).granted
        assert kept.reserve(other, Hold(41), [MOST]) == Reserved(False, MOST, "tokens", 40)
        assert kept.reserve(other, Hold(40), [MOST]).granted
        assert kept.since(TODAY)[1] == DaySpending(*other, calls=1, reserved=40, refused=1)

    def test_what_used_more_than_was_set_aside_leaves_nothing(self, store: Store) -> None:
        kept = spending(store)
        kept.reserve(M, Hold(40), [MOST])
        kept.settle(M, Hold(40), Used(200, 5))
        assert kept.reserve(M, Hold(1), [MOST]) == Reserved(False, MOST, "tokens", 0)

    def test_every_day_begins_anew(self, store: Store) -> None:
        kept, tomorrow = spending(store), M._replace(day=TOMORROW)
        kept.reserve(M, Hold(100), [MOST])
        assert kept.reserve(tomorrow, Hold(100), [MOST]).granted
        kept.settle(M, Hold(100), Used(1, 1))
        assert [row.day for row in kept.since(TODAY)] == [TODAY, TOMORROW]
        assert kept.since(TOMORROW) == [DaySpending(*tomorrow, calls=1, reserved=100)]

    def test_several_at_once_get_no_more_together(self, store: Store) -> None:
        kept, most = spending(store), SpendingLimit("day", calls=7)
        kept.limit(most)

        def ask(number: int) -> bool:
            return kept.reserve(ADA._replace(user=f"u{number % 5}", model=f"m{number % 3}"), Hold(1), []).granted

        with ThreadPoolExecutor(4) as threads:
            granted = list(threads.map(ask, range(20)))
        assert granted.count(True) == 7
        assert sum(row.refused for row in kept.since(TODAY)) == 13

    def test_a_budget_is_kept_changed_and_taken_away(self, store: Store) -> None:
        kept, of_ada = spending(store), SpendingLimit("user", "acme", "ada", calls=2, money=5)
        kept.limit(SpendingLimit("day", millis=10))
        kept.limit(of_ada)
        assert kept.budgets() == [SpendingLimit("day", millis=10), of_ada]
        kept.limit(of_ada._replace(calls=None))
        kept.limit(SpendingLimit("day"))
        assert kept.budgets() == [of_ada._replace(calls=None)]

    @pytest.mark.parametrize(
        ("per", "outside"),
        [
            ("tenant", {"tenant": "other"}),
            ("user", {"user": "bob"}),
            ("user", {"tenant": "other"}),
            ("agent", {"agent": "writer"}),
            ("agent", {"agent": "*"}),
            ("run", {"run": "r2"}),
            ("run", {"run": ""}),
            ("operation", {"operation": "sessions.add"}),
            ("day", {"day": TOMORROW}),
        ],
    )
    def test_a_budget_is_shared_by_what_it_is_for_alone(self, store: Store, per: str, outside: dict[str, str]) -> None:
        kept = spending(store)
        budget = SpendingLimit(per, "acme" if per in ("user", "agent", "run") else "", calls=1)
        kept.limit(budget)
        for account in (ADA, ADA._replace(**outside)):
            assert kept.reserve(account, Hold(1), []).granted
        inside = {name: "another" for name in ("model", "kind", "operation") if name != per}
        assert kept.reserve(ADA._replace(**inside), Hold(1), []) == Reserved(False, budget, "calls", 0)

    def test_a_run_has_one_budget_on_all_its_days(self, store: Store) -> None:
        kept = spending(store)
        kept.limit(SpendingLimit("run", "acme", tokens=50))
        assert kept.reserve(ADA, Hold(30), []).granted
        assert kept.reserve(ADA._replace(day=TOMORROW), Hold(30), []).left == 20
        assert kept.reserve(ADA._replace(day=TOMORROW), Hold(20), []).granted

    def test_a_budget_for_somebody_takes_the_place_of_that_for_each(self, store: Store) -> None:
        kept = spending(store)
        kept.limit(SpendingLimit("user", "acme", calls=0))
        kept.limit(SpendingLimit("user", "acme", "ada", calls=1))
        assert kept.reserve(ADA, Hold(1), []).granted
        assert not kept.reserve(ADA._replace(user="bob"), Hold(1), []).granted

    def test_money_is_not_spent_where_no_price_is_known_and_it_is_limited(self, store: Store) -> None:
        kept, money = spending(store), SpendingLimit("day", money=100)
        assert kept.reserve(ADA, Hold(1, None), []).granted
        kept.limit(money)
        assert kept.reserve(ADA, Hold(1, None), []) == Reserved(False, money, "money", 100)
        assert kept.reserve(ADA, Hold(1, 100), []).granted
        assert kept.reserve(ADA, Hold(1, 1), []) == Reserved(False, money, "money", 0)

    def test_time_is_told_and_refused_when_none_is_left(self, store: Store) -> None:
        kept, time = spending(store), SpendingLimit("day", millis=400)
        kept.limit(time)
        assert kept.reserve(ADA, Hold(1), []) == Reserved(True, millis=400)
        kept.settle(ADA, Hold(1), Used(1, 0, 0, 900))
        assert kept.reserve(ADA, Hold(1), []) == Reserved(False, time, "millis", 0)

    def test_a_tenant_that_is_erased_leaves_what_it_used_on_nobodys_account(self, store: Store) -> None:
        kept, other = spending(store), ADA._replace(tenant="other")
        write(store, put("a note", id="a"), scope=ALICE)
        for budget in (SpendingLimit("tenant", who="acme", calls=9), SpendingLimit("user", "acme", "ada", calls=9)):
            kept.limit(budget)
        for account in (ADA, ADA._replace(user="bob"), ADA._replace(run="r2", operation="sessions.add"), other):
            assert kept.reserve(account, Hold(10, 2), []).granted
        store.tenants.erase("acme", Author(ALICE), NOW)
        nobody = DaySpending(*M, calls=3, reserved=30, held=6)
        assert kept.since(TODAY) == [nobody, DaySpending(*other, calls=1, reserved=10, held=2)]
        assert kept.budgets() == []
