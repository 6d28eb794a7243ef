"""Goals with parents and blockers: what can follow what, and what a completed goal lets go on."""

import tempfile

from agent_memory import AgentMemory
from agent_memory.models import Goal
from agent_memory.models.errors import AgentMemoryError

with tempfile.TemporaryDirectory() as folder, AgentMemory("ada", store=f"{folder}/memory.db") as memory:
    release = memory.add_goal(Goal(description="release 2.0", priority=5))
    guide = memory.add_goal(Goal(description="write the guide", parent_goal_id=release.id))
    memory.add_goal(Goal(description="announce it", status="blocked", blocked_by=[guide.id]))

    try:
        memory.goals.update(release.id, blocked_by=[guide.id])
        memory.goals.update(guide.id, blocked_by=[release.id])
    except AgentMemoryError as error:
        print("refused:", error.message.partition(":")[0], "would close a circle")

    memory.goals.update(guide.id, status="completed")
    print("now:", ", ".join(goal.description for goal in memory.get_active_goals()))
    try:
        memory.goals.update(guide.id, status="abandoned")
    except AgentMemoryError as error:
        print("refused:", error.hint)
