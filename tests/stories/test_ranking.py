"""Why one memory comes before another: each principle of the ranking, seen from outside."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from agent_memory import AgentMemory
from agent_memory.models import Turn
from agent_memory.models.recipe import DEFAULT


def told(memory: AgentMemory, lines: list[tuple[str, str]], conversation: str = "c1") -> None:
    for index, (speaker, text) in enumerate(lines):
        memory.store_turn(Turn(conversation_id=conversation, index=index, role="user", speaker=speaker, content=text))


def test_the_speaker_named_first_counts_most(memory: AgentMemory) -> None:
    for speaker in ("Ann", "Bob", "Cy"):
        told(memory, [(speaker, "I will bring the ladder on Friday")], f"with {speaker}")

    def by_speaker(question: str) -> dict[str, float]:
        return {hit.record.payload["speaker"]: hit.why.channels.get("speaker", 0.0) for hit in memory.recall(question)}

    assert by_speaker("What did Ann promise to Bob?") == {"Ann": 0.3, "Bob": 0.18, "Cy": 0.0}
    assert by_speaker("What did Bob promise to Ann?") == {"Ann": 0.18, "Bob": 0.3, "Cy": 0.0}
    assert by_speaker("What did Dora promise to Bob?") == {"Ann": 0.0, "Bob": 0.3, "Cy": 0.0}
    assert list(by_speaker("What did Bob promise to Ann?")) == ["Bob", "Ann", "Cy"], "and so it is ranked"


def test_a_date_counts_less_the_farther_from_it(memory: AgentMemory) -> None:
    noon = datetime.fromisoformat("2026-03-10T12:00:00+00:00")
    for days in (-20, -2, 0, 1, 2.5, 40):
        memory.records.add("the lift stood still", valid_from=noon + timedelta(days=days), id=f"day {days}")
    channels = {hit.id: hit.why.channels.get("date", 0.0) for hit in memory.recall("what happened on 10 March 2026?")}
    assert channels["day 0"] == 0.4
    assert channels["day 1"] == pytest.approx(0.4 * 2**-0.25, abs=1e-3), "twelve hours after that day ended"
    assert channels["day 2.5"] == pytest.approx(0.2, abs=1e-3), "two days after that day: half"
    assert 0.2 < channels["day -2"] < channels["day 1"]
    assert channels["day -20"] < 0.001 and channels["day 40"] == 0.0
    exact = DEFAULT.model_copy(update={"slack_days": 0.0})
    hits = memory.recall("what happened on 10 March 2026?", recipe=exact)
    assert {hit.id for hit in hits if "date" in hit.why.channels} == {"day 0"}
