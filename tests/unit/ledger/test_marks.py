"""Marks: whether a journal is still the one that was read."""

from __future__ import annotations

import pytest

from agent_memory.ledger import marks as module
from agent_memory.ledger.marks import Marks, same_era
from agent_memory.models.errors import Changed


class Chain:
    """A journal as far as marks see it."""

    def __init__(self, *values: bytes) -> None:
        self.values = list(values)

    def look(self, marks: Marks, whose: str | None = "acme") -> int:
        held = marks.held(whose)
        there = self.values[held.seq - 1] if 0 < held.seq <= len(self.values) else None
        return marks.seen(whose, held, there, len(self.values), self.values[-1] if self.values else b"")


def test_a_journal_that_grows_is_the_same() -> None:
    marks, chain = Marks(), Chain()
    era = chain.look(marks)
    for value in (b"a", b"b", b"c"):
        chain.values.append(value)
        assert chain.look(marks) == era


@pytest.mark.parametrize(
    "other", [Chain(b"a"), Chain(b"a", b"x"), Chain(b"a", b"x", b"y"), Chain()], ids=["less", "other", "more", "none"]
)
def test_another_is_noticed_once(other: Chain) -> None:
    marks, chain = Marks(), Chain(b"a", b"b")
    era = chain.look(marks)
    later = other.look(marks)
    assert later > era
    assert other.look(marks) == later


def test_a_look_that_began_before_is_of_the_era_before() -> None:
    """While another finds out: what it read is not to be mixed with what is there now."""
    marks, chain, other = Marks(), Chain(b"a", b"b"), Chain(b"a", b"x")
    era = chain.look(marks)
    held = marks.held("acme")
    later = other.look(marks)
    assert marks.seen("acme", held, b"b", 3, b"c") == era < later
    assert marks.held("acme").chain == b"x"
    assert marks.seen("acme", held, b"x", 2, b"x") == later, "it saw the same as who found out"
    with pytest.raises(Changed):
        same_era(era, later)


def test_two_that_look_for_the_first_time_agree() -> None:
    marks, chain = Marks(), Chain(b"a")
    held = marks.held("acme")
    assert chain.look(marks) == marks.seen("acme", held, None, 1, b"a")


def test_what_one_wrote_moves_no_mark() -> None:
    marks, chain = Marks(), Chain(b"a", b"b")
    chain.look(marks)
    marks.at_least("acme", 7)
    assert marks.held("acme").seq == 2 and marks.held("acme").least == 7
    Chain(b"a").look(marks)
    assert marks.held("acme").least == 0, "what was written in another era is gone"


def test_what_one_wrote_while_the_first_look_was_under_way() -> None:
    marks = Marks()
    held = marks.held("acme")
    marks.at_least("acme", 50)
    marks.seen("acme", held, None, 40, b"x")
    assert marks.held("acme").least == 50, "whoever has only 40 lines lacks what was written"


def test_one_that_is_not_remembered_is_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    marks, chain = Marks(), Chain(b"a")
    era = chain.look(marks, "acme")
    for other in ("rival", None):
        chain.look(marks, other)
    assert chain.look(marks, "acme") > era
