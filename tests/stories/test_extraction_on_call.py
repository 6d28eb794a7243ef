"""What an engineer on call says: units, tickets, colleagues and tools are told apart. C18."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agent_memory import AgentMemory
from agent_memory.models.extraction import Extraction
from agent_memory.models.kinds.conversation import Turn

pytestmark = pytest.mark.requirement("C18")
FRIDAY = datetime(2024, 5, 17, 10, tzinfo=UTC)


def heard(memory: AgentMemory, *said: str) -> Extraction:
    for index, text in enumerate(said):
        memory.episodic.store_turn(Turn(conversation_id="c1", index=index, role="user", content=text, timestamp=FRIDAY))
    return memory.upkeep.extract("c1")


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("The memory limit is 512Mi, I bumped it to 1Gi.", {}),
        ("Done, I opened OPS-2211.", {}),
        ("Put it in JIRA.", {"JIRA": "technology"}),
        ("I'm taking over the pager from Marek.", {"Marek": "person"}),
        ("I work with Marek on the migration.", {"Marek": "person"}),
        ("I come from Gouda.", {"Gouda": "place"}),
        ("I moved from Hamburg to Gouda last month.", {"Hamburg": "place", "Gouda": "place"}),
        ("I work on the platform team.", {"platform": "team"}),
    ],
)
def test_names_are_of_what_they_name(memory: AgentMemory, said: str, named: dict[str, str]) -> None:
    assert {one.name: one.type for one in heard(memory, said).entities} == named
