"""Bad input gets an error that names the field and the fix, or the right answer; it never changes anything."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_memory import AgentMemory
from agent_memory.models import Goal, Turn
from agent_memory.models.errors import AgentMemoryError, Conflict, Denied, InvalidInput, NotFound

NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001

WRONG = {
    "empty": (dict(text=" "), "text"),
    "huge": (dict(text="x" * 10_000_000), "text"),
    "surrogate": (dict(text="a \ud800 b"), "text"),
    "not a text": (dict(text=b"\xff\xfe"), "text"),
    "unknown kind": (dict(text="x", kind="ghost"), "kind"),
    "naive time": (dict(text="x", valid_from=NAIVE), "valid_from"),
    "backwards": (
        dict(text="x", valid_from=datetime(2026, 1, 2, tzinfo=UTC), valid_to=datetime(2026, 1, 1, tzinfo=UTC)),
        "valid_to",
    ),
    "nan": (dict(text="x", importance=float("nan")), "importance"),
    "infinite": (dict(text="x", confidence=float("inf")), "confidence"),
    "too important": (dict(text="x", importance=7), "importance"),
    "empty key": (dict(text="x", key="  "), "key"),
    "NUL in a key": (dict(text="x", key="a\0b"), "key"),
    "long key": (dict(text="x", key="k" * 5000), "key"),
    "no such field": (dict(text="x", colour="red"), "colour"),
    "payload of the wrong shape": (dict(text="x", kind="goal", payload={"priority": 9}), "priority"),
    "payload that is not JSON": (dict(text="x", payload={"a": object()}), "payload"),
    "payload with NaN": (dict(text="x", payload={"a": float("nan")}), "payload"),
    "payload with a surrogate": (dict(text="x", payload={"a": "\udfff"}), "payload"),
    "link without an end": (dict(text="x", links=[{"source_id": "a"}]), "links.0.target_id"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_record_is_refused_by_field(memory: AgentMemory, name: str) -> None:
    arguments, field = WRONG[name]
    with pytest.raises((InvalidInput, NotFound)) as caught:
        memory.records.add(**arguments)
    assert caught.value.field == field
    assert memory.upkeep.stats()["records"] == 0


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"text": ""}, "records.2.text: is empty"),
        ({"text": "x", "importance": -1}, "records.2.importance: should be 0 or more"),
        ({"text": "x", "kind": "nosuch"}, "records.2.kind: there is no kind 'nosuch'"),
        ({"text": "x", "kind": "fact", "payload": {"subject": 3}}, "records.2.subject: should be text"),
    ],
)
def test_a_batch_says_which_record_is_wrong(memory: AgentMemory, bad: dict[str, object], said: str) -> None:
    with pytest.raises((InvalidInput, NotFound)) as caught:
        memory.records.add_many([{"text": "fine"}, {"text": "fine, too"}, bad])
    assert (caught.value.message, caught.value.field) == (said, said.partition(":")[0])


def test_a_batch_with_one_wrong_record_writes_none(memory: AgentMemory) -> None:
    with pytest.raises(InvalidInput):
        memory.records.add_many([{"text": "fine"}, {"text": "bad", "importance": -1}])
    with pytest.raises(NotFound):
        link = {"source_id": "*self*", "target_id": "nobody", "type": "ABOUT"}
        memory.records.add_many([{"text": "fine"}, {"text": "dangling", "links": [link]}])
    assert memory.upkeep.stats()["records"] == 0


@pytest.mark.parametrize(
    "text",
    [
        "a \0 NUL",
        "emoji 🦄 and 𐍈",
        "עברית ימין לשמאל",
        "line\r\nbreaks\tand\x0bcontrols\x1b[31m",
        "'; drop table records; --",
        'NEAR("x" y) OR * : ^ -',
        "\u202eright-to-left override",
        "ｆｕｌｌｗｉｄｔｈ",
        "x" * 900_000,
    ],
    ids=lambda text: text[:12].encode("unicode_escape").decode(),
)
def test_texts_are_kept_verbatim_and_found(memory: AgentMemory, text: str) -> None:
    id = memory.records.add(text).id
    assert memory.records.get(id).text == text
    assert id in [hit.id for hit in memory.recall(text[:500])]
    assert memory.upkeep.verify().ok


@pytest.mark.parametrize("query", ['"', "*", "NEAR", "a:b", "(", "a AND", "-", "^x", "'", "%_", "\\", "🦄", "的"])
def test_metacharacters_in_a_query_are_just_text(memory: AgentMemory, query: str) -> None:
    memory.records.add("an ordinary note")
    memory.recall(query)


@given(query=st.text(max_size=200))
@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
def test_any_query_is_answered_or_refused_clearly(memory: AgentMemory, query: str) -> None:
    try:
        memory.recall(query)
    except InvalidInput as error:
        assert error.field == "query"


def test_wrong_questions(memory: AgentMemory) -> None:
    for arguments, field in (
        (dict(query="  "), "query"),
        (dict(query="x" * 50_000), "query"),
        (dict(query="x", k=0), "k"),
        (dict(query="x", k="many"), "k"),
        (dict(query="x", as_of=NAIVE), "as_of"),
        (dict(query="x", kinds=["ghost"]), "kind"),
        (dict(query="x", time_window_hours=-1), "time_window_hours"),
        (dict(query="x", time_window_hours=float("nan")), "time_window_hours"),
        (dict(query="x", fields={"colour": "red"}), "fields"),
    ):
        with pytest.raises(AgentMemoryError) as caught:
            memory.recall(**arguments)
        assert caught.value.field == field, arguments


def test_another_user_is_refused(memory: AgentMemory) -> None:
    with pytest.raises(Denied):
        memory.episodic.get_recent_turns(user_id="eve")
    assert memory.episodic.get_recent_turns(user_id="ada") == []


def test_models_name_the_field() -> None:
    for make, field in (
        (lambda: Turn(conversation_id="c", index=0, role="wizard", content="x"), "role"),
        (lambda: Turn(conversation_id="c", index=-1, role="user", content="x"), "index"),
        (lambda: Turn(conversation_id="", index=0, role="user", content="x"), "conversation_id"),
        (lambda: Turn(conversation_id="c", index=0, role="user", content="x", timestamp=NAIVE), "timestamp"),
        (lambda: Goal(description="x", priority=6), "priority"),
        (lambda: Goal(descripton="x"), "description"),
    ):
        with pytest.raises(InvalidInput) as caught:
            make()
        assert caught.value.field == field


def test_a_key_that_is_a_path_is_only_a_key(memory: AgentMemory, home: object) -> None:
    for key in ("../../etc/passwd", "/etc/passwd", "C:\\windows", "a/b/../c"):
        memory.records.add("x", key=key)
        assert memory.records.lookup("observation", key).text == "x"


def test_the_same_request_twice_is_done_once(memory: AgentMemory) -> None:
    first = memory.records.add("deploy started", idempotency_key="deploy-7")
    again = memory.records.add("deploy started", idempotency_key="deploy-7")
    assert again.id == first.id and memory.upkeep.stats()["records"] == 1
    with pytest.raises(Conflict):
        memory.records.add("something else", idempotency_key="deploy-7")


def test_a_closed_memory_says_so(memory: AgentMemory) -> None:
    memory.close()
    with pytest.raises(AgentMemoryError, match="closed"):
        memory.recall("x")
    memory.close()
