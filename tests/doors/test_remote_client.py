"""`AgentMemory(store="http://…")`: the same names, answers and errors, through a real server."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import AgentMemory
from agent_memory.app import headers
from agent_memory.app.namespaces import Upkeep
from agent_memory.app.operations import TABLE, Permission, operation
from agent_memory.models import Entity, Goal, Turn
from agent_memory.models.errors import (
    AgentMemoryError,
    Conflict,
    Denied,
    InvalidInput,
    NotFound,
    PartMissing,
    StoreError,
    Unauthenticated,
)
from agent_memory.models.model import Moment
from agent_memory.models.record import Link, Status

Serving = Callable[..., AbstractContextManager[str]]
Pair = tuple[AgentMemory, AgentMemory]


def fill(memory: AgentMemory) -> dict[str, str]:
    memory.store_turn(Turn(conversation_id="c1", index=0, role="user", content="the deploy of checkout failed"))
    ada = memory.upsert_entity(Entity(name="Ada", type="Person", aliases=["A."], properties={"since": 2024}))
    acme = memory.upsert_entity(Entity(name="Acme", type="Organization"))
    memory.semantic.create_relationship(ada.id, acme.id, "WORKS_FOR", {"weight": 0.9})
    memory.learn_fact("Ada leads the migration", entity_ids=[ada.id])
    goal = memory.add_goal(Goal(description="ship it", priority=5, deadline=datetime(2030, 1, 1, tzinfo=UTC)))
    memory.procedural.learn_strategy("read the log first", "a deploy failed", ["kubectl"])
    memory.record_tool_usage("kubectl", {"a": [1, 2.5, None]}, {"out": "ok"}, True, 12)
    memory.user.set_preference("git", "merge style", {"style": "rebase", "sign": True})
    memory.vectors.upsert("mine", "v1", [0.1, 0.2], {"a": 1})
    memory.set_working_context("branch", {"name": "fix", "n": 1.5})
    memory.working.push_thought("the cache looks stale")
    return {"entity": ada.id, "goal": goal.id}


def same(value: Any) -> Any:
    """Without what differs between two calls of the same."""
    if hasattr(value, "model_dump"):
        value = value.model_dump()
    if isinstance(value, dict):
        passing = ("receipt_id", "milliseconds", "receipts", "bytes", "tokens")
        return {name: same(one) for name, one in value.items() if name not in passing}
    if isinstance(value, list):
        return [same(one) for one in value]
    return value


@pytest.fixture
def unlogged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or `verify` counts a line more for each read before it."""
    monkeypatch.setenv("AGENT_MEMORY_ACCESS_LOG", "off")


@pytest.mark.usefixtures("unlogged")
@pytest.mark.requirement("C1", "E8")
def test_reads_give_the_same_values_of_the_same_types(pair: Pair) -> None:
    here, there = pair
    ids = fill(there)
    receipt = here.recall("deploy").receipt_id
    vector = here.embedder.embed_single("checkout")
    reads: list[Callable[[AgentMemory], Any]] = [
        lambda m: m.recall("which deploy failed?", trace=True, k=3),
        lambda m: m.remember("deploy"),
        lambda m: m.assemble_context("fix the deploy", 300),
        lambda m: m.records.find(limit=100),
        lambda m: m.records.history(ids["goal"]),
        lambda m: m.records.links(ids["entity"]),
        lambda m: m.records.lookup("entity", "nobody"),
        lambda m: m.records.journal(),
        lambda m: m.episodic.get_conversation("c1"),
        lambda m: m.episodic.get_recent_turns(),
        lambda m: m.episodic.vector_search(vector),
        lambda m: m.semantic.get_entity_graph([ids["entity"]]),
        lambda m: m.semantic.get_entity(ids["entity"]),
        lambda m: m.semantic.vector_search_facts(vector),
        lambda m: m.goals.get(ids["goal"]),
        lambda m: m.get_active_goals(),
        lambda m: m.get_user_context(),
        lambda m: m.user.get_preference("git", "merge style"),
        lambda m: m.user.preferences(),
        lambda m: m.user.to_markdown(),
        lambda m: m.what_worked_for("a deploy failed"),
        lambda m: m.procedural.get_tool_stats(),
        lambda m: m.get_working_context(),
        lambda m: m.working.get("nothing"),
        lambda m: m.vectors.query("mine", [0.1, 0.2]),
        lambda m: m.embedder.embed(["one", "two"]),
        lambda m: m.receipts.get(receipt),
        lambda m: m.receipts.replay(receipt),
        lambda m: m.retriever.recipes(),
        lambda m: m.upkeep.verify(),
        lambda m: {**m.upkeep.stats(), "resident_bytes": 0},
    ]
    for number, read in enumerate(reads):
        mine, theirs = read(here), read(there)
        assert type(mine) is type(theirs), number
        if isinstance(mine, list) and mine:
            assert type(mine[0]) is type(theirs[0]), number
        assert same(mine) == same(theirs), number


def test_what_was_left_out_stays_left_out(pair: Pair) -> None:
    """A turn without a time of its own, told twice, is the same turn; the salience that nobody names stays."""
    here, there = pair
    first = there.store_turn(Turn(conversation_id="c1", index=0, role="user", content="hello"))
    time.sleep(0.002)
    there.store_turn(Turn(conversation_id="c1", index=0, role="user", content="hello"))
    assert len(here.records.history(first.id)) == 1
    entity = there.upsert_entity(Entity(name="Ada", type="Person", salience=0.9))
    assert there.upsert_entity(Entity(name="Ada", type="Person")).salience == 0.9
    mine = Turn(conversation_id="c1", index=1, role="user", content="ids are the caller's")
    assert there.store_turn(mine).id == mine.id and entity.id in {one.id for one in here.records.find("entity")}


@pytest.mark.requirement("E8")
def test_errors_are_the_same(pair: Pair) -> None:
    here, there = pair
    here.records.add("deploy started", idempotency_key="deploy-7")
    wrong: list[tuple[type[AgentMemoryError], Callable[[AgentMemory], Any]]] = [
        (NotFound, lambda m: m.records.get("nobody")),
        (NotFound, lambda m: m.records.forget(["nobody"])),
        (Conflict, lambda m: m.records.add("something else", idempotency_key="deploy-7")),
        (Denied, lambda m: m.episodic.get_recent_turns(user_id="eve")),
        (InvalidInput, lambda m: m.records.add(" ")),
        (InvalidInput, lambda m: m.records.add("x", importance=float("nan"))),
        (InvalidInput, lambda m: m.recall("x", recipe="ghost")),
        (InvalidInput, lambda m: m.recall("x", min_relevance=7)),
        (InvalidInput, lambda m: m.working.set("thoughts", 1)),
        (InvalidInput, lambda m: m.remember("x", weights={"colour": 1})),
        (InvalidInput, lambda m: m.records.add("x", colour="red")),  # type: ignore[call-arg]
    ]
    for kind, call in wrong:
        caught = []
        for memory in (here, there):
            with pytest.raises(kind) as error:
                call(memory)
            caught.append((type(error.value), error.value.message, error.value.hint, error.value.field))
        assert caught[0] == caught[1]


def test_a_new_operation_needs_no_line(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    def toy(
        self: Upkeep, link: Link, at: Moment, status: Status = Status.HELD, vector: list[float] | None = None
    ) -> dict[str, list[Link]]:
        """Turn a link round."""
        assert at.tzinfo is not None and status == Status.ARCHIVED and vector == [0.1, 1e-300]
        return {"links": [link.model_copy(update={"source_id": link.target_id, "target_id": link.source_id})]}

    monkeypatch.setattr(Upkeep, "toy", operation("upkeep.toy", "POST /toy")(toy), raising=False)
    try:
        link = Link(source_id="a", target_id="b", type="ABOUT", properties={"n": [1, None]})
        zone = datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(microseconds=1)
        made = [m.upkeep.toy(link, zone, Status.ARCHIVED, vector=[0.1, 1e-300]) for m in pair]  # type: ignore[attr-defined]
        assert made[0] == made[1] and isinstance(made[1]["links"][0], Link)
    finally:
        del TABLE["upkeep.toy"]
    with pytest.raises(PartMissing, match=r"has no upkeep.toy .*upgrade"):
        pair[1].upkeep.toy(link, zone)  # type: ignore[attr-defined]


def test_weights_travel_with_the_call(pair: Pair) -> None:
    here, there = pair
    fill(there)
    assert there.remember("deploy").relevant_turns
    for memory in pair:
        memory.retriever.weights.episodic = 0.0
    asks: list[Callable[[AgentMemory], Any]] = [
        lambda m: m.remember("deploy"),
        lambda m: m.retriever.remember("deploy"),
    ]
    for ask in asks:
        assert ask(there).relevant_turns == [] and ask(there).facts
        assert same(ask(there)) == same(ask(here))
    for memory in pair:
        memory.retriever.weights.semantic_facts = 0.0
    bundles = [memory.remember("deploy", weights={"episodic": 1.0}) for memory in pair]
    assert same(bundles[0]) == same(bundles[1]) and bundles[1].relevant_turns and not bundles[1].facts


def test_what_cannot_travel_is_refused_by_name(pair: Pair) -> None:
    with pytest.raises(InvalidInput, match="cannot be sent to a server") as caught:
        pair[1].assemble_context("anything", counter=len)
    assert caught.value.field == "counter" and "estimate" in caught.value.hint
    for name in ("embedder", "reranker", "clock"):
        with pytest.raises(InvalidInput) as caught:
            AgentMemory("ada", store="http://127.0.0.1:1", **{name: object()})  # type: ignore[arg-type]
        assert caught.value.field == name
    for address in (
        "http://",
        "http://a b/",
        "https://ada:secret@127.0.0.1",
        "http://127.0.0.1:99999",
        "http://h/?q=1",
    ):
        with pytest.raises(InvalidInput) as caught:
            AgentMemory("ada", store=address)
        assert caught.value.field == "store" and "secret" not in str(caught.value)


def test_closing_clears_the_desk_and_nothing_else(serving: Serving) -> None:
    with serving() as url:
        with AgentMemory("ada", "c1", store=url) as memory:
            kept = memory.records.add("stays").id
            memory.set_working_context("branch", "fix")
            door = AgentMemory("ada", "c1", store=url)
            door.close(clear=False)
            assert memory.working.get("branch") == "fix"
        memory.close()
        with pytest.raises(StoreError, match="closed"):
            memory.recall("x")
        with AgentMemory("ada", "c1", store=url) as again:
            assert again.working.get("branch") is None and again.records.get(kept).text == "stays"


def test_keys_open_what_they_may(pair: Pair, one_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = pair
    with pytest.raises(Denied, match="agent-memory keys create"):
        there.keys.create("the first")
    reading = here.keys.create("a reader", [Permission.READ])
    writing = here.keys.create("a writer", for_user="ada")
    with pytest.raises(Unauthenticated):
        there.records.find()
    with AgentMemory("ada", store=one_server.url, api_key=reading.secret) as memory:
        assert memory.records.find() == []
        with pytest.raises(Denied, match="needs the permission write"):
            memory.records.add("x")
    monkeypatch.setenv("AGENT_MEMORY_API_KEY", writing.secret)
    with AgentMemory("ada", store=one_server.url) as memory:
        assert memory.records.add("x").effect == "created"
    stranger = AgentMemory("eve", store=one_server.url)
    with pytest.raises(Denied, match="does not speak for 'eve'"):
        stranger.records.find()
    stranger.close(clear=False)
    there.close(clear=False)


@given(st.text(min_size=1, max_size=40).filter(lambda text: text.isprintable()))
def test_any_name_fits_into_a_header(name: str) -> None:
    written = headers.written(user=name, conversation=None)
    (line,) = written.values()
    assert line.isascii() and line == line.strip() and "\n" not in line
    assert headers.read(written) == {**dict.fromkeys(headers.NAMES), "user": name}


def test_names_of_any_kind_are_whose_memory_it_is(serving: Serving) -> None:
    with serving() as url:
        for user in ("jürgen", " ada ", "100%25", "日本 🦄", "a/b:c@d"):
            scope = {"tenant": "größe", "agent": "naïve"}
            with AgentMemory(user, "gespräch 1", store=url, **scope) as there:  # type: ignore[arg-type]
                there.records.add(f"of {user}")
                there.set_working_context("x", 1)
                with AgentMemory(user, "gespräch 1", **scope) as here:  # type: ignore[arg-type]
                    assert [one.text for one in here.records.find()] == [f"of {user}"]
                    assert here.working.get("x") == 1
            with AgentMemory(user, store=url) as nobody:
                assert nobody.records.find() == []
