"""The story behind the demo: some weeks of an engineer and an agent, written by us, told as if they had just passed.

Each line of `story.jsonl` happens so many days ago at a time of day. A clock of our own stands at that moment while the
line is stored, so that the store knows it since then.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from importlib import resources
from typing import Any

from agent_memory.app.memory import AgentMemory
from agent_memory.models.kinds.conversation import Turn
from agent_memory.models.kinds.knowledge import Entity, Fact
from agent_memory.models.kinds.work import Goal

ROLES = {"user": "user", "agent": "assistant"}


class StoryClock:
    """Stands where it is put; the present is just another place."""

    def __init__(self, present: datetime) -> None:
        self.present = present
        self._now = present

    def now(self) -> datetime:
        return self._now

    def days_ago(self, days: float, at: str = "12:00") -> datetime:
        hour, minute = map(int, at.split(":"))
        day = self.present - timedelta(days=days)
        return day.replace(hour=hour, minute=minute, second=0, microsecond=0)

    def go(self, moment: datetime) -> None:
        self._now = moment

    def return_to_present(self) -> None:
        self._now = self.present


def lines() -> list[dict[str, Any]]:
    text = (resources.files("agent_memory.interfaces.cli.demo") / "story.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


class Telling:
    """Stores the story, line by line, and counts what it stored."""

    def __init__(self, memory: AgentMemory, clock: StoryClock) -> None:
        self.memory = memory
        self.clock = clock
        self.ids: dict[str, str] = {}
        self.counts: dict[str, int] = {}
        self._turns: dict[str, int] = {}
        self._kinds: dict[str, Callable[[dict[str, Any]], None]] = {
            "in": self._turn,
            "fact": self._fact,
            "entity": self._entity,
            "relation": self._relation,
            "preference": lambda line: self._count("preferences", memory.user.set_preference(**line["preference"])),
            "strategy": lambda line: self._count("strategies", memory.procedural.learn_strategy(**line["strategy"])),
            "goal": self._goal,
            "tool": self._tool,
        }

    def tell(self) -> Iterator[None]:
        """One step per line, so that a watcher can show progress."""
        for line in lines():
            self.clock.go(self.clock.days_ago(line["day"], line["at"]))
            kind = next(kind for kind in self._kinds if kind in line)
            self._kinds[kind](line)
            yield
        self.clock.return_to_present()

    @property
    def conversations(self) -> int:
        return len(self._turns)

    def _turn(self, line: dict[str, Any]) -> None:
        conversation = line["in"]
        said = next(role for role in ROLES if role in line)
        index = self._turns[conversation] = self._turns.get(conversation, -1) + 1
        turn = Turn(
            conversation_id=conversation,
            index=index,
            role=ROLES[said],
            content=line[said],
            timestamp=self.clock.now(),
        )
        stored = self.memory.store_turn(turn)
        if "name" in line:
            self.ids[line["name"]] = stored.id
        self._count("turns")

    def _fact(self, line: dict[str, Any]) -> None:
        since = self.clock.days_ago(line["true_since"]) if "true_since" in line else self.clock.now()
        about = [self.ids[name] for name in line.get("about", [])]
        source = self.ids[line["from"]] if "from" in line else None
        fact = Fact(**line["fact"], created_at=since, entity_ids=about, source_turn_id=source)
        self.memory.semantic.store_fact(fact)
        self._count("facts")

    def _entity(self, line: dict[str, Any]) -> None:
        entity = self.memory.upsert_entity(Entity(**line["entity"], first_seen=self.clock.now()))
        self.ids[entity.name] = entity.id
        self._count("entities")

    def _relation(self, line: dict[str, Any]) -> None:
        source, relation, target = line["relation"]
        self.memory.semantic.create_relationship(self.ids[source], self.ids[target], relation)

    def _goal(self, line: dict[str, Any]) -> None:
        deadline = self.clock.present + timedelta(days=line["due_in"])
        self.memory.add_goal(Goal(**line["goal"], created_at=self.clock.now(), deadline=deadline))
        self._count("goals")

    def _tool(self, line: dict[str, Any]) -> None:
        self.memory.procedural.record_invocation(None, None, **line["tool"])
        self._count("tool calls")

    def _count(self, what: str, _: object = None) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1
