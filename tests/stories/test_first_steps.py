"""What a new user does first, word for word. C1, C10."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent_memory import AgentMemory
from agent_memory.models import Entity, Goal, Turn


@pytest.mark.requirement("C1", "C10", "P10")
def test_the_first_snippet(capsys: pytest.CaptureFixture[str]) -> None:
    memory = AgentMemory(user_id="user123", conversation_id="conv456")
    question = "How do I optimize my Python code for performance?"
    memory.store_turn(Turn(conversation_id="conv456", index=0, role="user", content=question))
    context = memory.remember("What about using Cython for speed?", top_k=10, time_window_hours=24)
    shown = context.to_context_string()
    assert shown.startswith("## Relevant Past Conversations\n[")
    assert f"user: {question}..." in shown
    memory.learn_fact(claim="User is interested in Python performance optimization", source="inferred", confidence=0.8)
    memory.add_goal(Goal(description="Help user optimize their Python codebase", priority=4))
    memory.record_tool_usage(
        tool_name="code_interpreter",
        tool_input={"code": "…"},
        tool_output={"result": "…"},
        success=True,
        latency_ms=1200,
    )
    assert memory.what_worked_for("code optimization task") == []
    shown = memory.remember("python performance").to_context_string()
    headings = [line for line in shown.splitlines() if line.startswith("## ")]
    assert headings == ["## Relevant Past Conversations", "## Known Facts", "## Active Goals"]
    assert "- User is interested in Python performance optimization (confidence: 80%)" in shown
    assert "- [4] Help user optimize their Python codebase (active)" in shown
    memory.close()


@pytest.mark.requirement("C2")
def test_a_conversation_in_order_corrected_and_searched(memory: AgentMemory) -> None:
    texts = ["the deploy failed again", "which stage?", "the smoke test, a timeout on checkout"]
    for index in (1, 0, 2):  # also when they arrive out of order
        memory.store_turn(Turn(conversation_id="c1", index=index, role="user", content=texts[index]))
    again = memory.store_turn(Turn(conversation_id="c1", index=1, role="assistant", content="which stage failed?"))
    turns = memory.episodic.get_conversation("c1")
    assert [turn.index for turn in turns] == [0, 1, 2]
    assert turns[1].content == "which stage failed?" and turns[1].role == "assistant" and turns[1].id == again.id
    edges = {(link.source_id, link.target_id, link.type) for link in memory.records.links(turns[1].id)}
    [conversation] = memory.episodic.conversations()
    assert edges == {
        (turns[0].id, turns[1].id, "FOLLOWED_BY"),
        (turns[1].id, turns[2].id, "FOLLOWED_BY"),
        (conversation.id, turns[1].id, "HAS_TURN"),
    }
    vector = memory.embedder.embed_single("checkout timed out")
    found = memory.episodic.vector_search(vector, top_k=2)
    assert found[0]["content"] == texts[2]
    assert set(found[0]) == {"id", "content", "role", "timestamp", "conversation_id", "score"}
    recent = memory.episodic.get_recent_turns(hours=1)
    assert {turn["content"] for turn in recent} == {turn.content for turn in turns}
    assert memory.episodic.vector_search(vector, time_window_hours=0.5)


@pytest.mark.requirement("C3")
def test_entities_facts_and_their_graph(memory: AgentMemory) -> None:
    ada = memory.upsert_entity(Entity(name="Ada", type="Person", aliases=["A."], description="on-call engineer"))
    acme = memory.upsert_entity(Entity(name="Acme", type="Organization"))
    city = memory.upsert_entity(Entity(name="Lisbon", type="Location"))
    same = memory.upsert_entity(Entity(name="ada", type="person", aliases=["Countess"]))
    assert same.id == ada.id
    assert same.description == "on-call engineer" and set(same.aliases) == {"A.", "Countess"}
    memory.semantic.create_relationship(ada.id, acme.id, "WORKS_FOR", {"weight": 0.9, "since": 2024})
    memory.semantic.create_relationship(acme.id, city.id, "LOCATED_IN")
    fact = memory.learn_fact("Ada leads the database migration", entity_ids=[ada.id])
    graph = memory.semantic.get_entity_graph([ada.id], depth=2)
    assert [entity["name"] for entity in graph["entities"]] == ["ada"]
    reached = {(one["entity"]["name"], one["relationship"], one["path_length"]) for one in graph["related"]}
    assert reached == {("Acme", "WORKS_FOR", 1), ("Lisbon", "LOCATED_IN", 2)}
    assert [one["id"] for one in graph["facts"]] == [fact.id]
    assert [one["path_length"] for one in memory.semantic.get_entity_graph([ada.id], depth=1)["related"]] == [1]
    memory.semantic.create_relationship(ada.id, acme.id, "KNOWS")
    both = memory.semantic.get_entity_graph([ada.id], depth=1)["related"]
    assert [one["relationship"] for one in both] == ["WORKS_FOR", "KNOWS"]
    near = memory.semantic.vector_search_facts(memory.embedder.embed_single("who runs the migration?"))
    assert near[0]["claim"] == "Ada leads the database migration"
    assert memory.semantic.vector_search_entities(memory.embedder.embed_single("Lisbon"))[0]["name"] == "Lisbon"


@pytest.mark.requirement("C3")
def test_access_is_counted(memory: AgentMemory, settle: Callable[[], None]) -> None:
    ada = memory.upsert_entity(Entity(name="Ada", type="Person"))
    memory.recall("Ada", kinds=["entity"])
    memory.recall("Ada", kinds=["entity"])
    settle()
    assert memory.semantic.get_entity(ada.id).access_count == 2


@pytest.mark.requirement("C4")
def test_what_worked(memory: AgentMemory) -> None:
    for success in (True, False, True):
        memory.procedural.record_invocation("c1", None, "psql", {"q": "select 1"}, "1", success, 40, "query")
    memory.procedural.record_invocation("c1", None, "kubectl", {}, None, False, 10)
    stats = {row["tool"]: row for row in memory.procedural.get_tool_stats()}
    assert stats["psql"] == {
        "tool": "psql",
        "usage_count": 3,
        "success_count": 2,
        "success_rate": pytest.approx(2 / 3),
        "avg_latency": 40,
    }
    assert memory.procedural.get_tool_stats("query") == [
        {"tool": "psql", "successes": 2, "failures": 1, "success_rate": pytest.approx(2 / 3), "avg_latency": 40}
    ]
    good = memory.procedural.learn_strategy("check the slow query log first", "database is slow", ["psql"])
    memory.procedural.learn_strategy("restart and hope", "database is slow", ["kubectl"], success=False)
    memory.procedural.learn_strategy("water the plants", "office is dry", ["can"])
    memory.procedural.reinforce_strategy(good.id, success=True)
    found = memory.what_worked_for("queries against the database are slow")
    assert found[0].description == "check the slow query log first"
    assert (found[0].success_count, found[0].failure_count) == (2, 0)
    assert "restart and hope" not in [strategy.description for strategy in found]


@pytest.mark.requirement("C5")
def test_the_working_set_follows_the_conversation(timed: AgentMemory, clock: object) -> None:
    timed.set_working_context("branch", "fix-login", ttl_seconds=60)
    timed.working.push_thought("the cache looks stale")
    timed.working.set_active_goal("g1", "ship it")
    for index in range(60):
        timed.working.add_turn(Turn(conversation_id="c1", index=index, role="user", content=f"turn {index}"))
    context = timed.get_working_context()
    assert context["branch"] == "fix-login"
    assert [turn["content"] for turn in context["recent_turns"]] == [f"turn {index}" for index in range(59, 49, -1)]
    kept = timed.working.get_recent_turns(limit=100)
    assert [turn["content"] for turn in kept] == [f"turn {index}" for index in range(59, 9, -1)]
    assert context["thoughts"][0]["thought"] == "the cache looks stale"
    assert set(context["active_goal"]) == {"id", "description", "set_at"}
    timed.conversation_id = "another"
    assert timed.get_working_context() == {"recent_turns": [], "thoughts": [], "active_goal": None}
    timed.conversation_id = None  # the working set `global`
    timed.set_working_context("everywhere", 1)
    timed.conversation_id = "c1"
    clock.forward(seconds=61)
    assert "branch" not in timed.get_working_context()
    clock.forward(hours=1)
    assert timed.working.get_recent_turns() == [] and timed.working.get_thoughts() == []
    timed.working.clear_session()
    assert timed.working.get_active_goal() is None


@pytest.mark.requirement("C6")
def test_goals(memory: AgentMemory) -> None:
    low = memory.add_goal(Goal(description="tidy the wiki", priority=1))
    high = memory.add_goal(Goal(description="upgrade Postgres", priority=5))
    part = memory.add_goal(Goal(description="test the upgrade", parent_goal_id=high.id, blocked_by=[low.id]))
    assert [goal.id for goal in memory.get_active_goals()] == [high.id, part.id, low.id]
    assert [goal.id for goal in memory.goals.children(high.id)] == [part.id]
    assert {(link.type, link.target_id) for link in memory.records.links(part.id)} == {
        ("SUBGOAL_OF", high.id),
        ("BLOCKED_BY", low.id),
        ("HAS_GOAL", part.id),
    }
    memory.goals.update(high.id, status="completed")
    assert [goal.id for goal in memory.get_active_goals()] == [part.id, low.id]
    assert [record.payload["status"] for record in memory.records.history(high.id)] == ["active", "completed"]


@pytest.mark.requirement("C7", "P7")
def test_the_user_model_and_its_markdown(memory: AgentMemory) -> None:
    memory.user.set_preference("git", "merge style", "merge")
    memory.user.set_preference("Git", "Merge Style", "rebase")  # keys compare without case
    memory.user.set_preference("python", "versions", ["3.12", "3.13"])
    memory.user.set_expertise("Kubernetes", "expert")
    memory.user.add_interest("observability")
    context = memory.get_user_context()
    assert set(context) == {"user", "preferences", "expertise", "interests", "communication_style"}
    assert {(one["domain"], one["name"], str(one["value"])) for one in context["preferences"]} == {
        ("Git", "Merge Style", "rebase"),
        ("python", "versions", "['3.12', '3.13']"),
    }
    assert context["expertise"] == [{"topic": "Kubernetes", "level": "expert"}]
    assert context["interests"] == ["observability"]
    page = memory.user.to_markdown()
    assert "## Git" in page and "- **Merge Style**: rebase" in page
    assert memory.user.from_markdown(page) == []
    edited = page.replace("rebase", "squash") + "\n## shell\n\n- **editor**: vim\n"
    assert {one.name for one in memory.user.from_markdown(edited)} == {"Merge Style", "editor"}
    assert memory.user.get_preference("git", "merge style") == "squash"


@pytest.mark.requirement("P7", "L4", "P15")
def test_key_value_exact_semantic_and_hybrid(memory: AgentMemory) -> None:
    memory.records.add("web-01.prod was drained for the kernel upgrade", kind="observation", payload={"run_id": "r7"})
    memory.records.add("We will roll back if error rates pass one percent", kind="plan", payload={"run_id": "r7"})
    memory.records.add("Rollback finished, error rate is normal", kind="result", payload={"run_id": "r8"})
    memory.records.add("deploy window", kind="observation", key="team/deploy-window", payload={"days": "Mon-Thu"})
    assert memory.records.lookup("observation", "TEAM/Deploy-Window").payload == {"days": "Mon-Thu"}  # key-value
    assert len(memory.records.find(fields={"run_id": "r7"})) == 2  # exact match
    assert memory.recall("web-01.prod", k=1)[0].why.words[-1] == "web-01.prod"  # words
    assert memory.recall("machines taken out of service", k=1)[0].text.startswith("web-01.prod")  # meaning alone
    hit = memory.recall("what happened with the rollback?", k=1)[0]
    assert hit.kind == "result" and {"vectors", "words"} <= set(hit.why.channels)  # hybrid
    assert memory.recall("team/deploy-window", k=1)[0].why.exact_key
