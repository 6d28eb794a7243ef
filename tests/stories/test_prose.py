"""A pasted alert or a claim is answered by documents, not by who spoke when: recall follows the shape of the query."""

from __future__ import annotations

from datetime import datetime

import pytest

from agent_memory import AgentMemory
from agent_memory.core.recall.recall import recall
from agent_memory.core.recall.receipt import questions_of
from agent_memory.models import Turn
from agent_memory.models.recipe import DEFAULT

ALERT = (
    "The portal returns errors at random since 09:30 on 12 May 2026. The log says: cannot create file, no space left on"
    " device. But the dashboard says that half of the volume is free and we can copy a large file there. Two instances"
    " were restarted and nothing changed. What else can be full, and who can look at it today?"
)
CHANNELS = ("speaker", "date", "answer", "question", "recency")


@pytest.fixture
def mixed(memory: AgentMemory) -> AgentMemory:
    """A runbook of long ago, and a chat of the day that the alert names."""
    day = datetime.fromisoformat("2026-05-12T10:00:00+00:00")
    memory.records.add(
        "No space left on device while half of the volume is free: the file system has run out of inodes. Delete what"
        " is old in the session folder. Which folder is it on your host?",
        id="runbook",
        valid_from=datetime.fromisoformat("2024-01-08T10:00:00+00:00"),
    )
    for index, text in enumerate(["is the portal slow today", "we had lunch at the volume bar", "a large file came"]):
        turn = Turn(conversation_id="c", index=index, role="user", content=text, timestamp=day)
        memory.store_turn(turn)
    return memory


def test_an_alert_finds_the_runbook_before_the_chat_of_its_day(mixed: AgentMemory) -> None:
    asked = mixed.recall(ALERT, recipe=DEFAULT.model_copy(update={"reads": "question"}))
    assert asked[0].id != "runbook" and asked[0].why.read_as == "question"
    found = mixed.recall(ALERT)
    assert found[0].id == "runbook"
    for hit in found:
        assert hit.why.read_as == "prose" and hit.why.dates == []
        assert not set(CHANNELS) & hit.why.channels.keys()
    assert found[0].relevance > asked.hits[[hit.id for hit in asked].index("runbook")].relevance


def test_what_fits_prose_need_not_repeat_it(mixed: AgentMemory) -> None:
    mixed.records.add("Ana likes green tea", id="tea")
    fits = {hit.id: hit for hit in mixed.recall(ALERT)}
    assert fits["runbook"].fits and fits["runbook"].relevance > 2 * fits["tea"].relevance
    assert not fits["tea"].fits
    assert "inodes" in mixed.assemble_context(ALERT, max_tokens=500).text


def test_words_count_as_much_as_meaning_unless_the_recipe_says_otherwise(mixed: AgentMemory) -> None:
    def best(**changes: object) -> dict[str, float]:
        hits = mixed.recall(ALERT, recipe=DEFAULT.model_copy(update=changes))
        return {name: max(hit.why.channels.get(name, 0.0) for hit in hits) for name in ("vectors", "words")}

    assert best() == {"vectors": 0.6, "words": 0.6}
    assert best(prose_words=1.0) == best(reads="question") == {"vectors": 0.6, "words": 0.4}
    assert best(words=0.0) == {"vectors": 0.6, "words": 0.0}, "what is off stays off"


def test_a_recipe_may_read_everything_as_prose(mixed: AgentMemory) -> None:
    question = "When was the portal slow, on 12 May 2026?"
    assert mixed.recall(question)[0].why.channels["date"] > 0
    hits = mixed.recall(question, recipe=DEFAULT.model_copy(update={"reads": "prose"}))
    assert all(hit.why.read_as == "prose" and not set(CHANNELS) & hit.why.channels.keys() for hit in hits)


def test_other_formulas_keep_what_they_add(mixed: AgentMemory) -> None:
    mixed.records.add("the volume of the portal is full", id="new")
    assert {hit.id: hit.why.channels.get("recency") for hit in mixed.recall(ALERT, recipe="decay")}["new"] == 0.3


def test_a_receipt_says_how_it_was_read_and_a_replay_reads_it_so(mixed: AgentMemory) -> None:
    found = mixed.recall(ALERT)
    assert mixed.receipts.get(found.receipt_id)["read_as"] == "prose"
    assert mixed.receipts.replay(found.receipt_id).identical


@pytest.mark.local
def test_a_receipt_of_an_earlier_version_is_replayed_as_the_question_it_was(mixed: AgentMemory) -> None:
    """Before, everything was read as a question, and receipts did not say so."""
    asked = mixed.recall(ALERT, recipe=DEFAULT.model_copy(update={"reads": "question"}))
    body = mixed.receipts._body(asked.receipt_id)
    body["recipe"].pop("reads")
    del body["read_as"]
    (old,) = questions_of(body, mixed._client.scope, None, same_space=True)
    assert [(hit.id, hit.score) for hit in recall(mixed._client.runtime.recalling, old)] == [
        (hit.id, hit.score) for hit in asked
    ]
    (today,) = questions_of(body, mixed._client.scope, body["now"], same_space=True)
    assert recall(mixed._client.runtime.recalling, today)[0].id == "runbook"
