"""What SQLite tells a shelf that follows: no more than what is new in its scope, and texts for numbers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agent_memory.engines.sqlite import open_store
from agent_memory.engines.sqlite.interning import Interning
from agent_memory.engines.sqlite.stock import SqliteStock, snapshot
from agent_memory.ledger.rows import Ended
from agent_memory.ledger.shelves.stock import Links, ShelfNews
from agent_memory.models.record import Scope
from agent_memory.ports.changes import Amend, Disconnect, Erase
from agent_memory.ports.index import NEVER, Probe
from agent_memory.ports.store import Store
from agent_memory.testing.builders import ALICE, BOB, EVERYTHING, SPACE, embed_all, gather, link, put, view, write


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(tmp_path / "memory.db")) as store:
        store.index.begin(SPACE)
        write(store, *(put(f"red {id}", id=id, conversation_id="c1", key=f"k{id}") for id in "abc"))
        write(store, put("his", id="a"), scope=BOB)
        yield store


def news(path: Path, after: int) -> tuple[ShelfNews, list[str]]:
    """What is new to Alice, and the statements that it took."""
    statements: list[str] = []
    with closing(sqlite3.connect(path)) as connection:
        interning = Interning()
        assert [*snapshot(connection, interning, ALICE).lasts] == [ALICE]
        stock = SqliteStock(connection, interning, ALICE.tenant)
        connection.set_trace_callback(statements.append)
        found = stock.follow(ALICE, after)
        return found._replace(vectors=[*found.vectors]), statements


def test_all_of_a_scope_comes_with_its_texts(store: Store, tmp_path: Path) -> None:
    found, _ = news(tmp_path / "memory.db", 0)
    assert found.versions.kind == ["note"] * 3 and found.versions.status == ["active"] * 3
    assert found.versions.conversation == ["c1"] * 3 and found.versions.repository == [None] * 3
    assert found.versions.key == ("ka", "kb", "kc")
    assert [content for content, _, _ in found.words] == [*found.versions.content]
    assert not found.erased and not found.ended


def test_lines_of_others_are_passed_over(store: Store, tmp_path: Path) -> None:
    last = write(store, put("last", id="d")).seq
    for number in range(9):
        write(store, put(f"his {number}", id="a"), scope=BOB)
    found, statements = news(tmp_path / "memory.db", last)
    assert found == ShelfNews(vectors=[], erased=[])
    assert len(statements) == 2, "where the line is, and the lines since: nothing else"


def asked(path: Path, after: int) -> tuple[Links, list[Ended], list[str]]:
    """Links that are new to Alice, those that ended, and the statements that it took."""
    statements: list[str] = []
    with closing(sqlite3.connect(path)) as connection:
        interning = Interning()
        snapshot(connection, interning, ALICE)
        stock = SqliteStock(connection, interning, ALICE.tenant)
        connection.set_trace_callback(statements.append)
        return *stock.links(ALICE, after), statements


def test_links_come_with_their_types_and_when_they_end(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    write(store, put("his", id="x"), link("a", "x"), scope=BOB)
    first = write(store, link("a", "b", weight=0.5), link("b", "c", "near")).seq
    links, ended, _ = asked(path, 0)
    assert links.link == (first - 1, first) and links.type == ["about", "near"] and links.weight == (0.5, 1.0)
    assert {*links.ended} == {NEVER} and ended == [], "and none of Bob's"
    replaced = write(store, link("a", "b", weight=0.7)).seq
    cut = write(store, Disconnect("b", "c", "near")).seq
    links, ended, _ = asked(path, first)
    assert links.link == (replaced,) and sorted(ended) == [(first - 1, replaced), (first, cut)]
    links, ended, _ = asked(path, cut)
    assert not links.link and not ended


def test_all_links_of_a_scope_are_found_by_its_index(store: Store, tmp_path: Path) -> None:
    *_, statements = asked(tmp_path / "memory.db", 0)
    with closing(sqlite3.connect(tmp_path / "memory.db")) as connection:
        (plan,) = [str(row) for row in connection.execute(f"explain query plan {statements[0]}") if "links" in str(row)]
    assert "links_scope" in plan, "whoever else has links"


def lasts(path: Path, scope: Scope) -> dict[Scope, int]:
    with closing(sqlite3.connect(path)) as connection:
        return dict(snapshot(connection, Interning(), scope).lasts)


def test_a_scope_knows_its_last_line(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    alices, bobs = lasts(path, ALICE)[ALICE], lasts(path, BOB)[BOB]
    assert bobs == alices + 1
    steps = (
        lambda: write(store, put("his", id="y"), scope=BOB).seq,
        lambda: write(store, link("a", "y"), scope=BOB).seq,
        lambda: write(store, Amend("a", importance=1.0), scope=BOB).seq,
        lambda: write(store, Erase("a"), scope=BOB).seq,
        lambda: len(embed_all(store, seen_by=view(BOB))) and store.records.stats(view(BOB))["seq"],
    )
    for step in steps:
        assert lasts(path, BOB)[BOB] < step() == lasts(path, BOB)[BOB]
    assert lasts(path, ALICE)[ALICE] == alices, "others' lines are not about her"
    write(store, Amend("a", importance=0.9))
    assert lasts(path, ALICE)[ALICE] == lasts(path, BOB)[BOB] + 1
    assert store.records.verify(ALICE.tenant).problems == ()


def test_the_last_line_of_a_scope_is_sealed_with_its_row(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("update scopes set last = last - 1 where user = ?", (ALICE.user,))
    for _ in range(2):  # it goes on telling
        assert [one for one in store.records.verify(ALICE.tenant).problems if one.startswith("scopes:")]
        write(store, Amend("a", importance=1.0))


def test_what_is_no_number_makes_everybody_look(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("update scopes set last = x'ff' where user = ?", (ALICE.user,))
        connection.execute("update scopes set last = null where user = ?", (BOB.user,))
    assert lasts(path, ALICE)[ALICE] == store.index.snapshot(ALICE).seq
    assert lasts(path, BOB)[BOB] == 1, "nothing since the column is there"
    assert gather(store, Probe(view(BOB), EVERYTHING, 9)).documents == 1


def test_an_erasure_is_told_by_its_record(store: Store, tmp_path: Path) -> None:
    last = write(store, put("red d", id="d")).seq
    write(store, Erase("d"))
    found, statements = news(tmp_path / "memory.db", last)
    assert found == ShelfNews(erased=[last], vectors=[]) and len(statements) == 3


def test_what_changed_is_told_once(store: Store, tmp_path: Path) -> None:
    last = write(store, put("red d", id="d")).seq
    amended = write(store, Amend("d", importance=1.0)).seq
    found, _ = news(tmp_path / "memory.db", last)
    assert found.versions.version == (amended,) and found.ended == [(last, amended)] and not found.words
    embed_all(store)
    found, _ = news(tmp_path / "memory.db", amended)
    assert not found.versions.version and sum(len(batch.data) for batch in found.vectors) == 4


def test_what_stands_for_all_is_read_anew(store: Store, tmp_path: Path) -> None:
    embed_all(store)
    with closing(sqlite3.connect(tmp_path / "memory.db")) as connection:
        before = SqliteStock(connection, Interning(), ALICE.tenant)
    store.index.switch(SPACE, anew=True)
    with closing(sqlite3.connect(tmp_path / "memory.db")) as connection:
        after = SqliteStock(connection, Interning(), ALICE.tenant)
    assert after.seq == before.seq and after.adopted > before.adopted


def test_a_number_that_is_none_is_told_from_one_that_nobody_knows(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        for id, kind in (("a", "'x'"), ("b", "999"), ("c", "99999999999")):
            connection.execute(f"update versions set kind = {kind}, key = cast(x'ff' as text) where id = ?", (id,))
        connection.execute("update labels set text = cast(x'ff' as text)")
    found, _ = news(path, 0)
    assert found.versions.kind == [b"", None, b""], "texts are expected: what is none is damaged"
    assert len({*found.versions.conversation}) == 1, "not UTF-8, and still one conversation"


def test_a_line_whose_record_cannot_be_read_tells_that_there_is_something_to_read(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    last = write(store, put("red d", id="d")).seq
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("update journal set record = x'ff' where number = ? and tenant = 1", (last,))
    assert news(path, last - 1)[0].versions.version == (last,)
