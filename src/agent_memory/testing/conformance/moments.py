"""Two clocks: what is true when, and what was known when."""

from __future__ import annotations

import pytest

from agent_memory.models.errors import NotFound
from agent_memory.models.moment import from_micros
from agent_memory.ports.changes import Amend, Disconnect, Effect, Erase
from agent_memory.ports.store import Store
from agent_memory.testing.builders import (
    ALICE,
    DAY,
    EVERYTHING,
    NOW,
    SHARED,
    beyond,
    ids,
    link,
    put,
    steps,
    succeeding,
    view,
    write,
)


class RecordedTimeConformance:
    """A view with `seq` sees what the store believed when that line was its last."""

    def test_a_version_is_seen_from_its_line_until_the_next(self, store: Store) -> None:
        first = write(store, put("Berlin", id="a", key="k")).seq
        second = write(store, put("Bremen", id="a", key="k")).seq
        for seq, text in ((first, "Berlin"), (second, "Bremen"), (second + 50, "Bremen")):
            then = view(seq=seq)
            assert [record.text for record in store.records.get(then, ["a"])] == [text]
            assert [record.text for record in store.records.find(then, EVERYTHING, limit=5)] == [text]
            found = store.records.by_key(then, "note", "k")
            assert found is not None
            assert found.text == text

    def test_before_the_first_line_there_was_nothing(self, store: Store) -> None:
        write(store, put("Berlin", id="a", key="k"), put("Paris", id="b"), link("a", "b"))
        then = view(seq=0)
        assert store.records.get(then, ["a"]) == []
        assert store.records.by_key(then, "note", "k") is None
        assert store.records.find(then, EVERYTHING, limit=5) == []
        assert store.records.links(then, ["a"]) == []
        assert beyond(store, then, "a") == []
        assert store.records.journal(then) == []

    def test_history_ends_at_its_moment(self, store: Store) -> None:
        first = write(store, put("Berlin", id="a")).seq
        write(store, put("Bremen", id="a"))
        assert [record.text for record in store.records.history(view(seq=first), "a")] == ["Berlin"]
        assert [record.text for record in store.records.history(view(), "a")] == ["Berlin", "Bremen"]

    def test_history_of_what_is_not_there_is_not_found(self, store: Store) -> None:
        write(store, put("Berlin", id="a"))
        with pytest.raises(NotFound):
            store.records.history(view(), "nobody")

    def test_the_journal_ends_at_its_moment(self, store: Store) -> None:
        first = write(store, put("Berlin", id="a")).seq
        write(store, put("Bremen", id="a"))
        assert [line.seq for line in store.records.journal(view(seq=first))] == [first]

    def test_amendments_and_closings_have_their_moment_too(self, store: Store) -> None:
        first = write(store, put("Berlin", id="a", importance=0.1, valid_from=NOW - DAY)).seq
        second = write(store, Amend("a", importance=0.9)).seq
        write(store, Amend("a", valid_to=NOW))
        assert [one.importance for one in store.records.get(view(seq=first), ["a"])] == [0.1]
        assert [one.importance for one in store.records.get(view(seq=second), ["a"])] == [0.9]
        assert store.records.get(view(), ["a"]) == []

    def test_links_have_their_moment(self, store: Store) -> None:
        bare = write(store, put("one", id="a"), put("two", id="b")).seq
        linked = write(store, link("a", "b", weight=0.3)).seq
        heavier = write(store, link("a", "b", weight=0.8)).seq
        write(store, Disconnect("a", "b", "about"))
        for seq, weights in ((bare, []), (linked, [0.3]), (heavier, [0.8]), (None, [])):
            assert [one.weight for one in store.records.links(view(seq=seq), ["b"])] == weights
            [handle] = [record.seq for record in store.records.get(view(seq=seq), ["a"])]
            assert [one.weight for one in steps(store, view(seq=seq), [handle])] == weights

    def test_a_narrower_record_hides_a_wider_one_only_from_when_it_came(self, store: Store) -> None:
        before = write(store, put("for all", id="a"), scope=SHARED).seq
        write(store, put("mine", id="a"), scope=ALICE)
        assert [record.text for record in store.records.get(view(seq=before), ["a"])] == ["for all"]
        assert [record.text for record in store.records.history(view(seq=before), "a")] == ["for all"]
        assert [record.text for record in store.records.get(view(), ["a"])] == ["mine"]

    def test_what_was_erased_is_gone_from_the_past_too(self, store: Store) -> None:
        before = write(store, put("Berlin", id="a", key="k")).seq
        write(store, Erase("a"))
        assert store.records.get(view(seq=before), ["a"]) == []
        assert store.records.by_key(view(seq=before), "note", "k") is None

    def test_recorded_time_never_goes_backwards(self, store: Store) -> None:
        write(store, put("one", id="a"), now=NOW)
        applied = write(store, put("two", id="a"), now=NOW - DAY)
        assert applied.at == NOW
        write(store, put("three", id="a"), now=NOW + 5)
        history = store.records.history(view(), "a")
        assert [one.recorded_at for one in history] == [from_micros(NOW), from_micros(NOW), from_micros(NOW + 5)]
        assert [one.recorded_to for one in history] == [from_micros(NOW), from_micros(NOW + 5), None]
        assert [line.at for line in store.records.journal(view())] == [one.recorded_at for one in history]

    def test_a_moment_leads_to_the_last_line_at_or_before_it(self, store: Store) -> None:
        assert store.records.seq_at(ALICE.tenant, NOW) == 0
        write(store, put("one", id="a"), put("two", id="b"), now=NOW)
        write(store, put("three", id="c"), now=NOW + 10)
        moments = {NOW - 1: 0, NOW: 2, NOW + 9: 2, NOW + 10: 3, NOW + DAY: 3}
        assert {moment: store.records.seq_at(ALICE.tenant, moment) for moment in moments} == moments

    def test_the_agents_of_a_user(self, store: Store) -> None:
        apart = [ALICE.model_copy(update={"agent": name}) for name in ("scout", "coder")]
        for scope in (ALICE, *apart, ALICE.model_copy(update={"user": "bob", "agent": "his"})):
            write(store, put("seen", id=f"by {scope.user} {scope.agent}"), scope=scope)
        assert store.records.agents(ALICE.tenant, ALICE.user) == ["coder", "scout"]
        assert store.records.agents(ALICE.tenant, "nobody") == store.records.agents("nobody", ALICE.user) == []


class ValidTimeConformance:
    """`valid_at` is taken strictly; without it a reader sees what holds now, or is still to come."""

    def test_valid_at_is_strict_and_half_open(self, store: Store) -> None:
        write(store, put("fair", id="a", key="k", valid_from=NOW, valid_to=NOW + DAY))
        for moment, seen in ((NOW - 1, []), (NOW, ["a"]), (NOW + DAY - 1, ["a"]), (NOW + DAY, [])):
            then = view(valid_at=moment)
            assert ids(store.records.get(then, ["a"])) == seen
            assert ids(store.records.find(then, EVERYTHING, limit=5)) == seen
            found = store.records.by_key(then, "note", "k")
            assert (found is not None) == bool(seen)

    def test_valid_at_does_not_ask_what_time_it_is(self, store: Store) -> None:
        write(store, put("fair", id="a", valid_from=NOW, valid_to=NOW + DAY))
        assert ids(store.records.get(view(now=NOW + 9 * DAY, valid_at=NOW), ["a"])) == ["a"]

    def test_by_default_what_is_over_is_not_shown(self, store: Store) -> None:
        write(store, put("fair", id="a", key="k", valid_from=NOW - DAY, valid_to=NOW))
        assert store.records.get(view(), ["a"]) == []
        assert store.records.by_key(view(), "note", "k") is None
        assert store.records.find(view(), EVERYTHING, limit=5) == []
        assert len(store.records.history(view(), "a")) == 1

    def test_by_default_a_record_still_to_come_shows_its_first_version(self, store: Store) -> None:
        write(store, put("first", id="a", key="k", valid_from=NOW + DAY))
        write(store, succeeding(put("second", id="a", key="k", valid_from=NOW + 2 * DAY)))
        assert [record.text for record in store.records.get(view(), ["a"])] == ["first"]
        assert [record.text for record in store.records.find(view(), EVERYTHING, limit=5)] == ["first"]
        assert store.records.get(view(valid_at=NOW), ["a"]) == []

    def test_by_default_only_what_is_believed_can_be_to_come(self, store: Store) -> None:
        write(store, put("first", id="a", valid_from=NOW + DAY))
        before = write(store, put("moved", id="a", valid_from=NOW + 2 * DAY)._replace(dated=True)).seq
        write(store, put("moved again", id="a", valid_from=NOW + 3 * DAY))
        assert [record.text for record in store.records.get(view(), ["a"])] == ["moved again"]
        assert [record.text for record in store.records.get(view(seq=before), ["a"])] == ["moved"]

    def test_by_default_what_holds_comes_before_what_is_to_come(self, store: Store) -> None:
        write(store, put("now", id="a", key="k", valid_from=NOW - DAY))
        write(store, succeeding(put("soon", id="a", key="soon", valid_from=NOW + DAY)))
        assert [record.text for record in store.records.find(view(), EVERYTHING, limit=5)] == ["now"]
        assert store.records.by_key(view(), "note", "soon") is None
        assert [record.text for record in store.records.get(view(now=NOW + DAY), ["a"])] == ["soon"]

    def test_links_need_both_ends_to_hold(self, store: Store) -> None:
        write(store, put("one", id="a"), put("two", id="b", valid_to=NOW + DAY), link("a", "b"))
        assert len(store.records.links(view(valid_at=NOW), ["a"])) == 1
        assert ids(beyond(store, view(valid_at=NOW), "a")) == ["b"]
        assert store.records.links(view(valid_at=NOW + DAY), ["a"]) == []
        assert beyond(store, view(now=NOW + DAY), "a") == []

    def test_both_clocks_at_once(self, store: Store) -> None:
        knew = write(store, put("Berlin", id="a", valid_from=NOW - 9 * DAY)).seq
        applied = write(store, succeeding(put("Lisbon", id="a", valid_from=NOW - 5 * DAY)))
        assert applied.outcomes[0].effect is Effect.UPDATED
        then = NOW - 4 * DAY
        assert [one.text for one in store.records.get(view(seq=knew, valid_at=then), ["a"])] == ["Berlin"]
        assert [one.text for one in store.records.get(view(valid_at=then), ["a"])] == ["Lisbon"]
        assert [one.text for one in store.records.get(view(ALICE, valid_at=NOW - 8 * DAY), ["a"])] == ["Berlin"]
