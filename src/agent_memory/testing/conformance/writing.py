"""`RecordStore.apply`: the one way in, all or nothing."""

from __future__ import annotations

import threading

import pytest

from agent_memory.models.errors import Changed, Conflict, Denied, NotFound
from agent_memory.models.moment import from_micros
from agent_memory.models.record import Status
from agent_memory.ports.changes import Amend, Author, Change, Connect, Disconnect, Effect, Erase, Expect, Once, Outcome
from agent_memory.ports.index import Probe
from agent_memory.ports.store import Store
from agent_memory.testing.builders import (
    ALICE,
    BOB,
    DAY,
    EVERYTHING,
    NOW,
    SHARED,
    SPACE,
    gather,
    ids,
    link,
    put,
    term,
    view,
    write,
    write_one,
)

ME = Author(ALICE, "tester")


class WritingConformance:
    """Changes go in together, in order, or not at all."""

    def test_a_record_comes_back_as_it_was_written(self, store: Store) -> None:
        state = {
            "key": "k",
            "conversation_id": "c1",
            "repository": "r1",
            "status": Status.HELD,
            "importance": 0.25,
            "confidence": 0.75,
            "source": "tool",
            "valid_from": NOW - DAY,
            "valid_to": NOW + DAY,
        }
        payload = {"n": 1, "deep": {"list": [1, None, "ü"]}}
        applied = write(store, put("Grüße, 世界", id="a", kind="fact", payload=payload, **state))
        [outcome] = applied.outcomes
        assert (outcome.effect, outcome.id, outcome.version) == (Effect.CREATED, "a", 1)
        assert (applied.seq, applied.at, applied.repeated) == (1, NOW, False)
        [record] = store.records.get(view(), ["a"])
        assert (record.id, record.kind, record.scope, record.text) == ("a", "fact", ALICE, "Grüße, 世界")
        assert record.payload == payload
        assert (record.key, record.conversation_id, record.repository) == ("k", "c1", "r1")
        assert (record.status, record.importance, record.confidence) == (Status.HELD, 0.25, 0.75)
        assert (record.source, record.seq, record.version) == ("tool", 1, 1)
        assert (record.valid_from, record.valid_to) == (from_micros(NOW - DAY), from_micros(NOW + DAY))
        assert (record.recorded_at, record.recorded_to) == (from_micros(NOW), None)

    def test_get_keeps_the_order_of_the_ids_and_leaves_out_unknown_ones(self, store: Store) -> None:
        write(store, put("one", id="a"), put("two", id="b"), put("three", id="c", status=Status.REJECTED))
        assert ids(store.records.get(view(), ["c", "nobody", "a"])) == ["c", "a"]

    def test_an_error_in_the_middle_leaves_an_empty_store_empty(self, store: Store) -> None:
        store.index.begin(SPACE)
        before = store.records.stats(view())
        with pytest.raises(NotFound):
            write(store, put("one", id="a", conversation_id="c"), link("a", "nobody"), put("two", id="b"))
        assert store.records.get(view(), ["a", "b"]) == []
        assert store.records.find(view(), EVERYTHING, limit=10) == []
        assert store.records.stats(view()) | {"bytes_on_disk": 0} == before | {"bytes_on_disk": 0}
        assert store.index.pending(SPACE) == 0
        assert store.records.journal(view()) == []
        assert write(store, put("one", id="a")).seq == before["seq"] + 1

    def test_an_error_in_the_middle_leaves_what_was_there_as_it_was(self, store: Store) -> None:
        write(store, put("old words", id="a", key="k"), put("other", id="b"), link("a", "b"))
        probe = Probe(view(), EVERYTHING, pool=10, terms=(term("old"), term("new")))
        before = gather(store, probe)
        failing: list[Change] = [
            put("new words", id="a", key="k2"),
            Amend("b", importance=0.9),
            link("a", "b", weight=0.5),
            Erase("b"),
            Amend("nobody", importance=0.9),
        ]
        with pytest.raises(NotFound):
            write(store, *failing)
        assert [record.text for record in store.records.history(view(), "a")] == ["old words"]
        assert [record.importance for record in store.records.history(view(), "b")] == [0.5]
        assert [one.weight for one in store.records.links(view(), ["a"])] == [1.0]
        assert store.records.by_key(view(), "note", "k2") is None
        after = gather(store, probe)
        assert (after.seq, after.handles.tolist()) == (before.seq, before.handles.tolist())
        assert after.counts.tolist() == before.counts.tolist()
        assert store.records.verify(ALICE.tenant).problems == ()

    def test_names_of_an_undone_write_are_not_mixed_up_with_later_ones(self, store: Store) -> None:
        ghost = put("one", id="a", kind="ghost", source="phantom", conversation_id="nowhere")
        again = put("two", id="a", kind="ghost", source="phantom", conversation_id="nowhere")
        with pytest.raises(NotFound):
            write(store, ghost, again, Amend("a", importance=0.1), Amend("nobody", importance=0.1))
        with pytest.raises(Conflict):
            write(store, ghost, put("one", id="a", kind="spectre"))
        write(store, put("three", id="b", kind="real", source="person", conversation_id="here"))
        [record] = store.records.get(view(), ["b"])
        assert (record.kind, record.source, record.conversation_id) == ("real", "person", "here")

    def test_changes_see_those_before_them_in_the_same_write(self, store: Store) -> None:
        applied = write(
            store, put("one", id="a"), put("two", id="b"), link("a", "b"), Amend("a", importance=1.0), Erase("b")
        )
        effects = [outcome.effect for outcome in applied.outcomes]
        assert effects == [Effect.CREATED, Effect.CREATED, Effect.CREATED, Effect.UPDATED, Effect.ERASED]
        assert [record.importance for record in store.records.get(view(), ["a", "b"])] == [1.0]
        assert store.records.links(view(), ["a"]) == []

    def test_the_id_of_a_put_stands_for_the_record_that_it_became(self, store: Store) -> None:
        write(store, put("one", id="a", key="k"), put("about it", id="b"))
        applied = write(store, put("two", id="new", key="k"), link("b", "new"), Amend("new", importance=1.0))
        assert [outcome.id for outcome in applied.outcomes] == ["a", "b", "a"]
        assert [one.target_id for one in store.records.links(view(), ["b"])] == ["a"]
        assert [(one.text, one.importance) for one in store.records.get(view(), ["a", "new"])] == [("two", 1.0)]

    def test_a_put_if_absent_leaves_what_is_there_as_it_is(self, store: Store) -> None:
        write(store, put("one", id="a", key="k"), put("about it", id="b"))
        for other in (put("two", id="new", key="k"), put("two", id="a", key="k")):
            applied = write(store, other._replace(if_absent=True), link("b", other.id))
            assert applied.outcomes[0] == Outcome(Effect.UNCHANGED, "a", 1)
        assert [one.target_id for one in store.records.links(view(), ["b"])] == ["a"]
        assert [one.text for one in store.records.history(view(), "a")] == ["one"]
        assert write_one(store, put("three", id="c")._replace(if_absent=True)).effect is Effect.CREATED

    def test_the_last_put_of_an_id_decides_what_it_stands_for(self, store: Store) -> None:
        write(store, put("one", id="a", key="k"), put("about it", id="b"))
        write(store, put("two", id="new", key="k"), put("three", id="new"), link("b", "new"))
        assert [one.target_id for one in store.records.links(view(), ["b"])] == ["new"]

    def test_a_record_can_be_erased_by_the_id_of_the_put_that_changed_it(self, store: Store) -> None:
        write(store, put("one", id="a", key="k"))
        applied = write(store, put("two", id="new", key="k"), Erase("new"))
        assert applied.outcomes[-1].id == "a"
        assert store.records.journal(view())[-1].record_id == "a"
        assert store.records.verify(ALICE.tenant).problems == ()

    def test_an_unknown_id_is_not_found(self, store: Store) -> None:
        write(store, put("one", id="a"))
        changes: list[Change] = [
            Amend("x", importance=0.1),
            Erase("x"),
            link("a", "x"),
            link("x", "a"),
            Disconnect("a", "x", "about"),
        ]
        for change in changes:
            with pytest.raises(NotFound):
                write(store, change)
        assert store.records.stats(view())["seq"] == 1

    def test_an_id_of_another_kind_is_a_conflict(self, store: Store) -> None:
        write(store, put("one", id="a", kind="note"))
        with pytest.raises(Conflict):
            write(store, put("one", id="a", kind="fact"))

    def test_a_key_of_another_record_is_a_conflict(self, store: Store) -> None:
        write(store, put("one", id="a", key="k"), put("two", id="b"))
        with pytest.raises(Conflict):
            write(store, put("two", id="b", key="k"))
        assert write_one(store, put("two", id="b", key="k", kind="fact"), scope=BOB).effect is Effect.CREATED

    @pytest.mark.parametrize("key", ["a\0b", "\0", "\x1f", "\U0001f600", "\u2028", '"', "\\"])
    def test_any_text_can_be_a_key(self, store: Store, key: str) -> None:
        write(store, put("one", id="a", key=key), put("else", id="other", key=key[:1] + "c"))
        outcome = write_one(store, put("two", id="new", key=key))
        assert (outcome.effect, outcome.id, outcome.version) == (Effect.UPDATED, "a", 2)

    def test_a_write_that_changes_nothing_brings_no_line(self, store: Store) -> None:
        first = write(store, put("one", id="a"))
        again = write(store, put("one", id="a"), now=NOW + 5)
        nothing = write(store, now=NOW + 7)
        assert again.outcomes[0].effect is Effect.UNCHANGED
        assert again.seq == nothing.seq == first.seq
        assert nothing.outcomes == ()

    def test_writers_at_once_all_get_through(self, store: Store) -> None:
        seqs: list[int] = []

        def work(name: int) -> None:
            for turn in range(5):
                applied = write(store, put(f"text {turn}", id=f"{name}-{turn}", key=f"{turn}", kind=f"{name}"))
                seqs.append(applied.seq)

        threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(seqs) == list(range(1, 21))
        assert len(store.records.find(view(), EVERYTHING, limit=100)) == 20
        assert store.records.verify(ALICE.tenant).problems == ()


class PreconditionConformance:
    """`Expect` and `Once`: writers that do not trample on each other, requests that are safe to repeat."""

    def test_the_expected_version_must_be_there(self, store: Store) -> None:
        write(store, put("one", id="a", key="k"))
        write(store, put("two", id="a", key="k"))
        for expect in (Expect(2, id="a"), Expect(2, kind="note", key="k"), Expect(0, id="b")):
            store.records.apply([], author=ME, now=NOW, expect=[expect])
        for expect in (Expect(1, id="a"), Expect(0, id="a"), Expect(3, kind="note", key="k"), Expect(1, id="b")):
            with pytest.raises(Conflict):
                store.records.apply([put("three", id="a", key="k")], author=ME, now=NOW, expect=[expect])
        assert [record.text for record in store.records.history(view(), "a")] == ["one", "two"]

    def test_all_expectations_must_hold(self, store: Store) -> None:
        write(store, put("one", id="a"), put("one", id="b"))
        with pytest.raises(Conflict):
            store.records.apply([put("two", id="a")], author=ME, now=NOW, expect=[Expect(1, id="a"), Expect(7, id="b")])
        assert [record.text for record in store.records.get(view(), ["a"])] == ["one"]

    def test_expectations_are_about_the_state_before_the_write(self, store: Store) -> None:
        changes = [put("one", id="a"), put("two", id="a")]
        store.records.apply(changes, author=ME, now=NOW, expect=[Expect(0, id="a")])
        assert [record.version for record in store.records.get(view(), ["a"])] == [2]

    def test_an_amended_record_has_another_version(self, store: Store) -> None:
        write(store, put("one", id="a"), Amend("a", importance=1.0))
        store.records.apply([], author=ME, now=NOW, expect=[Expect(2, id="a")])

    def test_an_erased_record_is_not_there(self, store: Store) -> None:
        write(store, put("one", id="a", key="k"), Erase("a"))
        expect = [Expect(0, id="a"), Expect(0, kind="note", key="k")]
        store.records.apply([put("two", id="a", key="k")], author=ME, now=NOW, expect=expect)

    def test_a_record_that_changed_is_not_erased(self, store: Store) -> None:
        """Whether it is the agent's own or of the user whom the agent works for."""
        write(store, put("one", id="a"), put("two", id="a"))
        agent = Author(ALICE.model_copy(update={"agent": "bot"}), "tester")
        with pytest.raises(Changed, match="version 1 was expected, the store has 2"):
            store.records.apply([Erase("a", version=1)], author=agent, now=NOW)
        assert [record.text for record in store.records.get(view(), ["a"])] == ["two"]
        applied = store.records.apply([Erase("a", version=2)], author=agent, now=NOW)
        assert applied.erased == ("a",)
        with pytest.raises(NotFound):
            store.records.apply([Erase("a", version=2)], author=agent, now=NOW)

    def test_of_two_with_the_same_id_that_of_a_scope_is_erased(self, store: Store) -> None:
        """Or else the narrower one. Only what the author sees, and may change."""
        bot = ALICE.model_copy(update={"agent": "bot"})
        for scope in (ALICE, bot, BOB, SHARED):
            write(store, put(f"of {scope.user} and {scope.agent}", id="a"), scope=scope)
        for scope, error in ((BOB, NotFound), (SHARED, Denied)):
            with pytest.raises(error):
                store.records.apply([Erase("a", scope=scope)], author=Author(bot), now=NOW)
        assert store.records.apply([Erase("a", scope=ALICE)], author=Author(bot), now=NOW).erased == ("a",)
        with pytest.raises(NotFound):
            store.records.apply([Erase("a", scope=ALICE)], author=Author(bot), now=NOW)
        assert [record.scope for record in store.records.get(view(bot), ["a"])] == [bot]

    def test_a_link_is_drawn_on_behalf_of_a_reader(self, store: Store) -> None:
        """In one write with what it leads to, and by nobody else."""
        write(store, put("of Alice", id="a"))
        write(store, put("of Bob", id="a"), scope=BOB)
        new, drawn = put("shared", id="s"), [link("a", "s")._replace(scope=one) for one in (ALICE, BOB, SHARED)]
        with pytest.raises(NotFound):
            write(store, new, *drawn, scope=SHARED)
        effects = [one.effect for one in write(store, new, *drawn[:-1], scope=SHARED).outcomes]
        assert effects == [Effect.CREATED] * 3
        assert store.records.links(view(SHARED), ["s"]) == []
        for scope in (ALICE, BOB):
            assert [one.source_id for one in store.records.links(view(scope), ["s"])] == ["a"]
        again = link("a", "s", weight=0.5)._replace(scope=BOB)
        assert write_one(store, again, scope=SHARED).effect is Effect.UPDATED
        assert write_one(store, again, scope=SHARED).effect is Effect.UNCHANGED
        with pytest.raises(Denied):
            write(store, again, scope=ALICE)

    def test_a_key_belongs_to_its_kind(self, store: Store) -> None:
        write(store, put("one", id="a", key="k", kind="note"))
        store.records.apply([], author=ME, now=NOW, expect=[Expect(0, kind="fact", key="k")])

    def test_a_repeated_request_is_answered_and_not_repeated(self, store: Store) -> None:
        once = Once("request-1", b"print")
        change = [put("one", id="a")._replace(dated=True), put("two", id="b", key="k")]
        first = store.records.apply(change, author=ME, now=NOW, once=once)
        write(store, put("later", id="c"))
        again = store.records.apply(change, author=ME, now=NOW + DAY, once=once)
        assert again == first._replace(repeated=True)
        assert store.records.stats(view())["seq"] == 3

    def test_a_repeated_request_is_answered_though_its_expectation_is_over(self, store: Store) -> None:
        once, expect = Once("request-1", b"print"), [Expect(0, id="a")]
        store.records.apply([put("one", id="a")], author=ME, now=NOW, expect=expect, once=once)
        assert store.records.apply([put("one", id="a")], author=ME, now=NOW, expect=expect, once=once).repeated

    def test_another_request_under_the_same_key_is_a_conflict(self, store: Store) -> None:
        store.records.apply([put("one", id="a")], author=ME, now=NOW, once=Once("request-1", b"print"))
        with pytest.raises(Conflict):
            store.records.apply([put("two", id="b")], author=ME, now=NOW, once=Once("request-1", b"other"))
        assert store.records.get(view(), ["b"]) == []

    def test_a_failed_request_can_be_tried_again(self, store: Store) -> None:
        once = Once("request-1", b"print")
        changes: list[Change] = [put("one", id="a"), Connect("a", "b", "about", b"salt")]
        with pytest.raises(NotFound):
            store.records.apply(changes, author=ME, now=NOW, once=once)
        write(store, put("two", id="b"))
        assert not store.records.apply(changes, author=ME, now=NOW, once=once).repeated
        assert len(store.records.links(view(), ["a"])) == 1

    def test_request_keys_are_each_scopes_own(self, store: Store) -> None:
        once = Once("request-1", b"print")
        for scope in (ALICE, BOB, SHARED):
            applied = store.records.apply([put("one", id="a")], author=Author(scope), now=NOW, once=once)
            assert (applied.outcomes[0].effect, applied.repeated) == (Effect.CREATED, False)
