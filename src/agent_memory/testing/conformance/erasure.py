"""Erasing: the record is gone everywhere, at every moment, and the rest still proves itself."""

from __future__ import annotations

import json

import pytest

from agent_memory.models.errors import Conflict, NotFound
from agent_memory.models.record import Scope, Status
from agent_memory.ports.changes import DERIVED_FROM, Amend, Author, Disconnect, Effect, Erase, Once
from agent_memory.ports.index import Embedded, Probe
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.store import Store
from agent_memory.ports.working import Desk
from agent_memory.testing.builders import (
    ALICE,
    ALICES_BOT,
    BOB,
    DAY,
    EVERYTHING,
    NOW,
    SHARED,
    SPACE,
    STRANGER,
    beyond,
    direction,
    gather,
    ids,
    link,
    put,
    term,
    terms,
    text_vector,
    vector,
    view,
    with_vectors,
    write,
    write_one,
)

ME = Author(ALICE, "tester")


def full(store: Store) -> None:
    """A record with versions, vectors and links, between two others that stay."""
    store.index.begin(SPACE)
    write(
        store,
        with_vectors(put("the secret", id="gone", key="k", conversation_id="c"), vector(1, 0, 0, 0)),
        with_vectors(put("the first", id="a"), vector(0, 1, 0, 0)),
        with_vectors(put("the last", id="z"), vector(0, 0, 1, 0)),
    )
    write(store, put("another secret", id="gone", key="k", conversation_id="c"))
    write(store, Amend("gone", importance=0.9), link("a", "gone"), link("gone", "z"), link("a", "z"))


class ErasureConformance:
    """Physically, with all versions, contents, words, vectors, links and traces in receipts."""

    def test_an_erased_record_is_nowhere(self, store: Store) -> None:
        full(store)
        before = store.records.stats(view())["seq"]
        applied = write(store, Erase("gone"))
        assert (applied.outcomes[0].effect, applied.outcomes[0].id) == (Effect.ERASED, "gone")
        for moment in (view(), view(seq=before), view(seq=4), view(valid_at=NOW)):
            assert store.records.get(moment, ["gone"]) == []
            assert store.records.by_key(moment, "note", "k") is None
            assert "gone" not in ids(store.records.find(moment, EVERYTHING, limit=10))
            with pytest.raises(NotFound):
                store.records.history(moment, "gone")

    def test_its_links_are_gone_and_the_others_stay(self, store: Store) -> None:
        full(store)
        write(store, Erase("gone"))
        assert [(one.source_id, one.target_id) for one in store.records.links(view(), ["a", "z"])] == [("a", "z")]
        assert ids(beyond(store, view(), "a")) == ["z"]

    def test_search_does_not_know_it_any_more(self, store: Store) -> None:
        full(store)
        question = (term("secret"), term("the"))
        probe = Probe(view(), EVERYTHING, pool=9, terms=question, vector=direction(1, 0, 0, 0), space=SPACE, key="k")
        assert gather(store, probe).documents == 3  # so that whatever is cached has seen it
        write(store, Erase("gone"))
        pool = gather(store, probe)
        assert sorted(ids(store.index.hydrate(view(), pool.handles.tolist()))) == ["a", "z"]
        assert (pool.documents, pool.frequencies.tolist()) == (2, [0, 2])

    def test_a_handle_from_before_leads_nowhere(self, store: Store) -> None:
        full(store)
        handles = gather(store, Probe(view(), EVERYTHING, pool=9)).handles.tolist()
        assert len(store.index.hydrate(view(), handles)) == 3
        write(store, Erase("gone"))
        assert sorted(ids(store.index.hydrate(view(), handles))) == ["a", "z"]

    def test_nothing_is_counted_or_pending_for_it(self, store: Store) -> None:
        full(store)
        waiting = store.index.unembedded(SPACE, None, 10)
        assert [one.text for one in waiting] == ["another secret"]
        write(store, Erase("gone"))
        assert store.index.pending(SPACE) == 0
        late = [Embedded(one.handle, (text_vector(one.text),), complete=True) for one in waiting]
        store.index.embedded(SPACE, ALICE.tenant, late, now=NOW)
        stats = store.records.stats(view())
        assert (stats["records"], stats["versions"], stats["links"], stats["vectors"]) == (2, 2, 1, 2)

    def test_receipts_that_showed_or_named_it_are_gone_and_the_others_stay(self, store: Store) -> None:
        full(store)
        by_id = {one.id: one.seq for one in store.records.get(view(), ["gone", "a"])}
        handles = gather(store, Probe(view(), EVERYTHING, pool=9)).handles.tolist()
        handle = {
            id: next(one for one in handles if store.index.hydrate(view(), [one])[0].seq == by_id[id]) for id in by_id
        }
        store.receipts.keep(
            [
                ReceiptLine("both", view(), 1, "{}", (handle["gone"], handle["a"])),
                ReceiptLine("other", view(), 1, "{}", (handle["a"],)),
                ReceiptLine("named", view(), 1, "{}", (), named=(handle["gone"],)),
            ]
        )
        write(store, Erase("gone"))
        assert store.receipts.receipt(view(), "both") is None
        assert store.receipts.receipt(view(), "named") is None
        assert store.receipts.receipt(view(), "other") == "{}"
        assert store.receipts.accesses(view(), ["gone", "a"]) == {"a": (2, NOW)}

    def test_receipts_that_asked_in_its_words_are_gone(self, store: Store) -> None:
        """Whoever stores what was just asked: the receipt shows nothing, and its query is the record's own text."""
        write(store, put("red green blue", id="gone"), put("red", id="other", kind="fact"))

        def line(id: str, query: str, scope: Scope = ALICE) -> ReceiptLine:
            return ReceiptLine(id, view(scope), 2, "{}", (), terms(query).hashes)

        store.receipts.keep(
            [
                line("same", "red green blue"),
                line("half", "green red sky sea"),
                line("less", "green sky sea"),
                line("none", ""),
                line("bot", "blue", ALICES_BOT),
                line("bob", "red green blue", BOB),
                line("all", "red green blue", SHARED),
            ]
        )
        write(store, Erase("gone"))
        kept = [("less", ALICE), ("none", ALICE), ("bob", BOB), ("all", SHARED)]
        assert [store.receipts.receipt(view(scope), id) for id, scope in kept] == ["{}"] * 4
        gone = [("same", ALICE), ("half", ALICE), ("bot", ALICES_BOT)]
        assert [store.receipts.receipt(view(scope), id) for id, scope in gone] == [None] * 3

    def test_of_what_all_saw_all_forget_the_words(self, store: Store) -> None:
        write(store, put("red green", id="gone"), scope=SHARED)
        for scope in (ALICE, BOB, STRANGER):
            store.receipts.keep([ReceiptLine(f"{scope}", view(scope), 1, "{}", (), terms("red").hashes)])
        write(store, Erase("gone"), scope=SHARED)
        assert [store.receipts.receipt(view(scope), f"{scope}") for scope in (ALICE, BOB, STRANGER)] == [
            None,
            None,
            "{}",
        ]

    def test_each_content_is_compared_with_a_query(self, store: Store) -> None:
        write(store, put("red green", id="gone"))
        write(store, put("blue sky", id="gone"))
        queries = {"old": "red", "new": "sky blue", "mixed": "red blue dog cat"}
        store.receipts.keep(
            [ReceiptLine(id, view(), 2, "{}", (), terms(query).hashes) for id, query in queries.items()]
        )
        write(store, Erase("gone"))
        assert [store.receipts.receipt(view(), id) for id in queries] == [None, None, "{}"]

    def test_a_request_that_wrote_it_is_refused(self, store: Store) -> None:
        """A repetition that comes late must not bring it back; others are answered as before."""
        for id in ("gone", "a"):
            store.records.apply([put(f"text of {id}", id=id)], author=ME, now=NOW, once=Once(f"make {id}", b"print"))
        store.records.apply([put("his", id="gone")], author=Author(BOB), now=NOW, once=Once("make gone", b"print"))
        write(store, Erase("gone"))
        for print in (b"print", b"other"):
            with pytest.raises(Conflict):
                store.records.apply([put("text of gone", id="gone")], author=ME, now=NOW, once=Once("make gone", print))
        assert store.records.get(view(), ["gone"]) == []
        assert store.records.apply([], author=ME, now=NOW, once=Once("make a", b"print")).repeated
        assert store.records.apply([], author=Author(BOB), now=NOW, once=Once("make gone", b"print")).repeated
        fresh = store.records.apply([put("x", id="gone")], author=ME, now=NOW, once=Once("another key", b"print"))
        assert fresh.outcomes[0].effect is Effect.CREATED

    def test_a_repeated_erasure_tells_again_what_went(self, store: Store) -> None:
        write(store, put("one", id="a"), put("two", id="b"), link("b", "a", DERIVED_FROM))
        once = Once("forget a", b"print")
        first = store.records.apply([Erase("a", with_derived=True)], author=ME, now=NOW, once=once)
        assert first.erased == ("a", "b")
        again = store.records.apply([Erase("a", with_derived=True)], author=ME, now=NOW, once=once)
        assert again == first._replace(repeated=True)

    def test_the_working_set_of_its_scope_forgets_it(self, store: Store) -> None:
        full(store)
        desk = Desk(ALICE, "c")
        gone, other = (json.dumps({"id": id, "text": "the secret"}) for id in ("gone", "a"))
        for item in (other, gone, '"gone"', "[]"):
            store.working.push(desk, "turns", item, keep=9, expires_at=NOW + DAY, now=NOW)
        store.working.set(desk, "last", gone, expires_at=NOW + DAY, now=NOW)
        store.working.set(desk, "plain", '"gone"', expires_at=NOW + DAY, now=NOW)
        write(store, Erase("gone"))
        assert list(store.working.items(desk, "turns", limit=9, now=NOW)) == ["[]", '"gone"', other]
        assert store.working.values(desk, now=NOW) == {"plain": '"gone"'}

    def test_so_do_the_desks_of_all_who_saw_it(self, store: Store) -> None:
        write(store, put("for all", id="gone"), scope=SHARED)
        desks = [Desk(scope, "c") for scope in (ALICE, ALICES_BOT, STRANGER)]
        for desk in desks:
            store.working.set(desk, "goal", '{"id": "gone"}', expires_at=NOW + DAY, now=NOW)
        write(store, Erase("gone"), scope=SHARED)
        assert [store.working.get(desk, "goal", now=NOW) for desk in desks] == [None, None, '{"id": "gone"}']

    def test_the_rest_still_verifies(self, store: Store) -> None:
        full(store)
        write(store, Erase("gone"))
        assert store.records.verify(ALICE.tenant).problems == ()
        write(store, put("later", id="b"), Erase("a"))
        assert store.records.verify(ALICE.tenant).problems == ()

    def test_the_journal_still_tells_that_it_was_there(self, store: Store) -> None:
        full(store)
        lines = store.records.journal(view())
        write(store, Erase("gone"), now=NOW + 1)
        after = store.records.journal(view())
        assert after[:-1] == lines
        assert (after[-1].operation, after[-1].record_id) == ("erase", "gone")

    def test_its_id_and_key_can_be_used_again(self, store: Store) -> None:
        full(store)
        write(store, Erase("gone"))
        outcome = write_one(store, put("new life", id="gone", key="k", kind="fact"))
        assert (outcome.effect, outcome.version) == (Effect.CREATED, 1)
        assert [record.text for record in store.records.history(view(), "gone")] == ["new life"]
        assert store.records.links(view(), ["gone"]) == []
        assert store.receipts.accesses(view(), ["gone"]) == {}

    def test_a_conversation_that_others_use_stays(self, store: Store) -> None:
        write(store, put("one", id="a", conversation_id="c1", repository="r"))
        write(store, put("two", id="b", conversation_id="c1"), put("three", id="d", conversation_id="c2"))
        write(store, Erase("a"))
        write(store, put("four", id="e", conversation_id="c3", repository="r2"))
        records = store.records.get(view(), ["b", "d", "e"])
        assert [(one.conversation_id, one.repository) for one in records] == [("c1", None), ("c2", None), ("c3", "r2")]

    def test_a_second_erasure_is_not_found(self, store: Store) -> None:
        full(store)
        write(store, Erase("gone"))
        with pytest.raises(NotFound):
            write(store, Erase("gone"))

    def test_others_of_the_same_id_stay(self, store: Store) -> None:
        write(store, put("for all", id="a"), scope=SHARED)
        write(store, put("alice's", id="a"), scope=ALICE)
        write(store, Erase("a"), scope=SHARED)
        assert [record.text for record in store.records.get(view(ALICE), ["a"])] == ["alice's"]
        assert store.records.get(view(SHARED), ["a"]) == []


class DerivedErasureConformance:
    """`with_derived`: what has no other source goes, whether or not anybody would still see it."""

    def test_alone_it_takes_nothing_with_it(self, store: Store) -> None:
        write(store, put("one", id="a"), put("two", id="b"), link("b", "a", DERIVED_FROM))
        assert write(store, Erase("a")).erased == ("a",)
        assert ids(store.records.get(view(), ["b"])) == ["b"]

    def test_what_came_from_it_alone_goes_along(self, store: Store) -> None:
        write(store, *(put(id, id=id) for id in ("source", "other", "child", "grandchild", "both", "about")))
        write(
            store,
            link("child", "source", DERIVED_FROM),
            link("grandchild", "child", DERIVED_FROM),
            link("both", "source", DERIVED_FROM),
            link("both", "other", DERIVED_FROM),
            link("about", "source"),
            link("source", "other", DERIVED_FROM),
        )
        applied = write(store, Erase("source", with_derived=True))
        assert applied.erased == ("source", "child", "grandchild")
        assert [(one.effect, one.id) for one in applied.outcomes] == [(Effect.ERASED, "source")]
        assert sorted(ids(store.records.find(view(), EVERYTHING, limit=9))) == ["about", "both", "other"]
        assert store.records.verify(ALICE.tenant).problems == ()
        assert write(store, Erase("other", with_derived=True)).erased == ("other", "both")

    def test_a_conversation_goes_with_its_last_turn(self, store: Store) -> None:
        write(store, *(put(id, id=id) for id in ("conversation", "first", "second")))
        write(store, *(link("conversation", turn, "HAS_TURN") for turn in ("first", "second")))
        assert write(store, Erase("first", with_derived=True)).erased == ("first",)
        assert write(store, Erase("second", with_derived=True)).erased == ("second", "conversation")

    def test_two_ways_to_one_source_are_no_other_source(self, store: Store) -> None:
        write(store, *(put(id, id=id) for id in ("source", "left", "right", "end")))
        for source, target in (("end", "left"), ("end", "right"), ("left", "source"), ("right", "source")):
            write(store, link(source, target, DERIVED_FROM))
        write(store, link("left", "left", DERIVED_FROM))
        assert write(store, Erase("source", with_derived=True)).erased == ("source", "left", "right", "end")

    def test_all_sources_named_in_one_write_are_enough(self, store: Store) -> None:
        write(store, put("one", id="a"), put("two", id="b"), put("from both", id="c"))
        write(store, link("c", "a", DERIVED_FROM), link("c", "b", DERIVED_FROM))
        applied = write(store, *(Erase(id, with_derived=True) for id in ("a", "b", "c")))
        assert applied.erased == ("a", "b", "c")
        assert [one.id for one in applied.outcomes] == ["a", "b", "c"]

    def test_what_nobody_sees_any_more_goes_too(self, store: Store) -> None:
        write(store, *(put(id, id=id) for id in ("source", "over", "rejected", "cut", "later")))
        write(store, *(link(id, "source", DERIVED_FROM) for id in ("over", "rejected", "cut")))
        write(store, put("later", id="later", valid_from=NOW + DAY), link("later", "source", DERIVED_FROM))
        write(store, Amend("over", valid_to=NOW + 1), Amend("rejected", status=Status.REJECTED))
        write(store, Disconnect("cut", "source", DERIVED_FROM))
        applied = write(store, Erase("source", with_derived=True), now=NOW + 9)
        assert applied.erased == ("source", "over", "rejected", "cut", "later")

    def test_what_gets_another_source_in_the_same_write_keeps_the_old_one(self, store: Store) -> None:
        write(store, put("one", id="a"), put("two", id="b"), put("child", id="c"), link("c", "a", DERIVED_FROM))
        applied = write(store, link("c", "b", DERIVED_FROM), Erase("b", with_derived=True))
        assert applied.erased == ("b",)
        assert ids(store.records.get(view(), ["a", "c"])) == ["a", "c"]

    def test_a_source_that_was_taken_away_is_none(self, store: Store) -> None:
        write(store, put("one", id="a"), put("two", id="b"), put("from both", id="c"))
        write(store, link("c", "a", DERIVED_FROM), link("c", "b", DERIVED_FROM), Disconnect("c", "b", DERIVED_FROM))
        assert write(store, Erase("a", with_derived=True)).erased == ("a", "c")

    def test_what_all_users_share_does_not_go_with_one_users(self, store: Store) -> None:
        write(store, put("for all", id="shared"), scope=SHARED)
        write(store, put("hers", id="hers"), link("shared", "hers", DERIVED_FROM), scope=ALICE)
        assert write(store, Erase("hers", with_derived=True), scope=ALICE).erased == ("hers",)
        assert ids(store.records.get(view(BOB), ["shared"])) == ["shared"]

    @pytest.mark.parametrize("by", [ALICE, ALICES_BOT], ids=["the user", "another agent"])
    def test_it_goes_whichever_agent_it_belongs_to(self, store: Store, by: Scope) -> None:
        other = ALICES_BOT.model_copy(update={"agent": "another"})
        write(store, put("hers", id="mine"), scope=ALICE)
        for scope in (ALICES_BOT, other):
            write(store, put("its", id=scope.agent), link(scope.agent, "mine", DERIVED_FROM), scope=scope)
        assert write(store, Erase("mine", with_derived=True), scope=by).erased == ("mine", ALICES_BOT.agent, "another")
        for scope in (ALICES_BOT, other):
            assert store.records.get(view(scope), [scope.agent]) == []
        assert store.records.verify(ALICE.tenant).problems == ()

    def test_what_users_made_of_what_they_share_goes_with_it(self, store: Store) -> None:
        write(store, put("for all", id="source"), scope=SHARED)
        write(store, put("hers", id="hers"), link("hers", "source", DERIVED_FROM), scope=ALICE)
        assert write(store, Erase("source", with_derived=True), scope=SHARED).erased == ("source", "hers")
        assert store.records.get(view(ALICE), ["hers"]) == []

    def test_what_retells_it_goes_although_it_has_other_sources(self, store: Store) -> None:
        write(store, put("one", id="a"), put("two", id="b"))
        write(store, put("all", id="c", kind="procedure"), scope=ALICES_BOT)
        write(store, link("c", "a", DERIVED_FROM), link("c", "b", DERIVED_FROM), scope=ALICES_BOT)
        assert write(store, Erase("a", True, retelling=("procedure",))).erased == ("a", "c")
        assert ids(store.records.get(view(ALICES_BOT), ["b", "c"])) == ["b"]

    def test_it_can_be_written_again_in_the_same_write(self, store: Store) -> None:
        write(store, put("one", id="a"), put("two", id="b"), link("b", "a", DERIVED_FROM))
        applied = write(store, Erase("a", with_derived=True), put("new", id="b"), Erase("b", with_derived=True))
        assert applied.erased == ("a", "b", "b")
        assert store.records.get(view(), ["b"]) == []

    def test_what_was_forgotten_is_passed_over_where_that_is_asked(self, store: Store) -> None:
        write(store, put("one", id="a"), put("his", id="b"))
        write(store, put("his", id="b"), scope=BOB)
        write(store, Erase("a"))
        write(store, Erase("b"), scope=BOB)
        again = [put(text, id=id)._replace(unless_forgotten=True) for text, id in (("one", "a"), ("new", "c"))]
        links = [link("c", "a")._replace(unless_forgotten=True), link("a", "c")._replace(unless_forgotten=True)]
        for scope in (ALICE, ALICES_BOT):
            applied = write(store, *again, *links, scope=scope)
            assert applied.outcomes[0].effect is Effect.FORGOTTEN, scope
            assert store.records.get(view(scope), ["a"]) == [] and store.records.links(view(scope), ["c"]) == []
        assert write_one(store, put("changed", id="b")._replace(unless_forgotten=True)).effect is Effect.UPDATED
        assert write_one(store, again[0], scope=STRANGER).effect is Effect.CREATED, "who forgot nothing"
        assert write_one(store, put("one", id="a")).effect is Effect.CREATED, "without being asked to"
        assert write_one(store, again[0]).effect is Effect.UNCHANGED, "it is there again"
        with pytest.raises(NotFound):
            write(store, link("c", "never was")._replace(unless_forgotten=True))

    def test_what_was_forgotten_is_passed_over_also_where_its_key_leads_elsewhere(self, store: Store) -> None:
        old = put("as it was", id="old", key="k")._replace(unless_forgotten=True)
        write(store, old)
        write(store, Erase("old"))
        write(store, put("told again", id="new", key="k"))
        assert write_one(store, old).effect is Effect.FORGOTTEN
        assert [one.text for one in store.records.get(view(), ["new"])] == ["told again"]

    def test_what_holds_others_is_passed_over_with_them(self, store: Store) -> None:
        write(store, put("one", id="a"))
        write(store, Erase("a"))
        again, new = (put(id, id=id)._replace(unless_forgotten=True) for id in "ab")
        holder = put("of both", id="holder")._replace(if_absent=True, holds=("a", "b"))
        joined = link("holder", "a", "HAS_TURN")._replace(unless_forgotten=True)
        assert [one.effect for one in write(store, again, holder, joined).outcomes][:2] == [Effect.FORGOTTEN] * 2
        assert store.records.get(view(), ["holder"]) == []
        assert write(store, again, new, holder, joined).outcomes[2].effect is Effect.CREATED
