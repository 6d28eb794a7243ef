"""`Probe.past`: versions that are over are candidates, too, if they held in an interval that is asked for."""

from __future__ import annotations

from agent_memory.models.record import Status
from agent_memory.ports.index import NEVER, Pool
from agent_memory.ports.records import Filter, View
from agent_memory.ports.store import Store
from agent_memory.testing.builders import (
    ALICE,
    BOB,
    DAY,
    NOW,
    SPACE,
    direction,
    embed_all,
    put,
    succeeding,
    text_vector,
    view,
    write,
)
from agent_memory.testing.conformance.search import ALL, look

EVER = (0, NOW)


def texts(store: Store, pool: Pool) -> list[str]:
    """Of the candidates, sorted."""
    return sorted(record.text for record in store.index.hydrate(view(), pool.handles.tolist()))


def rota(store: Store) -> int:
    """Ann until two days ago, then Bob until yesterday, then Cid; what the journal's last line is."""
    for days, name in ((9, "ann"), (2, "bob"), (1, "cid")):
        last = write(store, succeeding(put(f"call {name}", id="a", valid_from=NOW - days * DAY))).seq
    return last


class PastConformance:
    """Beside what a view shows, and under the same walls and filters."""

    def test_without_it_only_what_holds_is_there(self, store: Store) -> None:
        rota(store)
        pool = look(store, "call", pool=ALL)
        assert texts(store, pool) == ["call cid"]
        assert pool.valid_to is None and pool.records is None

    def test_what_held_in_an_interval_is_there_too(self, store: Store) -> None:
        rota(store)
        for past, found in (
            (((NOW - 5 * DAY, NOW - 4 * DAY),), ["call ann", "call cid"]),
            (((NOW - 2 * DAY, NOW - 2 * DAY + 1),), ["call bob", "call cid"]),
            (((NOW - 2 * DAY - 1, NOW - 2 * DAY),), ["call ann", "call cid"]),
            (((NOW - 90 * DAY, NOW - 9 * DAY),), ["call cid"]),
            (((NOW - 9 * DAY, NOW - 8 * DAY), (NOW - 2 * DAY, NOW - DAY)), ["call ann", "call bob", "call cid"]),
            ((EVER,), ["call ann", "call bob", "call cid"]),
        ):
            assert texts(store, look(store, "call", past=past)) == found

    def test_it_tells_until_when_each_holds_and_which_are_one_record(self, store: Store) -> None:
        rota(store)
        write(store, put("call dee", id="d"))
        pool = look(store, "call", past=(EVER,))
        assert pool.valid_to is not None and pool.records is not None
        ends = dict(
            zip([one.text for one in store.index.hydrate(view(), pool.handles.tolist())], pool.valid_to, strict=True)
        )
        assert ends == {"call ann": NOW - 2 * DAY, "call bob": NOW - DAY, "call cid": NEVER, "call dee": NEVER}
        assert sorted((pool.records == number).sum() for number in set(pool.records.tolist())) == [1, 3]

    def test_statistics_count_them(self, store: Store) -> None:
        rota(store)
        pool = look(store, "call ann", past=(EVER,), tell_hidden=True)
        assert (pool.documents, pool.frequencies.tolist()) == (3, [3, 1])
        assert pool.hidden is not None and not pool.hidden.get("valid")

    def test_one_text_before_and_after_another_is_two_candidates(self, store: Store) -> None:
        store.index.begin(SPACE)
        write(store, succeeding(put("red", id="a", valid_from=NOW - 9 * DAY, valid_to=NOW - DAY)))
        write(store, succeeding(put("blue", id="a", valid_from=NOW - 5 * DAY, valid_to=NOW - 4 * DAY)))
        embed_all(store)
        question = direction(1, 1, 1, 1)
        pool = look(store, "red", past=(EVER,), pool=ALL, vector=question, space=SPACE)
        assert texts(store, pool) == ["blue", "red", "red"]
        assert pool.frequencies.tolist() == [2] and sorted(pool.counts[:, 0].tolist()) == [0, 1, 1]
        assert len(set(pool.similarity.tolist())) == len({text_vector(text).data for text in ("red", "blue")})

    def test_what_was_corrected_never_held(self, store: Store) -> None:
        write(store, put("wrong", id="a", valid_from=NOW - 9 * DAY))
        write(store, put("right", id="a", valid_from=NOW - 9 * DAY))
        assert texts(store, look(store, past=(EVER,), pool=ALL)) == ["right"]

    def test_what_was_cut_to_nothing_never_held(self, store: Store) -> None:
        write(store, put("nothing", id="a", valid_from=NOW - DAY, valid_to=NOW - DAY))
        assert texts(store, look(store, past=(EVER,), pool=ALL)) == []

    def test_it_is_as_of_the_journal_line_of_the_view(self, store: Store) -> None:
        first = write(store, put("red", id="a", valid_from=NOW - 9 * DAY, valid_to=NOW - DAY)).seq
        write(store, put("blue", id="b", valid_from=NOW - 9 * DAY, valid_to=NOW - DAY))
        assert texts(store, look(store, at=view(seq=first), past=(EVER,), pool=ALL)) == ["red"]

    def test_a_view_of_another_moment_has_no_past_but_its_own(self, store: Store) -> None:
        rota(store)
        then = View(ALICE, NOW, None, NOW - 5 * DAY)
        assert texts(store, look(store, at=then, past=(EVER,), pool=ALL)) == ["call ann"]

    def test_walls_and_filters_hold_in_the_past(self, store: Store) -> None:
        rota(store)
        assert texts(store, look(store, at=view(BOB), past=(EVER,), pool=ALL)) == []
        early = Filter(before=NOW - 3 * DAY)
        assert texts(store, look(store, where=early, past=(EVER,), pool=ALL)) == ["call ann"]
        assert texts(store, look(store, where=Filter(statuses=(Status.HELD,)), past=(EVER,), pool=ALL)) == []
