"""An incident, what was decided about it, and what to do next time: `python examples/decisions_and_patterns.py`."""

from __future__ import annotations

from datetime import UTC, datetime
from tempfile import TemporaryDirectory

from agent_memory import AgentMemory
from agent_memory.models import ConfigChange, Decision, Happening, Incident, Pattern

NIGHT = datetime(2026, 3, 1, 2, 10, tzinfo=UTC)


def main() -> None:
    with TemporaryDirectory() as folder, AgentMemory("ada", store=f"{folder}/memory.db") as memory:
        memory.longterm.store_incident(
            Incident(
                title="Orders were lost while the warehouse was down",
                severity="high",
                services=["checkout", "warehouse"],
                timeline=[Happening(at=NIGHT, what="the warehouse stopped answering")],
                resolution="lost orders were sent again from the log",
                lessons=["checkout must not depend on the warehouse being up"],
                started_at=NIGHT,
            )
        )
        decision = memory.state.log_decision(
            Decision(
                decision="Put a queue between checkout and the warehouse",
                context="Orders are lost when the warehouse is down",
                decided_by="ada",
                reason="a queue keeps them until it is back",
                alternatives=["retry in the client", "a second warehouse system"],
                confidence=0.8,
            )
        )
        memory.longterm.store_config_change(
            ConfigChange(key="checkout.queue", old=False, new=True, changed_by="ada", reason="no more lost orders")
        )
        memory.state.record_outcome(decision.id, "three outages later, no order was lost", success=True)

        [similar] = memory.state.find_similar_decisions("purchases vanish while a backend is offline", limit=1)
        print(f"decided before: {similar.decision} -> {similar.outcome}")

        pattern = memory.state.store_pattern(Pattern(trigger=r"/timeout .* warehouse/", action="drain the queue"))
        memory.state.update_pattern_stats(pattern.id, success=True)
        found = memory.state.find_pattern("timeout while calling warehouse:8080")
        assert found is not None
        print(f"what to do: {found.action} (worked {found.success_rate:.0%} of the time)")

        for one in memory.longterm.semantic_search("lost orders", n_results=2):
            print(f"{one.collection}: {one.content.splitlines()[0]} ({one.relevance:.2f})")
        [change] = memory.longterm.get_config_history("checkout.queue")
        print(f"{change.key}: {change.old} -> {change.new}, by {change.changed_by}: {change.reason}")


if __name__ == "__main__":
    main()
