"""Learning from feedback: a part of `memory.upkeep`. E6."""

from __future__ import annotations

from agent_memory.app.operations import Namespace, Permission, ToolSlot, operation
from agent_memory.core.upkeep.learn import Learner
from agent_memory.models.learned import Learned


class FromFeedback(Namespace):
    """What recalls can learn."""

    @operation(
        "upkeep.learn", "POST /learn", permission=Permission.WRITE, mcp=[ToolSlot("upkeep", "learn_from_feedback")]
    )
    def learn(self) -> Learned:
        """Learn from feedback on this user's recalls, now: an adapter for their questions, kept only where it answers
        better than the present one what was held back. Recalls use it only where adapters are switched on."""
        client = self._client
        runtime = client.runtime
        runtime.embedding.agree()
        runtime.receipts.flush()
        learner = Learner(runtime.keeping(client.clock), runtime.recalling, client.scope, client.now())
        learned = learner.learn(learner.feedback())
        return learned.model_copy(update={"used": runtime.settings.adapters and learned.adapter is not None})
