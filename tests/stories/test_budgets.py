"""Budgets: limits on calls, tokens, money and time that hold for everybody who uses a store, before a call is made."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory, MemoryAugmentedAgent
from agent_memory.engines.sqlite import schema
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.interfaces.cli.exits import guarded
from agent_memory.models.errors import BudgetExceeded, Conflict, Denied, InvalidInput, NotFound
from agent_memory.models.recipe import DEFAULT
from agent_memory.ports.chat import ChatAnswer, ChatRequest
from agent_memory.ports.spending import DaySpending
from agent_memory.testing.chat import ScriptedChat
from agent_memory.testing.wire import CannedAnswer, FakeOllama, FakeOpenAI
from patience import until

pytestmark = pytest.mark.requirement("P17")
PROCESSES, CALLS, ALLOWED, KILLED = 16, 20, 100, 5
RERANKED = DEFAULT.model_copy(update={"rerank": 5})
CALLER = """
from agent_memory import AgentMemory
from agent_memory.models.errors import BudgetExceeded
with AgentMemory("ada") as memory:
    print("ready", flush=True)
    for _ in range(20):
        try:
            memory.models.ask("hello", max_tokens=10)
            print("made", flush=True)
        except BudgetExceeded:
            print("refused", flush=True)
"""


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    """Whose model the settings name."""
    with FakeOpenAI() as running:
        monkeypatch.setenv("AGENT_MEMORY_CHAT_PROVIDER", "openai")
        monkeypatch.setenv("AGENT_MEMORY_CHAT_MODEL", "m")
        monkeypatch.setenv("AGENT_MEMORY_CHAT_URL", running.url)
        yield running


def rows(memory: AgentMemory) -> list[DaySpending]:
    kept = memory._client.runtime.store.spending
    assert kept is not None
    return kept.since("")


def test_sixteen_processes_some_of_them_killed_make_no_more_calls_than_are_allowed(
    service: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_MEMORY_CHAT_CALLS_A_DAY", str(ALLOWED))
    AgentMemory("ada").close()
    processes = [
        subprocess.Popen([sys.executable, "-c", CALLER], stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)
    ]
    for number, process in enumerate(processes[:KILLED], 1):
        until(lambda: len(service.requests) >= 15 * number)  # noqa: B023
        process.kill()
    said = [process.communicate()[0].split() for process in processes]
    assert all(len(one) == 1 + CALLS for one in said[KILLED:])
    with AgentMemory("ada") as memory:
        (row,) = rows(memory)
    assert len(service.requests) <= ALLOWED == row.calls, "what a killed process had counted stays counted"
    made = sum(one.count("made") for one in said)
    assert made <= len(service.requests) <= made + KILLED and len(service.requests) >= ALLOWED - KILLED
    assert (row.tenant, row.user, row.agent, row.operation, row.kind) == ("default", "ada", "*", "models.ask", "chat")


@pytest.mark.file
def test_what_an_older_store_had_counted_still_counts(
    service: FakeOpenAI, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.mkdir()
    (home / "memory.db").touch()
    connections = Connections(home / "memory.db")
    schema.upgrade(connections, {number: script for number, script in schema.migrations().items() if number < 14})
    with connections.writing() as connection:
        connection.execute("insert into spending values (date('now'), 'm', 3, 10, 20, 5, 1, null)")
    connections.close()
    monkeypatch.setenv("AGENT_MEMORY_CHAT_CALLS_A_DAY", "4")
    with AgentMemory("ada") as memory:
        memory.models.ask("hello")
        report = memory.models.usage()
        (usage,) = report.usage
        assert (usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.refused) == (4, 11, 21, 1)
        assert report.calls_left == 0 and usage.reserved_tokens == 5
        assert memory.upkeep.verify().ok


def test_each_user_agent_and_run_has_what_it_was_given(service: FakeOpenAI) -> None:
    with AgentMemory("ada") as ada, AgentMemory("bob", agent="coder") as bob:
        ada.budget.set("user", calls=2)
        ada.budget.set("user", "bob", calls=9)
        ada.budget.set("agent", "coder", calls=3)
        for _ in range(2):
            ada.models.ask("hello")
        with pytest.raises(BudgetExceeded, match="limit of 2 calls a day of the user 'ada'") as caught:
            ada.models.ask("hello")
        assert (caught.value.limit, caught.value.left) == (2, 0) and caught.value.resets_at is not None
        for _ in range(3):
            bob.models.ask("hello")
        with pytest.raises(BudgetExceeded, match="the agent 'coder'"):
            bob.models.ask("hello")
        assert len(service.requests) == 5
        ada.budget.set("user")
        ada.models.ask("hello")


def test_a_run_has_one_budget_and_others_have_their_own(service: FakeOpenAI) -> None:
    with AgentMemory("ada") as memory:
        memory.budget.set("run", calls=1)
        run = memory.runs.start("review", "look at the change")
        memory.models.ask("hello")
        with pytest.raises(BudgetExceeded, match=f"the run {run.id!r} is reached") as caught:
            memory.models.ask("hello")
        assert caught.value.resets_at is None and "start another run" in caught.value.hint
        assert caught.value.run_id == run.id
        aborted = memory.runs.get(run.id)
        assert aborted.aborted and aborted.success is False and "is reached" in aborted.outcome
        with pytest.raises(Conflict, match="has ended"):
            memory.runs.step(run.id, "go on")
        assert memory.runs.end(run.id, "done", success=True).success is False
        memory.models.ask("hello")
        first, second = memory.budget.status().spending
        assert (first.run_id, first.calls) == (None, 1)
        assert (second.run_id, second.calls, second.refused, second.operation) == (run.id, 1, 1, "models.ask")


def test_money_is_counted_by_the_prices_of_the_settings(service: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_PRICES", "m=1000/3000 other=1")
    with AgentMemory("ada") as memory:
        memory.budget.set("day", money=0.5)
        memory.models.ask("hello there", max_tokens=50)
        (line,) = memory.budget.status().spending
        assert line.money == pytest.approx(2 * 0.001 + 2 * 0.003) and line.tokens == 4
        with pytest.raises(BudgetExceeded, match="in money") as caught:
            memory.models.ask("hello there", max_tokens=500)
        assert caught.value.limit == 0.5 and caught.value.left == pytest.approx(0.492) and len(service.requests) == 1
        (budget, _) = memory.budget.status().budgets
        assert budget.left is not None and budget.left.money == pytest.approx(0.492) and budget.left.calls is None


def test_a_model_without_a_price_is_not_asked_where_money_is_limited(
    service: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    with AgentMemory("ada") as memory:
        memory.models.ask("hello")
        memory.budget.set("user", money=5)
        with pytest.raises(BudgetExceeded, match="no price of m is known") as caught:
            memory.models.ask("hello")
        assert "AGENT_MEMORY_PRICES='m=IN/OUT'" in caught.value.hint and "UNPRICED=allow" in caught.value.hint
        assert not memory.budget.estimate("hello").fits and len(service.requests) == 1
    monkeypatch.setenv("AGENT_MEMORY_UNPRICED", "allow")
    with AgentMemory("ada") as memory:
        memory.models.ask("hello")
    monkeypatch.setenv("AGENT_MEMORY_PRICES", "m")
    with pytest.raises(InvalidInput, match="AGENT_MEMORY_PRICES: 'm' is not MODEL=IN/OUT"):
        AgentMemory("ada")


def test_a_model_on_a_machine_of_ones_own_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOllama() as service:
        for name, value in (("PROVIDER", "ollama"), ("MODEL", "small"), ("URL", service.url)):
            monkeypatch.setenv(f"AGENT_MEMORY_CHAT_{name}", value)
        with AgentMemory("ada") as memory:
            memory.budget.set("day", money=0)
            assert memory.models.ask("hello").text == "hello"
            assert memory.budget.estimate("hello").money == 0


def test_time_is_limited_too(service: FakeOpenAI) -> None:
    with AgentMemory("ada") as memory:
        memory.budget.set("operation", "models.ask", seconds=0.001)
        memory.models.ask("hello")
        with pytest.raises(BudgetExceeded, match=r"0\.001 seconds a day of the operation 'models\.ask'"):
            memory.models.ask("hello")
        with pytest.raises(InvalidInput, match=r"no operation 'models\.asked'"):
            memory.budget.set("operation", "models.asked", calls=1)
        with pytest.raises(InvalidInput, match="who"):
            memory.budget.set("day", "ada", calls=1)


def test_a_day_begins_where_the_settings_say(service: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_CHAT_CALLS_A_DAY", "0")
    monkeypatch.setenv("AGENT_MEMORY_BUDGET_ZONE", "Asia/Kathmandu")
    with AgentMemory("ada") as memory:
        with pytest.raises(BudgetExceeded) as caught:
            memory.models.ask("hello")
        resets = caught.value.resets_at
        assert resets is not None and resets.utcoffset() == timedelta(hours=5, minutes=45) and resets.hour == 0
        assert memory.budget.status().zone == "Asia/Kathmandu"
        assert memory.models.usage().resets_at == resets
    monkeypatch.setenv("AGENT_MEMORY_BUDGET_ZONE", "Asia/Atlantis")
    with pytest.raises(InvalidInput, match="AGENT_MEMORY_BUDGET_ZONE"):
        AgentMemory("ada")


@pytest.mark.requirement("P14")
def test_a_call_is_estimated_from_its_prompt_and_its_price(
    service: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_MEMORY_PRICES", "m=1/2 dear=1000")
    with AgentMemory("ada") as memory:
        one = memory.budget.estimate("hello there", max_tokens=100)
        assert one.basis == "prompt" and one.calls == 1 and 100 < one.tokens < 150 and one.fits and one.why is None
        assert one.money == pytest.approx((one.tokens - 100 + 200) / 1e6)
        memory.budget.set("user", tokens=50)
        refused = memory.budget.estimate("hello there", max_tokens=100)
        assert not refused.fits and "50 tokens a day of the user 'ada'" in (refused.why or "")
        with pytest.raises(BudgetExceeded):
            memory.models.ask("hello there", max_tokens=100)
        assert service.requests == [] and memory.budget.status().spending[0].calls == 0
        dear = memory.budget.estimate("hello", max_tokens=9, model="dear").money
        assert dear is not None and dear > (one.money or 0)
        assert memory.budget.estimate("hello", model="unknown").money is None
        with pytest.raises(InvalidInput, match="task_type"):
            memory.budget.estimate()


@pytest.mark.requirement("P14")
def test_a_task_is_estimated_from_past_runs_of_its_kind(service: FakeOpenAI) -> None:
    with AgentMemory("ada") as memory:
        unknown = memory.budget.estimate(task_type="review", complexity="low")
        assert (unknown.basis, unknown.runs) == ("complexity", 0)
        assert unknown.tokens < memory.budget.estimate(task_type="review", complexity="high").tokens
        for tokens in (100, 200, 300, 4000):
            memory.runs.end(memory.runs.start("review", "a change").id, "done", success=True, tokens=tokens, seconds=2)
        found = [memory.budget.estimate(task_type="review", complexity=one) for one in ("low", "medium", "high")]
        assert [one.tokens for one in found] == [200, 300, 4000]
        assert {(one.basis, one.runs, one.seconds) for one in found} == {("runs", 4, 2.0)}
        run = memory.runs.start("translate", "a page")
        memory.models.ask("hello there", max_tokens=10)
        memory.runs.end(run.id, "done", success=True)
        counted = memory.budget.estimate(task_type="translate")
        assert (counted.runs, counted.calls, counted.tokens) == (1, 1, 4)


def test_others_are_told_of_what_they_used_themselves(service: FakeOpenAI, serving: Any) -> None:
    with AgentMemory("ada") as here, AgentMemory("bob") as bob:
        here.budget.set("day", calls=50)
        here.budget.set("user", calls=5)
        here.models.ask("hello")
        bob.models.ask("hello")
        key = here.keys.create("reader", ["read"], for_user="bob").secret
        assert here.budget.status().whole and here.budget.status().spending[0].calls == 2
        with serving() as url, AgentMemory("bob", store=url, api_key=key) as away:
            report = away.budget.status()
            assert not report.whole and [line.calls for line in report.spending] == [1]
            assert [(one.per, one.left and one.left.calls) for one in report.budgets] == [("user", 4)]
            assert away.budget.estimate("hello").fits
            with pytest.raises(Denied, match="operator"):
                away.budget.set("user", calls=10**6)


def test_on_the_command_line(service: FakeOpenAI, capsys: pytest.CaptureFixture[str]) -> None:
    AgentMemory("ada").close()
    assert guarded(["budget", "set", "--per", "user", "--calls", "1"]) == 0
    assert guarded(["models", "ask", "hello"]) == 0
    assert guarded(["models", "ask", "hello"]) == 10
    said = capsys.readouterr()
    assert "agent-memory budget" in said.err
    assert guarded(["budget"]) == 0
    told = capsys.readouterr().out
    assert "models.ask" in told and "user" in told
    assert guarded(["--json", "budget", "status"]) == 0
    assert json.loads(capsys.readouterr().out)["spending"][0]["refused"] == 1
    assert guarded(["budget", "estimate", "--prompt", "hello"]) == 0


def test_a_stream_that_does_not_end_is_cut_off(service: FakeOpenAI) -> None:
    service.say = lambda body: {"content": " ".join(["on and on"] * 50)}
    with MemoryAugmentedAgent("ada", answer_tokens=20) as agent:
        pieces: list[str] = []
        with pytest.raises(BudgetExceeded, match="was cut off"):
            pieces.extend(agent.stream("tell me"))
        assert len(pieces) == 20
        (line,) = agent.memory.budget.status().spending
        assert (line.operation, line.calls, line.reserved_tokens) == ("chat", 1, 0) and line.tokens > 20


def test_a_stream_that_takes_too_long_is_cut_off(service: FakeOpenAI) -> None:
    service.say = lambda body: {"content": "on and on"}
    with MemoryAugmentedAgent("ada") as agent:
        agent.memory.budget.set("operation", "chat", seconds=0.001)
        with pytest.raises(BudgetExceeded, match="past the time that was left for it"):
            list(agent.stream("tell me"))
        (line,) = agent.memory.budget.status().spending
        assert (line.calls, line.reserved_tokens) == (1, 0) and line.seconds > 0


def test_a_busy_service_is_not_asked_again_past_the_limit(service: FakeOpenAI) -> None:
    service.troubles.extend([CannedAnswer(429, {}, {"Retry-After": "0"})] * 3)
    with AgentMemory("ada") as memory:
        memory.budget.set("day", calls=2)
        with pytest.raises(BudgetExceeded):
            memory.models.ask("hello")
        assert len(service.requests) == 2
        (line,) = memory.budget.status().spending
        assert (line.calls, line.tokens, line.refused) == (2, 0, 1), "nothing stays set aside"


def test_embedders_are_charged_and_what_they_cannot_do_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOpenAI() as service:
        for name, value in (("EMBEDDING_PROVIDER", "openai"), ("EMBEDDING_URL", service.url)):
            monkeypatch.setenv(f"AGENT_MEMORY_{name}", value)
        monkeypatch.setenv("AGENT_MEMORY_PRICES", "text-embedding-3-small=1000")
        with AgentMemory("ada") as memory:
            memory.records.add("the port is 5433")
            (line,) = memory.budget.status().spending
            assert (line.kind, line.operation, line.calls) == ("embedding", "records.add", 1)
            assert line.money == pytest.approx(line.tokens / 1000) and line.tokens > 0
            memory.budget.set("day", calls=1)
            memory.records.add("the host is gamma")
            assert len(service.requests) == 1, "stored, and its vector waits"
            assert memory.recall("which host is gamma?").hits[0].text == "the host is gamma"
            with pytest.raises(BudgetExceeded):
                memory.upkeep.run_jobs()
            assert len(service.requests) == 1
            memory.budget.set("day")
            memory.upkeep.run_jobs()
            assert {one.operation for one in memory.budget.status().spending} >= {"jobs.catch_up", "records.add"}


def test_a_reranker_is_charged_and_never_a_reason_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    class Judge:
        name, model, service = "judge@http", "judge", "http"
        asked = 0

        def score(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
            self.asked += 1
            return [float(len(text)) for text in texts]

    judge = Judge()
    with AgentMemory("ada", reranker=judge) as memory:
        for text in ("the port is 5433", "the port of staging is 5434"):
            memory.records.add(text)
        memory.budget.set("operation", "recall", calls=1)
        for _ in range(2):
            assert len(memory.recall("which port?", recipe=RERANKED).hits) == 2
        assert judge.asked == 1
        (line,) = memory.budget.status().spending
        assert (line.kind, line.model, line.calls, line.refused) == ("rerank", "judge", 1, 1)


def test_a_local_embedder_is_not_counted(home: Path) -> None:
    with AgentMemory("ada") as memory:
        memory.budget.set("day", calls=0, money=0)
        memory.records.add("the port is 5433")
        assert memory.recall("which port?").hits and rows(memory) == []


@pytest.mark.requirement("P17")
def test_only_ones_own_run_that_is_under_way_is_charged(home: Path) -> None:
    chat = ScriptedChat(["yes"] * 9)
    with AgentMemory("ada", chat=chat) as ada, AgentMemory("bob", chat=chat) as bob:
        run = ada.runs.start("review", "a change")
        ada.models.ask("hello", run_id=run.id)
        with pytest.raises(NotFound, match="run"):
            bob.models.ask("hello", run_id=run.id)
        ada.runs.end(run.id, "done", success=True)
        with pytest.raises(Conflict, match="has ended"):
            ada.models.ask("hello", run_id=run.id)
        with pytest.raises(NotFound, match="run"):
            ada.models.ask("hello", run_id="made up")
        ada.models.ask("hello")
        assert sum(line.calls for line in ada.budget.status().spending) == 2


@pytest.mark.requirement("P17")
def test_seconds_are_set_aside_until_a_call_has_ended(home: Path) -> None:
    """As calls and tokens are: what is under way has taken its time already."""
    asked = list[str]()

    class Nested(ScriptedChat):
        def complete(self, request: ChatRequest) -> ChatAnswer:
            if not asked:
                asked.append("once")
                with pytest.raises(BudgetExceeded, match="seconds"):
                    memory.models.ask("and meanwhile?")
            return super().complete(request)

    with AgentMemory("ada", chat=Nested(["yes"] * 9)) as memory:
        memory.budget.set("day", seconds=300)
        memory.models.ask("hello")
        (budget,) = [one for one in memory.budget.status().budgets if one.per == "day" and one.kind is None]
        assert asked and budget.left is not None and budget.left.seconds is not None and budget.left.seconds > 290
        memory.models.ask("hello again")


@pytest.mark.requirement("P17")
def test_all_processes_of_a_store_agree_where_days_begin(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with AgentMemory("ada") as memory:
        assert memory.budget.status().zone == "UTC"
    monkeypatch.setenv("AGENT_MEMORY_BUDGET_ZONE", "Europe/Berlin")
    with AgentMemory("ada") as memory:
        assert memory.budget.status().zone == "Europe/Berlin"
    monkeypatch.delenv("AGENT_MEMORY_BUDGET_ZONE")
    with AgentMemory("ada") as memory:
        assert memory.budget.status().zone == "Europe/Berlin", "the store keeps it"
        assert memory.upkeep.verify().ok
    monkeypatch.setenv("AGENT_MEMORY_BUDGET_ZONE", "Asia/Tokyo")
    with AgentMemory("ada", chat=ScriptedChat(["yes"])) as memory:
        with pytest.raises(InvalidInput, match="begin in Europe/Berlin, not in Asia/Tokyo"):
            memory.models.ask("hello")
        memory.records.add("everything else goes on")
