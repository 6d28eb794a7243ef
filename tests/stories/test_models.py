"""Chat models: asked within a day's limits, and counted, whoever asks and however it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import AgentMemory
from agent_memory.core.context.tokens import estimate
from agent_memory.core.govern.metering import MeteredChat, ModelMeter, SpendingTerms
from agent_memory.core.govern.shape import misfit
from agent_memory.interfaces.cli.exits import guarded
from agent_memory.models.errors import BudgetExceeded, InvalidInput, PartMissing, Unfinished
from agent_memory.ports.chat import ChatAnswer, ChatMessage, ChatRequest, Usage
from agent_memory.ports.spending import SpendingLimit
from agent_memory.ports.store import Store
from agent_memory.testing.chat import ScriptedChat
from agent_memory.testing.memory import open_store
from agent_memory.testing.wire import CannedAnswer, CannedStream, FakeOllama, FakeOpenAI, Listener
from patience import PATIENCE, until

pytestmark = pytest.mark.requirement("P19")
ASK = ChatRequest([ChatMessage("user", "hello there")], max_tokens=50)
NOW = {"Retry-After": "0"}
PORT = {"type": "object", "properties": {"port": {"type": "integer"}}, "required": ["port"]}


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    """Whose model the settings name."""
    with FakeOpenAI() as running:
        monkeypatch.setenv("AGENT_MEMORY_CHAT_PROVIDER", "openai")
        monkeypatch.setenv("AGENT_MEMORY_CHAT_MODEL", "m")
        monkeypatch.setenv("AGENT_MEMORY_CHAT_URL", running.url)
        yield running


def used(memory: AgentMemory) -> list[tuple[Any, ...]]:
    return [
        (row.model, row.calls, row.prompt_tokens, row.completion_tokens, row.reserved_tokens, row.refused)
        for row in memory.models.usage().usage
    ]


def metered(
    model: ScriptedChat, clock: Any, calls: int = 100, tokens: int = 10_000, store: Store | None = None
) -> MeteredChat:
    limits = SpendingTerms([SpendingLimit("day", calls=calls, tokens=tokens, kind="chat")])
    return MeteredChat(model, ModelMeter((store or open_store()).spending, lambda: clock, estimate, limits), 20)


def test_two_refusals_then_an_answer_are_three_calls(service: FakeOpenAI) -> None:
    service.troubles.extend([CannedAnswer(429, {}, NOW), CannedAnswer(429, {}, NOW)])
    with AgentMemory("ada") as memory:
        reply = memory.models.ask("hello there")
        assert (reply.text, reply.model, reply.prompt_tokens, reply.completion_tokens) == ("hello there", "m", 2, 2)
        assert len(service.requests) == 3 and used(memory) == [("m", 3, 2, 2, 0, 0)]


def test_ollama_by_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOllama() as service:
        monkeypatch.setenv("AGENT_MEMORY_CHAT_PROVIDER", "ollama")
        monkeypatch.setenv("AGENT_MEMORY_CHAT_MODEL", "small")
        monkeypatch.setenv("AGENT_MEMORY_CHAT_URL", service.url)
        with AgentMemory("ada") as memory:
            assert memory.models.ask("hello").text == "hello" and used(memory)[0][:2] == ("small", 1)


def test_no_model_and_a_model_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with AgentMemory("ada") as memory:
        with pytest.raises(PartMissing, match="AGENT_MEMORY_CHAT_PROVIDER"):
            memory.models.ask("hello")
        assert memory.models.usage().model is None
    with pytest.raises(InvalidInput, match=r"chat\.completions\.create"):
        AgentMemory("ada", chat=object())
    monkeypatch.setenv("AGENT_MEMORY_CHAT_PROVIDER", "openai")
    with pytest.raises(InvalidInput, match="AGENT_MEMORY_CHAT_MODEL"):
        AgentMemory("ada")
    monkeypatch.setenv("AGENT_MEMORY_CHAT_PROVIDER", "skynet")
    with pytest.raises(PartMissing, match=r"agent_memory\.chat_models"):
        AgentMemory("ada")


def test_what_is_over_the_limit_is_not_asked(service: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_CHAT_CALLS_A_DAY", "2")
    with AgentMemory("ada") as memory:
        for _ in range(2):
            memory.models.ask("hello")
        with pytest.raises(BudgetExceeded, match="limit of 2 calls") as caught:
            memory.models.ask("hello")
        assert (caught.value.limit, caught.value.left) == (2, 0) and caught.value.resets_at > datetime.now(UTC)
        assert len(service.requests) == 2 and used(memory) == [("m", 2, 2, 2, 0, 1)]
        assert memory.models.usage().calls_left == 0


def test_the_prompt_and_the_longest_answer_must_fit(service: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_CHAT_TOKENS_A_DAY", "500")
    with AgentMemory("ada") as memory:
        with pytest.raises(BudgetExceeded, match=r"up to 500[^.]*500 tokens are left[^.]*500 tokens of chat") as caught:
            memory.models.ask("hello", max_tokens=500)
        assert "shorter answer" in (caught.value.hint or ""), "waiting would not help"
        with pytest.raises(BudgetExceeded):
            memory.models.ask("hello")  # nobody named a number: 1,024
        assert service.requests == []
        memory.models.ask("hello", max_tokens=450)
        assert service.requests[0].body["max_tokens"] == 450 and used(memory) == [("m", 1, 1, 1, 0, 2)]


def test_the_next_day_is_another(clock: Any) -> None:
    model = ScriptedChat(lambda request: "yes")
    chat = metered(model, clock, calls=1)
    chat.complete(ASK)
    with pytest.raises(BudgetExceeded) as caught:
        chat.complete(ASK)
    assert caught.value.resets_at == datetime(2026, 3, 3, tzinfo=UTC)
    assert caught.value.wait == timedelta(hours=15).total_seconds()
    clock.forward(hours=15)
    assert chat.complete(ASK).text == "yes"


@pytest.mark.parametrize(
    ("trouble", "kept"),
    [
        (PartMissing("not there"), False),
        (InvalidInput("no"), False),
        (Unfinished("broke off"), True),
        (OSError(), True),
    ],
)
def test_a_call_that_fails_keeps_its_tokens_only_where_it_may_have_used_them(
    clock: Any, trouble: Exception, kept: bool
) -> None:
    store = open_store()
    chat = metered(ScriptedChat([trouble]), clock, store=store)
    with pytest.raises(type(trouble)):
        chat.complete(ASK)
    assert store.spending is not None
    (row,) = store.spending.since("2026-03-02")
    assert row.calls == 1 and (row.reserved > 0) == kept and row.prompt == row.completion == 0


class _Deaf(BaseHTTPRequestHandler):
    """Takes a request, and hangs up or passes a time-out on instead of answering."""

    asked: ClassVar[list[bytes]] = []
    gateway = False

    def do_POST(self) -> None:
        self.asked.append(self.rfile.read(int(self.headers["content-length"])))
        if self.gateway:
            self.send_error(504)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.mark.parametrize("provider", ["openai", "ollama"])
@pytest.mark.parametrize("gateway", [False, True])
def test_an_answer_that_is_lost_is_not_asked_for_again_and_counts(
    monkeypatch: pytest.MonkeyPatch, provider: str, gateway: bool
) -> None:
    monkeypatch.setattr(_Deaf, "asked", [])
    monkeypatch.setattr(_Deaf, "gateway", gateway)
    with Listener(_Deaf) as service:
        for name, value in (("PROVIDER", provider), ("MODEL", "m"), ("URL", service.address), ("CALLS_A_DAY", "2")):
            monkeypatch.setenv(f"AGENT_MEMORY_CHAT_{name}", value)
        with AgentMemory("ada") as memory:
            for _ in range(2):
                with pytest.raises(Unfinished, match="broke off"):
                    memory.models.ask("hello", max_tokens=50)
            with pytest.raises(BudgetExceeded):
                memory.models.ask("hello", max_tokens=50)
            ((_, calls, prompt, completion, reserved, refused),) = used(memory)
            assert (calls, prompt, completion, refused) == (2, 0, 0, 1) and reserved > 100
            assert len(_Deaf.asked) == 2


def test_who_stops_listening_has_asked_all_the_same(clock: Any) -> None:
    store = open_store()
    chat = metered(ScriptedChat(["a b c"] * 2), clock, store=store)
    assert list(chat.stream(ASK)) == ["a", " b", " c", ChatAnswer("a b c", usage=Usage(2, 3))]
    listening = chat.stream(ASK)
    assert next(listening) == "a"
    listening.close()
    assert store.spending is not None
    (row,) = store.spending.since("2026-03-02")
    assert (row.calls, row.prompt, row.completion) == (2, 2, 3) and row.reserved >= 50


def test_where_nobody_tells_the_usage_it_is_estimated(clock: Any) -> None:
    class Silent(ScriptedChat):
        def complete(self, request: ChatRequest) -> ChatAnswer:
            return super().complete(request)._replace(usage=Usage())

    store = open_store()
    metered(Silent(["Good morning"]), clock, store=store).complete(ASK)
    assert store.spending is not None
    (row,) = store.spending.since("2026-03-02")
    assert row.prompt >= estimate("hello there") and row.completion == estimate("Good morning") and row.reserved == 0


ENDS = st.sampled_from([None, Unfinished("lost"), PartMissing("refused")])


@given(st.lists(st.tuples(st.integers(1, 400), st.integers(0, 400), ENDS), max_size=30))
def test_no_sequence_of_calls_sets_more_aside_than_there_is(calls: list[tuple[int, int, Exception | None]]) -> None:
    class Noon:
        def now(self) -> datetime:
            return datetime(2026, 3, 2, 12, tzinfo=UTC)

    ends = iter(calls)

    def say(request: ChatRequest) -> ChatAnswer | Exception:
        _, said, end = next(ends)
        return end or ChatAnswer("", usage=Usage(1, min(said, request.max_tokens or 0)))

    script = ScriptedChat(say)
    store = open_store()
    spending = store.spending
    assert spending is not None
    chat = metered(script, Noon(), 10, 1000, store)
    for most, _, _ in calls:
        with suppress(PartMissing, BudgetExceeded):
            chat.complete(ASK._replace(max_tokens=most))
        rows = spending.since("2026-03-02")
        assert sum(row.tokens for row in rows) <= 1000 and len(script.requests) == sum(row.calls for row in rows) <= 10


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Sure! Here it is", "not JSON"),
        ("", "empty"),
        ("[]", "it is not of type object"),
        ("{}", "lacks 'port'"),
        ('{"port": "5433"}', "'port' is not of type integer"),
        ('{"port": true}', "'port' is not of type integer"),
    ],
)
def test_an_answer_of_another_shape_is_an_error_and_counted(clock: Any, text: str, why: str) -> None:
    model = ScriptedChat([text])
    with pytest.raises(Unfinished, match=why):
        metered(model, clock).complete(ASK._replace(schema=PORT))
    assert len(model.requests) == 1


def test_shapes_at_every_depth() -> None:
    nested = {"type": "array", "items": {"type": "object", "properties": {"to": {"enum": ["a", "b"]}}}}
    assert misfit('[{"to": "a"}, {}]', nested) is None
    assert "'to' of item 2" in (misfit('[{"to": "a"}, {"to": "c"}]', nested) or "")
    assert misfit("3.0", {"type": "integer"}) is None and misfit("null", {"type": ["string", "null"]}) is None


CALLER = """
import sys
from agent_memory import AgentMemory
from agent_memory.models.errors import BudgetExceeded
with AgentMemory("ada") as memory:
    for _ in range(int(sys.argv[1])):
        try:
            memory.models.ask("hello")
            print("made", flush=True)
        except BudgetExceeded:
            print("refused", flush=True)
"""


def start(calls: int) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", CALLER, str(calls)], stdout=subprocess.PIPE, text=True)


def test_several_processes_share_a_days_calls(service: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_CHAT_CALLS_A_DAY", "50")
    said = [process.communicate()[0].split() for process in [start(20) for _ in range(4)]]
    assert [len(one) for one in said] == [20] * 4
    assert len(service.requests) == 50 and sum(one.count("made") for one in said) == 50
    with AgentMemory("ada") as memory:
        assert used(memory) == [("m", 50, 50, 50, 0, 30)]


def test_a_killed_process_gets_nothing_back(service: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_CHAT_CALLS_A_DAY", "1")
    service.troubles.append(CannedStream([], hangs=True))
    process = start(1)
    until(lambda: len(service.requests) == 1)
    process.kill()
    process.communicate()
    with AgentMemory("ada") as memory:
        with pytest.raises(BudgetExceeded):
            memory.models.ask("hello")
        ((_, calls, _, _, reserved, refused),) = used(memory)
        assert calls == 1 and reserved > 1024 and refused == 1


def test_over_the_network(service: FakeOpenAI, serving: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_CHAT_CALLS_A_DAY", "1")
    with serving() as url, AgentMemory("ada", store=url) as memory:
        assert memory.models.ask("hello").text == "hello" and used(memory) == [("m", 1, 1, 1, 0, 0)]
        with pytest.raises(BudgetExceeded) as caught:
            memory.models.ask("hello")
        assert (caught.value.limit, caught.value.left) == (1, 0) and caught.value.resets_at > datetime.now(UTC)
        told = httpx.post(f"{url}/v1/models/ask", json={"prompt": "hello"}, timeout=PATIENCE)
        assert told.status_code == 429 and told.json()["code"] == "budget_exceeded"
        assert int(told.headers["retry-after"]) > 0 and told.json()["limit"] == 1
        with pytest.raises(InvalidInput, match="chat"):
            AgentMemory("ada", store=url, chat=ScriptedChat([]))


def test_on_the_command_line(
    service: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AGENT_MEMORY_CHAT_CALLS_A_DAY", "1")
    AgentMemory("ada").close()
    assert guarded(["models", "ask", "hello"]) == 0 and "hello" in capsys.readouterr().out
    assert guarded(["models", "ask", "hello"]) == 10
    assert "AGENT_MEMORY_CHAT_CALLS_A_DAY" in capsys.readouterr().err
    assert guarded(["--json", "models", "usage"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["usage"]
    assert (row["model"], row["calls"], row["refused"]) == ("m", 1, 1)


@pytest.mark.requirement("C14")
def test_a_local_model_that_no_wheel_has_names_the_ollama_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_LOCAL_EMBEDDING_MODEL", "nomic-embed-text")
    with pytest.raises(PartMissing) as caught:
        AgentMemory("ada")
    for said in ("ollama pull nomic-embed-text", "EMBEDDING_PROVIDER=ollama", "EMBEDDING_MODEL=nomic-embed-text"):
        assert said in caught.value.hint


def test_a_key_that_may_only_write_does_not_spend_the_stores_cap(service: FakeOpenAI, serving: Any) -> None:
    with AgentMemory("ada") as here:
        key = here.keys.create("writer", ["read", "write"], for_user="ada").secret
        with serving() as url, AgentMemory("ada", store=url, api_key=key) as memory:
            session = memory.session(limit_tokens=400)
            for number in range(20):
                session.add("user", f"Parcel {number} waits in the shelf called zebra{number}, still unopened.")
            assert session.render().summary_by == "extract" and service.requests == []


def test_a_model_is_asked_also_where_nothing_was_stored_yet(
    service: FakeOpenAI, home: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert guarded(["models", "ask", "hello"]) == 0 and "hello" in capsys.readouterr().out
