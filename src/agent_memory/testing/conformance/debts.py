"""`DebtStore`: the transaction that erases a record owes it to every place outside."""

from __future__ import annotations

import pytest

from agent_memory.models.errors import NotFound
from agent_memory.ports.changes import Erase
from agent_memory.ports.debts import Debt, DebtStore
from agent_memory.ports.store import Store
from agent_memory.testing.builders import ALICE, NOW, put, write


def owed(debts: DebtStore, place: str) -> list[str | None]:
    return [one.id for one in debts.owed(place, 100)]


class DebtConformance:
    """Debts hold ids and journal numbers, and outlive the process."""

    @pytest.fixture
    def debts(self, store: Store) -> DebtStore:
        assert store.debts is not None
        return store.debts

    def test_an_erasure_is_owed_to_every_place(self, store: Store, debts: DebtStore) -> None:
        write(store, put("one", id="a"), put("two", id="b"), put("three", id="c"))
        write(store, Erase("a"))
        assert debts.standing() == []
        debts.attach("working x://")
        debts.attach("vectors y://")
        debts.attach("working x://")
        line = write(store, Erase("b")).seq
        [debt] = debts.owed("working x://", 9)
        assert (debt.place, debt.scope, debt.id) == ("working x://", ALICE, "b") and 0 < debt.seq <= line
        assert [(one.place, one.records, one.error) for one in debts.standing()] == [
            ("vectors y://", 1, None),
            ("working x://", 1, None),
        ]
        assert all(one.since is not None and one.since >= NOW for one in debts.standing())

    def test_what_is_undone_is_not_owed(self, store: Store, debts: DebtStore) -> None:
        debts.attach("x")
        write(store, put("one", id="a"))
        with pytest.raises(NotFound):
            write(store, Erase("a"), Erase("nobody"))
        assert owed(debts, "x") == []

    def test_paid_is_what_was_told(self, store: Store, debts: DebtStore) -> None:
        debts.attach("x")
        debts.attach("y")
        for id in ("a", "b"):
            write(store, put("one", id=id))
            write(store, Erase(id))
        [first] = debts.owed("x", 1)
        debts.failed("x", "out of reach")
        assert [one.error for one in debts.standing()] == ["out of reach", None]
        debts.paid([first])
        assert (owed(debts, "x"), owed(debts, "y")) == (["b"], ["a", "b"])
        assert [one.error for one in debts.standing()] == [None, None]

    def test_what_was_erased_again_meanwhile_is_still_owed(self, store: Store, debts: DebtStore) -> None:
        debts.attach("x")
        told: list[Debt] = []
        for text in ("one", "two"):
            write(store, put(text, id="a"))
            write(store, Erase("a"))
            told += debts.owed("x", 9)
        debts.paid(told[:1])
        assert owed(debts, "x") == ["a"]
        debts.paid(told[1:])
        assert owed(debts, "x") == [] and [one.records for one in debts.standing()] == [0]

    def test_a_place_that_is_detached_is_owed_nothing(self, store: Store, debts: DebtStore) -> None:
        debts.attach("x")
        write(store, put("one", id="a"), put("two", id="b"))
        write(store, Erase("a"))
        assert debts.detach("x") == 1
        assert debts.detach("x") is None
        write(store, Erase("b"))
        assert debts.standing() == [] and owed(debts, "x") == []
        debts.failed("x", "late")
        debts.attach("x")
        assert [(one.records, one.error) for one in debts.standing()] == [(0, None)]
