"""Decisions, incidents, the history of settings, patterns and agent states: stored, found, counted. T2, T3, T6, T7."""

from __future__ import annotations

import sqlite3
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import SteppingClock

from agent_memory import AgentMemory
from agent_memory.models import ConfigChange, Decision, Goal, Happening, Incident, Pattern, Task
from agent_memory.models.errors import Conflict, InvalidInput, NotFound
from agent_memory.models.kinds.patterns import lower_bound

PAIRS = [
    ("Store money as integer cents", "Rounding errors showed up in invoices that used floats",
     "our bills are off by a penny because of floating point arithmetic"),
    ("Use PostgreSQL instead of MongoDB", "Orders and payments need transactions across tables",
     "which database lets several tables change atomically?"),
    ("Rotate the API keys every thirty days", "A contractor's laptop with credentials was stolen",
     "a device that holds secrets went missing"),
    ("Deploy only from Monday to Thursday", "Two outages began on Friday evening when nobody was around",
     "releasing right before the weekend keeps hurting us"),
    ("Cache product pages for five minutes", "The shop got slow when a newsletter was sent",
     "the storefront is sluggish after mass mailings"),
    ("Split the monolith's billing module into a service", "Billing releases were blocked by unrelated teams",
     "invoicing cannot ship because other groups hold up the build"),
    ("Write user passwords with argon2id", "An audit found unsalted SHA-1 hashes",
     "the security review complained about how we hash login secrets"),
    ("Run end to end tests nightly rather than on each commit", "The pipeline took fifty minutes",
     "continuous integration is far too slow"),
    ("Use feature flags for risky changes", "Rolling back a release took an hour",
     "we need to turn off a broken function quickly without redeploying"),
    ("Move logs from disk to object storage", "Servers ran out of space at the end of the month",
     "machines keep filling up with log files"),
    ("Adopt trunk based development", "Long lived branches led to merge conflicts for days",
     "merging old branches is painful"),
    ("Limit each client to 100 requests a second", "One customer's script made the service slow for everybody",
     "a single tenant hogs the API"),
    ("Keep timestamps in UTC only", "Reports showed a gap when daylight saving began",
     "the hour vanished in statistics when the clocks changed"),
    ("Back up the database every hour to another region", "The data centre in Frankfurt lost power",
     "what if a whole site goes dark?"),
    ("Choose Rust for the image resizer", "The Python version used four times our memory budget",
     "thumbnail generation eats too much RAM"),
    ("Send mail through a provider instead of our own server", "Messages landed in spam folders",
     "newsletters are flagged as junk"),
    ("Turn on two factor login for staff", "Somebody phished a support agent's password",
     "an employee was tricked into giving away credentials"),
    ("Use a queue between checkout and the warehouse", "Orders were lost when the warehouse system was down",
     "purchases vanish while the fulfilment backend is offline"),
    ("Pin all dependencies with hashes", "A malicious release of a small library was published",
     "supply chain attack through a compromised package"),
    ("Replace cron by a scheduler with retries", "A nightly job failed unnoticed for a week",
     "batch work silently did not run"),
    ("Let the search ignore accents", "Customers who typed Munchen did not find München",
     "looking up names without umlauts gives nothing"),
    ("Use server side rendering for the landing page", "Search engines did not index our content",
     "google does not see the text of our site"),
    ("Delete personal data after two years", "The data protection officer asked for a retention policy",
     "how long may we keep information about customers under GDPR?"),
    ("Serve images through a content delivery network", "Visitors from Australia waited eight seconds",
     "pictures load slowly on the other side of the world"),
    ("Buy the reserved instances for a year", "The cloud bill doubled in six months",
     "hosting costs are exploding"),
    ("Hire a second database administrator", "Only one person knew how to restore a backup",
     "too much knowledge sits in a single head"),
    ("Use GraphQL for the mobile app", "The app made twenty calls to draw one screen",
     "phones need too many round trips to show a page"),
    ("Write the public documentation in English only", "Translations were always out of date",
     "localized manuals lag behind"),
    ("Page the on-call engineer only for user visible errors", "People ignored alerts because there were too many",
     "alarm fatigue"),
    ("Keep the old API version for a year", "Partners could not upgrade within a month",
     "integrators need more time before we remove endpoints"),
]  # fmt: skip


@pytest.mark.requirement("T6")
def test_thirty_decisions_are_found_by_paraphrases(memory: AgentMemory) -> None:
    for what, why, _ in PAIRS:
        memory.state.log_decision(Decision(decision=what, context=why, decided_by="ada"))
    found = [
        what in [one.decision for one in memory.state.find_similar_decisions(asked, limit=3)]
        for what, _, asked in PAIRS
    ]
    missed = [asked for (_, _, asked), hit in zip(PAIRS, found, strict=True) if not hit]
    assert (len(PAIRS), sum(found) >= 27) == (30, True), missed


@pytest.mark.requirement("T6")
def test_a_decision_tells_who_why_and_how_it_went(memory: AgentMemory) -> None:
    logged = memory.state.log_decision(
        Decision(
            decision="Use a queue",
            context="orders were lost",
            decided_by="ada",
            reason="it survives restarts",
            alternatives=["retry in the client", "do nothing"],
            confidence=0.7,
        )
    )
    told = memory.state.record_outcome(logged.id, "no order was lost since", success=True)
    [found] = memory.state.find_similar_decisions("lost orders", limit=1)
    assert found.model_dump(exclude={"relevance", "decided_at"}) == told.model_dump(exclude={"relevance", "decided_at"})
    assert (found.alternatives, found.confidence, found.success) == (["retry in the client", "do nothing"], 0.7, True)
    assert found.relevance is not None and 0 < found.relevance <= 1
    assert [one.payload.get("outcome") for one in memory.records.history(logged.id)] == [
        None,
        "no order was lost since",
    ]
    with pytest.raises(NotFound, match="no decision 'nothing'"):
        memory.state.record_outcome("nothing", "well")


@pytest.mark.requirement("T7")
def test_a_pattern_is_found_exactly_then_by_expression_then_by_meaning(memory: AgentMemory) -> None:
    store, find = memory.state.store_pattern, memory.state.find_pattern
    near = store(Pattern(trigger="the disk of a server is full", action="remove old log files"))
    wide = store(Pattern(trigger=r"/error \d{3}/", action="look at the status page"))
    just = store(Pattern(trigger="Error 503 from checkout", action="restart checkout"))
    assert [find(said) and find(said).id for said in ("error  503 FROM checkout", "an error 404 came", "no space left on the server's disk")] == [just.id, wide.id, near.id]  # fmt: skip  # noqa: E501
    assert find("what is for lunch in the canteen?") is None


@pytest.mark.requirement("T7")
def test_one_of_one_does_not_beat_ninety_of_a_hundred(memory: AgentMemory) -> None:
    lucky = Pattern(trigger="build fails", action="try again", success_count=1)
    proven = Pattern(trigger="build fails", action="clean the cache", success_count=90, failure_count=10)
    for one in (lucky, proven):
        memory.state.store_pattern(one)
    found = memory.state.find_pattern("build fails")
    assert found is not None and (found.action, found.success_rate) == ("clean the cache", 0.9)


@pytest.mark.requirement("T7")
def test_storing_a_pattern_again_keeps_its_statistics(memory: AgentMemory) -> None:
    first = memory.state.store_pattern(Pattern(trigger="Build fails", action="clean"))
    memory.state.update_pattern_stats(first.id, True)
    again = memory.state.store_pattern(Pattern(trigger="build  fails", action="clean"))
    assert (again.id, again.success_count, again.trigger) == (first.id, 1, "build  fails")
    assert (
        memory.state.store_pattern(Pattern(trigger="build fails", action="clean", success_count=7)).success_count == 7
    )


@pytest.mark.requirement("T7")
def test_outcomes_are_counted_also_at_the_same_time(memory: AgentMemory) -> None:
    one = memory.state.store_pattern(Pattern(trigger="build fails", action="clean"))

    def count(success: bool) -> None:
        for _ in range(5):
            memory.state.update_pattern_stats(one.id, success)

    threads = [threading.Thread(target=count, args=(number % 2 == 0,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = memory.state.find_pattern("build fails")
    assert found is not None and (found.success_count, found.failure_count) == (10, 10)


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_the_bound_is_below_the_rate_and_grows_with_evidence(successes: int, failures: int) -> None:
    tried = successes + failures
    bound = lower_bound(successes, failures)
    assert 0 <= bound <= (successes / tried if tried else 0) + 1e-12
    assert lower_bound(2 * successes, 2 * failures) >= bound and lower_bound(successes + 1, failures) >= bound
    assert lower_bound(successes, failures + 1) <= bound + 1e-12


@pytest.mark.parametrize("trigger", [r"/(a)\1/", "/(?=x)y/", "/[/", "/(/"])
def test_an_expression_that_cannot_be_used_is_refused(memory: AgentMemory, trigger: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory.state.store_pattern(Pattern(trigger=trigger, action="x"))
    assert refused.value.field == "trigger" and memory.records.find(kinds=["pattern"]) == []


@pytest.mark.requirement("T2")
def test_goals_and_tasks_have_their_names_in_the_tier(memory: AgentMemory) -> None:
    high = memory.state.store_goal(Goal(description="Ship", priority=5))
    low = memory.state.store_goal(Goal(description="Tidy up", priority=1))
    first = memory.state.store_task(Task(description="build", goal_id=high.id))
    second = memory.state.store_task(Task(description="push", goal_id=high.id, depends_on=[first.id]))
    assert [(one.id, one.status) for one in memory.state.get_tasks_for_goal(high.id)] == [
        (first.id, "ready"),
        (second.id, "pending"),
    ]
    assert [one.id for one in memory.state.get_active_goals()] == [high.id, low.id]
    assert memory.state.update_goal(high.id, "completed").status == "completed"
    assert [one.id for one in memory.state.get_active_goals()] == [low.id]
    with pytest.raises(Conflict) as illegal:
        memory.state.update_goal(high.id, "blocked")
    assert illegal.value.field == "status"


@pytest.mark.requirement("T2")
def test_what_helps_with_a_task_has_a_summary_and_a_relevance(memory: AgentMemory) -> None:
    memory.add_goal(Goal(description="Move checkout to another host"))
    memory.state.log_decision(Decision(decision="Checkout stays on port 5433", reason="clients have it hard coded"))
    memory.state.store_pattern(Pattern(trigger="checkout does not answer", action="restart checkout"))
    found = memory.state.find_relevant("restart checkout when it hangs", limit=2)
    assert found[0].kind == "pattern" and len(found) == 2
    assert "worked 0 of 0 times" in found[0].summary and "\n" not in found[0].summary
    assert 1 >= found[0].relevance >= found[1].relevance > 0


@pytest.mark.requirement("T2")
def test_an_agents_state_is_its_last_one_and_has_a_history(timed: AgentMemory, clock: SteppingClock) -> None:
    assert timed.state.get_agent_state("planner") is None
    first = timed.state.store_agent_state("planner", {"step": 1})
    before = clock.moment
    clock.forward(minutes=5)
    second = timed.state.store_agent_state("planner", {"step": 2, "todo": ["a"]})
    now, then = timed.state.get_agent_state("planner"), timed.state.get_agent_state("planner", valid_at=before)
    assert now is not None and (now.state, now.updated_at, now.id) == (second.state, clock.moment, first.id)
    assert then is not None and then.state == {"step": 1}


@pytest.mark.requirement("T3")
def test_collections_are_searched_together_and_merged_by_relevance(memory: AgentMemory) -> None:
    memory.state.log_decision(Decision(decision="Use a queue before the warehouse", reason="orders were lost"))
    memory.longterm.store_incident(
        Incident(
            title="Orders were lost at the warehouse",
            severity="high",
            services=["checkout", "warehouse"],
            timeline=[Happening(at=datetime(2026, 3, 1, 9, tzinfo=UTC), what="first lost order")],
            resolution="a queue",
            lessons=["never call the warehouse directly"],
        )
    )
    memory.longterm.store_procedure("replay-orders", "Send lost orders again", ["open the queue", "press replay"])
    memory.learn_fact("The warehouse loses orders on Mondays", source="user_stated")
    found = memory.longterm.semantic_search("orders lost at the warehouse")
    assert {one.collection for one in found} == {"decisions", "incidents", "procedures"}
    assert [one.relevance for one in found] == sorted((one.relevance for one in found), reverse=True)
    assert found[0].collection == "incidents" and found[0].metadata["services"] == ["checkout", "warehouse"]
    [fact] = memory.longterm.semantic_search("orders lost at the warehouse", ["knowledge"], n_results=1)
    assert fact.collection == "knowledge" and fact.content == "The warehouse loses orders on Mondays"
    with pytest.raises(InvalidInput) as wrong:
        memory.longterm.semantic_search("orders", ["diaries"])
    assert wrong.value.field.startswith("collections")


@pytest.mark.requirement("T3")
def test_a_procedure_is_known_by_its_name(memory: AgentMemory) -> None:
    first = memory.longterm.store_procedure("deploy", "Deploy to staging", ["build", "push"])
    second = memory.longterm.store_procedure("deploy", "Deploy to staging", ["test", "build", "push"])
    assert first.id == second.id and second.steps == ["test", "build", "push"]
    [found] = memory.longterm.semantic_search("deploy to staging", ["procedures"])
    assert (
        found.metadata["steps"] == ["test", "build", "push"]
        and found.content == "deploy: Deploy to staging\n1. test\n2. build\n3. push"
    )


@pytest.mark.requirement("T3")
def test_an_incident_is_updated_under_its_id(memory: AgentMemory) -> None:
    began = memory.longterm.store_incident(Incident(title="Checkout is down", severity="critical"))
    memory.longterm.store_incident(began.model_copy(update={"resolution": "restarted", "lessons": ["watch memory"]}))
    found = memory.longterm.get_incident(began.id)
    assert (found.title, found.resolution, found.lessons) == ("Checkout is down", "restarted", ["watch memory"])
    with pytest.raises(InvalidInput) as wrong:
        Incident(title="x", severity="dreadful")
    assert wrong.value.field == "severity"


@pytest.mark.requirement("T3")
def test_a_setting_is_known_as_of_any_time(timed: AgentMemory, clock: SteppingClock) -> None:
    note = timed.longterm.store_config_change
    note(ConfigChange(key="pool size", new=5, changed_by="ada", reason="first guess"))
    monday = clock.moment
    clock.forward(days=2)
    note(ConfigChange(key="pool size", new=20, changed_by="bob"))
    wednesday = clock.moment
    clock.forward(days=1)
    note(ConfigChange(key="pool size", new=10, changed_at=monday + timedelta(days=1), reason="told late"))
    told = timed.longterm.get_config_history("pool size")
    assert [(one.old, one.new) for one in told] == [(None, 5), (5, 10), (5, 20)]
    at = [monday, monday + timedelta(days=1.5), wednesday]
    assert [timed.longterm.get_config("pool size", valid_at=one).new for one in at] == [5, 10, 20]
    assert timed.longterm.get_config("pool size", valid_at=monday + timedelta(days=1.5), as_of=wednesday).new == 5
    assert timed.longterm.get_config("pool size").new == 20 and timed.longterm.get_config("nothing") is None
    assert timed.longterm.get_config_history("nothing") == []


@pytest.mark.requirement("T10")
def test_what_is_old_and_over_moves_into_the_archive(timed: AgentMemory, clock: SteppingClock) -> None:
    start = clock.moment
    old = timed.state.log_decision(Decision(decision="Use a queue", context="orders were lost", decided_at=start))
    timed.goals.add(Goal(description="reach the archive", status="completed", created_at=start))
    open_goal = timed.goals.add(Goal(description="still open", created_at=start))
    clock.forward(days=31)
    new = timed.state.log_decision(Decision(decision="Queue twice", context="orders lost", decided_at=clock.moment))
    moved = timed.state.migrate_old_entries(clock.moment - timedelta(days=30))
    assert moved["decision"] == 1 and moved["goal"] == 1 and moved["task"] == 0
    assert [one.id for one in timed.state.find_similar_decisions("orders were lost")] == [new.id]
    found = timed.longterm.semantic_search("orders were lost", ["decisions"])
    assert {one.metadata["id"] for one in found} == {old.id, new.id}
    assert [goal.id for goal in timed.get_active_goals()] == [open_goal.id]
    summaries = timed.records.find(kinds=["summary"])
    assert {(one.payload["archived"], one.payload["count"]) for one in summaries} == {("decision", 1), ("goal", 1)}
    assert "orders" not in " ".join(one.text for one in summaries)
    assert sum(timed.state.migrate_old_entries(clock.moment - timedelta(days=30)).values()) == 0
    timed.records.forget([old.id])
    assert {one.payload["archived"] for one in timed.records.find(kinds=["summary"])} == {"goal"}


@pytest.mark.requirement("T10")
def test_every_day_what_ended_long_ago_is_archived_with_a_summary(timed: AgentMemory, clock: SteppingClock) -> None:
    start = clock.moment
    ended = [timed.goals.add(Goal(description=f"ship {n}", status="completed", created_at=start)) for n in range(3)]
    timed.upkeep.pin(ended[0].id)
    going = timed.goals.add(Goal(description="still open", created_at=start))
    decision = timed.state.log_decision(Decision(decision="Use a queue", context="orders were lost", decided_at=start))
    clock.forward(days=29)
    assert timed.upkeep.run_jobs()["archive"]["goal"] == 0
    clock.forward(days=2)
    assert timed.upkeep.run_jobs()["archive"]["goal"] == 2
    kept = [ended[0].id, going.id, decision.id]
    assert {timed.records.get(id).status for id in kept} == {"active"}
    assert {timed.records.get(one.id).status for one in ended[1:]} == {"archived"}
    [summary] = timed.records.find(kinds=["summary"])
    assert {one.id for one in timed.upkeep.why(summary.id).origins} == {summary.id, *(one.id for one in ended[1:])}
    assert timed.upkeep.run_jobs()["archive"]["goal"] == 0 and len(timed.records.find(kinds=["summary"])) == 1


@pytest.mark.local
def test_what_is_taken_up_again_meanwhile_stays(
    timed: AgentMemory, clock: SteppingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = {"status": "completed", "created_at": clock.moment}
    over, again = (timed.goals.add(Goal(description="g", **begun)) for _ in range(2))
    clock.forward(days=31)
    store = type(timed.goals._client.runtime.store.records)
    apply = store.apply

    def meanwhile(*words: object, **more: object) -> object:
        monkeypatch.setattr(store, "apply", apply)
        timed.goals.update(again.id, status="active")
        return apply(*words, **more)

    monkeypatch.setattr(store, "apply", meanwhile)
    assert timed.state.migrate_old_entries(clock.moment)["goal"] == 1
    assert [timed.records.get(one.id).status for one in (over, again)] == ["archived", "active"]


def test_vacuum_says_what_it_let_go(memory: AgentMemory) -> None:
    assert memory.state.vacuum() == {"receipts": 0, "owed": 0}


@pytest.mark.file
@pytest.mark.local
@pytest.mark.requirement("T2")
def test_the_tables_can_be_read_with_any_tool(memory: AgentMemory, home: Path) -> None:
    memory.state.log_decision(Decision(decision="Use a queue", decided_by="ada"))
    memory.state.store_pattern(Pattern(trigger="build fails", action="clean", success_count=2))
    memory.state.store_agent_state("planner", {"step": 1})
    with sqlite3.connect(home / "memory.db") as connection:
        for view in ("goals", "tasks", "tool_calls", "decisions", "patterns", "agent_states", "incidents"):
            connection.execute(f"select * from {view}").fetchall()
        assert connection.execute("select count(*) from decisions").fetchone() == (1,)
        assert connection.execute("select success_count from patterns").fetchall() == [(2,)]
    connection.close()


@settings(max_examples=10)
@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=12))
def test_pattern_statistics_are_those_of_a_plain_model(outcomes: list[tuple[int, bool]]) -> None:
    with AgentMemory("ada", store="memory://") as memory:
        made = [memory.state.store_pattern(Pattern(trigger="x", action=f"a{number}")) for number in range(3)]
        plain = {one.id: [0, 0] for one in made}
        for number, success in outcomes:
            memory.state.update_pattern_stats(made[number].id, success)
            plain[made[number].id][0 if success else 1] += 1
        found = memory.state.find_pattern("x")
        assert found is not None and [found.success_count, found.failure_count] == plain[found.id]
        assert lower_bound(*plain[found.id]) == max(lower_bound(*counts) for counts in plain.values())
