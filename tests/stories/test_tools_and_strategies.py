"""A registry of tools, statistics by task type, strategies that say for which tasks they are, and a context
whose tiers come from all of it. C4, T5."""

from __future__ import annotations

import pytest

from agent_memory import AgentMemory
from agent_memory.models import ConfigChange, Decision, Incident, Pattern, Turn
from agent_memory.models.errors import InvalidInput, NotFound

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


@pytest.mark.requirement("C4")
def test_tools_are_registered_with_description_and_schema(memory: AgentMemory) -> None:
    memory.procedural.register_tool("grep", "Finds lines", SCHEMA)
    memory.procedural.register_tool("Awk", "Rewrites lines")
    memory.procedural.register_tool("grep", "Finds lines in files", SCHEMA)
    assert memory.procedural.get_tool("GREP").model_dump() == {
        "name": "grep",
        "description": "Finds lines in files",
        "parameters": SCHEMA,
    }
    assert [tool.name for tool in memory.procedural.list_tools()] == ["Awk", "grep"]
    assert memory.recall("which tool finds lines in files?", k=1)[0].record.kind == "tool"
    with pytest.raises(NotFound) as missing:
        memory.procedural.get_tool("sed")
    assert missing.value.field == "name"
    with pytest.raises(InvalidInput):
        memory.procedural.register_tool("sed", "")


@pytest.mark.requirement("C4")
def test_usage_of_a_tool_counts_for_its_task_type(memory: AgentMemory) -> None:
    memory.record_tool_usage("grep", {}, None, True, 10, task_type="debugging")
    memory.record_tool_usage("grep", {}, None, False, 30, None, "debugging")
    memory.record_tool_usage("grep", {}, None, True, 50)
    assert memory.procedural.get_tool_stats("debugging") == [
        {"tool": "grep", "successes": 1, "failures": 1, "success_rate": 0.5, "avg_latency": 20.0}
    ]


@pytest.mark.requirement("C4")
def test_a_strategy_that_is_meant_for_a_task_comes_before_one_that_is_similar(memory: AgentMemory) -> None:
    learn = memory.procedural.learn_strategy
    near = learn("restart the pod that ran out of memory", "memory problems of pods", ["kubectl"])
    words = learn("look at its limits first", "pod, memory limit", ["kubectl"])
    expression = learn("read the kernel's log", r"/OOM[- ]?kill/", ["dmesg"])
    for _ in range(3):
        memory.procedural.reinforce_strategy(expression.id, True)
    learn("hope", r"/OOM/", ["nothing"], success=False)
    found = memory.what_worked_for("a pod ran out of memory: OOM-killed")
    assert [one.id for one in found] == [expression.id, words.id, near.id]
    assert [one.id for one in memory.what_worked_for("a pod ran out of memory: OOM-killed", top_k=1)] == [expression.id]


@pytest.mark.requirement("C4")
def test_learning_and_reinforcing_write_their_links(memory: AgentMemory) -> None:
    memory.procedural.register_tool("kubectl", "Talks to the cluster")
    memory.store_turn(Turn(conversation_id="c1", index=0, role="user", content="the pod is down"))
    [conversation] = memory.episodic.conversations()
    made = memory.procedural.learn_strategy("restart it", "pod down", ["kubectl", "sleep", "kubectl"], "c1")
    found = {(one.type, one.target_id) for one in memory.records.links(made.id)}
    assert ("SUCCEEDED_IN", conversation.id) in found and {type for type, _ in found} == {"SUCCEEDED_IN", "USES_TOOL"}
    [uses] = [one for one in memory.records.links(made.id) if one.type == "USES_TOOL"]
    assert uses.properties == {"places": [0, 2]} and memory.records.get(uses.target_id).kind == "tool"
    memory.procedural.reinforce_strategy(made.id, False)
    assert ("FAILED_IN", conversation.id) in {(one.type, one.target_id) for one in memory.records.links(made.id)}


@pytest.mark.parametrize("pattern", ["/(?=x)/", r"/(a)\1/", "/[/"])
def test_an_expression_that_cannot_be_used_is_refused(memory: AgentMemory, pattern: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory.procedural.learn_strategy("x", pattern, [])
    assert refused.value.field == "context_pattern" and memory.records.find(kinds=["strategy"]) == []


@pytest.mark.requirement("T5")
def test_a_context_takes_its_tiers_from_all_of_it(memory: AgentMemory) -> None:
    memory.state.log_decision(Decision(decision="Checkout keeps port 5433", reason="clients have it hard coded"))
    memory.state.store_pattern(Pattern(trigger="checkout refuses connections", action="check port 5433"))
    memory.longterm.store_incident(Incident(title="Checkout refused connections on port 5433", severity="high"))
    memory.longterm.store_procedure("move-checkout", "Move checkout to another port", ["drain", "restart"])
    memory.longterm.store_config_change(ConfigChange(key="checkout.port", old=5432, new=5433, reason="port 5432 taken"))
    context = memory.assemble_context("checkout refuses connections on port 5433")
    found = {(chunk.source, chunk.kind) for chunk in context.chunks}
    assert found >= {
        ("working", "decision"),
        ("working", "pattern"),
        ("longterm", "incident"),
        ("longterm", "procedure"),
        ("longterm", "config_change"),
    }
    assert "because: clients have it hard coded" in context.text and "worked 0 of 0 times" in context.text
    only = memory.assemble_context("checkout refuses connections on port 5433", tiers=["longterm"])
    assert {chunk.source for chunk in only.chunks} == {"longterm"}
