"""A run from its beginning to its outcome, and what was asked and called in it."""

import tempfile

from agent_memory import AgentMemory

with tempfile.TemporaryDirectory() as folder, AgentMemory("ada", store=f"{folder}/memory.db") as memory:
    memory.records.add("Staging listens on port 5433")
    run = memory.runs.start("deployment", "deploy 2.0 to staging", model="small")
    hit = memory.recall("which port is staging on?")[0]
    memory.runs.step(run.id, f"found: {hit.text}", tokens=300, money=0.002)
    memory.record_tool_usage("kubectl", {"verb": "apply"}, "ok", True, 120)
    memory.runs.step(run.id, "applied", tokens=500, money=0.004)
    ended = memory.runs.end(run.id, "it is live", success=True)
    calls = memory.records.find("tool_call", fields={"run_id": run.id})
    asked = memory.receipts.find(of_run=run.id)
    print(f"{ended.title}: {ended.outcome}, {ended.tokens} tokens, {len(asked)} recall, {len(calls)} tool call")
