"""A database of the version before budgets: what it had counted still counts."""

from __future__ import annotations

import psycopg
import pytest
from tests.parts.postgres import server

from agent_memory import AgentMemory
from agent_memory.engines.postgres import schema
from agent_memory.engines.postgres.connection import Database
from agent_memory.models.errors import BudgetExceeded
from agent_memory.testing.chat import ScriptedChat


@pytest.mark.engines
@pytest.mark.requirement("P17")
def test_what_an_older_store_had_counted_still_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    uri = server(18).fresh()
    database = Database(uri)
    schema.upgrade(database, {number: script for number, script in schema.migrations().items() if number < 8})
    database.close()
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute(
            "insert into agent_memory.spending values (to_char(now() at time zone 'utc', 'YYYY-MM-DD'), 'scripted', 3, "
            "10, 20, 5, 1)"
        )
    monkeypatch.setenv("AGENT_MEMORY_CHAT_CALLS_A_DAY", "4")
    with AgentMemory("ada", store=uri, chat=ScriptedChat(["yes"])) as memory:
        memory.models.ask("hello")
        with pytest.raises(BudgetExceeded):
            memory.models.ask("hello")
        (usage,) = memory.models.usage().usage
        assert (usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.refused) == (4, 11, 21, 2)
