"""Several embeddings of a record, in a vector store elsewhere and in the mirror here. L5, L9."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.plugins.outside import Outside

from agent_memory import AgentMemory
from agent_memory.engines.sqlite.statements import SQL
from agent_memory.models.errors import InvalidInput, NotFound
from agent_memory.ports.embedder import Passage, Space

TEXTS = ["the printer is on the third floor", "tea is served at four", "the deploy failed: no space left"]


class Hashed:
    """Words, counted into a few places; how many is the caller's choice."""

    def __init__(self, dimension: int = 32) -> None:
        self.space = Space("hashed", "1", dimension)

    def passages(self, text: str) -> list[Passage]:
        return [Passage(0, len(text))]

    def embed_many(self, texts: Sequence[str]) -> Any:
        rows = np.zeros((len(texts), self.space.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[hashlib.sha256(word.encode()).digest()[0] % len(row)] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def outside(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    """A vector store in another process, and a store of records on SQLite."""
    server = Outside(tmp_path)
    server.start()
    monkeypatch.setenv("AGENT_MEMORY_VECTORS", server.url)
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "plugins"))
    yield server
    server.kill()


def opened(**parts: Any) -> AgentMemory:
    return AgentMemory(user_id="ada", embedder=Hashed(), **parts)


def told(outside: Outside, namespace: str) -> set[str]:
    """What the vector store has in a namespace."""
    kept = outside.kept().get(f"vectors default\x1fada\x1f*\x1f{namespace}")
    return set(kept or ())


def ran(code: str, outside: Outside, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**outside.environment, **more}
    del environment["AGENT_MEMORY_WORKING"]
    begin = "from agent_memory import AgentMemory\nmemory = AgentMemory(user_id='ada')\n"
    return subprocess.run([sys.executable, "-c", begin + code], env=environment, capture_output=True, text=True)


@pytest.mark.requirement("L5")
def test_an_edit_is_embedded_again(home: Path) -> None:
    """Wherever the record is held, in the same metadata; what somebody brought along is left alone."""
    with opened() as memory:
        ids = [memory.records.add(text).id for text in TEXTS]
        memory.vectors.embed(ids, ["short_term", "long_term"], {"run": 1})
        memory.vectors.upsert("picture", ids[0], [1.0, 0.0, 0.0], model="clip")
        assert memory.upkeep.run_jobs()["embeddings"] == {"embeddings": 0, "behind": 0}, "nothing was edited"
        memory.vectors.delete("long_term", ids[1:])
        memory.records.edit(ids[0], text="the bicycle is in the cellar")
        memory.records.edit(ids[1], text="coffee is served at five")
        (job,) = [one for one in memory.upkeep.jobs() if one.name == "embeddings"]
        assert job.lag == 2
        assert memory.upkeep.run_jobs()["embeddings"] == {"embeddings": 3, "behind": 0}
        for namespace in ("short_term", "long_term"):
            (best, *_) = memory.vectors.recall("the bicycle is in the cellar", namespace).hits
            assert (best.id, best.metadata) == (ids[0], {"run": 1}) and best.score == pytest.approx(1.0, abs=0.01)
        assert [one.namespace for one in memory.vectors.of(ids[1])] == ["short_term"]
        assert memory.vectors.of(ids[0], vectors=True)[1].vector == pytest.approx([1.0, 0.0, 0.0])
        assert memory.upkeep.run_jobs()["embeddings"] == {"embeddings": 0, "behind": 0}


@pytest.mark.requirement("L5")
@pytest.mark.parametrize("meanwhile", ["edited", "forgotten", "deleted"])
def test_what_happens_while_an_edit_is_embedded(home: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: str) -> None:
    with opened() as memory:
        id = memory.records.add(TEXTS[0]).id
        memory.vectors.embed([id], ["ns"])
        memory.records.edit(id, text=TEXTS[1])
        made, done = Hashed.embed_many, [False]

        def late(own: Hashed, texts: Sequence[str]) -> Any:
            vectors = made(own, texts)
            if not done[0]:
                done[0] = True
                if meanwhile == "edited":
                    memory.records.edit(id, text=TEXTS[2])
                elif meanwhile == "forgotten":
                    memory.records.forget([id])
                else:
                    memory.vectors.delete("ns", [id])
            return vectors

        monkeypatch.setattr(Hashed, "embed_many", late)
        did = memory.upkeep.run_jobs()["embeddings"]
        assert done[0] and did == {"embeddings": int(meanwhile == "edited"), "behind": 0}
        held = memory.vectors.of(id)
        assert len(held) == int(meanwhile == "edited")
        if held:
            assert memory.vectors.recall(TEXTS[2], "ns").hits[0].score == pytest.approx(1.0, abs=0.01)


@pytest.mark.requirement("P9")
def test_a_recall_in_a_namespace_leaves_a_receipt(home: Path) -> None:
    with opened() as memory:
        ids = [memory.records.add(text).id for text in TEXTS]
        memory.vectors.embed(ids, ["ns"], {"run": 1})
        found = memory.vectors.recall("where is the printer", "ns", k=2, where={"run": 1})
        told = memory.receipts.get(found.receipt_id or "")
        assert [hit["id"] for hit in told["hits"]] == [hit.id for hit in found.hits]
        assert (told["query"], told["namespace"], told["model"]) == ("where is the printer", "ns", "hashed@1/32")
        assert (told["k"], told["where"], told["source"]) == (2, {"run": 1}, "mirror")
        assert [one.times for one in memory.receipts.accesses(ids[:1])] == [1]
        (one,) = [one for one in memory.receipts.find() if one.receipt_id == found.receipt_id]
        assert (one.recipe, one.hits) == ("namespace", 2) and memory.receipts.costs()[0].recalls >= 1
        with pytest.raises(InvalidInput, match="no replay"):
            memory.receipts.replay(found.receipt_id or "")
        assert memory.upkeep.verify().ok
        memory.records.forget(ids[:1])
        with pytest.raises(NotFound):
            memory.receipts.get(found.receipt_id or "")


@pytest.mark.requirement("L5")
def test_a_record_has_an_embedding_in_each_of_several_namespaces(home: Path) -> None:
    with opened(embedders={"wide": Hashed(64)}) as memory:
        ids = [memory.records.add(text).id for text in TEXTS]
        made = memory.vectors.embed(ids, ["short_term", "long_term"], {"run": 1})
        assert len(made) == 6 and {one.model for one in made} == {"hashed@1/32"}
        memory.vectors.embed(ids[:1], ["wide"])
        memory.vectors.upsert("picture", ids[0], [1.0, 0.0, 0.0], model="clip")
        found = memory.vectors.recall("where is the printer", "short_term")
        assert found.hits[0].id == ids[0] and (found.source, found.trouble) == ("mirror", None)
        assert found.hits[0].metadata == {"run": 1} and found.hits[0].text == TEXTS[0]
        held = {one.namespace: one for one in memory.vectors.of(ids[0])}
        assert {name: (one.model, one.dimension) for name, one in held.items()} == {
            "long_term": ("hashed@1/32", 32),
            "picture": ("clip", 3),
            "short_term": ("hashed@1/32", 32),
            "wide": ("hashed@1/64", 64),
        }
        assert held["short_term"].score == pytest.approx(found.hits[0].score) and held["short_term"].scored_at
        assert held["long_term"].score is None and held["long_term"].vector is None
        assert memory.vectors.of(ids[0], vectors=True)[1].vector == pytest.approx([1.0, 0.0, 0.0])
        memory.vectors.delete("short_term", ids[:1])
        assert ids[0] not in [hit.id for hit in memory.vectors.recall("printer", "short_term").hits]
        assert [hit.id for hit in memory.vectors.recall("printer floor", "wide").hits] == ids[:1]
        counts = {one.name: (one.model, one.dimension, one.vectors) for one in memory.vectors.namespaces()}
        assert counts["short_term"] == ("hashed@1/32", 32, 2) and counts["wide"] == ("hashed@1/64", 64, 1)


def test_a_model_is_asked_once_for_all_namespaces(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened() as memory:
        ids = [memory.records.add(f"{text}, {number}").id for text in TEXTS for number in range(7)]
        asked: list[int] = []
        embed = Hashed.embed_many
        monkeypatch.setattr(Hashed, "embed_many", lambda self, texts: asked.append(len(texts)) or embed(self, texts))
        made = memory.vectors.embed([*ids, ids[0]], ["short_term", "long_term", "short_term"])
        assert asked == [16, 5] and len(made) == 2 * len(ids) + 2


@pytest.mark.requirement("L5", "L9")
@pytest.mark.parametrize("when", ["asked", "put"])
def test_what_is_forgotten_while_it_is_embedded_stays_forgotten(
    outside: Outside, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    with opened() as memory, opened() as other:
        ids = [memory.records.add(text).id for text in TEXTS]
        store = memory._client.runtime.store.vectors
        whose, name = (Hashed, "embed_many") if when == "asked" else (type(store), "upsert")
        call = getattr(whose, name)

        def late(*said: Any) -> Any:
            monkeypatch.setattr(whose, name, call)
            other.records.forget(ids[:1])
            return call(*said)

        monkeypatch.setattr(whose, name, late)
        made = memory.vectors.embed(ids, ["short_term", "long_term"])
        assert {one.id for one in made} == set(ids[1:]) and memory.vectors.of(ids[0]) == []
        assert memory.upkeep.run_jobs()["vectors"]["behind"] == 0
        assert told(outside, "short_term") == told(outside, "long_term") == set(ids[1:])


def test_another_model_or_dimension_is_refused_by_name(home: Path) -> None:
    with opened() as memory:
        id = memory.records.add(TEXTS[0]).id
        memory.vectors.upsert("picture", id, [1.0, 0.0], model="clip")
        for vector, model, said in (
            ([1.0, 0.0, 0.0], "clip", "vector: namespace 'picture' holds vectors of 2 numbers, not 3"),
            ([1.0, 0.0], "other", "model: namespace 'picture' holds vectors of 'clip', not of 'other'"),
            ([1.0, 0.0], None, "model: namespace 'picture' holds vectors of 'clip', not of a model that nobody named"),
        ):
            with pytest.raises(InvalidInput) as refused:
                memory.vectors.upsert("picture", id, vector, model=model)
            assert refused.value.message == said and refused.value.hint
        for call in (
            lambda: memory.vectors.recall("floor", "picture"),
            lambda: memory.vectors.embed([id], ["picture"]),
        ):
            with pytest.raises(InvalidInput, match="holds vectors of clip, not of hashed@1/32"):
                call()
        with pytest.raises(NotFound, match="there is no record 'nobody'"):
            memory.vectors.embed([id, "nobody"], ["short_term"])
        assert memory.vectors.query("short_term", [1.0, 0.0]) == []


def test_embedders_of_namespaces_by_setting(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "plugins"))
    monkeypatch.setenv("AGENT_MEMORY_EMBEDDERS", "toy=toy:other-words/8 plain=toy")
    with opened() as memory:
        id = memory.records.add(TEXTS[0]).id
        models = [one.model for one in memory.vectors.embed([id], ["toy", "plain", "rest"])]
        assert sorted(map(str, models)) == ["hashed@1/32", "other-words@1/8", "toy-words@1/16"]
    own = Hashed()
    with AgentMemory(user_id="ada", embedder=own) as one, AgentMemory(user_id="ada", embedder=own) as same:
        monkeypatch.setenv("OPENAI_API_KEY", "another")
        with AgentMemory(user_id="ada", embedder=own) as other:
            assert one._client.runtime is same._client.runtime
            assert one._client.runtime is not other._client.runtime, "its namespaces are embedded with its own key"
    for wrong in ("toy", "toy=", "a=toy a=toy", "=toy"):
        monkeypatch.setenv("AGENT_MEMORY_EMBEDDERS", wrong)
        with pytest.raises(InvalidInput, match="embedders"):
            opened()


def test_only_what_may_be_seen_is_recalled(home: Path) -> None:
    """However many nearer ones are not to be seen."""
    with opened() as memory:
        archived = [memory.records.add(f"printer {number}").id for number in range(30)]
        id = memory.records.add("the printer is far away").id
        memory.vectors.embed([*archived, id], ["short_term"])
        memory.vectors.upsert(
            "short_term", "no record", Hashed().embed_many(["printer"])[0].tolist(), model="hashed@1/32"
        )
        for one in archived:
            memory.records.amend(one, status="archived")
        assert [hit.id for hit in memory.vectors.recall("printer", "short_term", k=2).hits] == [id]


@pytest.mark.requirement("L5", "L9")
def test_a_vector_store_that_is_away_changes_no_answer_and_catches_up(outside: Outside) -> None:
    with opened() as memory:
        ids = [memory.records.add(text).id for text in TEXTS]
        memory.vectors.embed(ids, ["short_term"])
        assert told(outside, "short_term") == set(ids), "told at once"
        before = memory.vectors.recall("where is the printer", "short_term")
        assert (before.source, before.trouble) == ("store", None)
        recalled = [hit.id for hit in memory.recall("where is the printer")]

        outside.kill()
        after = memory.vectors.recall("where is the printer", "short_term")
        assert [(hit.id, pytest.approx(hit.score, abs=0.01)) for hit in after.hits] == [
            (hit.id, hit.score) for hit in before.hits
        ]
        assert after.source == "mirror" and "away" in str(after.trouble)
        [match] = memory.vectors.query("short_term", memory.vectors.of(ids[0], vectors=True)[0].vector or [], k=1)
        assert (match.id, match.source) == (ids[0], "mirror") and "away" in str(match.trouble)
        assert [hit.id for hit in memory.recall("where is the printer")] == recalled
        new = memory.records.add("the printer is broken").id
        memory.vectors.embed([new], ["short_term"])
        memory.vectors.delete("short_term", ids[1:2])
        again = memory.vectors.recall("where is the printer", "short_term")
        assert {hit.id for hit in again.hits} == {ids[0], ids[2], new}
        [behind] = memory.upkeep.stats()["behind"]
        assert (behind["place"], behind["vectors"]) == (f"vectors {outside.url}", 2)
        assert behind["since"] and "away" in behind["error"]
        [job] = [one for one in memory.upkeep.jobs() if one.name == "vectors"]
        assert job.lag == 2

        outside.start()
        assert memory.upkeep.run_jobs()["vectors"] == {"vectors": 2, "behind": 0}
        assert told(outside, "short_term") == {ids[0], ids[2], new}
        assert memory.upkeep.stats()["behind"] == []
        last = memory.vectors.recall("where is the printer", "short_term")
        assert last.source == "store" and [hit.id for hit in last.hits] == [hit.id for hit in again.hits]
        assert memory.upkeep.verify().ok


def test_a_store_that_is_away_is_asked_once_in_a_while(outside: Outside, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    with opened() as memory:
        memory.vectors.upsert("n", "a", [1.0, 0.0])
        outside.kill()
        from toy_outside import Documents  # type: ignore[import-not-found]

        ask = Documents.ask
        monkeypatch.setattr(Documents, "ask", lambda self, *said: asked.append(said[0]) or ask(self, *said))
        for number in range(20):
            memory.vectors.query("n", [1.0, 0.0])
            memory.vectors.upsert("n", str(number), [1.0, 0.0])
        assert len(asked) < 5, "nobody waits for it at every call"
        with pytest.raises(Exception, match="away"):
            memory.upkeep.run_jobs()
        assert len(asked) < 7, "who asks for it by name does not wait for the pause to end"


def test_one_that_hangs_keeps_nobody_waiting(outside: Outside, monkeypatch: pytest.MonkeyPatch) -> None:
    from agent_memory.core.write import reach

    monkeypatch.setattr(reach, "ANSWER_SECONDS", 0.05)
    with opened() as memory:
        memory.vectors.upsert("n", "a", [1.0, 0.0])
        assert [one.source for one in memory.vectors.query("n", [1.0, 0.0])] == ["store"]
        outside.stop()
        assert [(one.id, one.source) for one in memory.vectors.query("n", [1.0, 0.0])] == [("a", "mirror")]
        outside.go_on()


def test_whoever_opens_while_it_is_away_has_everything(outside: Outside) -> None:
    with opened() as memory:
        memory.vectors.upsert("n", "a", [1.0, 0.0], {"n": 1})
    outside.kill()
    with opened() as memory:
        assert [(one.id, one.metadata) for one in memory.vectors.query("n", [1.0, 0.0])] == [("a", {"n": 1})]
        memory.vectors.upsert("n", "b", [1.0, 0.0])
        assert memory.upkeep.stats()["behind"][0]["vectors"] == 1


def test_what_another_process_changed_is_told_too(outside: Outside, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by one that does not know of the vector store."""
    with opened() as memory:
        memory.vectors.upsert("n", "a", [1.0, 0.0])
    with monkeypatch.context() as without:
        without.delenv("AGENT_MEMORY_VECTORS")
        with opened() as memory:
            memory.vectors.upsert("n", "b", [1.0, 0.0])
            memory.vectors.delete("n", ["a"])
    assert told(outside, "n") == {"a"}
    with opened() as memory:
        assert [(one.id, one.source) for one in memory.vectors.query("n", [1.0, 0.0])] == [("b", "mirror")]
        memory.upkeep.run_jobs()
        assert [(one.id, one.source) for one in memory.vectors.query("n", [1.0, 0.0])] == [("b", "store")]
    assert told(outside, "n") == {"b"}


def test_a_new_vector_store_is_filled_from_the_mirror(home: Path, outside: Outside, monkeypatch: Any) -> None:
    monkeypatch.delenv("AGENT_MEMORY_VECTORS")
    with opened() as memory:
        for number in range(250):
            memory.vectors.upsert("n", str(number), [1.0, number])
    monkeypatch.setenv("AGENT_MEMORY_VECTORS", outside.url)
    with opened() as memory:
        assert memory.upkeep.run_jobs()["vectors"] == {"vectors": 250, "behind": 0}
    assert len(told(outside, "n")) == 250


def test_what_is_forgotten_is_forgotten_there(outside: Outside) -> None:
    with opened() as memory:
        kept, gone = (memory.records.add(text).id for text in TEXTS[:2])
        memory.vectors.embed([kept, gone], ["short_term", "long_term"])
        outside.kill()
        memory.vectors.embed([gone], ["late"])
        assert memory.records.forget([gone]).scrubbed is False
        found = memory.vectors.recall("tea at four", "short_term")
        assert ([hit.id for hit in found.hits], found.source) == ([kept], "mirror")
        outside.start()
        memory.upkeep.run_jobs()
        assert gone not in json.dumps(outside.kept()) and kept in json.dumps(outside.kept())
        found = memory.vectors.recall("tea at four", "short_term")
        assert ([hit.id for hit in found.hits], found.source) == ([kept], "store")


def test_a_process_killed_while_it_tells_loses_nothing(outside: Outside) -> None:
    first = ran("memory.vectors.upsert('n', 'a', [1.0, 0.0])", outside)
    assert first.returncode == 0, first.stderr
    killed = ran("memory.vectors.upsert('n', 'b', [1.0, 0.0])", outside, TOY_DIES_TELLING="1")
    assert killed.returncode == -signal.SIGKILL
    asked = ran("print([one.id for one in memory.vectors.query('n', [1.0, 0.0])])", outside)
    assert asked.stdout.strip() == "['a', 'b']", asked.stderr
    worked = ran("import time\nprint(memory.upkeep.run_jobs()['vectors'])", outside)
    assert worked.stdout.strip() == "{'vectors': 1, 'behind': 0}", worked.stderr
    assert told(outside, "n") == {"a", "b"}


def test_what_the_store_refuses_keeps_no_other_waiting(outside: Outside) -> None:
    """It has vectors of another length there, from before."""
    with opened() as memory:
        memory.vectors.upsert("n", "a", [1.0, 0.0])
        kept = outside.kept()
        outside.kill()
        outside.file.write_text(json.dumps({name: {"old": [[1.0], {}]} for name in kept if name.startswith("vectors")}))
        outside.start()
        memory.vectors.upsert("n", "b", [1.0, 0.0])
        memory.vectors.upsert("m", "c", [1.0, 0.0])
        assert told(outside, "m") == {"c"}
        [behind] = memory.upkeep.stats()["behind"]
        assert behind["vectors"] == 1 and "not of this namespace" in behind["error"]
        assert [one.id for one in memory.vectors.query("n", [1.0, 0.0])] == ["a", "b"]


def test_the_doctor_tells_what_is_behind(outside: Outside) -> None:
    assert ran("memory.vectors.upsert('n', 'a', [1.0, 0.0])", outside).returncode == 0
    outside.kill()
    assert ran("memory.vectors.upsert('n', 'b', [1.0, 0.0])", outside).returncode == 0
    command = [sys.executable, "-m", "agent_memory.interfaces.cli", "doctor"]
    environment = {**os.environ, **outside.environment}
    del environment["AGENT_MEMORY_WORKING"]
    found = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert f"vectors {outside.url} misses 1 vector since" in found.stdout
    assert found.stdout.count("until then the mirror in the store answers") == 2
    assert found.returncode == 0, "nothing breaks"


@pytest.mark.file
@pytest.mark.requirement("L5")
def test_a_look_up_by_namespace_uses_an_index(home: Path) -> None:
    with opened() as memory:
        memory.vectors.upsert("n", "a", [1.0, 0.0])
    asked = {
        "namespace_vectors": ("n",),
        "namespace_settled": ("n",),
        "namespace_vector": ("n", "a"),
        "namespace_counts": ("n",),
        "namespace_names": {"beginning": "default"},
        "all_missed": (1, 0, 100),
        "lags_in": {"place": 1, "namespace": "n", "tenant": "default"},
    }
    with closing(sqlite3.connect(next(home.rglob("*.db")))) as file:
        for name, values in asked.items():
            steps = [step for *_, step in file.execute(f"explain query plan {SQL[name]}", values)]  # type: ignore[arg-type]
            tables = [one for one in steps if " namespaces" in one or " missed" in one or " m " in one or " n " in one]
            assert tables and not [one for one in tables if one.startswith("SCAN")], (name, steps)
