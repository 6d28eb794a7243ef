"""A traced recall tells what each channel put first, and what was left out and why. Forgetting leaves no trace."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.core.recall.trace import MOST
from agent_memory.models import Turn
from agent_memory.models.errors import NotFound
from agent_memory.models.recipe import DEFAULT


def talk(memory: AgentMemory, count: int = 4) -> None:
    for index in range(count):
        text = f"the deploy of checkout number {index} failed"
        memory.store_turn(Turn(conversation_id="c1", index=index, role="user", content=text))


@pytest.mark.requirement("P9")
def test_a_trace_tells_the_candidates_of_each_channel(memory: AgentMemory) -> None:
    talk(memory)
    found = memory.recall("which deploy failed?", k=2, trace=True)
    trace = found.trace
    assert trace is not None
    assert {"vectors", "words", "recency", "conversation"} <= set(trace.channels)
    best = {one.place: one for one in trace.channels["words"]}
    assert best[1].id == found[0].id and best[1].value == found[0].why.channels["words"]
    values = [one.value for one in trace.channels["vectors"]]
    assert values == sorted(values, reverse=True)
    assert memory.receipts.get(found.receipt_id)["trace"] == trace.model_dump()


@pytest.mark.requirement("P9")
def test_each_limit_is_named_as_the_reason(memory: AgentMemory) -> None:
    talk(memory)
    other = memory.records.add("the deploy of payments failed").id
    far = memory.records.add("lunch is at noon").id
    limits = DEFAULT.model_copy(update={"per_conversation": 2, "min_relevance": 0.3})
    trace = memory.recall("which deploy failed?", k=10, recipe=limits, trace=True).trace
    assert trace is not None
    reasons = {one.id: one.reason for one in trace.left_out}
    assert reasons[far] == "min_relevance" and other not in reasons
    assert trace.reasons == {"per_conversation": 2, "min_relevance": 1}
    short = memory.recall("which deploy failed?", k=1, recipe=limits, trace=True)
    assert short.trace is not None and short.trace.reasons == {"k": 5}
    assert [one.place for one in short.trace.left_out] == [2, 3, 4, 5, 6]


def test_it_tells_how_much_the_filter_and_the_clocks_hid(memory: AgentMemory) -> None:
    db = {"subject": "staging", "predicate": "runs on"}
    memory.learn_fact("staging runs on PostgreSQL 14", **db)
    memory.learn_fact("staging runs on PostgreSQL 16", **db)
    memory.records.add(
        "over long ago", valid_to=datetime.now(UTC) - timedelta(days=1), valid_from=datetime(2020, 1, 1, tzinfo=UTC)
    )
    memory.records.add("staging is slow")
    trace = memory.recall("staging", kinds=["fact"], trace=True).trace
    assert trace is not None
    assert trace.hidden == {"recorded": 1, "valid": 2, "kinds": 1}  # the old version was closed, and then ended


def test_without_trace_there_is_none(memory: AgentMemory) -> None:
    talk(memory)
    found = memory.recall("deploy")
    assert found.trace is None and "trace" not in memory.receipts.get(found.receipt_id)


def test_its_size_is_bounded(memory: AgentMemory) -> None:
    memory.records.add_many([{"text": f"deploy {number} of checkout"} for number in range(3 * MOST)], embed=True)
    trace = memory.recall("deploy of checkout", k=1, trace=True).trace
    assert trace is not None
    assert {len(found) for found in trace.channels.values()} == {MOST}
    assert len(trace.left_out) == MOST and trace.reasons == {"k": 3 * MOST - 1}


@pytest.mark.requirement("P9")
def test_a_traced_recall_replays_and_gives_the_same_answer(memory: AgentMemory) -> None:
    talk(memory)
    traced, plain = memory.recall("which deploy?", trace=True), memory.recall("which deploy?")
    assert [(hit.id, hit.score) for hit in traced] == [(hit.id, hit.score) for hit in plain]
    assert memory.receipts.replay(traced.receipt_id).identical


@pytest.mark.file
@pytest.mark.parametrize("late", [False, True])
def test_forgetting_a_candidate_takes_the_receipts_that_name_it(
    memory: AgentMemory, home: Path, late: bool, settle: Callable[[], None]
) -> None:
    secret = memory.records.add("the password of payments is hunter2", id="secret-id").id
    memory.records.add("the deploy of checkout failed")
    question = {"query": "deploy of checkout", "k": 1}
    found, plain = memory.recall(**question, trace=True), memory.recall(**question)
    assert found.trace is not None and secret in {one.id for one in found.trace.left_out}
    if not late:
        settle()
    memory.records.forget([secret])
    with pytest.raises(NotFound):
        memory.receipts.get(found.receipt_id)
    assert memory.receipts.get(plain.receipt_id)["hits"]
    memory.close()
    bodies = b"".join(path.read_bytes() for path in home.iterdir())
    assert bodies.count(b'"id":"secret-id"') == 0


def test_being_a_candidate_is_no_access(memory: AgentMemory, settle: Callable[[], None]) -> None:
    from agent_memory.models import Entity

    ada = memory.upsert_entity(Entity(name="Ada", type="Person"))
    memory.upsert_entity(Entity(name="Bob", type="Person"))
    trace = memory.recall("Bob", kinds=["entity"], k=1, trace=True).trace
    assert trace is not None and ada.id in {one.id for one in trace.left_out}
    settle()
    assert memory.semantic.get_entity(ada.id).access_count == 0


def test_the_command_line_shows_it(memory: AgentMemory, capsys: Any) -> None:
    from agent_memory.interfaces.cli import main

    talk(memory)
    memory.close()
    said = ["--user", "ada", "recall", "which deploy failed?", "-k", "1", "--trace"]
    assert main(said) == 0
    text = capsys.readouterr().out
    assert "what each channel put first" in text and "left out: 3 beyond k" in text and "\nvectors\t" in text
    assert main([*said, "--json"]) == 0
    import json

    answer = json.loads(capsys.readouterr().out)
    assert len(answer["trace"]["left_out"]) == 3
    assert main(["--user", "ada", "receipt", answer["receipt_id"]]) == 0
    assert "left out: 3 beyond k" in capsys.readouterr().out
