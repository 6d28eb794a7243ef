"""Texts can be stored encoded: nobody notices who asks us, and what cannot be read is never shown. E2, decision 25."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.engines.sqlite import schema
from agent_memory.ledger import codecs
from agent_memory.models.errors import Corrupt, PartMissing

pytestmark = [pytest.mark.local, pytest.mark.requirement("E2")]
CODECS = ("zstd", "lz4")
LONG = "The pump in hall three lost pressure again, and the valve behind it was replaced by the night shift. "
TEXTS = {
    "long": LONG * 30,
    "short": "ok",
    "odd": "\0 naïve 東京 \U0001f40d " * 40,
    "longest": (LONG * 9904)[:1_000_000],
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.db"


@pytest.fixture
def memory(path: Path) -> Any:
    with AgentMemory(user_id="ada", store=path) as opened:
        for id, text in TEXTS.items():
            opened.records.add(text, id=id)
        opened.learn_fact(f"Bo is on call. {LONG * 4}", subject="on call", predicate="is")
        opened.learn_fact(f"Kim is on call. {LONG * 4}", subject="on call", predicate="is")
        yield opened


def encode(memory: AgentMemory, codec: str | None) -> int:
    store, after, changed = memory._client.runtime.store, 0, 0
    while (made := store.recode(codec, after=after, limit=2)).last is not None:
        after, changed = made.last, changed + made.changed
    return changed


def told(memory: AgentMemory) -> list[Any]:
    """Everything that a reader can ask for. First what is left to embed, which a recall would do in part."""
    memory.upkeep.catch_up()
    fact = memory.records.find(kind="fact")[0]
    found = memory.recall("who is on call at the pump?", k=20)
    return [
        [one.model_dump() for one in memory.records.versions()],
        [one.model_dump() for one in memory.records.history(fact.id)],
        memory.records.get(fact.id, as_of=fact.recorded_at).model_dump(),
        {id: memory.records.get(id).text for id in TEXTS},
        [(hit.id, hit.text, hit.score) for hit in found],
        (proof := memory.upkeep.verify()).head,
        proof.problems,
    ]


def rows(path: Path, sql: str, *values: object) -> list[Any]:
    connection = sqlite3.connect(path)
    try:
        with connection:
            return connection.execute(sql, values).fetchall()
    finally:
        connection.close()


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_encoded_reads_as_before(memory: AgentMemory, path: Path, codec: str) -> None:
    before = told(memory)
    size = rows(path, "select sum(length(cast(text as blob))) from contents")[0][0]
    assert encode(memory, codec) == 5 and encode(memory, codec) == 0
    stored = rows(path, "select codec, typeof(text), count(*) from contents group by 1 order by 1")
    assert stored == [(None, "text", 1), (codec, "blob", 5)], "what would not be smaller stays as it is"
    assert rows(path, "select sum(length(text)) from contents")[0][0] < size / 2
    assert told(memory) == before
    with AgentMemory(user_id="ada", store=path) as again:
        assert told(again) == before
    shown = rows(path, "select text is null, subject, record_status from facts")
    assert shown == [(1, "on call", "active")], "other tools see that there is a text, and not what was made of it"
    assert rows(path, "select text from observations where id = 'short'") == [("ok",)]
    for other in (*CODECS, None):
        encode(memory, other)
        assert told(memory) == before


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_encoded_can_be_changed_and_made_again(memory: AgentMemory, path: Path, codec: str) -> None:
    encode(memory, codec)
    head = memory.upkeep.verify().head
    assert memory.records.add(TEXTS["long"], id="long").version == 1, "the same again is nothing new"
    assert memory.upkeep.verify().head == head
    memory.records.amend("long", importance=0.9)
    assert memory.records.get("long").text == TEXTS["long"]
    assert memory.upkeep.rebuild(vectors=True)["contents"] == 6
    assert memory.recall("valve behind the pump").hits[0].why.words
    proof = memory.upkeep.verify()
    assert proof.ok and proof.checked["vectors made anew"], proof.problems


@pytest.mark.parametrize("codec", CODECS)
def test_what_was_encoded_and_is_forgotten_leaves_no_trace(memory: AgentMemory, path: Path, codec: str) -> None:
    secret = "zanzibar-9931-passphrase, and " + "".join(f"{number:x}" for number in range(700)) * 2
    memory.records.add(secret, id="secret")
    encode(memory, codec)
    ((cell,),) = rows(path, "select text from contents where codec = ? order by content desc limit 1", codec)
    files = [path, Path(f"{path}-wal")]
    assert any(cell[100:200] in one.read_bytes() for one in files if one.exists())
    assert memory.records.forget(["secret"]).scrubbed
    for one in (one.read_bytes() for one in files if one.exists()):
        assert not any(cell[at : at + 24] in one for at in range(0, len(cell) - 24, 24))
        assert b"zanzibar-9931" not in one and secret[200:240].encode() not in one
    assert memory.upkeep.verify().ok


def bomb(codec: str) -> bytes:
    return codecs.find(codec).encode(bytes(256 << 20))


DAMAGED: dict[str, Callable[[bytes, str], object]] = {
    "cut": lambda cell, codec: cell[:-20],
    "longer": lambda cell, codec: cell + b"!",
    "flipped": lambda cell, codec: cell[:30] + bytes([cell[30] ^ 255]) + cell[31:],
    "empty": lambda cell, codec: b"",
    "text": lambda cell, codec: "a text",
    "bytes": lambda cell, codec: codecs.find(codec).encode(b"\xff\xfe" * 20),
    "bomb": lambda cell, codec: bomb(codec),
}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("how", DAMAGED)
def test_a_damaged_cell_is_never_shown_as_a_text(memory: AgentMemory, path: Path, codec: str, how: str) -> None:
    encode(memory, codec)
    ((content, cell),) = rows(path, "select content, text from contents order by content limit 1")
    rows(path, "update contents set text = ? where content = ?", DAMAGED[how](cell, codec), content)
    with pytest.raises(Corrupt, match="verify"):
        memory.records.get("long")
    with pytest.raises(Corrupt, match="verify"):
        memory.records.add("something else", id="long")
    found = memory.recall("which pump lost pressure?", k=20)
    assert found.damaged == 1 and "long" not in [hit.id for hit in found]
    proof = memory.upkeep.verify()
    assert any("the version is not what was written" in one for one in proof.problems), proof.problems
    assert encode(memory, None) == 4, "it stays as it is, for whoever can mend it"
    assert rows(path, "select codec from contents where content = ?", content) == [(codec,)]


@pytest.mark.parametrize("codec", CODECS)
def test_what_would_fill_the_memory_is_not_decoded(codec: str) -> None:
    """Compared with what the longest text takes."""

    def peak(data: bytes, *, sound: bool) -> int:
        tracemalloc.start()
        try:
            if sound:
                assert len(codecs.plain(data, codec)) == len(TEXTS["longest"])
            else:
                with pytest.raises(ValueError, match="not one whole text"):
                    codecs.plain(data, codec)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    longest = codecs.find(codec).encode(("\U0001f40d" * codecs.LONGEST_TEXT).encode())
    assert len(codecs.plain(longest, codec)) == codecs.LONGEST_TEXT
    hostile = bomb(codec)
    assert len(hostile) < len(TEXTS["longest"]) * 2
    assert peak(hostile, sound=False) < 4 * peak(codecs.find(codec).encode(TEXTS["longest"].encode()), sound=True) + (
        2 * codecs.MOST_BYTES
    )


def without(package: str, code: str, path: Path) -> str:
    start = f"import sys; sys.modules[{package!r}] = None\nfrom agent_memory import AgentMemory\n"
    opened = f"memory = AgentMemory(user_id='ada', store={str(path)!r})\n"
    ran = subprocess.run([sys.executable, "-c", start + opened + code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("codec", CODECS)
def test_without_its_package_a_text_is_safe_and_the_extra_is_named(memory: AgentMemory, path: Path, codec: str) -> None:
    before = told(memory)
    encode(memory, codec)
    memory.close()
    package = {"zstd": "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd", "lz4": "lz4.frame"}
    out = without(
        package[codec],
        """
from agent_memory.models.errors import PartMissing
store = memory._client.runtime.store
for act in (
    lambda: memory.records.get("long"), lambda: memory.recall("pump"), lambda: memory.records.versions(),
    lambda: memory.records.add("other", id="long"), lambda: memory.upkeep.rebuild(), lambda: store.recode(None)
):
    try:
        print("read", act())
    except PartMissing as error:
        print(error.hint)
print(memory.records.get("short").text, memory.upkeep.verify().problems[0])
""",
        path,
    )
    *hints, last = out.splitlines()
    assert hints == [f"pip install 'agent-memory[{codec}]'"] * 6, out
    assert last.startswith("ok journal: line 1: the version cannot be proved") and f"agent-memory[{codec}]" in last
    with AgentMemory(user_id="ada", store=path) as again:
        assert told(again) == before


def test_a_codec_from_another_package(memory: AgentMemory, path: Path, tmp_path: Path) -> None:
    with pytest.raises(PartMissing, match="'unheard'"):
        memory._client.runtime.store.recode("unheard")
    memory.close()
    site = tmp_path / "site"
    (site / "toy_codec-1.0.dist-info").mkdir(parents=True)
    (site / "toy_codec.py").write_text(
        "import zlib\nclass Toy:\n    name = 'toy'\n    encode = staticmethod(zlib.compress)\n"
        "    def decode(self, data, most): return zlib.decompressobj().decompress(data, most)\n"
    )
    info = {"METADATA": "Metadata-Version: 2.1\nName: toy-codec\nVersion: 1.0\n"}
    info["entry_points.txt"] = "[agent_memory.codecs]\ntoy = toy_codec:Toy\n"
    for name, text in info.items():
        (site / "toy_codec-1.0.dist-info" / name).write_text(text)
    code = f"""
from agent_memory import AgentMemory
memory = AgentMemory(user_id="ada", store={str(path)!r})
print(memory._client.runtime.store.recode("toy").changed, len(memory.records.get("long").text))
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(site)}, capture_output=True, text=True
    )
    assert ran.stdout == f"5 {len(TEXTS['long'])}\n", ran.stderr
    with AgentMemory(user_id="ada", store=path) as again, pytest.raises(PartMissing, match="registers it"):
        again.records.get("long")


def test_views_of_an_older_version_are_made_anew_before_anything_is_encoded(memory: AgentMemory, path: Path) -> None:
    ((made,),) = rows(path, "select sql from sqlite_schema where name = 'facts'")
    rows(path, 'drop view "facts"')
    rows(path, made.replace("case when c.codec is null then c.text end as text,\n   ", "c.text,"))
    rows(path, 'create view "mine" as select c.text from versions v join contents c on c.content = v.content')
    assert rows(path, "select text is null from facts") == [(0,)]
    encode(memory, "zstd")
    assert rows(path, "select text from facts") == [(None,)]
    assert rows(path, "select count(*) from mine") == [(7,)]


def test_an_old_file_learns_of_codecs_and_keeps_its_texts_as_they_stand(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.executescript((Path(__file__).parents[1] / "data" / "store-0.1.0.sql").read_text("utf-8"))
    texts = connection.execute("select content, text from contents order by content").fetchall()
    connection.close()
    schema.open_file(path).close()
    assert rows(path, "select content, text from contents where codec is null order by content") == texts
    assert rows(path, "select name, digest, active from vocabularies") == [("words-1", "", 1)]
