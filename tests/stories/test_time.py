"""Two clocks: every read can be asked as of a recorded time and at a valid time, in every channel."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from agent_memory import AgentMemory
from agent_memory.models import Fact, Turn


def texts(found: object) -> list[str]:
    return [hit.text for hit in found]  # type: ignore[attr-defined]


@pytest.fixture
def moved(timed: AgentMemory, clock: object) -> dict[str, object]:
    """Ada moved; the store learnt of it a week later."""
    monday = clock.forward(days=0)
    timed.learn_fact("Ada works from Berlin", subject="Ada", predicate="works from")
    tuesday = clock.forward(days=8)
    timed.learn_fact("Ada works from Lisbon", subject="Ada", predicate="works from")
    return {"then": monday, "now": tuesday, "between": tuesday.replace(day=5)}


@pytest.mark.parametrize("question", ["Berlin Lisbon", "which city is Ada's office in?"])
def test_a_superseded_fact_is_found_only_as_of_its_time(
    timed: AgentMemory, moved: dict[str, object], question: str
) -> None:
    assert texts(timed.recall(question)) == ["Ada works from Lisbon"]
    assert texts(timed.recall(question, as_of=moved["between"])) == ["Ada works from Berlin"]
    assert texts(timed.recall(question, valid_at=moved["between"])) == ["Ada works from Berlin"]
    assert texts(timed.recall(question, valid_at=moved["now"])) == ["Ada works from Lisbon"]
    before = moved["then"].replace(year=2020)
    assert texts(timed.recall(question, as_of=before)) == []
    assert texts(timed.recall(question, valid_at=before)) == []


def test_statistics_of_words_are_those_of_the_moment(timed: AgentMemory, clock: object) -> None:
    """What is written later, or by others, changes no score of the past: no statistic leaks through the clock."""
    timed.records.add("the red lamp blinks")
    timed.records.add("the red door squeaks")
    moment = clock.forward(minutes=1)
    first = [(hit.text, hit.why.channels.get("words")) for hit in timed.recall("red lamp", as_of=moment)]
    clock.forward(minutes=1)
    for number in range(20):
        timed.records.add(f"red thing number {number}")
    with AgentMemory(user_id="eve", clock=clock) as other:
        other.records.add("red red lamp lamp")
    again = [(hit.text, hit.why.channels.get("words")) for hit in timed.recall("red lamp", as_of=moment)]
    assert first == again


def test_history_by_key_and_by_id(timed: AgentMemory, clock: object) -> None:
    timed.user.set_preference("git", "style", "merge")
    morning = clock.forward(hours=1)
    clock.forward(hours=1)
    timed.user.set_preference("git", "style", "rebase")
    clock.forward(hours=1)
    record = timed.records.lookup("preference", "git\x1fstyle")
    versions = timed.records.history(record.id)
    assert [(one.version, one.payload["value"]) for one in versions] == [(1, "merge"), (2, "merge"), (3, "rebase")]
    assert versions[0].recorded_to == versions[1].recorded_at and versions[1].valid_to == versions[2].valid_from
    assert timed.user.get_preference("git", "style", as_of=morning) == "merge"
    assert timed.user.get_preference("git", "style", valid_at=morning) == "merge"
    assert timed.records.get(record.id, as_of=morning).payload["value"] == "merge"
    assert [one.payload["value"] for one in timed.records.find("preference", as_of=morning)] == ["merge"]


def test_news_that_come_late_do_not_overwrite_newer_ones(timed: AgentMemory, clock: object) -> None:
    start = clock.now()
    clock.forward(days=30)
    timed.learn_fact("The cluster runs version 1.31", subject="cluster", predicate="version")
    late = Fact(
        claim="The cluster ran version 1.29",
        source="user_stated",
        subject="cluster",
        predicate="version",
        created_at=start,
    )
    timed.semantic.store_fact(late)
    assert texts(timed.recall("cluster version")) == ["The cluster runs version 1.31"]
    assert texts(timed.recall("cluster version", valid_at=start)) == ["The cluster ran version 1.29"]


def test_what_only_begins_later_waits_behind_what_holds_now(timed: AgentMemory, clock: object) -> None:
    timed.records.add("deploys on Friday", kind="preference", payload={"domain": "ops", "name": "deploy", "value": 5})
    clock.forward(days=1)
    later = clock.now().replace(day=20)
    change = {"domain": "ops", "name": "deploy", "value": 2}
    timed.records.add("deploys on Tuesday", kind="preference", payload=change, valid_from=later)
    assert timed.user.get_preference("ops", "deploy") == 5
    assert texts(timed.recall("when are deploys?")) == ["deploys on Friday"]
    clock.moment = later
    assert timed.user.get_preference("ops", "deploy") == 2
    assert texts(timed.recall("when are deploys?")) == ["deploys on Tuesday"]


def test_a_turn_dated_in_the_future_is_still_found(timed: AgentMemory, clock: object) -> None:
    """Another machine's clock may be ahead: what was written is findable all the same."""
    ahead = clock.now().replace(year=9000)
    timed.store_turn(Turn(conversation_id="c1", index=0, role="user", content="hello from the future", timestamp=ahead))
    assert texts(timed.recall("hello")) == ["hello from the future"]


def test_recorded_time_never_goes_backwards(timed: AgentMemory, clock: object) -> None:
    timed.records.add("first")
    clock.forward(days=-400)
    second = timed.records.add("second")
    lines = timed.records.journal()
    assert [line.at for line in lines] == sorted(line.at for line in lines)
    assert second.recorded_at == lines[0].at
    assert timed.upkeep.verify().ok


def test_links_have_a_time_too(timed: AgentMemory, clock: object) -> None:
    one, two = timed.records.add("one").id, timed.records.add("two").id
    from agent_memory.models import Link

    timed.records.link(Link(source_id=one, target_id=two, type="CAUSED"))
    linked = clock.forward(minutes=5)
    clock.forward(minutes=5)
    assert timed.records.unlink(one, two, "CAUSED") == "updated"
    clock.forward(minutes=5)
    assert timed.records.links(one) == []
    assert [link.type for link in timed.records.links(one, as_of=linked)] == ["CAUSED"]


UNTIMED = {
    "budget.status": "is of the days that it names",
    "budget.estimate": "is about what comes",
    "records.history": "shows all moments",
    "records.journal": "is the recorded time itself",
    "receipts.find": "is a list of moments",
    "receipts.get": "is of its own moment",
    "receipts.accesses": "counts what was recalled",
    "receipts.replay": "is of its own moment",
    "user.to_markdown": "is a page to edit now",
    "rules.trusted": "is about this machine now",
    "embedder.embed": "is arithmetic",
    "embedder.embed_single": "is arithmetic",
    "retriever.recipes": "are settings, and have no moment",
    "rules.at": "is about files, whose versions git keeps",
    "rules.check": "is about what will be done; git keeps the versions of rules",
    "rules.diff": "is about files, whose versions git keeps",
    "rules.lint": "is about files, whose versions git keeps",
    "rules.log": "is about files, whose versions git keeps",
    "rules.prompt": "is about files, whose versions git keeps",
    "rules.read": "is about files, whose versions git keeps",
    "records.resolve": "names records, whenever they held",
    "upkeep.stats": "counts what is there",
    "upkeep.compressed": "counts what is there",
    "upkeep.pins": "is what is protected now",
    "operational.get_recent": "is about now",
    "operational.get_metrics": "is about now",
    "operational.get_active_tasks": "is about now",
    "operational.get_system_snapshot": "is about now",
    "state.get_tasks_for_goal": "says what is to be done now",
    "tasks.ready": "says what is to be done now",
    "agents.recall": "is for the cycle that an agent is in",
    "vectors.query": "has no versions",
    "vectors.recall": "has no versions",
    "vectors.of": "has no versions",
    "vectors.namespaces": "has no versions",
    "blocks.history": "shows all moments",
    "archival.search": "is a tool for a model in a conversation; recall has moments",
    "sessions.render": "is the prompt of the next call",
    "sessions.search": "is a tool for a model in a conversation; recall has moments",
    "knowledge.documents": "is about what is kept now; longterm.semantic_search has moments",
    "toolbox.schemas": "is about what can be called",
    "govern.check": "is about a text that is not stored",
}


def test_every_read_can_be_asked_as_of_a_moment() -> None:
    from agent_memory.app.operations import TABLE, Permission

    reads = [one for one in TABLE.values() if one.permission is Permission.READ and not one.name.startswith("working.")]
    without = {one.name for one in reads if not {"as_of", "valid_at"} <= set(one.signature)}
    assert without == set(UNTIMED)


def test_the_reads_by_name_travel_too(timed: AgentMemory, clock: object) -> None:
    from agent_memory.models import Entity, Goal

    goal = timed.add_goal(Goal(description="ship it", created_at=clock.now()))
    ada = timed.upsert_entity(Entity(name="Ada", type="Person", first_seen=clock.now()))
    timed.user.set_preference("git", "style", "merge")
    timed.store_turn(Turn(conversation_id="c1", index=0, role="user", content="first", timestamp=clock.now()))
    timed.procedural.learn_strategy("look first", "any", ["psql"])
    run, agent = timed.runs.start("packing", "pack"), timed.agents.create("packer", "Be careful.")
    timed.agents.begin(agent.id)
    before = clock.forward(hours=1)
    clock.forward(hours=1)
    acme = timed.upsert_entity(Entity(name="Acme", type="Organization", first_seen=clock.now()))
    timed.semantic.create_relationship(ada.id, acme.id, "WORKS_FOR")
    timed.goals.update(goal.id, status="completed")
    timed.user.set_preference("git", "style", "rebase")
    timed.store_turn(Turn(conversation_id="c1", index=1, role="user", content="second", timestamp=clock.now()))
    timed.procedural.learn_strategy("look first", "any", ["psql"])
    timed.runs.end(run.id, "packed", success=True)
    timed.agents.create("packer", "Be quick.")
    timed.agents.resume(agent.id)
    timed.episodic.update_conversation("c1", title="Two turns")
    clock.forward(hours=1)
    assert (timed.runs.get(run.id).status, timed.runs.get(run.id, as_of=before).status) == ("ended", "running")
    assert timed.runs.list(success=True, as_of=before) == [] and timed.runs.list(as_of=before)[0].id == run.id
    assert timed.agents.get("packer", as_of=before).directives == "Be careful."
    assert [one.directives for one in timed.agents.list(as_of=before)] == ["Be careful."]
    assert timed.agents.cycle("packer", 1, as_of=before).status == "open" != timed.agents.cycle("packer", 1).status
    assert [one.status for one in timed.agents.cycles("packer", as_of=before)] == ["open"]
    assert timed.agents.notes("packer", "result", as_of=before) == [] != timed.agents.notes("packer", "result")
    assert timed.episodic.conversations(as_of=before)[0].title is None
    assert timed.get_active_goals() == [] and [one.id for one in timed.get_active_goals(as_of=before)] == [goal.id]
    assert [one["value"] for one in timed.get_user_context(valid_at=before)["preferences"]] == ["merge"]
    assert [one.content for one in timed.episodic.get_conversation("c1", as_of=before)] == ["first"]
    assert len(timed.semantic.get_entity_graph([ada.id])["related"]) == 1
    assert timed.semantic.get_entity_graph([ada.id], as_of=before)["related"] == []
    assert timed.what_worked_for("look", as_of=before)[0].success_count == 1
    bundle = timed.remember("first second", as_of=before)
    assert [one["content"] for one in bundle.relevant_turns] == ["first"] and bundle.active_goals[0]["id"] == goal.id


def test_the_graph_travels_too(timed: AgentMemory, clock: object) -> None:
    from agent_memory.models.graph import Edge, Node, Observing, Unobserving

    timed.graph.create_entities([Node(name=name, entity_type="service", observations=["is new"]) for name in "ab"])
    timed.graph.create_relations([Edge(source="a", target="b", relation_type="uses")])
    before = clock.forward(hours=1)
    clock.forward(hours=1)
    timed.graph.add_observations([Observing(entity_name="a", contents=["is slow"])])
    timed.graph.delete_relations([Edge(source="a", target="b", relation_type="uses")])
    timed.graph.create_entities([Node(name="c", entity_type="service", observations=[])])
    clock.forward(hours=1)
    ways = {"read": {}, "open": {"names": ["a", "b", "c"]}, "search": {"query": "service"}}
    for name, given in ways.items():
        look = getattr(timed.graph, name)
        now, then = look(**given), look(**given, as_of=before)
        assert [one.name for one in now.entities] == ["a", "b", "c"] and now.relations == []
        assert [one.name for one in then.entities] == ["a", "b"] and len(then.relations) == 1, name
        assert then.entities[0].observations == ["is new"] and now.entities[0].observations == ["is new", "is slow"]
        assert [one.name for one in look(**given, valid_at=before).entities] == ["a", "b"], "c began later"
    timed.graph.delete_observations([Unobserving(entity_name="a", observations=["is new"])])
    assert timed.graph.read(as_of=before).entities[0].observations == [], "what is forgotten is forgotten then, too"


def test_access_statistics_are_those_of_the_moment(
    timed: AgentMemory, clock: object, settle: Callable[[], None]
) -> None:
    from agent_memory.models import Entity

    looks = 0

    def asked(**moment: object) -> tuple[int | None, object]:
        """What `get_entity` tells, which itself is one access more: of those before, now is the last."""
        nonlocal looks
        settle()
        found = timed.semantic.get_entity(ada.id, **moment)
        looks += 1
        return found.access_count, found.last_accessed

    ada = timed.upsert_entity(Entity(name="Ada", type="Person", first_seen=clock.now()))
    written = clock.now()
    first = clock.forward(days=1)
    timed.recall("Ada", kinds=["entity"])
    second = clock.forward(days=1)
    timed.recall("Ada", kinds=["entity"])
    timed.recall("Ada", kinds=["entity"], as_of=written)  # of the past, but it happens now
    assert asked() == (3 + looks - 1, second)
    assert asked(as_of=second) == (3 + looks - 1, second)
    assert asked(as_of=first) == asked(as_of=second - timedelta(seconds=1)) == (1, first)
    assert asked(as_of=written) == (0, written), "never yet: as if accessed when it was recorded"
    assert asked(valid_at=first) == (3 + looks - 1, second), "valid time is about the world, not about us"
    clock.forward(days=60)
    timed.records.add("a line in between: a clock that jumps is not believed")
    clock.forward(days=31, hours=1)
    timed.recall("Ada", kinds=["entity"])
    assert asked(as_of=first) == (None, None), "not known any more"
    assert asked(as_of=clock.now()) == (4 + looks - 1, clock.now())


@pytest.mark.requirement("C10")
def test_a_hit_says_into_which_period_of_the_question_it_falls(timed: AgentMemory, clock: object) -> None:
    from datetime import UTC, datetime

    from agent_memory.models.recipe import DEFAULT

    for day, text in ((3, "we moved the database"), (20, "we moved the cache"), (27, "we moved the queue")):
        timed.records.add(text, valid_from=datetime(2026, 2, day, tzinfo=UTC))
    question = "what was moved on February 20?"
    found = {hit.text: hit.why for hit in timed.recall(question)}
    (when,) = found["we moved the cache"].dates
    assert (when.words, when.start, when.end) == (
        "February 20",
        datetime(2026, 2, 20, tzinfo=UTC),
        datetime(2026, 2, 21, tzinfo=UTC),
    )
    assert found["we moved the cache"].channels["date"] == DEFAULT.date
    for text in ("we moved the database", "we moved the queue"):
        assert found[text].dates == [] and found[text].channels.get("date", 0.0) < DEFAULT.date / 4, "beside it, little"
    assert all(hit.why.dates == [] for hit in timed.recall(question, recipe="meaning"))
    assert all(hit.why.dates == [] for hit in timed.recall("what was moved?"))
    assert timed.recall(question).space == timed.upkeep.stats()["space"]


def test_the_moments_that_were_taken_are_in_the_answer(timed: AgentMemory, clock: object) -> None:
    from datetime import UTC, datetime

    timed.records.add("staging listens on port 5433")
    then, known = datetime(2026, 3, 3, 23, 59, tzinfo=UTC), datetime(2026, 3, 4, tzinfo=UTC)
    for found in (
        timed.recall("which port?", valid_at=then, as_of=known),
        timed.assemble_context("which port?", valid_at=then, as_of=known),
    ):
        assert (found.valid_at, found.as_of) == (then, known)
    assert timed.recall("which port?").valid_at is None
    (when,) = timed.recall("which port was it on last Tuesday?").past
    assert (when.words, when.start) == ("last Tuesday", datetime(2026, 2, 24, tzinfo=UTC))
