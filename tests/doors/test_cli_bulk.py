"""`forget` of many at once: by conversation, kind and repository, counted before and after."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.core.write.forget import SLICE

Ask = Callable[..., Any]


@pytest.fixture(params=["file", "server"])
def ask(request: pytest.FixtureRequest, here: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:
    with AgentMemory("default", "talk") as memory:
        memory.records.add("a turn of it", conversation_id="talk", id="turn")
        memory.records.add("archived", conversation_id="talk", status="archived", id="archived")
        memory.records.add(
            "over",
            conversation_id="talk",
            valid_to="2020-01-01T00:00:00Z",
            valid_from="2019-01-01T00:00:00Z",
            id="over",
        )
        memory.records.add("a plan", kind="plan", conversation_id="talk", repository="shop", id="plan")
        memory.records.add("elsewhere", conversation_id="other", repository="shop", id="else")
    with AgentMemory("*", shared=True) as memory:
        memory.records.add("everybody's", conversation_id="talk", id="shared")
    with AgentMemory("bob") as memory:
        memory.records.add("bob's", conversation_id="talk", id="bobs")
    if request.param == "file":
        yield here
        return
    with request.getfixturevalue("serving")() as url:
        monkeypatch.setenv("AGENT_MEMORY_STORE", url)
        yield here


def left() -> set[str]:
    found = set()
    for user in ("default", "bob"):
        with AgentMemory(user) as memory:
            found |= {one.id for status in ("active", "archived") for one in memory.records.versions(status=status)}
    return found


def test_a_conversation_goes_with_all_that_it_ever_held(ask: Ask) -> None:
    everything = left()
    dry = ask("forget", "--conversation-id", "talk", "--dry-run")
    assert (dry.code, dry.out) == (0, "4 would be forgotten: 3 observations, 1 plan; nothing was erased\n")
    assert ask("forget", "--conversation-id", "talk", "--dry-run", "--json").json["kinds"] == {
        "observation": 3,
        "plan": 1,
    }
    refused = ask("forget", "--conversation-id", "talk")
    assert (refused.code, "--yes" in refused.err, "--dry-run" in refused.err) == (2, True, True)
    assert left() == everything
    assert ask("forget", "--conversation-id", "talk", "--yes").out == "forgotten: 4 (3 observations, 1 plan)\n"
    assert left() == {"else", "shared", "bobs"}
    assert ask("forget", "--conversation-id", "talk", "--yes").out == "forgotten: 0\n"
    assert ask("verify").code == 0


def test_everything_that_is_given_must_hold(ask: Ask) -> None:
    assert ask("forget", "--repository", "shop", "--kind", "plan", "--yes", "--json").json["count"] == 1
    assert ask("forget", "--repository", "shop", "--yes", "--json").json["count"] == 1
    assert ask("forget", "--kind", "observation", "--yes", "--json").json["count"] == 3
    assert left() == {"shared", "bobs"}


def test_neither_nothing_nor_both_can_be_named(ask: Ask) -> None:
    for words in ([], ["turn", "--kind", "plan"]):
        ran = ask("forget", *words, "--yes")
        assert (ran.code, "--conversation-id, --kind or --repository" in ran.err) == (2, True)
    assert ask("records", "forget-where", "--yes").code == 2
    assert ask("forget", "--kind", "nosuch", "--yes").code == 3
    assert len(left()) == 7


def test_a_terminal_is_shown_the_count_and_asked(terminal: Any, ask: Ask) -> None:
    no = terminal("forget", "--conversation-id", "talk", typed="n\n")
    assert (no.code, "Erase 3 observations, 1 plan for good" in no.out) == (130, True)
    assert len(left()) == 7
    assert terminal("forget", "--conversation-id", "talk", typed="y\n").code == 0
    assert len(left()) == 3
    assert ask("forget", "else", "--dry-run").out == "1 would be forgotten: 1 observation; nothing was erased\n"


def test_whatever_erases_asks_the_same_question(terminal: Any, ask: Ask) -> None:
    for words in (["forget", "turn"], ["records", "forget", "turn"]):
        no = terminal(*words, typed="n\n")
        said = ("observation  a turn of it" in no.out, "Erase 1 observation for good" in no.out)
        assert (no.code, *said) == (130, True, True), no.out
    no = terminal("records", "forget-where", "--kinds", "plan", typed="n\n")
    assert (no.code, "Erase 1 plan for good" in no.out) == (130, True)
    assert len(left()) == 7


def test_what_was_derived_counts_once_and_slices_add_up(here: Any, tmp_path: Path) -> None:
    with AgentMemory("default") as memory:
        many = [{"text": f"line {n}", "id": f"n{n:04}", "conversation_id": "long"} for n in range(SLICE + 3)]
        memory.records.add_many(many)
        source = {"source_id": "inside", "target_id": "n0001", "type": "DERIVED_FROM"}
        memory.records.add("of the same", id="inside", conversation_id="long", links=[source])
        memory.records.add("a summary", id="outside", kind="summary", links=[{**source, "source_id": "outside"}])
        found = memory.records.forget_where(conversation_id="long", dry_run=True)
        assert (found.count, found.derived) == (SLICE + 4, 0)
        done = memory.records.forget_where(conversation_id="long", reason="asked to")
        assert (done.count, done.derived, done.dry_run) == (SLICE + 4, 1, False)
        assert memory.upkeep.stats()["records"] == 0
        assert memory.upkeep.verify().ok
        assert {line.reason for line in memory.records.journal(limit=1000) if line.operation == "erase"} == {"asked to"}


def test_of_two_with_the_same_id_the_one_that_fits_goes(home: object) -> None:
    with AgentMemory("ada") as user, AgentMemory("ada", agent="x") as agent:
        user.records.add("the user's", id="same", conversation_id="c")
        agent.records.add("the agent's", id="same")
        link = {"source_id": "sum", "target_id": "same", "type": "DERIVED_FROM"}
        assert agent.records.forget_where(conversation_id="c").count == 1
        assert [one.text for one in agent.records.find()] == ["the agent's"] and user.records.find() == []
        user.records.add("the user's", id="same", conversation_id="c")
        agent.records.add("the agent's", id="same", conversation_id="c")
        user.records.add("the user's", id="alone", conversation_id="c")
        agent.records.add("of the user's", id="sum", links=[{**link, "target_id": "alone"}])
        done = agent.records.forget_where(conversation_id="c")
        assert (done.count, done.derived, agent.records.find()) == (3, 1, [])


def test_no_kinds_fit_nothing(home: object) -> None:
    with AgentMemory("ada") as memory:
        memory.records.add("one", conversation_id="c")
        for where in ({"conversation_id": "c"}, {}):
            assert memory.records.forget_where(**where, kinds=[]).count == 0
        assert len(memory.records.find()) == 1


def test_what_somebody_else_forgets_meanwhile_is_no_error(home: object, monkeypatch: pytest.MonkeyPatch) -> None:
    with AgentMemory("ada") as memory, AgentMemory("ada") as other:
        for id in ("one", "two", "three"):
            memory.records.add(id, id=id, conversation_id="c")
        records = memory._client.runtime.store.records
        apply, meanwhile = records.apply, ["two", "one"]

        def late(*args: Any, **more: Any) -> Any:
            if meanwhile:
                other.records.forget([meanwhile.pop()])
            return apply(*args, **more)

        monkeypatch.setattr(records, "apply", late)
        assert memory.records.forget_where(conversation_id="c").count == 3
        assert memory.records.find() == []


def test_what_moved_is_not_of_where_it_was(home: object) -> None:
    with AgentMemory("ada") as memory:
        id = memory.records.add("a note", key="k", repository="a").id
        memory.records.add("a note", key="k", repository="b")
        assert memory.records.forget_where(repository="a").count == 0
        assert [one.repository for one in memory.records.history(id)] == ["a", "b"]
        assert memory.records.forget_where(repository="b").count == 1
