"""Damage is named, and costs no more than what is damaged: whatever a cell of the file becomes, `verify` says so and
goes on, and a recall answers without the rows that cannot be read."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_memory import AgentMemory, Turn
from agent_memory.core.write.wording import checker
from agent_memory.engines.sqlite import proof
from agent_memory.engines.sqlite.proof import SEALED
from agent_memory.ledger.proof import ProofRequest
from agent_memory.ledger.seals import checksum
from agent_memory.models import Entity, Goal
from agent_memory.models.errors import InvalidInput
from agent_memory.models.kinds.kind import Kind
from agent_memory.models.record import Link
from agent_memory.ports.changes import Verified
from agent_memory.ports.feed import Cursor, JobOutcome, Work
from agent_memory.ports.reading import ReadLine
from agent_memory.ports.spending import Account, Hold, SpendingLimit, Used

TABLES = "select name from sqlite_schema where type = 'table' and name not like 'sqlite%' order by name"

WRONG = {
    "null": "null",
    "a number": "77777",
    "zero": "0",
    "a negative number": "-5",
    "the largest number": "9223372036854775807",
    "a fraction": "0.3125",
    "a huge number": "1e300",
    "a text": "'x'",
    "an empty text": "''",
    "no UTF-8": "cast(x'ff00fe41' as text)",
    "a broken end": "cast({} || x'c3' as text)",
    "a blob": "x'00ff'",
    "an empty blob": "x''",
    "the same as a blob": "cast({} as blob)",
    "one more": "{} + 1",
    "what another row has": "(select other.{} from {table} other where other.{} is not {table}.{} limit 1)",
}


@dataclass(frozen=True)
class Cell:
    """One cell of a table: its column, the row that it is in, and a condition that names the row."""

    table: str
    column: str
    row: dict[str, object]
    where: str


USED = """select kind from versions union select status from versions union select source from versions
union select type from links union select name from fields"""


def meaningless(cell: Cell, after: object, used: Collection[object]) -> bool:
    """Changes that change nothing: nobody is told anything else because of them."""
    match cell.table, cell.column:
        case "names", _:
            return cell.row["name"] not in used  # nothing goes by this name
        case _, "seal":
            return after is None  # the row is what it was; it only proves it no longer
        case "pending", "part":
            return after == "0"  # all passages of the text are made anew
        case "meta", "value":
            return cell.row["name"] == "scrub" and str(after).removeprefix("-").isdecimal()  # a debt, whatever it says
    return False


class Damaged:
    """A store that is changed cell by cell, checked, and put right again."""

    def __init__(self, connection: sqlite3.Connection, kinds: Mapping[str, Kind]) -> None:
        self.connection = connection
        self.checker = checker(kinds)

    def check(self) -> Verified:
        return proof.verify(self.connection, ProofRequest("default"), self.checker)

    def cells(self) -> Iterator[Cell]:
        for (table,) in self.connection.execute(TABLES).fetchall():
            columns = [(row[1], row[5]) for row in self.connection.execute(f"pragma table_info({table})")]
            keys = [name for name, key in columns if key]
            quoted = ", ".join(f"quote({key})" for key in keys)
            rows = self.connection.execute(f"select {quoted}, * from {table}").fetchall()
            assert rows, f"{table} is empty: nothing would be tested"
            for row in rows:
                names = zip(keys, row, strict=False)
                where = " and ".join(f"{key} = {value}" for key, value in names)
                values = {name: value for (name, _), value in zip(columns, row[len(keys) :], strict=True)}
                yield from (Cell(table, name, values, where) for name, _ in columns)

    def is_meaningless(self, cell: Cell, after: tuple[str, bytes | None]) -> bool:
        used = [row[0] for row in self.connection.execute(USED)]
        return meaningless(cell, after[1] and after[1].decode(errors="replace"), used)

    def unnoticed(self, cell: Cell, value: str, *given: object) -> str | None:
        """What `verify` should have said after this change, and did not."""
        name = f'"{cell.column}"'
        raw = f"typeof({name}), cast({name} as blob)"
        value = value.replace("{table}", cell.table).replace("{}", name)
        self.connection.execute("begin")
        try:
            before = self.connection.execute(f"select {raw} from {cell.table} where {cell.where}").fetchone()
            sql = f"update {cell.table} set {name} = {value} where {cell.where} returning {raw}"
            after = self.connection.execute(sql, given).fetchall()[0]
            if before == after or self.check().problems or self.is_meaningless(cell, after):
                return None
        except sqlite3.IntegrityError:  # not null, unique, a row number that is no number
            return None
        finally:
            self.connection.execute("rollback")
        return f"{cell.table}.{cell.column} where {cell.where}: {before} -> {after}"


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Damaged]:
    """With something of everything."""
    path = tmp_path_factory.mktemp("damage") / "memory.db"
    kinds = furnish(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("insert or replace into meta (name, value) values ('scrub', '7')")
        yield Damaged(connection, kinds)


def furnish(path: Path) -> Mapping[str, Kind]:
    store = f"sqlite:///{path}"
    with AgentMemory(user_id="eve", store=store) as eve:
        eve.records.add("eve was here")
        eve.records.add_many([{"text": "waits for its vector"}])
    with AgentMemory(user_id="ada", store=store) as memory:
        for text in ("I owe you ten", "I owe you nine"):
            memory.records.add(text, id="note", repository="github.com/ada/notes", idempotency_key=text)
        memory.records.add("has a key", id="keyed", key="k")
        memory.records.add("lasts for a while", id="ends", payload={"n": 1})
        memory.records.amend("ends", importance=0.25)
        for index, text in enumerate(("hello there", "general remarks")):
            memory.store_turn(Turn(conversation_id="c1", index=index, role="user", content=text))
        for weight in (1.0, 0.25):
            memory.records.link(Link(source_id="keyed", target_id="note", type="about", weight=weight))
        memory.records.link(Link(source_id="note", target_id="keyed", type="uses", weight=0.5))
        memory.records.unlink("note", "keyed", "uses")
        owe(memory)
        memory.records.forget([memory.records.add("to be forgotten").id])
        memory.working.set("colour", "green")
        for thought in ("the first", "the second"):
            memory.working.push_thought(thought)
        memory.vectors.upsert("mine", "v1", [0.6, 0.8], {"n": 1})
        memory.vectors.upsert("mine", "v2", [0.8, 0.6], {"n": 2})
        memory.vectors.upsert("theirs", "v1", [0.6, 0.8], model="clip")
        memory.vectors.query("mine", [0.6, 0.8])
        memory.vectors.of("v1")  # which waits until the scores are written
        memory.keys.create("laptop")
        memory.keys.revoke(memory.keys.create("phone").id)
        memory.keys.rotate(memory.keys.create("server", for_user="ada", expires_days=30).id)
        for query in ("what do I owe?", "who was here?", "hello"):
            memory.recall(query)
        memory._client.runtime.receipts.flush()
        refuse(memory)
        read(memory)
        spend(memory)
        follow(memory)
        checked = memory.upkeep.verify()
        assert checked.ok, checked.problems
        kinds = memory._client.runtime.kinds
        memory.close(clear=False)  # its desk stays
        return kinds


def owe(memory: AgentMemory) -> None:
    """To a place that is away, and to one that nobody asked yet."""
    debts = memory._client.runtime.store.debts
    assert debts is not None
    for place in ("working x://", "vectors y://"):
        debts.attach(place)
    debts.failed("working x://", "out of reach")


def follow(memory: AgentMemory) -> None:
    """Two jobs: one that has read something, and one that failed and is under way again."""
    feed = memory._client.runtime.store.feed
    reading = feed.lease("read", "one", 60.0)
    failing = feed.lease("fail", "one", 60.0)
    assert reading is not None and failing is not None
    feed.advance(Work(reading, Cursor("default"), feed.lines(Cursor("default"), limit=3)[-1].cursor))
    feed.release(reading, JobOutcome(0.5, {"made": 1}))
    feed.release(failing, JobOutcome(0.25, error="nobody answers"))
    feed.lease("fail", "two", 60.0)


def spend(memory: AgentMemory) -> None:
    """Two models were asked, one of them in vain."""
    kept = memory._client.runtime.store.spending
    assert kept is not None
    small = Account("2026-03-02", "default", "ada", "*", "run-1", "models.ask", "chat", "small")
    large = small._replace(model="large", run="")
    kept.limit(SpendingLimit("day", calls=2, tokens=100, money=900, millis=800))
    kept.limit(SpendingLimit("user", "default", "ada", calls=2))
    kept.reserve(small, Hold(10, 5), [])
    kept.settle(small, Hold(10, 5), Used(3, 4, 2, 60))
    kept.reserve(large, Hold(20, 7), [])
    kept.reserve(large, Hold(20, 7), [])


def read(memory: AgentMemory) -> None:
    """Two lines of the access log: one that has everything, and one that has only what every line has."""
    log = memory._client.runtime.store.reading
    assert log is not None
    plain = ReadLine(1, "default", "ada", "*", None, "python", "records.get", ("a",), 1)
    whole = plain._replace(key="k1", why="INC-7", micros=9, tokens=3, money=0.25, receipt="r")
    log.keep([plain, whole])


def refuse(memory: AgentMemory) -> None:
    from agent_memory.ports.access import Refusal

    lines = [Refusal(number, "default", "ada", "recall", "no key", "k1" if number else None) for number in (0, 1)]
    memory._client.runtime.store.access.refuse(lines)


def test_every_column_of_every_table_is_looked_at(damaged: Damaged) -> None:
    cells: dict[tuple[str, str], list[Cell]] = {}
    for cell in damaged.cells():
        cells.setdefault((cell.table, cell.column), []).append(cell)
    values = list(WRONG.values())
    unnoticed = [
        said
        for number, found in enumerate(cells.values())
        for place, value in enumerate(values)
        if (place + number) % 3 == 0 and (said := damaged.unnoticed(found[(place * 7 + number) % len(found)], value))
    ]
    assert not unnoticed, "\n".join([f"{len(unnoticed)}:", *unnoticed[:60]])


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    place=st.floats(0, 1, exclude_max=True),
    value=st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text() | st.binary(),
    garbled=st.booleans(),
)
def test_any_value_in_any_cell_is_noticed(damaged: Damaged, place: float, value: object, garbled: bool) -> None:
    cells = list(damaged.cells())
    cell = cells[int(place * len(cells))]
    said = damaged.unnoticed(cell, "cast(? as text)" if garbled and isinstance(value, bytes) else "?", value)
    assert said is None, said


BROKEN = {
    "a vector that is too short": "update vectors set data = x'0102' where content = {content}",
    "a vector that is text": "update vectors set data = 'abc' where content = {content}",
    "a scale that is none": "update vectors set scale = 'x' where content = {content}",
    "words that are cut": "update words set terms = x'01' where content = {content}",
    "no words": "delete from words where content = {content}",
    "a version's number": "update versions set valid_from = 'soon' where content = {content}",
    "a text that is not UTF-8": "update contents set text = cast(x'ff' as text) where content = {content}",
    "a text that is a blob": "update contents set text = x'ff' where content = {content}",
    "a payload that is not JSON": "update contents set payload = '{{' where content = {content}",
    "a status that is unknown": "update versions set status = 999 where content = {content}",
    "a kind that is unknown": "update versions set kind = 999 where content = {content}",
    "a label that is not UTF-8": "update labels set text = cast(x'ff' as text)",
    "a moment that is none": "update journal set at = x'00' where line = {content}",
    "a moment beyond all time": "update versions set valid_from = 9000000000000000000 where content = {content}",
}


MEANINGLESS = {"a status that is unknown", "a kind that is unknown"}  # to be read, but never what is asked for


@pytest.mark.parametrize("how", BROKEN)
def test_a_recall_goes_on_without_what_is_damaged(how: str, home: Path) -> None:
    with AgentMemory(user_id="ada") as memory:
        memory.upsert_entity(Entity(name="Lighthouse", type="Place"))
        memory.records.add("the lighthouse keeper retired", id="bad", conversation_id="c1")
        memory.records.add("the lighthouse is white", id="good")
    with closing(sqlite3.connect(home / "memory.db")) as connection, connection:
        content = connection.execute("select content from versions where id = 'bad'").fetchone()[0]
        connection.execute(BROKEN[how].format(content=content))
    with AgentMemory(user_id="ada") as memory:
        found = memory.recall("who keeps the lighthouse?", k=10)
        assert "good" in [hit.id for hit in found]
        assert found.damaged >= 1 or how in MEANINGLESS
        assert len(memory.recall("who keeps the lighthouse?", k=1)) == 1
        assert not memory.upkeep.verify().ok
        memory.records.add("written afterwards", id="after")
        assert memory.recall("written afterwards", k=1)[0].id == "after"


@pytest.mark.parametrize("how", {**BROKEN, "no content": "delete from contents where content = {content}"})
def test_what_is_damaged_can_be_forgotten(how: str, home: Path) -> None:
    with AgentMemory(user_id="ada") as memory:
        memory.records.add("the lighthouse keeper retired", id="bad", conversation_id="c1")
        memory.records.add("the lighthouse is white", id="good")
    statement = {**BROKEN, "no content": "delete from contents where content = {content}"}[how]
    with closing(sqlite3.connect(home / "memory.db")) as connection, connection:
        content = connection.execute("select content from versions where id = 'bad'").fetchone()[0]
        connection.execute(statement.format(content=content))
    with AgentMemory(user_id="ada") as memory:
        assert sorted(memory.records.forget(["bad", "good"]).ids) == ["bad", "good"]
    with closing(sqlite3.connect(home / "memory.db")) as connection:
        for table in ("versions", "contents", "words", "vectors", "pending"):
            assert connection.execute(f"select count(*) from {table}").fetchone() == (0,), table


def test_vectors_are_made_anew(home: Path) -> None:
    with AgentMemory(user_id="ada") as memory:
        for text in ("the red barn", "the blue boat"):
            memory.records.add(text)
        brought = memory.embedder.embed_single("sailing around the world")
        memory.add_goal(Goal(description="xyzzy", embedding=brought))
        before = [(hit.text, hit.score) for hit in memory.recall("a red house")]
        receipt = memory.recall("a red house").receipt_id
    with closing(sqlite3.connect(home / "memory.db")) as connection, connection:
        connection.execute("update vectors set data = zeroblob(length(data)) where start < end")
    with AgentMemory(user_id="ada") as memory:
        assert any("vectors: " in one for one in memory.upkeep.verify().problems)
        assert {hit.text: hit.why.similarity for hit in memory.recall("a red house")}["the red barn"] == 0
        made = memory.upkeep.rebuild(vectors=True)
        assert (made["vectors"], made["pending_vectors"]) == (3, 0), "two notes, and whose goal it is"
        assert [(hit.text, hit.score) for hit in memory.recall("a red house")] == before
        assert memory.recall("a voyage by boat", kinds=["goal"])[0].why.similarity > 0.3, "it cannot be made again"
        checked = memory.upkeep.verify()
        assert checked.ok and checked.checked["vectors made anew"] == 3, checked
        assert not memory.receipts.replay(receipt).same_space, "its vectors are not there any more"


def test_a_vector_of_another_text_is_found_in_the_sample(home: Path) -> None:
    """By whoever makes the checksum again, too."""
    with AgentMemory(user_id="ada") as memory:
        memory.records.add("the red barn")
        memory.records.add("shares fell sharply")
    with closing(sqlite3.connect(home / "memory.db")) as connection, connection:
        names = ", ".join(f'"{name}"' for name in SEALED["vectors"])
        first, last = connection.execute(f"select {names} from vectors").fetchall()
        changed = (*first[:-2], *last[-2:])
        sql = "update vectors set scale = ?, data = ?, seal = ? where vector = ?"
        connection.execute(sql, (*last[-2:], checksum(*changed), first[0]))
    with AgentMemory(user_id="ada") as memory:
        [problem] = memory.upkeep.verify().problems
    assert "does not make of their text: 1 of 2" in problem


def test_a_journal_that_was_cut_off_is_noticed_by_who_noted_its_head(home: Path) -> None:
    with AgentMemory(user_id="ada") as memory:
        memory.records.add("the first")
        early = memory.upkeep.verify()
        memory.records.add("the second", id="second")
        late = memory.upkeep.verify()
        for noted in (early, late):
            assert memory.upkeep.verify(expect=f"{noted.seq}:{noted.head.upper()}").ok
        for wrong in ("", "7", "x:y", f"{late.seq}:abc", f"-1:{late.head}"):
            with pytest.raises(InvalidInput, match="expect"):
                memory.upkeep.verify(expect=wrong)
        other = memory.upkeep.verify(expect=f"{early.seq}:{late.head}")
        assert any("is not the one that was noted" in one for one in other.problems)
    with closing(sqlite3.connect(home / "memory.db")) as connection, connection:
        [(line,)] = connection.execute("select max(line) from journal").fetchall()
        connection.execute("delete from journal where line = ?", (line,))
        for table in ("versions", "contents", "words", "vectors"):
            column = "version" if table == "versions" else "content"
            connection.execute(f"delete from {table} where {column} = ?", (line,))
    with AgentMemory(user_id="ada") as memory:
        assert memory.upkeep.verify().ok, "without the note, nobody could tell"
        assert memory.upkeep.verify(expect=f"{early.seq}:{early.head}").ok
        cut = memory.upkeep.verify(expect=f"{late.seq}:{late.head}")
        assert any("the end was cut off" in one for one in cut.problems)


KEYS = {
    "revived": "update keys set ended_at = null where label = 'phone'",
    "longer": "update keys set expires_at = expires_at + 1 where expires_at is not null and ended_at is null",
    "mightier": "update keys set permissions = 'admin' where label = 'laptop'",
    "another's": "update keys set user = 'eve' where label = 'laptop'",
    "gone": "delete from keys where label = 'laptop'",
    "slipped in": "insert into keys select 'zz', digest, label, tenant, user, permissions, 1, 2, 3 from keys limit 1",
}


@pytest.mark.parametrize("how", KEYS)
def test_the_journal_proves_keys(how: str, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    furnish(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(KEYS[how]).rowcount == 1
    with AgentMemory(user_id="ada", store=f"sqlite:///{path}") as memory:
        [problem] = memory.upkeep.verify().problems
    assert problem.startswith("keys: id ")


def test_a_key_that_a_restore_brought_back_is_noticed_by_who_noted_the_stores_head(home: Path) -> None:
    with AgentMemory(user_id="ada") as memory:
        memory.records.add("the first")
        key = memory.keys.create("laptop")
    before = (home / "memory.db").read_bytes()
    with AgentMemory(user_id="ada") as memory:
        memory.keys.revoke(key.id)
        late = memory.upkeep.verify()
        noted = f"{late.seq}:{late.head}+{late.heads['']}"
        assert memory.upkeep.verify(expect=noted).ok
    (home / "memory.db").write_bytes(before)
    with AgentMemory(user_id="ada") as memory:
        assert memory.upkeep.verify(expect=f"{late.seq}:{late.head}").ok, "the tenant's own journal is whole"
        [problem] = memory.upkeep.verify(expect=noted).problems
        assert "the end was cut off" in problem and problem.startswith("store: ")
