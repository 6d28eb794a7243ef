"""The access log: kept, found, and never a trace of what was forgotten."""

from __future__ import annotations

from agent_memory.models.record import SHARED
from agent_memory.ports.changes import Author, Erase
from agent_memory.ports.reading import MOST_IDS, ReadingLog, ReadLine, ReadsWanted
from agent_memory.ports.store import Store
from agent_memory.testing.builders import ALICE, NOW, STRANGER, put, write

LINE = ReadLine(NOW, "acme", "alice", SHARED, None, "python", "records.get", ("a",), 1)
ANY = ReadsWanted()


def log(store: Store) -> ReadingLog:
    """Of a store with two tenants."""
    write(store, put("the port is 8080", id="a"), put("the port is 9090", id="b"))
    write(store, put("theirs", id="t"), scope=STRANGER)
    assert store.reading is not None
    return store.reading


class ReadingConformance:
    """The `ReadingLog` port."""

    def test_a_line_comes_back_as_it_was_the_newest_first(self, store: Store) -> None:
        whole = LINE._replace(
            at=NOW + 1,
            key="k1",
            door="rest",
            ids=("a", "b"),
            shown=2,
            why="INC-7",
            micros=9,
            tokens=3,
            money=0.25,
            receipt="r",
        )
        kept = log(store)
        kept.keep([LINE, whole])
        assert kept.lines("acme", ANY, 10) == [whole, LINE]
        assert kept.lines("acme", ANY, 1) == [whole]

    def test_by_record_user_key_and_moment(self, store: Store) -> None:
        kept = log(store)
        bobs = LINE._replace(at=NOW + 5, user="bob", key="k1", ids=("ab", "b"), shown=2)
        kept.keep([LINE, bobs], durable=True)
        assert kept.lines("acme", ReadsWanted(id="a"), 10) == [LINE], "not what only begins so"
        assert kept.lines("acme", ReadsWanted(id="b"), 10) == [bobs]
        assert kept.lines("acme", ReadsWanted(user="alice"), 10) == [LINE]
        assert kept.lines("acme", ReadsWanted(key="k1"), 10) == [bobs]
        assert kept.lines("acme", ReadsWanted(since=NOW + 1), 10) == [bobs]
        assert kept.lines("acme", ReadsWanted(id="a", user="bob"), 10) == []

    def test_each_tenant_for_itself(self, store: Store) -> None:
        kept = log(store)
        theirs = LINE._replace(tenant="rival", ids=("t",))
        kept.keep([LINE, theirs])
        assert kept.lines("acme", ANY, 10) == [LINE]
        store.tenants.erase("rival", Author(STRANGER, actor="root"), NOW)
        kept.keep([theirs])
        assert kept.lines("rival", ANY, 10) == [], "also what comes late"
        assert kept.lines("acme", ANY, 10) == [LINE]

    def test_only_so_many_ids_are_named(self, store: Store) -> None:
        kept = log(store)
        many = LINE._replace(ids=tuple(f"i{number}" for number in range(MOST_IDS + 5)), shown=MOST_IDS + 5)
        kept.keep([many])
        assert kept.lines("acme", ANY, 1) == [many._replace(ids=many.ids[:MOST_IDS])]

    def test_what_is_forgotten_takes_the_reasons_along(self, store: Store) -> None:
        kept = log(store)
        told, other = LINE._replace(why="what is the port of ada?"), LINE._replace(ids=("b",), why="INC-7")
        kept.keep([told, other])
        write(store, Erase("a"), scope=ALICE)
        kept.keep([told])
        assert kept.lines("acme", ANY, 10) == [told._replace(why=None), other, told._replace(why=None)]
