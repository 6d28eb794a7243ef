"""Traces for the operator: what is told of a call, and what never is. P16, C17."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys

import pytest
from opentelemetry import trace

from agent_memory import AgentMemory, AsyncAgentMemory
from agent_memory.app import telemetry
from agent_memory.app.operations import TABLE
from agent_memory.app.service import CallerClaim, Service
from agent_memory.models import Entity
from agent_memory.models.errors import AgentMemoryError, InvalidInput
from agent_memory.models.recipe import Recipe
from agent_memory.ports import spans
from agent_memory.testing.otlp import Collector, OtlpSpan

CANARY = "xyzzy-plover"
STAGES = {"recall.read", "recall.entities", "recall.gather", "recall.fuse", "recall.select", "recall.explain"}
CHANNELS = {
    f"recall.channel.{name}"
    for name in "vectors words speaker date answer question entities recency importance key conversation".split()
}


def tree(found: list[OtlpSpan]) -> dict[str, set[str]]:
    """Name -> the names of its parts."""
    names = {span.span_id: span.name for span in found}
    parts: dict[str, set[str]] = {}
    for span in found:
        if span.parent_id in names:
            parts.setdefault(names[span.parent_id], set()).add(span.name)
    return parts


@pytest.mark.requirement("P16", "C17")
def test_a_recall_is_told_part_by_part(traced: Collector) -> None:
    with AgentMemory("ada") as memory:
        memory.records.add("The staging database moved to port 5433")
        recalled = memory.recall("which port does staging use?")
        (receipt,) = memory.receipts.find()
    telemetry.end()
    (root,) = [span for span in traced.spans if span.name == "recall"]
    found = [span for span in traced.spans if span.trace_id == root.trace_id]
    parts = tree(found)
    assert parts["recall"] >= STAGES | {"embeddings agent-memory-embedder"}
    assert parts["recall.gather"] == {"gather.words", "gather.vectors"}
    assert parts["recall.fuse"] == CHANNELS and parts["recall.select"] == {"recall.hydrate"}
    assert root.parent_id == "" and root.service == "agent-memory" and root.status == 0
    assert root.attributes == {"agent_memory.hits": 1, "agent_memory.receipt_id": recalled.receipt_id}
    (gather,) = [span.attributes for span in found if span.name == "recall.gather"]
    assert gather["agent_memory.searched"] == gather["agent_memory.candidates"] == 1
    assert sum(span.milliseconds for span in found if span.name in STAGES) <= root.milliseconds
    assert receipt.trace_id == root.trace_id


@pytest.mark.requirement("P16")
def test_a_trace_leads_to_its_receipt_and_back(traced: Collector) -> None:
    with AgentMemory("ada") as memory:
        memory.records.add("The staging database moved to port 5433")
        ids = [memory.recall(f"which port? {number}").receipt_id for number in range(3)]
        trace_id = memory.receipts.get(ids[1])["trace_id"]
        assert [one.receipt_id for one in memory.receipts.find(trace_id=trace_id)] == [ids[1]]
        assert memory.receipts.find(trace_id="0" * 32) == []
        assert memory.receipts.replay(ids[1]).identical
        with pytest.raises(InvalidInput) as error:
            memory.receipts.find(trace_id="00-ab-cd-01")
    assert error.value.field == "trace_id"
    telemetry.end()
    assert {span.name for span in traced.spans if span.trace_id == trace_id} >= {"recall", *STAGES}


@pytest.mark.requirement("P16")
def test_writes_contexts_and_upkeep_are_told(traced: Collector) -> None:
    with AgentMemory("ada") as memory:
        memory.records.add("Deploys are frozen on Fridays")
        memory.records.add_many([{"text": f"note {number}"} for number in range(3)], embed=False)
        memory.upkeep.catch_up()
        memory.records.add_many([{"text": "a late note"}], embed=False)
        memory.upkeep.run_jobs()
        context = memory.assemble_context("deploy something", max_tokens=300)
        memory.upkeep.rebuild()
    telemetry.end()
    parts = tree(traced.spans)
    assert parts["records.add"] == {"write.normalise", "embeddings agent-memory-embedder", "write.apply"}
    assert parts["records.add_many"] == {"write.normalise", "write.apply"}
    assert parts["upkeep.catch_up"] == {"embed.pending"}
    assert {"job.retention", "job.scrub"} <= parts["upkeep.run_jobs"] and parts["job.catch_up"] == {"embed.pending"}
    assert parts["embed.pending"] == {"embeddings agent-memory-embedder"}
    assert parts["contexts.assemble"] >= {"recall.gather", "context.gather", "context.assemble"}
    assert "embed.pending" in parts["upkeep.rebuild"]
    (assembled,) = [span.attributes for span in traced.spans if span.name == "context.assemble"]
    assert assembled["agent_memory.tokens"] == context.total_tokens <= assembled["agent_memory.max_tokens"] == 300
    (pending,) = [span for span in traced.spans if span.name == "embed.pending"][:1]
    assert pending.attributes == {"agent_memory.pending": 0}


class Reverse:
    """A reranker somewhere else."""

    name, service = "reverse-1", "elsewhere"

    def score(self, query: str, texts: list[str], seconds: float) -> list[float]:
        return [float(place) for place in range(len(texts))]


@pytest.mark.requirement("P16")
def test_models_are_told_in_the_words_of_opentelemetry(traced: Collector) -> None:
    with AgentMemory("ada", reranker=Reverse()) as memory:
        for number in range(3):
            memory.records.add(f"the train leaves at {number}")
        tokens = memory.recall("when does the train leave?", recipe=Recipe(rerank=3)).tokens
    telemetry.end()
    embedded = [span for span in traced.spans if span.name == "embeddings agent-memory-embedder"][-1]
    assert embedded.attributes == {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.request.model": "agent-memory-embedder",
        "gen_ai.provider.name": "local",
        "gen_ai.usage.input_tokens": tokens,
        "gen_ai.embeddings.dimension.count": 384,
        "agent_memory.texts": 1,
    }
    (reranked,) = [span for span in traced.spans if span.name == "rerank reverse-1"]
    assert reranked.kind == 3 and reranked.attributes["gen_ai.provider.name"] == "elsewhere"
    assert reranked.attributes["agent_memory.texts"] == 3
    assert tree(traced.spans)["recall.rerank"] == {"rerank reverse-1"}


def _everything(memory: AgentMemory) -> None:
    """Calls that hold the canary wherever somebody may write something, also those that are refused."""
    memory.records.add(CANARY, id=f"id {CANARY}", key=f"key {CANARY}", payload={"name": CANARY})
    memory.upsert_entity(Entity(name=CANARY, type=CANARY))
    memory.recall(f"what is {CANARY}?", recipe=Recipe(name=CANARY))
    memory.assemble_context(CANARY, max_tokens=200)
    memory.user.set_preference(CANARY, CANARY, CANARY)
    memory.set_working_context(CANARY, CANARY)
    for wrong in (
        lambda: memory.records.get(f"no {CANARY}"),
        lambda: memory.recall("x", recipe=CANARY),
        lambda: memory.records.add(CANARY, kind=CANARY),
        lambda: memory.records.add(**{CANARY: 1}),
    ):
        with pytest.raises((AgentMemoryError, TypeError)):
            wrong()


@pytest.mark.requirement("P16")
def test_nothing_that_somebody_said_is_sent(traced: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    with AgentMemory(CANARY, CANARY, tenant=f"tenant-{CANARY}", agent=f"agent-{CANARY}") as memory:
        _everything(memory)

        def broken(*args: object, **kwargs: object) -> None:
            raise RuntimeError(f"could not handle {CANARY}")

        monkeypatch.setattr(memory._client.runtime.store.records, "find", broken)
        with pytest.raises(RuntimeError) as error:
            memory.records.find()
    telemetry.end()
    failed = {span.name: span.attributes.get("error.type") for span in traced.spans if span.status == 2}
    assert failed["records.get"] == "not_found" and failed["records.find"] == "RuntimeError"
    assert failed["recall"] == "invalid_input"
    assert spans.trace_id(error.value)
    assert len(traced.spans) > 50
    everything = b"".join(traced.bodies)
    assert b"recall.gather" in everything
    for word in (CANARY, "plover", CANARY.upper()):
        assert word.encode() not in everything


@pytest.mark.requirement("P16")
def test_errors_and_log_lines_tell_the_trace(
    traced: Collector, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agent_memory.interfaces.mcp import places, tools

    service = Service()
    caller = service.identify(CallerClaim(user="ada"))
    with pytest.raises(AgentMemoryError) as error:
        service.call(TABLE["records.get"], caller, {"id": "nothing"})
    assert error.value.to_dict()["trace_id"] == error.value.trace_id
    assert error.value.trace_id in {span.trace_id for span in traced.wait_for("records.get")}

    def broken(*args: object, **kwargs: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(service, "_call", broken)
    with caplog.at_level(logging.ERROR):
        answer = tools.call(service, places.tools(places.chosen(()))["get"], caller, {"id": "x"})
    (line,) = caplog.records
    assert line.trace_id in line.getMessage() and line.trace_id in answer.content[0].text
    assert line.trace_id != error.value.trace_id
    monkeypatch.undo()
    service.close()


@pytest.mark.requirement("P16")
def test_it_is_a_part_of_what_the_application_does(traced: Collector) -> None:
    """An application with OpenTelemetry of its own: its span is the parent, also of what is awaited."""
    outer = trace.SpanContext(0xABC, 0xDEF, False, trace.TraceFlags(1))

    async def ask() -> None:
        async with AsyncAgentMemory("ada") as memory:
            with trace.use_span(trace.NonRecordingSpan(outer)):
                await memory.records.add("one")

    with AgentMemory("ada") as memory, trace.use_span(trace.NonRecordingSpan(outer)):
        memory.recall("one")
    asyncio.run(ask())
    telemetry.end()
    for name in ("recall", "records.add"):
        (span,) = [span for span in traced.spans if span.name == name]
        assert (int(span.trace_id, 16), int(span.parent_id, 16)) == (0xABC, 0xDEF)
    assert type(trace.get_tracer_provider()).__name__ == "ProxyTracerProvider", "it is not ours to set"


def test_what_is_not_sampled_has_a_trace_id_all_the_same(traced: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    with AgentMemory("ada") as memory:
        memory.recall("anything?")
        (receipt,) = memory.receipts.find()
        with pytest.raises(AgentMemoryError) as error:
            memory.records.get("nothing")
    telemetry.end()
    assert receipt.trace_id and error.value.trace_id and receipt.trace_id != error.value.trace_id
    assert traced.bodies == []


FORKED = """
import os, sys
from agent_memory import AgentMemory
memory = AgentMemory("ada")
memory.records.add("before")
child = os.fork()
if child == 0:
    memory.records.get(memory.records.find()[0].id)
    from agent_memory.app import telemetry
    telemetry.end()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
memory.recall("after")
memory.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_parent_and_child_of_a_fork_both_tell(home: object, collector: Collector) -> None:
    ran = subprocess.run([sys.executable, "-c", FORKED], env={**os.environ, **collector.environment})
    assert ran.returncode == 0
    found = [span.name for span in collector.spans]
    for name in ("records.add", "records.find", "records.get", "recall"):
        assert found.count(name) == 1, found


@pytest.mark.requirement("C17")
def test_parts_have_histograms_without_any_tracing(home: object) -> None:
    from agent_memory.interfaces.rest.metrics import Metrics

    service = Service()
    metrics = Metrics(service)
    caller = service.identify(CallerClaim(user="ada"))
    service.call(TABLE["records.add"], caller, {"text": "one"})
    service.call(TABLE["recall"], caller, {"query": "one more"})
    service.call(TABLE["contexts.assemble"], caller, {"task_description": "one"})
    service.close()
    said = bytes(metrics.answer().body).decode()
    for part, count in {
        "write.normalise": 1,
        "write.apply": 1,
        "embeddings agent-memory-embedder": 2,
        "recall.gather": 2,
        "recall.fuse": 2,
        "recall.hydrate": 2,
        "context.assemble": 1,
    }.items():
        assert f'agent_memory_part_seconds_count{{part="{part}"}} {count}.0' in said
    assert 'part="recall"' not in said and "channel" not in said
    assert 'agent_memory_call_seconds_count{operation="recall"} 1.0' in said
    assert not spans.tracing()
