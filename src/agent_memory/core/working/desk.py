"""The working set of a conversation: values with a time to live, recent turns, thoughts, the active goal. C5."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from agent_memory.models.errors import InvalidInput, PartMissing
from agent_memory.models.kinds.kind import canonical_json
from agent_memory.models.moment import from_micros, to_micros
from agent_memory.ports import spans
from agent_memory.ports.clock import Clock
from agent_memory.ports.working import Desk, WorkingStore

TURNS, THOUGHTS, GOAL = "recent_turns", "thoughts", "active_goal"
MOST_THOUGHTS = 100
SHOWN_TURNS = 10
LIST_SECONDS = 3600
SECOND = 1_000_000

_log = spans.log(__name__)


@contextmanager
def beside() -> Iterator[None]:
    """A working set out of reach costs what is on the desk, not the rest of what was asked."""
    try:
        yield
    except PartMissing as error:
        _log.warning("the working set is out of reach: %s", error.message)


class WorkingSet(NamedTuple):
    """What an agent has on its desk right now. `desk` is asked each time: the conversation may change."""

    store: WorkingStore
    clock: Clock
    desk: Callable[[], Desk]
    most_turns: int = 50

    def set(self, key: str, value: Any, ttl_seconds: float = LIST_SECONDS) -> None:
        if key in (TURNS, THOUGHTS, GOAL):
            raise InvalidInput(f"key: {key!r} is reserved for the working set itself", hint="use another", field="key")
        self._set(key, value, ttl_seconds)

    def get(self, key: str) -> Any:
        text = self.store.get(self.desk(), key, now=self._now())
        return None if text is None else json.loads(text)

    def delete(self, key: str) -> bool:
        return self.store.delete(self.desk(), key)

    def clear(self) -> None:
        self.store.clear(self.desk())

    def context(self) -> dict[str, Any]:
        """Live values by key, with the latest turns, the thoughts and the active goal."""
        values = {key: json.loads(text) for key, text in self.store.values(self.desk(), now=self._now()).items()}
        return {
            **values,
            TURNS: self.turns(SHOWN_TURNS),
            THOUGHTS: self.thoughts(MOST_THOUGHTS),
            GOAL: values.get(GOAL),
        }

    def add_turn(self, turn: dict[str, Any]) -> None:
        self._push(TURNS, turn, self.most_turns)

    def turns(self, limit: int = 10) -> list[dict[str, Any]]:
        return self._items(TURNS, limit)

    def push_thought(self, thought: str) -> None:
        self._push(THOUGHTS, {"thought": thought, "timestamp": self._iso()}, MOST_THOUGHTS)

    def thoughts(self, limit: int = 10) -> list[dict[str, Any]]:
        return self._items(THOUGHTS, limit)

    def set_active_goal(self, goal_id: str, description: str) -> None:
        self._set(GOAL, {"id": goal_id, "description": description, "set_at": self._iso()}, LIST_SECONDS)

    def active_goal(self) -> dict[str, Any] | None:
        goal: dict[str, Any] | None = self.get(GOAL)
        return goal

    def _set(self, key: str, value: Any, ttl_seconds: float) -> None:
        if not 0 < ttl_seconds < 1e9:
            raise InvalidInput(f"ttl_seconds: {ttl_seconds!r}; use more than 0 and less than 1e9", field="ttl_seconds")
        text = canonical_json(value, "value")
        now = self._now()
        self.store.set(self.desk(), key, text, expires_at=now + int(ttl_seconds * SECOND), now=now)

    def _push(self, name: str, item: dict[str, Any], keep: int) -> None:
        text = canonical_json(item, name)
        now = self._now()
        self.store.push(self.desk(), name, text, keep=keep, expires_at=now + LIST_SECONDS * SECOND, now=now)

    def _items(self, name: str, limit: int) -> list[dict[str, Any]]:
        return [json.loads(text) for text in self.store.items(self.desk(), name, limit=limit, now=self._now())]

    def _now(self) -> int:
        return to_micros(self.clock.now())

    def _iso(self) -> str:
        return from_micros(self._now()).isoformat()
