"""The journal: a line for every change, sealed; and what can be made again from the records."""

from __future__ import annotations

import pytest

from agent_memory.models.errors import Changed
from agent_memory.models.kinds.kind import Kind, canonical_json
from agent_memory.ports.changes import (
    APART,
    Amend,
    Author,
    Derived,
    Disconnect,
    Erase,
    Mark,
    Put,
    Terms,
    Vocabulary,
)
from agent_memory.ports.index import Probe
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.records import Analysis, Filter
from agent_memory.ports.store import Store
from agent_memory.testing.builders import (
    ALICE,
    EVERYTHING,
    LOUD,
    NOW,
    PLAIN,
    SPACE,
    embed_all,
    gather,
    ids,
    link,
    put,
    succeeding,
    term,
    terms,
    view,
    write,
)


def shouted(kind: str, text: str, payload: str, vocabulary: str = LOUD.name) -> Derived:
    """A new analyser: every word gets an exclamation mark."""
    return Derived(terms=loud(text), fields=(("kind", kind),), vocabulary=LOUD)


def loud(text: str) -> Terms:
    return terms(" ".join(f"{word}!" for word in text.split()))


def _worded(one: Put, vocabulary: Vocabulary) -> Put:
    return one._replace(derived=one.derived._replace(vocabulary=vocabulary))


SHOUTED = Analysis(LOUD, shouted, lambda query: loud(query).hashes)


class JournalConformance:
    """`seq` counts lines without gaps; a line tells who, what and why, never the content."""

    def test_every_change_has_its_line(self, store: Store) -> None:
        write(store, put("one", id="a", valid_from=NOW), put("two", id="b"))
        write(store, succeeding(put("three", id="a", valid_from=NOW + 5)))  # two versions: two lines
        write(store, Amend("a", importance=0.1), link("a", "b"), Disconnect("a", "b", "about"))
        write(store, Erase("b"))
        lines = store.records.journal(view())
        assert [(line.seq, line.operation, line.record_id) for line in lines] == [
            (1, "put", "a"),
            (2, "put", "b"),
            (3, "amend", "a"),
            (4, "put", "a"),
            (5, "amend", "a"),
            (6, "connect", "a"),
            (7, "disconnect", "a"),
            (8, "erase", "b"),
        ]

    def test_a_line_says_who_why_and_when(self, store: Store) -> None:
        author = Author(ALICE, actor="carol", reason="she asked")
        store.records.apply([put("one", id="a")], author=author, now=NOW)
        write(store, put("two", id="b"))
        first, second = store.records.journal(view())
        assert (first.actor, first.reason) == ("carol", "she asked")
        assert (second.actor, second.reason) == ("tester", None)

    def test_it_is_read_in_pages_and_by_record(self, store: Store) -> None:
        for number in range(6):
            write(store, put(f"text {number}", id="ab"[number % 2]))
        assert [line.seq for line in store.records.journal(view(), limit=2)] == [1, 2]
        assert [line.seq for line in store.records.journal(view(), after=2, limit=2)] == [3, 4]
        assert [line.seq for line in store.records.journal(view(), after=6)] == []
        assert [line.seq for line in store.records.journal(view(), id="b")] == [2, 4, 6]
        assert store.records.journal(view(), id="nobody") == []

    def test_it_never_holds_what_was_written(self, store: Store) -> None:
        write(store, put("confidential", id="a", payload={"pin": "1234"}))
        text = "".join(line.model_dump_json() for line in store.records.journal(view()))
        assert "confidential" not in text
        assert "1234" not in text

    def test_lines_are_chained(self, store: Store) -> None:
        write(store, put("one", id="a"), put("one", id="b"), Amend("a", importance=0.1))
        lines = store.records.journal(view())
        assert len({line.chain for line in lines}) == 3
        verified = store.records.verify(ALICE.tenant)
        assert (verified.seq, verified.problems) == (3, ())
        assert verified.head == lines[-1].chain

    def test_a_line_that_was_noted_must_still_be_there(self, store: Store) -> None:
        write(store, put("one", id="a"))
        noted = store.records.verify(ALICE.tenant)
        write(store, put("two", id="b"))
        last = store.records.verify(ALICE.tenant)
        for one in (noted, last):
            assert store.records.verify(ALICE.tenant, expect=Mark(one.seq, one.head)).problems == ()
        for wrong in (Mark(noted.seq, last.head), Mark(last.seq + 1, last.head)):
            assert len(store.records.verify(ALICE.tenant, expect=wrong).problems) == 1

    def test_an_empty_store_verifies(self, store: Store) -> None:
        verified = store.records.verify(ALICE.tenant)
        assert (verified.seq, verified.problems) == (0, ())

    def test_a_busy_store_verifies(self, store: Store) -> None:
        store.index.begin(SPACE)
        for number in range(12):
            write(store, put(f"text {number}", id=f"{number % 3}", conversation_id=f"c{number % 2}", importance=0.1))
        write(store, link("0", "1"), link("1", "2"), link("0", "1", weight=0.5), Disconnect("1", "2", "about"))
        embed_all(store)
        write(store, put("pending", id="p"))
        verified = store.records.verify(ALICE.tenant)
        assert verified.problems == ()
        assert verified.seq == store.records.stats(view())["seq"]
        assert verified.checked["journal lines"] == sum(mark.seq for mark in verified.heads.values())

    def test_rebuilding_makes_words_and_fields_again(self, store: Store) -> None:
        write(store, put("one two", id="a", payload={"n": 1}), put("two", id="b"))
        probe = Probe(view(), EVERYTHING, pool=0, terms=(term("two"), term("two!")))
        assert gather(store, probe).frequencies.tolist() == [2, 0]
        assert store.records.rebuild(SHOUTED)["contents"] == 2
        pool = gather(store, probe)
        assert pool.frequencies.tolist() == [0, 2]
        assert sorted(pool.lengths.tolist()) == [1, 2]
        assert store.records.find(view(), Filter(fields=(("n", 1),)), limit=5) == []
        assert ids(store.records.find(view(), Filter(fields=(("kind", "note"),)), limit=5)) == ["b", "a"]
        assert store.records.verify(ALICE.tenant).problems == ()

    def test_words_are_made_in_one_way(self, store: Store) -> None:
        assert store.vocabularies() == ()
        write(store, _worded(put("one", id="a"), PLAIN), put("whichever", id="b"))
        assert store.vocabularies() == (PLAIN,)
        with pytest.raises(Changed):
            write(store, put("two", id="c"), _worded(put("three", id="d"), LOUD))
        assert store.records.get(view(), ["c", "d"]) == []
        write(store, _worded(put("same name", id="c"), Vocabulary(PLAIN.name, "another release")))
        store.records.rebuild(SHOUTED)
        assert store.vocabularies() == (LOUD,)
        assert gather(store, Probe(view(), EVERYTHING, pool=0)).vocabularies == (LOUD,)
        write(store, _worded(put("three", id="d"), LOUD))
        assert store.records.verify(ALICE.tenant).problems == ()

    def test_rebuilding_makes_the_words_of_queries_again(self, store: Store) -> None:
        """So that erasing finds who asked in the words of what goes."""
        write(store, put("red fish", id="a"), put("blue", id="b"))
        for id, query in (("about", "red fish"), ("other", "blue"), ("either", "blue")):
            asked = terms(query).hashes + (APART + terms("red fish").hashes) * (id == "either")
            store.receipts.keep([ReceiptLine(id, view(), 2, canonical_json({"query": query}), (), asked)])
        store.records.rebuild(SHOUTED)
        store.receipts.keep([ReceiptLine("both", view(), 3, "{}", (), terms("x").hashes + APART + loud("fish").hashes)])
        write(store, Erase("a"))
        there = ("about", "other", "either", "both")
        assert [store.receipts.receipt(view(), id) is not None for id in there] == [False, True, True, False]
        assert store.records.verify(ALICE.tenant).problems == ()

    def test_what_is_derived_is_compared_with_what_should_be(self, store: Store) -> None:
        write(store, put("one two", id="a"), put("two", id="b"))
        assert store.records.verify(ALICE.tenant, lambda kind, text, payload, name: Derived(terms(text))).problems == ()
        assert store.records.verify(ALICE.tenant, lambda kind, text, payload, name: None).problems == ()
        assert store.records.verify(ALICE.tenant, shouted).problems
        store.records.rebuild(SHOUTED)
        assert store.records.verify(ALICE.tenant, shouted).problems == ()

    def test_rebuilding_keeps_vectors_and_what_is_pending(self, store: Store) -> None:
        store.index.begin(SPACE)
        write(store, put("one", id="a"))
        embed_all(store)
        write(store, put("two", id="b"))
        before = store.records.stats(view())
        store.records.rebuild(SHOUTED)
        after = store.records.stats(view())
        assert (after["vectors"], after["pending_vectors"]) == (before["vectors"], before["pending_vectors"]) == (1, 1)

    def test_statistics_count_what_there_is(self, store: Store) -> None:
        write(store, put("one", id="a"), put("two", id="b", kind="fact"), put("three", id="c", kind="fact"))
        write(store, put("four", id="a"), link("a", "b"), link("a", "b", weight=0.5))
        stats = store.records.stats(view())
        assert stats["kinds"] == {"fact": 2, "note": 1}
        assert (stats["records"], stats["versions"], stats["links"], stats["seq"]) == (3, 4, 2, 6)
        assert (stats["vectors"], stats["pending_vectors"], stats["space"]) == (0, 0, None)
        store.index.begin(SPACE)
        assert store.records.stats(view())["space"] == SPACE.fingerprint

    def test_kinds_can_be_announced_again_and_again(self, store: Store) -> None:
        kinds = [Kind("widget", "widgets"), Kind("gadget", "gadgets")]
        store.records.prepare(kinds[:1])
        store.records.prepare(kinds)
        store.records.prepare(kinds)
        write(store, put("one", id="a", kind="widget"))
        store.records.rebuild(SHOUTED)
        assert store.records.verify(ALICE.tenant).problems == ()
