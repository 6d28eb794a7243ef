"""A reranker that tells odds: they count beside the score of a text, and in how well it is said to fit. C9, P9."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest

from agent_memory import AgentMemory
from agent_memory.models import Turn
from agent_memory.models.errors import NotFound, PartMissing
from agent_memory.models.recipe import DEFAULT
from agent_memory.ports.reranker import TextInPlace

QUESTION = "which port does staging listen on?"
JUDGED = DEFAULT.model_copy(update={"name": "judged", "rerank": 4})


class Odds:
    """Says what it is told to say, and remembers what it was shown."""

    name, at_once = "odds@1", 1

    def __init__(self, odds: Callable[[TextInPlace], float], seconds: float = 0.0, loads: bool = True) -> None:
        self.odds, self.seconds, self.loads = odds, seconds, loads
        self.shown: list[TextInPlace] = []

    def load(self) -> None:
        if not self.loads:
            raise PartMissing("its weights are gone", hint="install it again")

    def judge(self, query: str, told: Sequence[TextInPlace], seconds: float) -> list[float]:
        assert seconds > 0
        time.sleep(self.seconds)
        self.shown += told
        return [self.odds(one) for one in told]

    def score(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        raise AssertionError("who tells odds is asked for them")


def fill(memory: AgentMemory, count: int = 8) -> None:
    for number in range(count):
        memory.records.add(f"staging listens on port {'5' * (number + 1)}", id=f"r{number}")


def ids(found: object) -> list[str]:
    return [hit.id for hit in found]


@pytest.mark.requirement("C9")
def test_odds_count_beside_the_score_and_as_much_as_the_recipe_says() -> None:
    with AgentMemory(user_id="ada", reranker=Odds(lambda one: float(len(one.text)))) as memory:
        fill(memory)
        plain = memory.recall(QUESTION)
        for weight, order in ((0.0, ids(plain)[:4]), (100.0, sorted(ids(plain)[:4], reverse=True))):
            found = memory.recall(QUESTION, recipe=JUDGED.model_copy(update={"rerank_weight": weight}))
            assert ids(found)[:4] == order and ids(found)[4:] == ids(plain)[4:]
            assert [hit.score for hit in found] == [hit.score for hit in plain], "the scores are dealt out anew"
            assert found.reranked.odds and found.reranked.by == "odds@1"


@pytest.mark.requirement("C9")
def test_odds_say_how_well_a_text_fits() -> None:
    odds = {"staging listens on port 5": 6.0, "staging listens on port 55": -6.0}
    with AgentMemory(user_id="ada", reranker=Odds(lambda one: odds.get(one.text, 0.0))) as memory:
        fill(memory, 2)
        before = {hit.id: hit.relevance for hit in memory.recall(QUESTION)}
        fits = {hit.id: hit.relevance for hit in memory.recall(QUESTION, recipe=JUDGED)}
        assert fits["r0"] > before["r0"] and fits["r1"] < before["r1"]
        floor = JUDGED.model_copy(update={"min_relevance": (fits["r0"] + fits["r1"]) / 2})
        assert ids(memory.recall(QUESTION, recipe=floor)) == ["r0"]
        assert not memory.recall(QUESTION, recipe=JUDGED.model_copy(update={"min_relevance": 0.9999}))


def test_what_words_alone_would_leave_out_is_read_where_somebody_judges() -> None:
    with AgentMemory(user_id="ada", reranker=Odds(lambda _: 9.0)) as memory:
        memory.records.add("staging moved", id="weak")
        (plain,) = memory.recall(QUESTION)
        floor = min(0.99, plain.relevance + 0.05)
        assert not memory.recall(QUESTION, recipe=DEFAULT.model_copy(update={"min_relevance": floor}))
        assert ids(memory.recall(QUESTION, recipe=JUDGED.model_copy(update={"min_relevance": floor}))) == ["weak"]


def test_it_reads_who_said_it_when_and_the_turn_before() -> None:
    judge = Odds(lambda _: 0.0)
    told = [("Priya", "and staging?"), ("Tom", "it listens on port 5433"), ("Priya", "thanks")]
    with AgentMemory(user_id="ada", conversation_id="c", reranker=judge) as memory:
        for index, (who, text) in enumerate(told):
            when = datetime(2026, 5, 3, 9, index, tzinfo=UTC)
            memory.store_turn(Turn(conversation_id="c", index=index, role="user", content=text, timestamp=when,
                                   metadata={"speaker": who}))  # fmt: skip
        memory.records.add("staging listens on port 1", valid_from=datetime(2026, 5, 4, tzinfo=UTC))
        memory.recall(QUESTION, recipe=JUDGED)
    shown = {one.text: one for one in judge.shown}
    assert shown["it listens on port 5433"][1:] == ("user, 3 May 2026", "and staging?")
    assert shown["and staging?"].before == ""
    assert shown["staging listens on port 1"][1:] == ("4 May 2026", "")


@pytest.mark.requirement("P9")
def test_a_replay_needs_no_judge_and_tells_the_same(clock: object) -> None:
    with AgentMemory(user_id="ada", reranker=Odds(lambda one: float(len(one.text))), clock=clock) as memory:
        fill(memory)
        first = memory.recall(QUESTION, recipe=JUDGED)
    with AgentMemory(user_id="ada", clock=clock) as bare:
        assert bare.receipts.replay(first.receipt_id).identical


def test_forgetting_what_was_read_with_a_turn_takes_the_receipt() -> None:
    with AgentMemory(user_id="ada", conversation_id="c", reranker=Odds(lambda _: 1.0)) as memory:
        before, after = (
            memory.store_turn(Turn(conversation_id="c", index=index, role="user", content=text))
            for index, text in enumerate(["lunch?", "staging listens on port 5433"])
        )
        found = memory.recall(QUESTION, 1, JUDGED)
        assert ids(found) == [after.id]
        memory.records.forget([before.id])
        with pytest.raises(NotFound):
            memory.receipts.get(found.receipt_id)


def test_what_does_not_fit_into_the_time_keeps_its_order_and_its_relevance() -> None:
    slow = Odds(lambda _: 5.0, seconds=0.4)
    with AgentMemory(user_id="ada", reranker=slow) as memory:
        fill(memory)
        plain = {hit.id: hit.relevance for hit in memory.recall(QUESTION)}
        found = memory.recall(QUESTION, recipe=JUDGED.model_copy(update={"rerank_seconds": 0.5}))
        assert len(slow.shown) == 1 and len(found.reranked.scores) == 1 and found.reranked.candidates == 4
        unread = [hit for hit in found if hit.id not in found.reranked.scores]
        assert len(unread) == 7 and all(hit.relevance == plain[hit.id] for hit in unread)


def test_odds_beyond_all_measure_cost_no_answer() -> None:
    with AgentMemory(user_id="ada", reranker=Odds(lambda one: 5000.0 * (-1) ** len(one.text))) as memory:
        fill(memory)
        found = memory.recall(QUESTION, recipe=JUDGED)
        assert len(found) == 8 and found.reranked.trouble is None and all(0 <= hit.relevance <= 1 for hit in found)


def test_what_nobody_judges_is_not_read_where_it_does_not_fit() -> None:
    judge = Odds(lambda _: -9.0)
    with AgentMemory(user_id="ada", reranker=judge) as memory:
        fill(memory, 60)
        assert not memory.recall(
            "nothing of the sort", recipe=JUDGED.model_copy(update={"min_relevance": 0.9, "head": 4})
        )


def test_only_the_turn_right_before_is_read_with_a_turn() -> None:
    judge = Odds(lambda _: 0.0)
    with AgentMemory(user_id="ada", conversation_id="c", reranker=judge) as memory:
        for index, text in ((0, "lunch?"), (2, "staging listens on port 5433"), (3, "and port 5434")):
            memory.store_turn(Turn(conversation_id="c", index=index, role="user", content=text))
        memory.recall(QUESTION, recipe=JUDGED)
    before = {one.text: one.before for one in judge.shown}
    assert before["staging listens on port 5433"] == "" and before["and port 5434"] == "staging listens on port 5433"


def test_a_judge_that_cannot_load_costs_no_answer() -> None:
    with AgentMemory(user_id="ada", reranker=Odds(lambda _: 5.0, loads=False)) as memory:
        fill(memory)
        found = memory.recall(QUESTION, recipe=JUDGED)
        assert ids(found) == ids(memory.recall(QUESTION)) and "its weights are gone" in found.reranked.trouble
