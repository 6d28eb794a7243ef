"""Every operation of the table, called once through `dispatch`: what changes records passes the gate, and what only
reads changes nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from json import encoder
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.app.operations import TABLE, Permission
from agent_memory.core.upkeep import merging
from agent_memory.core.write.commit import commit
from agent_memory.models import ConfigChange, Decision, Entity, Event, Fact, Goal, Incident, Pattern, Task, Turn
from agent_memory.models.draft import Draft
from agent_memory.models.errors import Denied, InvalidInput
from agent_memory.models.graph import Edge, Node, Observing, Unobserving
from agent_memory.models.record import Link
from agent_memory.models.rules import Action
from agent_memory.ports.changes import Author, Change
from agent_memory.testing.chat import ScriptedChat

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
RULE = "**never-merge** (deny) Never merge.\n  - command: `git merge`"
RECORDS = ("contents", "versions", "links", "tombstones")
READS_MAY_WRITE = {
    "reads",
    "receipts",
    "shown",
    "accesses",
    "accessed",
    "scores",
    "sqlite_sequence",
}  # and vectors that are pending: none


class Scene:
    """Something of everything, for one user, in a repository with pages."""

    def __init__(self, home: Path, repository: Path) -> None:
        self.repository = str(repository)
        memory = self.memory = AgentMemory("ada", "talk", chat=ScriptedChat(lambda request: "yes"))
        self.file = next(home.rglob("*.db"))
        self.goal = memory.add_goal(Goal(description="ship it", created_at=NOW)).id
        self.ada = memory.upsert_entity(Entity(name="Ada", type="Person", first_seen=NOW)).id
        self.acme = memory.upsert_entity(Entity(name="Acme", type="Organization", first_seen=NOW)).id
        memory.graph.add_observations([Observing(entity_name="Ada", contents=["likes tea"])])
        memory.graph.create_relations([Edge(source="Ada", target="Acme", relation_type="WORKS_FOR")])
        self.turn = memory.store_turn(self.said(0)).id
        self.note = memory.records.add("the printer is on the third floor").id
        self.strategy = memory.procedural.learn_strategy("look first", "any", ["psql"]).id
        memory.user.set_preference("git", "merge style", "rebase")
        self.proposal = memory.rules.propose(RULE).id
        self.learning = memory.procedural.learn("it broke", "haste", RULE).id
        aged: Any = {"importance": 0.05, "valid_from": NOW - timedelta(days=365)}
        self.pruned = memory.records.add("the coffee was cold", **aged).id
        memory.upkeep.prune(dry_run=False)
        memory.records.add("the tea was cold", **aged)
        self.pinned = memory.records.add("parking place 14").id
        memory.upkeep.pin(self.pinned)
        self.unsure = memory.semantic.learn_fact("Ada likes coffee", confidence=0.2).id
        self.token = memory.tasks.add("pack", priority=5) and memory.tasks.claim("w").token
        self.task, self.cancelled = memory.tasks.add("unpack").id, memory.tasks.add("rest").id
        memory.tasks.cancel(self.cancelled)
        self.agent, self.busy, other = (memory.agents.create(name, "Be kind.").id for name in ("a", "b", "c"))
        self.open, self.proposed = memory.agents.begin(self.busy), memory.agents.begin(other)
        memory.agents.propose(self.proposed.id, self.proposed.token, {"tool": "x"})
        self.run = memory.runs.start("packing", "pack").id
        memory._client.run_id = None
        self.key = memory.keys.create("a key").id
        memory.vectors.upsert("mine", "one", [1.0, 0.0])
        memory.working.set("key", "value")
        self.receipt = memory.recall("printer").receipt_id
        self.vector = memory.embedder.embed_single("tea")
        self.decision = memory.state.log_decision(Decision(decision="use a queue", decided_at=NOW)).id
        self.pattern = memory.state.store_pattern(Pattern(trigger="build fails", action="clean")).id
        self.incident = memory.longterm.store_incident(Incident(title="down", severity="low", started_at=NOW)).id
        memory.longterm.store_config_change(ConfigChange(key="pool", new=1, changed_at=NOW))
        memory.blocks.set("human", "Ada")
        memory.blocks.append("human", "likes tea")
        memory.procedural.register_tool("psql", "asks the database")
        memory.operational.push_event(Event(category="net"))
        memory.operational.start_task("import")
        self.document = memory.knowledge.upload("guide.md", "# Guide\n\nTea is green.").id
        memory.rules.init(folder=self.repository)
        with open(f"{self.repository}/.memory/procedural.md", "a", encoding="utf-8") as page:
            page.write("\n## Rules\n\n- **no-force** (deny) Never force.\n  - command: `git push --force`\n")
        self.allowed = "fedcba9876543210"
        memory.govern.allow(self.allowed)
        client = memory._client
        old = client.runtime.writing._replace(gate=Recording())  # of times when nobody looked for secrets
        commit(old, [Draft("observation", "password = Marble!482q")], client.author(), client.now())
        for room in ("first", "second"):  # said twice: what is merged already, and what can be
            for text in (f"the {room} room is closed", f"The {room} room is closed."):
                memory.records.add(text)
            self.merged = memory.upkeep.consolidate().groups[0].id if room == "first" else self.merged
        self.place = "working x://"
        debts = memory._client.runtime.store.debts
        assert debts is not None
        debts.attach(self.place)
        memory.upkeep.catch_up()
        memory.receipts.get(self.receipt)  # which waits until it is written

    def said(self, index: int) -> Turn:
        return Turn(conversation_id="talk", index=index, role="user", content=f"turn {index}", timestamp=NOW)

    def noted(self) -> str:
        """The repository, with a note that nobody has remembered yet."""
        with open(f"{self.repository}/.memory/working.md", "w", encoding="utf-8") as page:
            page.write("# Now\n\nMoving the printer.\n")
        return self.repository

    def call(self, name: str) -> Any:
        return self.memory._client.ask(name, EXAMPLES[name](self))

    def rows(self, tables: Sequence[str] | None = None) -> dict[str, list[Any]]:
        """What the file holds, in these tables or in all that a read must leave alone."""
        with sqlite3.connect(f"file:{self.file}?mode=ro", uri=True) as store:
            named = store.execute("select name from sqlite_master where type = 'table'").fetchall()
            chosen = tables or sorted({name for (name,) in named} - READS_MAY_WRITE)
            return {name: store.execute(f"select * from {name}").fetchall() for name in chosen}


@pytest.fixture
def scene(home: Path, repo: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    repo.write("README.md", "hello")
    repo.commit("feat: begin")
    monkeypatch.chdir(repo.root)
    monkeypatch.setattr(merging, "FEWEST", 2)
    scene = Scene(home, repo.root)
    with scene.memory:
        yield scene


EXAMPLES: dict[str, Callable[[Scene], dict[str, Any]]] = {
    "agents.create": lambda s: {"name": "d", "directives": "Be quick."},
    "agents.get": lambda s: {"name": "a"},
    "agents.list": lambda s: {},
    "agents.begin": lambda s: {"agent_id": s.agent},
    "agents.propose": lambda s: {"cycle_id": s.open.id, "token": s.open.token, "proposal": {"tool": "x"}},
    "agents.result": lambda s: {"cycle_id": s.proposed.id, "token": s.proposed.token, "result": {"output": 1}},
    "agents.resume": lambda s: {"agent_id": s.busy},
    "agents.cycle": lambda s: {"agent_id": s.busy, "index": 1},
    "agents.cycles": lambda s: {"agent_id": s.busy},
    "agents.note": lambda s: {"agent_id": s.busy, "type": "reflection", "content": "hm", "cycle_id": s.open.id},
    "agents.notes": lambda s: {"agent_id": s.busy, "type": "plan"},
    "agents.recall": lambda s: {"agent_id": s.busy, "query": "printer"},
    "archival.insert": lambda s: {"text": "tea is in the kitchen"},
    "archival.search": lambda s: {"query": "where is the printer?"},
    "blocks.get": lambda s: {"label": "human"},
    "blocks.set": lambda s: {"label": "persona", "text": "kind"},
    "blocks.append": lambda s: {"label": "human", "text": "has a dog"},
    "blocks.replace": lambda s: {"label": "human", "old": "tea", "new": "coffee"},
    "blocks.insert": lambda s: {"label": "human", "text": "Name:"},
    "blocks.rewrite": lambda s: {"label": "human", "text": "Ada, tea"},
    "blocks.undo": lambda s: {"label": "human"},
    "blocks.history": lambda s: {"label": "human"},
    "blocks.delete": lambda s: {"label": "human"},
    "blocks.list": lambda s: {},
    "contexts.assemble": lambda s: {"task_description": "ship it"},
    "embedder.embed": lambda s: {"texts": ["tea"]},
    "embedder.embed_single": lambda s: {"text": "tea"},
    "episodic.store_turn": lambda s: {"turn": s.said(1)},
    "episodic.store_turn_log": lambda s: {"turn": s.said(1)},
    "episodic.append": lambda s: {"conversation_id": "talk", "role": "user", "content": "one more"},
    "episodic.vector_search": lambda s: {"query_embedding": s.vector},
    "episodic.get_conversation": lambda s: {"conversation_id": "talk"},
    "episodic.get_recent_turns": lambda s: {},
    "episodic.conversations": lambda s: {},
    "episodic.update_conversation": lambda s: {"conversation_id": "talk", "title": "Printers"},
    "goals.add": lambda s: {"goal": Goal(description="rest", created_at=NOW)},
    "goals.update": lambda s: {"id": s.goal, "status": "completed"},
    "goals.get": lambda s: {"id": s.goal},
    "goals.active": lambda s: {},
    "goals.children": lambda s: {"id": s.goal},
    "graph.create_entities": lambda s: {"entities": [Node(name="Bo", entity_type="Person", observations=["sings"])]},
    "graph.create_relations": lambda s: {"relations": [Edge(source="Ada", target="Cy", relation_type="KNOWS")]},
    "graph.add_observations": lambda s: {"observations": [Observing(entity_name="Ada", contents=["has a dog"])]},
    "graph.delete_entities": lambda s: {"entity_names": ["Ada"]},
    "graph.delete_observations": lambda s: {"deletions": [Unobserving(entity_name="Ada", observations=["likes tea"])]},
    "graph.delete_relations": lambda s: {"relations": [Edge(source="Ada", target="Acme", relation_type="WORKS_FOR")]},
    "graph.read": lambda s: {},
    "graph.search": lambda s: {"query": "tea"},
    "graph.open": lambda s: {"names": ["Ada"]},
    "graph.load": lambda s: {"text": '{"type":"entity","name":"Di","entityType":"Person","observations":["runs"]}'},
    "govern.audit": lambda s: {},
    "govern.scan": lambda s: {"fix": True},
    "govern.check": lambda s: {"text": "password = Marble!482q"},
    "govern.allow": lambda s: {"fingerprint": "0123456789abcdef"},
    "govern.disallow": lambda s: {"fingerprint": s.allowed},
    "keys.create": lambda s: {"label": "another"},
    "keys.rotate": lambda s: {"key_id": s.key},
    "keys.revoke": lambda s: {"key_id": s.key},
    "keys.denials": lambda s: {},
    "keys.list": lambda s: {},
    "procedural.record_invocation": lambda s: {
        "conversation_id": "talk",
        "turn_id": s.turn,
        "tool_name": "psql",
        "tool_input": {},
        "tool_output": "ok",
        "success": True,
        "latency_ms": 3,
    },
    "procedural.learn_strategy": lambda s: {"description": "ask", "context_pattern": "any", "tool_sequence": ["mail"]},
    "procedural.reinforce_strategy": lambda s: {"strategy_id": s.strategy, "success": True},
    "procedural.find_strategies": lambda s: {"task_description": "look"},
    "procedural.get_tool_stats": lambda s: {},
    "procedural.learn": lambda s: {"what": "it broke", "why": "haste again"},
    "procedural.reflect": lambda s: {"outcome": {"success": True}},
    "receipts.get": lambda s: {"receipt_id": s.receipt},
    "receipts.feedback": lambda s: {"receipt_id": s.receipt, "useful": [s.note]},
    "receipts.find": lambda s: {},
    "receipts.costs": lambda s: {},
    "receipts.replay": lambda s: {"receipt_id": s.receipt},
    "receipts.accesses": lambda s: {"ids": [s.note]},
    "upkeep.compressed": lambda s: {"ids": [s.note]},
    "records.forget_where": lambda s: {"conversation_id": "talk"},
    "records.add": lambda s: {"text": "new"},
    "records.add_many": lambda s: {"records": [{"text": "one"}, {"text": "two"}]},
    "records.get": lambda s: {"id": s.note},
    "records.resolve": lambda s: {"prefix": s.note[:6]},
    "records.lookup": lambda s: {"kind": "fact", "key": "none"},
    "records.find": lambda s: {},
    "records.versions": lambda s: {},
    "records.history": lambda s: {"id": s.note},
    "records.amend": lambda s: {"id": s.note, "importance": 0.9},
    "records.edit": lambda s: {"id": s.note, "text": "the printer moved"},
    "records.forget": lambda s: {"ids": [s.note]},
    "records.link": lambda s: {"link": Link(source_id=s.note, target_id=s.ada, type="ABOUT")},
    "records.unlink": lambda s: {"source_id": s.ada, "target_id": s.acme, "type": "WORKS_FOR"},
    "records.links": lambda s: {"id": s.ada},
    "records.journal": lambda s: {},
    "procedural.register_tool": lambda s: {"name": "curl", "description": "asks servers"},
    "procedural.get_tool": lambda s: {"name": "psql"},
    "procedural.list_tools": lambda s: {},
    "operational.push_event": lambda s: {"event": Event(category="disk", critical=True, time=NOW)},
    "operational.get_recent": lambda s: {},
    "operational.update_metric": lambda s: {"key": "load", "value": 0.5},
    "operational.get_metrics": lambda s: {},
    "operational.start_task": lambda s: {"name": "backup"},
    "operational.finish_task": lambda s: {"name": "import"},
    "operational.get_active_tasks": lambda s: {},
    "operational.get_system_snapshot": lambda s: {},
    "knowledge.ingest": lambda s: {"path": f"{s.repository}/README.md"},
    "knowledge.upload": lambda s: {"name": "guide.md", "content": "# Guide\n\nTea is black."},
    "knowledge.search": lambda s: {"query": "which colour is tea?"},
    "knowledge.documents": lambda s: {},
    "knowledge.remove": lambda s: {"document": s.document},
    "knowledge.sync": lambda s: {"folder": s.repository},
    "longterm.semantic_search": lambda s: {"query": "what went down?"},
    "longterm.store_procedure": lambda s: {"name": "deploy", "description": "ship it", "steps": ["build"]},
    "longterm.store_incident": lambda s: {"incident": Incident(title="slow", severity="low", started_at=NOW)},
    "longterm.get_incident": lambda s: {"id": s.incident},
    "longterm.store_config_change": lambda s: {"change": ConfigChange(key="pool", new=2)},
    "longterm.get_config": lambda s: {"key": "pool"},
    "longterm.get_config_history": lambda s: {"key": "pool"},
    "state.log_decision": lambda s: {"decision": Decision(decision="rest", decided_at=NOW)},
    "state.record_outcome": lambda s: {"id": s.decision, "outcome": "fine"},
    "state.find_similar_decisions": lambda s: {"context": "orders are lost"},
    "state.store_pattern": lambda s: {"pattern": Pattern(trigger="tests fail", action="read them")},
    "state.find_pattern": lambda s: {"trigger": "the build fails"},
    "state.update_pattern_stats": lambda s: {"id": s.pattern, "success": True},
    "state.find_relevant": lambda s: {"task_description": "build"},
    "state.store_agent_state": lambda s: {"name": "planner", "state": {"step": 1}},
    "state.get_agent_state": lambda s: {"name": "planner"},
    "state.migrate_old_entries": lambda s: {"cutoff": "2099-01-01T00:00:00Z"},
    "state.vacuum": lambda s: {},
    "state.store_goal": lambda s: {"goal": Goal(description="rest", created_at=NOW)},
    "state.update_goal": lambda s: {"id": s.goal, "status": "completed"},
    "state.get_active_goals": lambda s: {},
    "state.store_task": lambda s: {"task": Task(description="pack")},
    "state.get_tasks_for_goal": lambda s: {"goal_id": s.goal},
    "user.set_preference": lambda s: {"domain": "git", "name": "editor", "value": "vi"},
    "user.get_preference": lambda s: {"domain": "git", "name": "merge style"},
    "user.preferences": lambda s: {},
    "user.set_expertise": lambda s: {"topic": "sql", "level": "expert"},
    "user.add_interest": lambda s: {"topic": "tea"},
    "user.context": lambda s: {},
    "user.to_markdown": lambda s: {},
    "user.from_markdown": lambda s: {"text": "## git\n\n- **merge style**: merge\n"},
    "recall": lambda s: {"query": "where is the printer?"},
    "remember": lambda s: {"query": "what does Ada like?"},
    "retriever.recipes": lambda s: {},
    "rules.prompt": lambda s: {"task": "push"},
    "rules.apply": lambda s: {"folder": s.repository},
    "review.list": lambda s: {},
    "review.show": lambda s: {"id": s.unsure},
    "review.approve": lambda s: {"id": s.unsure},
    "review.edit": lambda s: {"id": s.unsure, "text": "Ada likes cocoa"},
    "review.reject": lambda s: {"id": s.unsure},
    "review.policy": lambda s: {},
    "review.set_policy": lambda s: {"rules": [{"kind": "fact"}]},
    "rules.propose": lambda s: {"rule": "**other** (warn) Other.\n  - command: `other`"},
    "rules.propose_rule": lambda s: {"learning": s.learning},
    "rules.proposals": lambda s: {},
    "rules.approve": lambda s: {"id": s.proposal},
    "rules.reject": lambda s: {"id": s.proposal},
    "rules.trust": lambda s: {},
    "rules.untrust": lambda s: {},
    "rules.trusted": lambda s: {},
    "rules.follow": lambda s: {},
    "rules.read": lambda s: {},
    "rules.at": lambda s: {"ref": "HEAD"},
    "rules.log": lambda s: {},
    "rules.diff": lambda s: {"a": "HEAD"},
    "rules.check": lambda s: {"action": Action(command="git push --force")},
    "rules.lint": lambda s: {},
    "rules.fix": lambda s: {},
    "rules.init": lambda s: {},
    "user.sync": lambda s: {"folder": s.noted()},
    "semantic.upsert_entity": lambda s: {"entity": Entity(name="Ed", type="Person", first_seen=NOW)},
    "semantic.learn_fact": lambda s: {"claim": "Ada works from Lisbon", "entity_ids": [s.ada]},
    "semantic.store_fact": lambda s: {"fact": Fact(claim="tea is green", source="extraction", created_at=NOW)},
    "semantic.vector_search_facts": lambda s: {"query_embedding": s.vector},
    "semantic.vector_search_entities": lambda s: {"query_embedding": s.vector},
    "semantic.get_entity": lambda s: {"id": s.ada},
    "semantic.get_entity_graph": lambda s: {"entity_ids": [s.ada]},
    "semantic.create_relationship": lambda s: {"source_id": s.ada, "target_id": s.acme, "rel_type": "FOUNDED"},
    "sessions.add": lambda s: {"conversation_id": "talk", "role": "user", "content": "hello"},
    "sessions.render": lambda s: {"conversation_id": "talk"},
    "sessions.search": lambda s: {"query": "turn"},
    "toolbox.schemas": lambda s: {},
    "toolbox.run": lambda s: {"name": "blocks_append", "arguments": {"label": "human", "text": "has a cat"}},
    "tenants.list": lambda s: {},
    "tenants.erase": lambda s: {"name": "default"},
    "budget.set": lambda s: {"per": "user", "calls": 5},
    "budget.status": lambda s: {},
    "budget.estimate": lambda s: {"prompt": "hello", "model": "small"},
    "models.ask": lambda s: {"prompt": "hello"},
    "models.usage": lambda s: {},
    "upkeep.stats": lambda s: {},
    "upkeep.verify": lambda s: {},
    "upkeep.prune": lambda s: {"dry_run": False},
    "upkeep.restore": lambda s: {"id": s.pruned},
    "upkeep.pin": lambda s: {"id": s.note},
    "upkeep.unpin": lambda s: {"id": s.pinned},
    "upkeep.pins": lambda s: {},
    "upkeep.extract": lambda s: {"text": "I live in Rome."},
    "upkeep.why": lambda s: {"id": s.note},
    "upkeep.catch_up": lambda s: {},
    "upkeep.learn": lambda s: {},
    "upkeep.run_jobs": lambda s: {},
    "upkeep.jobs": lambda s: {},
    "upkeep.detach": lambda s: {"place": s.place},
    "upkeep.rebuild": lambda s: {},
    "upkeep.consolidate": lambda s: {},
    "upkeep.undo": lambda s: {"id": s.merged},
    "vectors.upsert": lambda s: {"namespace": "mine", "id": "two", "vector": [0.0, 1.0]},
    "vectors.query": lambda s: {"namespace": "mine", "vector": [1.0, 0.0]},
    "vectors.delete": lambda s: {"namespace": "mine", "ids": ["one"]},
    "vectors.embed": lambda s: {"ids": [s.note], "namespaces": ["short_term", "long_term"]},
    "vectors.recall": lambda s: {"query": "where is the printer?", "namespace": "short_term"},
    "vectors.of": lambda s: {"id": "one"},
    "vectors.namespaces": lambda s: {},
    "runs.start": lambda s: {"task_type": "packing", "title": "pack again"},
    "runs.step": lambda s: {"id": s.run, "title": "fold", "tokens": 3},
    "runs.end": lambda s: {"id": s.run, "outcome": "packed", "success": True},
    "runs.get": lambda s: {"id": s.run},
    "runs.list": lambda s: {"success": True},
    "tasks.add": lambda s: {"task": "send", "depends_on": [s.task]},
    "tasks.get": lambda s: {"id": s.task},
    "tasks.list": lambda s: {"status": "ready"},
    "tasks.ready": lambda s: {},
    "tasks.claim": lambda s: {"worker": "w"},
    "tasks.heartbeat": lambda s: {"token": s.token, "progress": 0.5},
    "tasks.finish": lambda s: {"token": s.token, "outcome": "packed"},
    "tasks.fail": lambda s: {"token": s.token, "reason": "too heavy"},
    "tasks.cancel": lambda s: {"id": s.task},
    "tasks.retry": lambda s: {"id": s.cancelled},
    "working.add_turn": lambda s: {"turn": s.said(2)},
    "working.get_recent_turns": lambda s: {},
    "working.set": lambda s: {"key": "other", "value": 1},
    "working.get": lambda s: {"key": "key"},
    "working.delete": lambda s: {"key": "key"},
    "working.get_context": lambda s: {},
    "working.clear_session": lambda s: {},
    "working.set_active_goal": lambda s: {"goal_id": s.goal, "goal_description": "ship it"},
    "working.get_active_goal": lambda s: {},
    "working.push_thought": lambda s: {"thought": "hm"},
    "working.get_thoughts": lambda s: {},
}
KEEPS_RECORDS = {
    "keys",
    "working",
    "vectors",
    "upkeep",
    "models",
    "budget",
}  # what of the table is about something else
KEEPS_RECORDS |= {
    *("receipts.get", "receipts.find", "receipts.costs", "receipts.replay", "receipts.accesses"),
    "upkeep.compressed",
    "govern.audit",
    *("review.list", "review.show", "review.policy"),
    "tenants.list",
    "rules.apply",
    "rules.trust",
    "rules.untrust",
    "rules.fix",
    "rules.init",
}
KEEPS_RECORDS |= {"state.vacuum", *(f"operational.{name}" for name in ("start_task", "finish_task", "update_metric"))}
READING = sorted(name for name, one in TABLE.items() if one.permission is Permission.READ)
WRITING = sorted(name for name, one in TABLE.items() if one.permission is not Permission.READ)


CHANGES_RECORDS = {
    f"upkeep.{one}" for one in ("consolidate", "extract", "undo", "prune", "restore", "pin", "unpin", "run_jobs")
}
"""Of a namespace whose others do not."""


def keeps_records(name: str) -> bool:
    return name in KEEPS_RECORDS or (name.partition(".")[0] in KEEPS_RECORDS and name not in CHANGES_RECORDS)


class Recording:
    """A gate that lets everything in, or nothing, and remembers what came."""

    def __init__(self, *, shut: bool = False) -> None:
        self.seen: list[Change] = []
        self._shut = shut

    def decide(self, changes: Sequence[Change], author: Author) -> Sequence[Change]:
        self.seen += changes
        if self._shut:
            raise Denied("the gate is shut")
        return changes


def test_every_operation_has_an_example() -> None:
    assert EXAMPLES.keys() == TABLE.keys()


@pytest.mark.parametrize("name", WRITING)
def test_what_changes_records_passes_the_gate(name: str, scene: Scene) -> None:
    gate = scene.memory._client.runtime.gate = Recording()
    before = scene.rows(RECORDS)
    scene.call(name)
    changed = scene.rows(RECORDS) != before
    assert changed == bool(gate.seen) == (not keeps_records(name))


@pytest.mark.parametrize("name", [name for name in WRITING if not keeps_records(name)])
def test_a_gate_that_is_shut_keeps_everything_out(name: str, scene: Scene) -> None:
    scene.memory._client.runtime.gate = Recording(shut=True)
    before = scene.rows(RECORDS)
    with pytest.raises(Denied, match="the gate is shut"):
        scene.call(name)
    assert scene.rows(RECORDS) == before


@pytest.mark.parametrize("name", READING)
def test_what_only_reads_changes_nothing(name: str, scene: Scene) -> None:
    before = scene.rows()
    scene.call(name)
    scene.memory._client.runtime.receipts.flush()
    assert scene.rows() == before


def spellings(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> int:
    """How often the payload `{"marker": …}` became JSON meanwhile, whoever asked for it. A seal has it as a string."""
    made: list[str] = []
    make = encoder.c_make_encoder

    def counting(*how: Any) -> Callable[..., Any]:
        spell = make(*how)

        def spelled(*value: Any) -> Any:
            parts = spell(*value)
            made.append("".join(parts))
            return parts

        return spelled

    with monkeypatch.context() as patched:
        patched.setattr(encoder, "c_make_encoder", counting)
        act()
    return sum('"marker"' in one for one in made)


def test_a_payload_is_spelled_as_json_once(memory: AgentMemory, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an idempotency key it is spelled once more, as the caller said it: that is what a repetition is known by."""
    payload = {"marker": [1, 2.5, "ü", None, {"deep": True}]}
    add, many = memory.records.add, memory.records.add_many
    ways: dict[str, tuple[Callable[[], object], int]] = {
        "add": (lambda: add("one", payload=payload), 1),
        "add once": (lambda: add("two", payload=payload, idempotency_key="k"), 2),
        "add_many": (lambda: many([{"text": "three", "payload": payload}]), 1),
        "add_many, of several": (lambda: many([{"text": f"{n}", "payload": payload} for n in range(3)]), 3),
        "edit": (lambda: memory.records.edit(add("four").id, payload=payload), 1),
    }
    assert {name: spellings(monkeypatch, act) for name, (act, _) in ways.items()} == {
        name: times for name, (_, times) in ways.items()
    }
    assert memory.upkeep.verify().ok
    with closing(sqlite3.connect(next(home.rglob("*.db")))) as file:
        rows = file.execute("select distinct payload from contents where payload <> '{}'").fetchall()
    assert rows == [('{"marker":[1,2.5,"ü",null,{"deep":true}]}',)]


@pytest.mark.parametrize(
    "value",
    [float("nan"), [float("inf")], {"\ud800": 1}, {"a": ["\ud800"]}, ["x" * 600_000, "y" * 600_000]],
    ids=["nan", "inf", "a key", "a text", "too large"],
)
def test_what_cannot_be_stored_is_refused_by_name(memory: AgentMemory, value: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory.records.add("one", payload={"a": value})
    assert refused.value.field == "payload" and "JSON" in str(refused.value)
    assert memory.records.find() == []
