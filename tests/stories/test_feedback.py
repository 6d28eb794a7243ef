"""Which memories of a recall helped: kept with its receipt, and gone with what it tells of. E4."""

from __future__ import annotations

from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.models.answer import Recalled
from agent_memory.models.errors import InvalidInput, NotFound

pytestmark = pytest.mark.requirement("E4")
TEXTS = {"pool": "checkout was slow: the pool was exhausted", "coffee": "the coffee was slow", "disk": "a slow disk"}


@pytest.fixture
def found(memory: AgentMemory) -> Recalled:
    for id, text in TEXTS.items():
        memory.records.add(text, id=id)
    found = memory.recall("why was checkout slow?")
    assert {hit.id for hit in found} == {*TEXTS}
    return found


def kept(memory: AgentMemory, found: Recalled) -> Any:
    return memory.receipts.get(found.receipt_id).get("feedback")


def test_what_was_said_is_kept_with_the_receipt(memory: AgentMemory, found: Recalled) -> None:
    assert kept(memory, found) is None
    said = memory.feedback(found.receipt_id, useful=["pool"], useless=["coffee"])
    assert (said.useful, said.useless, said.cited) == (["pool"], ["coffee"], [])
    assert kept(memory, found) == {"useful": ["pool"], "useless": ["coffee"], "cited": []}
    assert memory.upkeep.verify().ok


def test_what_is_said_last_holds_and_the_rest_stays(memory: AgentMemory, found: Recalled) -> None:
    memory.feedback(found.receipt_id, useful=["pool", "coffee"])
    memory.feedback(found.receipt_id, useless=["coffee"])
    memory.feedback(found.receipt_id, useful=["disk"])
    assert kept(memory, found) == {"useful": ["pool", "disk"], "useless": ["coffee"], "cited": []}


def test_what_an_answer_cites_is_noted_unless_more_is_known(memory: AgentMemory, found: Recalled) -> None:
    memory.feedback(found.receipt_id, useless=["coffee"])
    memory.feedback(found.receipt_id, answer="The pool was exhausted [pool], and so was [coffee]; see (disk).")
    assert kept(memory, found) == {"useful": [], "useless": ["coffee"], "cited": ["pool", "disk"]}
    memory.feedback(found.receipt_id, useful=["pool"])
    assert kept(memory, found) == {"useful": ["pool"], "useless": ["coffee"], "cited": ["disk"]}


def test_it_changes_no_answer(memory: AgentMemory, found: Recalled) -> None:
    memory.feedback(found.receipt_id, useful=["coffee"], useless=["pool", "disk"])
    assert memory.receipts.replay(found.receipt_id, now=True).identical


def test_it_goes_with_what_it_tells_of(memory: AgentMemory, found: Recalled) -> None:
    memory.feedback(found.receipt_id, useful=["pool"], useless=["coffee"])
    memory.records.forget(["coffee"])
    assert memory.records.find("feedback") == []
    with pytest.raises(NotFound):
        memory.feedback(found.receipt_id, useful=["pool"])


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"useful": ["elsewhere"]}, "useful"),
        ({"useless": ["elsewhere"]}, "useless"),
        ({"useful": ["pool"], "useless": ["pool"]}, "useless"),
        ({}, "useful"),
        ({"answer": "it cites nothing: poolside"}, "useful"),
    ],
)
def test_what_makes_no_sense_is_refused(memory: AgentMemory, found: Recalled, said: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        memory.feedback(found.receipt_id, **said)
    assert caught.value.field == field and kept(memory, found) is None


def test_nobody_judges_the_recall_of_another(memory: AgentMemory, found: Recalled) -> None:
    with AgentMemory("eve") as eve, pytest.raises(NotFound):
        eve.feedback(found.receipt_id, useful=["pool"])
