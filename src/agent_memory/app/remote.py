"""Operations that run elsewhere: `AgentMemory(store="http://…")`, or `unix://…`. The same table, another transport.

Arguments are checked here, as always, travel as JSON, and run in the server's process; the answer is read by the
operation's own return type, and an error is raised as the class that has its code. What the caller left out stays left
out, so that defaults mean the same there.
"""

from __future__ import annotations

import functools
import json
import typing
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn

from pydantic import BaseModel, TypeAdapter
from pydantic_core import to_json

from agent_memory.app import headers, telemetry
from agent_memory.app.client import Client, answer
from agent_memory.app.config import Settings
from agent_memory.app.operations import TABLE, Namespace, Operation, Permission
from agent_memory.app.wire import BUSY, Wire, WireRequest
from agent_memory.app.wiring import watch_forks
from agent_memory.models.errors import AgentMemoryError, BudgetExceeded, Denied, InvalidInput, PartMissing, StoreError
from agent_memory.models.model import Stored, new_id
from agent_memory.models.record import SHARED
from agent_memory.ports import spans
from agent_memory.ports.spans import Side

if TYPE_CHECKING:
    import httpx

ONCE = "idempotency_key"
SLOW = 10  # how many times as long as others an operator's call may take
NO_OPERATION = "no_such_operation"
NO_PATH = "no_such_path"


class Away:
    """At a server; but for what is about files here, which runs in this process."""

    side = Side.CLIENT
    threads = 16  # they wait, and do not compute

    def __init__(self, settings: Settings) -> None:
        telemetry.begin(settings)
        watch_forks()
        self._settings = settings

    @functools.cached_property
    def wire(self) -> Wire:
        """Made when first needed. What is wrong with the address or the key is said then; nobody is called yet."""
        settings = self._settings
        key = settings.api_key.get_secret_value() if settings.api_key else None
        return Wire(settings.store_url, key, settings.timeout, settings.ca_file)

    @property
    def runtime(self) -> NoReturn:
        raise StoreError(
            f"this memory is at {self.wire.address}, and that needs a store in this process",
            hint="ask the server, or open its store here",
        )

    def call(self, operation: Operation, namespace: Namespace, arguments: dict[str, Any]) -> Any:
        if operation.here:
            return answer(operation, namespace, arguments)
        return self._call(operation, namespace._carried(operation, arguments), namespace._client)

    def end(self, client: Client, *, clear: bool) -> None:
        if "wire" not in vars(self):
            return  # nothing was ever asked
        try:
            if clear:
                self._call(TABLE["working.clear_session"], {}, client)
        except Denied as error:
            if error.code != Denied.code:
                raise
            # a key that may only read has put nothing there
        finally:
            self.wire.close()

    def _call(self, operation: Operation, arguments: dict[str, Any], client: Client) -> Any:
        reads = operation.permission is Permission.READ
        once = ONCE in operation.signature
        if once and arguments.get(ONCE) is None:
            arguments = {**arguments, ONCE: new_id()}  # an answer that is lost is asked for again, and nothing twice
        answer = self.wire.post(
            WireRequest(
                f"/v1/call/{operation.name}",
                to_json(_sent(arguments), inf_nan_mode="constants"),
                _who(client) | spans.headers(),
                twice=reads or once,
                reads=reads,
                patience=SLOW if operation.permission in (Permission.ADMIN, Permission.OPERATOR) else 1,
            )
        )
        if answer.status_code != 200:
            raise _error(answer, operation, self.wire.address)
        try:
            return _shape(operation).validate_json(answer.content)
        except ValueError as error:
            raise _unreadable(self.wire.address, operation) from error


def _who(client: Client) -> dict[str, str]:
    """The tenant only if somebody named one: otherwise the server or the key decides."""
    scope = client.scope
    return headers.written(
        user=scope.user,
        tenant=scope.tenant if "tenant" in client.settings.model_fields_set else None,
        agent=None if scope.agent == SHARED else scope.agent,
        conversation=client.conversation_id,
        why=client.caller.reason,
    )


def _sent(value: Any, field: str | None = None) -> Any:
    """As JSON can say it: of a model what was set, and its id."""
    if isinstance(value, BaseModel):
        names = value.model_fields_set | ({"id"} if isinstance(value, Stored) else set())
        return {name: _sent(getattr(value, name), field or name) for name in names}
    if isinstance(value, Mapping):
        return {name: _sent(one, field or name) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_sent(one, field) for one in value]
    if callable(value):
        raise InvalidInput(
            f"{field}: a function cannot be sent to a server", hint="name one, such as counter='estimate'", field=field
        )
    return value


@functools.cache
def _shape(operation: Operation) -> TypeAdapter[Any]:
    gives = typing.get_type_hints(operation.function, include_extras=True).get("return", Any)
    return TypeAdapter(gives)


def _errors(parent: type[AgentMemoryError] = AgentMemoryError) -> Iterator[type[AgentMemoryError]]:
    yield parent
    for child in parent.__subclasses__():
        yield from _errors(child)


def _error(answer: httpx.Response, operation: Operation, address: str) -> AgentMemoryError:
    """What went wrong there, as it would be raised here; by its status where the code is not one of ours."""
    try:
        told = json.loads(answer.content)
        code, message = str(told["code"]), str(told["detail"])
    except (ValueError, LookupError, TypeError):
        status = answer.status_code
        hint = "its log says why" if status == 500 else "is it an agent-memory server?"
        return StoreError(f"store: {address} answered {operation.name} with status {status}", hint=hint)
    if code == NO_OPERATION:
        return PartMissing(
            f"the server at {address} has no {operation.name}", hint="it is an older version: upgrade it"
        )
    if code == NO_PATH:
        hint = "its address ends with the port: leave out what follows, such as /v1"
        return StoreError(f"store: {address} has no memory at this path", hint=hint)
    known = {one.code: one for one in _errors()}
    kind = known.get(code) or _by_status(answer.status_code)
    error = kind(message, hint=str(told.get("hint") or ""), field=told.get("field"))
    error.trace_id = told.get("trace_id")
    if isinstance(error, BudgetExceeded):
        until = told.get("resets_at")
        error.limit, error.left = told.get("limit"), told.get("left")
        error.resets_at = None if until is None else datetime.fromisoformat(until)
    return error


def _by_status(status: int) -> type[AgentMemoryError]:
    if status in (401, 403):
        return Denied
    if 400 <= status < 500 and status not in (404, 405, 421, BUSY):
        return InvalidInput
    return StoreError


def _unreadable(address: str, operation: Operation) -> StoreError:
    return StoreError(
        f"store: {address} gave an answer to {operation.name} that cannot be read",
        hint="use the same version of agent-memory on both sides",
    )
