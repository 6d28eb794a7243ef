"""The table of operations as services, methods and messages. Made anew by every server that starts: there is no
generated code that could be older than the table, and an operation that is added is simply there.

One service a namespace; each method has a request and a response of its own, so that both can grow."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agent_memory.app.operations import TABLE, Operation
from agent_memory.interfaces.grpc import lock, streams
from agent_memory.interfaces.grpc.lock import Lock
from agent_memory.interfaces.grpc.shapes import REQUIRED, Enum, Message, Shapes, models, pascal

PACKAGE = "agent_memory.v1"
FILE = "agent_memory/v1/memory.proto"
GO_PACKAGE = "agent_memory/v1;agentmemoryv1"
"""Where `protoc-gen-go` puts what it makes, below the folder that it is told, and what it calls it."""
RESULT = "result"
TOP = "retriever"  # where operations without a namespace are found, as in the reference


@dataclass(frozen=True)
class Method:
    """`operation` is what a call of it runs; a stream runs `stream`, which calls operations."""

    service: str
    name: str
    request: Message
    response: Message
    comment: str
    operation: Operation | None = None
    stream: streams.Stream | None = None

    @property
    def path(self) -> str:
        return f"/{PACKAGE}.{self.service}/{self.name}"


@dataclass(frozen=True)
class Schema:
    shapes: Shapes
    methods: list[Method]
    lock: Lock

    def numbers(self, message: Message) -> dict[str, int]:
        return {name: number for name, (number, _) in self.lock["messages"][message.name].items()}

    def gone(self, thing: Message | Enum) -> dict[str, int]:
        """Fields or constants that there were once, with the numbers that nobody gets again."""
        if isinstance(thing, Enum):
            kept = {thing.constant(value) for value in thing.values}
            return {name: number for name, number in self.lock["enums"][thing.name].items() if name not in kept}
        names = {one.name for one in thing.fields}
        return {name: number for name, number in self.numbers(thing).items() if name not in names}

    @property
    def services(self) -> dict[str, list[Method]]:
        found: dict[str, list[Method]] = {}
        for method in sorted(self.methods, key=lambda one: one.service):
            found.setdefault(method.service, []).append(method)
        return found


def schema(table: Mapping[str, Operation] = TABLE, pinned: Lock | None = None) -> Schema:
    """Everything that gRPC offers, with the numbers that it always had."""
    functions = [one.function for one in table.values()]
    found: set[type] = set()
    for function in functions:
        for annotation in typing.get_type_hints(function).values():
            models(annotation, found)
    for stream in streams.STREAMS:
        models(stream.gives, found)
    for operation in table.values():
        for parameter in operation.signature.values():
            models(parameter.annotation, found)
    shapes = Shapes(found)
    methods = [_method(shapes, operation) for operation in table.values()]
    methods += [_stream(shapes, stream, table) for stream in streams.STREAMS]
    numbered = lock.extended(pinned or lock.shipped(), shapes.messages.values(), shapes.enums.values())
    return Schema(shapes, methods, numbered)


def _method(shapes: Shapes, operation: Operation) -> Method:
    namespace, _, name = operation.name.rpartition(".")
    service, name = f"{pascal(namespace or TOP)}Service", pascal(name)
    request = shapes.message(f"{service}{name}Request", "", arguments(operation))
    response = _response(shapes, f"{service}{name}Response", gives(operation.function))
    return Method(service, name, request, response, inspect.getdoc(operation.function) or "", operation)


def _stream(shapes: Shapes, stream: streams.Stream, table: Mapping[str, Operation]) -> Method:
    taken = {name: member for name, member in arguments(table[stream.operation]).items() if name not in stream.without}
    request = shapes.message(f"StreamService{stream.name}Request", "", {**taken, **stream.more})
    response = _response(shapes, f"StreamService{stream.name}Response", stream.gives)
    return Method("StreamService", stream.name, request, response, inspect.getdoc(stream.run) or "", stream=stream)


def arguments(operation: Operation) -> dict[str, tuple[Any, Any]]:
    return {
        name: (one.annotation, REQUIRED if one.default is one.empty else one.default)
        for name, one in operation.signature.items()
    }


def gives(function: Callable[..., Any]) -> Any:
    return typing.get_type_hints(function).get("return", Any)


def _response(shapes: Shapes, name: str, annotation: Any) -> Message:
    """What comes back is one field, `result`; none where an operation gives nothing."""
    return shapes.message(name, "", {} if annotation is type(None) else {RESULT: (annotation, REQUIRED)})
