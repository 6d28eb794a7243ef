"""A night on call: events, metrics, tasks, and what a prompt is told of them: `python examples/operational.py`."""

from __future__ import annotations

from tempfile import TemporaryDirectory

from agent_memory import AgentMemory
from agent_memory.models import Event


def main() -> None:
    with TemporaryDirectory() as folder, AgentMemory("ada", store=f"{folder}/memory.db") as memory:
        operational = memory.operational
        for number in range(2_000):
            operational.push_event(Event(category="request", payload={"path": "/orders", "ms": 20 + number % 7}))
        operational.push_event(Event(category="database", severity="warning", payload={"message": "slow queries"}))
        operational.update_metric("queue length", 412)
        operational.start_task("reindex", description="orders of March")
        operational.push_event(Event(category="disk", critical=True, payload={"message": "data volume is full"}))

        print(operational.get_system_snapshot())
        print("requests seen:", len(operational.get_recent(10_000, category="request")))

        context = memory.assemble_context("why do orders fail?", max_tokens=500)
        print(context.chunks[0].source, "comes first:", context.chunks[0].content.splitlines()[0])
        operational.finish_task("reindex", "stopped")

        [critical] = memory.records.find(kinds=["event"])
        print("kept for good:", critical.text)


if __name__ == "__main__":
    main()
