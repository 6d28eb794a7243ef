"""Stores of a version with another model: words answer until all vectors are made anew. C14."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from agent_memory import AgentMemory
from agent_memory.core.upkeep.jobs import JOBS
from agent_memory.engines.onnx.embedder import EARLIER, SPACE, OnnxEmbedder
from agent_memory.models.errors import InvalidInput, PartMissing, SpaceMismatch
from agent_memory.ports.embedder import Passage

pytestmark = pytest.mark.requirement("C14")
NEAR = "Which foods should be avoided for this user?"


class Before:
    """The model of the version before: other vectors, of as many numbers."""

    space = EARLIER[0]

    def passages(self, text: str) -> list[Passage]:
        return [Passage(0, len(text))]

    def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.roll(OnnxEmbedder().embed_many(texts), 7, axis=1)


class Foreign(Before):
    space = EARLIER[0]._replace(model="somebody-elses")


def filled(embedder: object) -> None:
    with AgentMemory(user_id="ada", embedder=embedder) as memory:
        memory.records.add("I am allergic to peanuts.", id="allergy")
        for number in range(30):
            memory.records.add(f"train number {number} was late", id=f"t{number}")


def by_meaning(memory: AgentMemory) -> list[str]:
    return [hit.id for hit in memory.recall(NEAR, 1, "meaning")]


def test_words_answer_at_once_and_nothing_that_is_written_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    filled(Before())
    with caplog.at_level(logging.WARNING), AgentMemory(user_id="ada") as memory:
        assert "rebuild --vectors" in caplog.text
        assert memory.recall("allergic to peanuts?")[0].id == "allergy" and by_meaning(memory) != ["allergy"]
        memory.records.add("the platform was changed", id="new")
        assert memory.recall("platform changed")[0].id == "new"
        assert memory.learn_fact("Ada is allergic to peanuts", source="user_stated").alike == []


@pytest.mark.parametrize("way", ["jobs", "rebuild", "catch_up"])
def test_vectors_are_made_anew_and_answer_from_then_on(way: str) -> None:
    filled(Before())
    with AgentMemory(user_id="ada") as memory:
        memory.records.add("the platform was changed", id="new")
        if way == "jobs":
            memory.upkeep.run_jobs()
        elif way == "rebuild":
            assert memory.upkeep.rebuild(vectors=True)["space"] == SPACE.fingerprint
        else:
            assert memory.upkeep.catch_up()["pending_vectors"] == 0
        assert by_meaning(memory) == ["allergy"]
        assert memory.recall(NEAR).pending == 0
        assert [hit.id for hit in memory.recall("another platform", 1, "meaning")] == ["new"]
    with AgentMemory(user_id="ada") as again:
        assert by_meaning(again) == ["allergy"] and again.upkeep.catch_up()["vectors"] == 0
        assert again.upkeep.verify().ok
    with AgentMemory(user_id="ada", embedder=Before()) as older, pytest.raises(SpaceMismatch):
        older.recall("peanuts")


class Stops(OnnxEmbedder):
    """Ours, until it is out of reach."""

    left = 10

    def embed_and_count(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], int | None]:
        self.left -= len(texts)
        if self.left < 0:
            raise PartMissing("gone")
        return super().embed_and_count(texts)


def test_what_stops_in_between_goes_on_where_it_was() -> None:
    filled(Before())
    with AgentMemory(user_id="ada", embedder=Stops()) as memory:
        did = memory.upkeep.catch_up()
        assert did["vectors"] == 10 and did["pending_vectors"] == 21 and by_meaning(memory) != ["allergy"]
    with AgentMemory(user_id="ada") as memory:
        assert memory.upkeep.catch_up() == {"vectors": 21, "pending_vectors": 0}
        assert by_meaning(memory) == ["allergy"]


def left(memory: AgentMemory) -> int:
    """What the job that embeds has to do: a worker runs it where this is not 0."""
    client = memory._client
    (job,) = (one for one in JOBS if one.name == "catch_up")
    assert job.left is not None
    return job.left(client.runtime.keeping(client.clock))


def test_a_worker_sees_that_there_is_something_to_do() -> None:
    filled(Before())
    with AgentMemory(user_id="ada") as memory:
        assert left(memory) > 0, "also where nobody writes"
        memory.upkeep.run_jobs()
        assert left(memory) == 0


def test_a_move_that_stopped_before_the_switch_is_finished() -> None:
    filled(Before())
    with AgentMemory(user_id="ada") as memory:
        embedding = memory._client.runtime.embedding
        embedding.begin()
        assert embedding.catch_up(None, seconds=None, now=memory._client.now()) == 0
        assert left(memory) > 0 and by_meaning(memory) != ["allergy"]
    with AgentMemory(user_id="ada") as memory:
        assert memory.upkeep.rebuild()["pending_vectors"] == 0
        assert left(memory) == 0 and by_meaning(memory) == ["allergy"]


def test_merging_meanwhile_carries_no_vector_of_the_earlier_model_on() -> None:
    with AgentMemory(user_id="ada", embedder=Before()) as memory:
        for number in range(110):
            memory.records.add(f"train number {number} was late", id=f"t{number}")
        for number in range(3):
            memory.records.add("Ada is allergic to peanuts" + "." * number, id=f"a{number}")
    with AgentMemory(user_id="ada") as memory:
        (merged,) = memory.upkeep.consolidate().groups
        memory.upkeep.run_jobs()
        assert [hit.id for hit in memory.recall("Ada is allergic to peanuts", 1, "meaning")] == [merged.id]


def test_a_namespace_that_the_earlier_model_filled_says_what_to_do() -> None:
    with AgentMemory(user_id="ada", embedder=Before()) as memory:
        memory.records.add("a note", id="note")
        memory.vectors.embed(["note"], ["short_term"])
    with AgentMemory(user_id="ada") as memory:
        with pytest.raises(InvalidInput, match="all-MiniLM") as caught:
            memory.vectors.recall("note", "short_term")
        assert "delete them, and embed their records again" in caught.value.hint
        memory.vectors.delete("short_term", ["note"])
        memory.vectors.embed(["note"], ["short_term"])
        assert memory.vectors.recall("a note", "short_term").hits


def test_a_strangers_model_is_refused_as_before() -> None:
    filled(Foreign())
    with AgentMemory(user_id="ada") as memory, pytest.raises(SpaceMismatch, match="somebody-elses"):
        memory.recall("peanuts")
