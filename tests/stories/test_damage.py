"""Damage is named, and costs no more than what is damaged: whatever a cell of the file becomes, `verify` says so and
goes on, and a recall answers without the rows that cannot be read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_memory import AgentMemory, Turn
from agent_memory.core.write.normalise import deriver
from agent_memory.engines.sqlite import proof
from agent_memory.models.kinds.kind import Kind
from agent_memory.models.record import Link
from agent_memory.ports.changes import Verified

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


def meaningless(cell: Cell, after: object) -> bool:
    """Changes that change nothing: nobody is told anything else because of them."""
    match cell.table, cell.column:
        case _, "seal":
            return after is None  # the row is what it was; it only proves it no longer
        case "pending", "part":
            return after == 0  # all passages of the text are made anew
        case "meta", "value":
            return cell.row["name"] == "scrub" and str(after).removeprefix("-").isdecimal()  # a debt, whatever it says
    return False


class Damaged:
    """A store that is changed cell by cell, checked, and put right again."""

    def __init__(self, connection: sqlite3.Connection, kinds: Mapping[str, Kind]) -> None:
        self.connection = connection
        self.again, self.kinds = deriver(kinds), kinds

    def check(self) -> Verified:
        known = self.kinds
        return proof.verify(
            self.connection, lambda kind, text, payload: self.again(kind, text, payload) if kind in known else None
        )

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
            if before == after or self.check().problems or meaningless(cell, after[1] and after[1].decode()):
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
        memory.records.forget([memory.records.add("to be forgotten").id])
        memory.working.set("colour", "green")
        for thought in ("the first", "the second"):
            memory.working.push_thought(thought)
        memory.vectors.upsert("mine", "v1", [0.6, 0.8], {"n": 1})
        memory.vectors.upsert("mine", "v2", [0.8, 0.6], {"n": 2})
        memory.keys.create("laptop")
        memory.keys.revoke(memory.keys.create("phone").id)
        memory.keys.rotate(memory.keys.create("server", for_user="ada", expires_days=30).id)
        for query in ("what do I owe?", "who was here?", "hello"):
            memory.recall(query)
        memory._client.runtime.receipts.flush()
        refuse(memory)
        checked = memory.upkeep.verify()
        assert checked.ok, checked.problems
        kinds = memory._client.runtime.kinds
        memory.close(clear=False)  # its desk stays
        return kinds


def refuse(memory: AgentMemory) -> None:
    from agent_memory.ports.access import Refusal

    lines = [Refusal(number, "default", "ada", "recall", "no key", "k1" if number else None) for number in (0, 1)]
    memory._client.runtime.store.access.refuse(lines)


def test_every_column_of_every_table_is_looked_at(damaged: Damaged) -> None:
    cells: dict[tuple[str, str], list[Cell]] = {}
    for cell in damaged.cells():
        cells.setdefault((cell.table, cell.column), []).append(cell)
    some = [cell for found in cells.values() for cell in (found[0], found[len(found) // 2], found[-1])]
    unnoticed = [said for cell in some for value in WRONG.values() if (said := damaged.unnoticed(cell, value))]
    assert not unnoticed, "\n".join([f"{len(unnoticed)}:", *unnoticed[:60]])


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
