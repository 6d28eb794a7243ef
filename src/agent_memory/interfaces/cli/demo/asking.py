"""What the demo asks of the story. Everything is computed here as values, and only then shown."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from agent_memory.app.memory import AgentMemory
from agent_memory.app.namespaces.upkeep import Verification
from agent_memory.interfaces.cli.demo.telling import Telling
from agent_memory.models.answer import Hit

SECRET = "blue-heron-4711"  # noqa: S105 - part of the story; no token, which would not even be stored
DEPLOYS = "why did the orders-api deploys time out?"
STAGING = "what does the staging database run on?"
BRANCH = "how do I bring my branch up to date?"
ROLLOUT = "a rollout is stuck, the pods never get ready"
DOOR = "how does the door of the server room open?"


@dataclass(frozen=True)
class Forgetting:
    """`bytes_before` and `bytes_after`: how often the secret stands in the store's files."""

    found_before: list[str]
    found_after: list[str]
    ids: list[str]
    bytes_before: int
    bytes_after: int


@dataclass
class Performance:
    """All that the demo found out, and how long it took."""

    stored: dict[str, int] = field(default_factory=dict)
    conversations: int = 0
    hits: list[Hit] = field(default_factory=list)
    staging: dict[str, str] = field(default_factory=dict)
    preference: str = ""
    preference_before: str = ""
    worked: str = ""
    goal: str = ""
    forgetting: Forgetting | None = None
    verification: Verification | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds[what] = round(time.perf_counter() - started, 4)


def perform(telling: Telling, store: Path) -> Iterator[Performance]:
    """Tell the story, then ask; yields while it works, so that somebody can watch."""
    memory, clock = telling.memory, telling.clock
    done = Performance()
    with done.timed("store"):
        for _ in telling.tell():
            yield done
    done.stored, done.conversations = telling.counts, telling.conversations
    with done.timed("recall"):
        done.hits = memory.recall(DEPLOYS, k=3).hits
    done.staging = {
        "now": _staging(memory),
        "as of last week": _staging(memory, as_of=clock.present - timedelta(days=7)),
        "known 5 days ago": _staging(memory, as_of=clock.present - timedelta(days=5)),
        "true 5 days ago": _staging(memory, valid_at=clock.present - timedelta(days=5)),
    }
    _prefer(memory, done)
    done.worked = memory.what_worked_for(ROLLOUT, top_k=1)[0].description
    done.goal = memory.get_active_goals()[0].description
    with done.timed("forget"):
        done.forgetting = _forget(memory, telling.ids["secret"], store)
    with done.timed("verify"):
        done.verification = memory.upkeep.verify()
    yield done


def _staging(memory: AgentMemory, **when: object) -> str:
    return memory.recall(STAGING, k=1, kinds=["fact"], **when).hits[0].text  # type: ignore[arg-type]


def _prefer(memory: AgentMemory, done: Performance) -> None:
    best = memory.recall(BRANCH, k=1, kinds=["preference"]).hits[0].record
    done.preference = f"{best.payload['domain']}: {best.payload['value']}"
    done.preference_before = memory.records.history(best.id)[0].payload["value"]


def _forget(memory: AgentMemory, id: str, store: Path) -> Forgetting:
    before = [hit.text for hit in memory.recall(DOOR, k=5) if SECRET in hit.text]
    bytes_before = occurrences(store)
    gone = memory.records.forget([id], reason="the code of a door does not belong in a chat").ids
    after = [hit.text for hit in memory.recall(DOOR, k=5) if SECRET in hit.text]
    return Forgetting(before, after, gone, bytes_before, occurrences(store))


def occurrences(store: Path) -> int:
    """How often the secret stands in the bytes of the store and of its log."""
    return sum(file.read_bytes().count(SECRET.encode()) for file in store.parent.glob(f"{store.name}*"))
