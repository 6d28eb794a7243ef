"""The `SpendingStore` port on a plain dict."""

from __future__ import annotations

from agent_memory.ports.spending import DaySpending, Most, Reserved
from agent_memory.testing.memory.world import ToyRoom


class MemorySpending:
    def __init__(self, room: ToyRoom) -> None:
        self._room = room

    def reserve(self, day: str, model: str, tokens: int, most: Most) -> Reserved:
        with self._room.writing() as world:
            today = [row for row in world.spent.values() if row.day == day]
            calls = most.calls - sum(row.calls for row in today)
            room = most.tokens - sum(row.prompt + row.completion + row.reserved for row in today)
            granted = calls > 0 and room >= tokens
            row = world.spent.get((day, model), DaySpending(day, model))
            world.spent[day, model] = row._replace(
                calls=row.calls + granted,
                reserved=row.reserved + (tokens if granted else 0),
                refused=row.refused + (not granted),
            )
            return Reserved(granted, Most(max(0, calls), max(0, room)))

    def settle(self, day: str, model: str, reserved: int, used: tuple[int, int]) -> None:
        with self._room.writing() as world:
            if row := world.spent.get((day, model)):
                prompt, completion = row.prompt + used[0], row.completion + used[1]
                left = max(0, row.reserved - reserved)
                world.spent[day, model] = row._replace(prompt=prompt, completion=completion, reserved=left)

    def since(self, day: str) -> list[DaySpending]:
        with self._room.reading() as world:
            return sorted(row for row in world.spent.values() if row.day >= day)
