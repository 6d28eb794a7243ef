"""`memory.operational`: what happens right now, as fast as memory. T1."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from agent_memory.app.client import Client
from agent_memory.app.operations import Namespace, Operation, Permission, ResourceSlot, ToolSlot, operation
from agent_memory.core.context.gather import SNAPSHOT_TOKENS
from agent_memory.core.context.system import snapshot
from agent_memory.core.context.tokens import estimate
from agent_memory.core.experience.ring import METRIC, TASK, RingPresent
from agent_memory.core.write.commit import commit
from agent_memory.models.errors import NotFound
from agent_memory.models.kinds.operational import Event
from agent_memory.models.limits import Finite, Many
from agent_memory.models.model import Name
from agent_memory.models.moment import from_micros
from agent_memory.ports.clock import StoreClock
from agent_memory.ports.records import Filter
from agent_memory.ports.spans import Side

CRITICAL = 5  # of the newest, however long ago


class Operational(Namespace):
    """A ring of events, the last value of each metric, and the tasks under way: of one scope, in all its processes."""

    @operation(
        "operational.push_event",
        "POST /operational/events",
        permission=Permission.WRITE,
        mcp=[ToolSlot("operational", "events", "push")],
    )
    def push_event(self, event: Event) -> None:
        """Put an event into the ring of this scope. A critical one is also a record, durable before this returns."""
        push(self._client, event)

    def _answered(self, operation: Operation, answer: Any) -> Any:
        """From the second one on, a push of whoever opened the store here only appends; doors call the operation."""
        name, client = operation.function.__name__, self._client
        quick = client.transport.side is Side.INSIDE and isinstance(client.clock, StoreClock)
        if quick and operation.name == "operational.push_event" and name not in vars(self):
            setattr(self, name, self._quick(getattr(self, name)))
        return answer

    def _quick(self, careful: Callable[[Event], None]) -> Callable[[Event], None]:
        rings, scope, still_open = self._client.runtime.rings, self._client.scope, self._client._open
        waiting = rings.waiting(scope, self._client.clock)
        append, most = waiting.append, 2 * rings.bounds.events

        def push_event(event: Event) -> None:
            if type(event) is not Event or event.critical or not still_open:
                careful(event)
                return
            append(event)
            if len(waiting) > most:
                rings.flush(scope)

        return push_event

    @operation("operational.get_recent", "GET /operational/events", mcp=[ToolSlot("operational", "events", "recent")])
    def get_recent(self, count: Many = 10, category: str | None = None) -> list[Event]:
        """The latest events of the ring, the last that was pushed first."""
        found = self._client.runtime.rings.events(self._client.scope, self._client.now())
        return list(islice((one for one in found if category is None or one.category == category), count))

    @operation(
        "operational.update_metric",
        "PUT /operational/metrics/{key}",
        permission=Permission.WRITE,
        mcp=[ToolSlot("operational", "metrics", "set")],
    )
    def update_metric(self, key: Name, value: Finite) -> None:
        """Set the value of a metric."""
        self._client.runtime.rings.tell(
            self._client.scope, METRIC, key, {"key": key, "value": value}, self._client.now()
        )

    @operation("operational.get_metrics", "GET /operational/metrics", mcp=[ToolSlot("operational", "metrics", "show")])
    def get_metrics(self) -> dict[str, float]:
        """The last value of each metric."""
        return {one["key"]: one["value"] for one in present(self._client).metrics}

    @operation(
        "operational.start_task",
        "PUT /operational/tasks/{name}",
        permission=Permission.WRITE,
        mcp=[ToolSlot("operational", "activity", "start")],
    )
    def start_task(self, name: Name, state: str = "running", description: str | None = None) -> None:
        """Record that a task is under way, and in which state; call it again when the state changes."""
        client = self._client
        said = {"name": name, "state": state, "description": description}
        client.runtime.rings.tell(client.scope, TASK, name, said, client.now())

    @operation(
        "operational.finish_task",
        "POST /operational/tasks/{name}/finish",
        permission=Permission.WRITE,
        mcp=[ToolSlot("operational", "activity", "finish")],
    )
    def finish_task(self, name: Name, state: str = "done") -> None:
        """A task is no longer under way; how it ended is an event of the category `task`."""
        client = self._client
        if not client.runtime.rings.untell(client.scope, TASK, name):
            raise NotFound(f"name: no task {name!r} is under way", hint="`start_task` begins one", field="name")
        ended = Event(
            category="task",
            severity="error" if state == "failed" else "info",
            payload={"task": name, "state": state},
            time=client.clock.now(),
        )
        push(client, ended)

    @operation(
        "operational.get_active_tasks", "GET /operational/tasks", mcp=[ToolSlot("operational", "activity", "show")]
    )
    def get_active_tasks(self) -> list[dict[str, Any]]:
        """The tasks under way: name, state, description, and since when they are in that state."""
        return [{**one, "at": from_micros(one["at"]).isoformat()} for one in present(self._client).tasks]

    @operation(
        "operational.get_system_snapshot",
        "GET /operational/snapshot",
        mcp=[ToolSlot("operational", "snapshot"), ResourceSlot("memory://snapshot")],
    )
    def get_system_snapshot(self) -> str:
        """The current situation in at most 500 tokens: the newest critical events, errors and warnings, tasks under
        way, metrics. Empty if there are none."""
        return snapshot(present(self._client), critical(self._client), SNAPSHOT_TOKENS, estimate)


def push(client: Client, event: Event) -> None:
    if event.critical:
        outcome = commit(client.runtime.writing, [event.draft()], client.author(), client.now()).outcomes[0]
        event = event.model_copy(update={"id": outcome.id})
    client.runtime.rings.push(client.scope, event, client.clock)


def present(client: Client) -> RingPresent:
    return client.runtime.rings.present(client.scope, client.now())


def critical(client: Client) -> list[Event]:
    """The newest critical events of this reader, from the records: no ring can lose them."""
    where = Filter(kinds=("event",), fields=(("severity", "critical"),))
    return [Event.of(one) for one in client.runtime.store.records.find(client.view(), where, limit=CRITICAL)]
