"""What an engineer on call says: units, tickets, colleagues and tools are told apart. C18."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.models.extraction import Extraction
from agent_memory.models.kinds.conversation import Turn

pytestmark = pytest.mark.requirement("C18")
FRIDAY = datetime(2024, 5, 17, 10, tzinfo=UTC)


def heard(memory: AgentMemory, *said: str) -> Extraction:
    for index, text in enumerate(said):
        memory.episodic.store_turn(Turn(conversation_id="c1", index=index, role="user", content=text, timestamp=FRIDAY))
    return memory.upkeep.extract("c1")


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("The memory limit is 512Mi, I bumped it to 1Gi.", {}),
        ("Done, I opened OPS-2211.", {}),
        ("Put it in JIRA.", {"JIRA": "technology"}),
        ("I'm taking over the pager from Marek.", {"Marek": "person"}),
        ("I work with Marek on the migration.", {"Marek": "person"}),
        ("I come from Gouda.", {"Gouda": "place"}),
        ("I moved from Hamburg to Gouda last month.", {"Hamburg": "place", "Gouda": "place"}),
        ("I work on the platform team.", {"platform": "team"}),
        ("The alert fired, see CheckoutLatencyHigh: OOMKilled again.", {}),
        ("db-7   1/1   Running   0   5d", {"db-7": "service"}),
        ("Well, Good Morning Everyone!", {}),
        ("Thanks to Alistair MacLeod.", {"Alistair MacLeod": "person"}),
    ],
)
def test_names_are_of_what_they_name(memory: AgentMemory, said: str, named: dict[str, str]) -> None:
    assert {one.name: one.type for one in heard(memory, said).entities} == named


@pytest.mark.parametrize(
    ("said", "claims"),
    [
        (
            "checkout-api depends on pg-main and on redis-1.",
            ["checkout-api depends on pg-main", "checkout-api depends on redis-1"],
        ),
        (
            "We use PagerDuty for paging and Grafana for dashboards.",
            ["we use PagerDuty for paging", "we use Grafana for dashboards"],
        ),
        (
            "staging runs on Kubernetes 1.29, production runs on Kubernetes 1.28.",
            ["staging runs on Kubernetes 1.29", "production runs on Kubernetes 1.28"],
        ),
        ("The deploy pipeline lives in the repo infra.", ["deploy pipeline is kept in repo infra"]),
        ("Alertmanager silences are stored in git.", ["Alertmanager silences are kept in git"]),
        ("Priya owns checkout-api, she knows it best.", ["Priya owns checkout-api"]),
        ("Ivan is on call.", ["Ivan is on call"]),
        ("Next week Ivan is on call.", []),  # not now
        ("In two weeks I work at Siemens.", []),
        ("Starting Monday we use Vault for secrets.", []),
        ("The certificate expires on 2024-05-20.", ["certificate expires on 2024-05-20"]),
        ("We use more memory than Redis.", []),
        ("The pod uses 3Gi of memory.", []),
        ("* **checkout-api** depends on `pg-main`.", ["checkout-api depends on pg-main"]),
        ("We use `Redis` for caching.", ["we use Redis for caching"]),
        ("I work for Acme as an SRE.", ["ada works at Acme"]),
        ("I work at night.", []),
        ("We decided on Monday.", []),
        ("We decided to postpone it.", []),
        ("I don't like Jenkins anymore.", ["ada does not like Jenkins"]),
        ("I used to live in Madrid, but now I live in Oslo.", ["ada does not live in Madrid", "ada lives in Oslo"]),
        ("We used to use Jenkins but now we use Drone.", ["we do not use Jenkins", "we use Drone"]),
        ("I left Nokia last month and joined Ericsson.", ["ada does not work at Nokia", "ada works at Ericsson"]),
        ("Priya left Acme and moved to Turin.", ["Priya does not work at Acme", "Priya lives in Turin"]),
        ("We use neither Redis nor Kafka.", []),
        ("We use Redis or Kafka.", []),
        ("We use Redis no more.", []),
        ("My manager is Bob's brother.", []),
        ("My sister Anna's dog is here.", ["ada's sister is Anna"]),
        ("In 2023 I moved to Turin.", ["ada lives in Turin"]),
        ("In March I joined Acme.", ["ada works at Acme"]),
        ("We're on Python 3.12.", ["we are on Python 3.12"]),
        ("We are not on Python 3.11.", ["we are not on Python 3.11"]),
    ],
)
def test_claims_are_what_was_meant(memory: AgentMemory, said: str, claims: list[str]) -> None:
    assert [one.claim for one in heard(memory, said).facts] == claims


def test_what_must_never_be_done_on_call_waits_for_review(memory: AgentMemory) -> None:
    heard(memory, "Never restart pg-main during business hours.", "Never force-push to main.")
    waiting = {one.text for one in memory.review.list()}
    assert waiting == {
        "instructions: restart pg-main during business hours: never",
        "instructions: force-push to main: never",
    }


@pytest.mark.parametrize(
    ("said", "claims"),
    [
        ("\x1b[31mpg-main listens on port 5432\x1b[0m.", ["pg-main listens on port 5432"]),
        ("db-7\tlistens on\tport 5432.", ["db-7 listens on port 5432"]),
        ("\x07We use Redis\x00.\r\nWe use Kafka.\r", ["we use Redis", "we use Kafka"]),
    ],
)
def test_what_a_terminal_printed_is_read_without_its_escapes(memory: AgentMemory, said: str, claims: list[str]) -> None:
    assert [one.claim for one in heard(memory, said).facts] == claims
    assert memory.episodic.get_conversation("c1")[0].content == said


def test_what_no_fact_can_hold_keeps_nothing_else_from_being_read(timed: AgentMemory, clock: Any) -> None:
    speaker = "s" * 500  # with what is theirs it is longer than a name may be
    heard_from = {"conversation_id": "c1", "role": "user", "speaker": speaker, "timestamp": FRIDAY}
    timed.episodic.store_turn(Turn(index=0, content="My backup server listens on port 22. We use Redis.", **heard_from))
    timed.episodic.append("c2", "user", "We use Kafka.")
    clock.forward(minutes=6)
    did = timed.upkeep.run_jobs()["consolidate"]
    assert (did["conversations"], did["turns"], did["facts"]) == (2, 2, 2)
