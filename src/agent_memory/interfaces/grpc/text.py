"""The schema as a .proto file: what people read, and what clients in other languages are generated from."""

from __future__ import annotations

from collections.abc import Iterable

from agent_memory.interfaces.grpc.schema import GO_PACKAGE, PACKAGE, Method, Schema
from agent_memory.interfaces.grpc.shapes import Enum, Message

HEAD = f"""\
// Made by scripts/proto.py from the table of operations: do not edit.
//
// agent-memory over gRPC. Whose memory it is travels as metadata (x-memory-user, x-memory-tenant, x-memory-agent,
// x-memory-conversation; authorization), never in a request. See docs/guides/grpc.md.
//
// Fields keep their numbers and types; removed ones stay reserved; new ones are added at the end.
syntax = "proto3";

package {PACKAGE};

import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";

option go_package = "{GO_PACKAGE}";
"""


def text(schema: Schema) -> str:
    blocks = [HEAD]
    for service, methods in schema.services.items():
        blocks.append("\n".join([f"service {service} {{", *_methods(methods), "}\n"]))
    paired = {one.name for method in schema.methods for one in (method.request, method.response)}
    for methods in schema.services.values():
        for method in methods:
            blocks += [_message(one, schema) for one in (method.request, method.response)]
    others = [one for name, one in sorted(schema.shapes.messages.items()) if name not in paired]
    blocks += [_message(one, schema) for one in others]
    top = [one for name, one in sorted(schema.shapes.enums.items()) if "." not in name]
    blocks += ["\n".join([*_comment(one.comment), *_enum(one, schema), ""]) for one in top]
    return "\n".join(blocks)


def _methods(methods: list[Method]) -> Iterable[str]:
    for place, method in enumerate(methods):
        takes = "stream " if method.stream is not None and method.stream.takes_many else ""
        back = "stream " if method.stream is not None and not method.stream.takes_many else ""
        yield from [""] if place else []
        yield from _comment(method.comment, "  ")
        yield f"  rpc {method.name}({takes}{method.request.name}) returns ({back}{method.response.name});"


def _message(message: Message, schema: Schema) -> str:
    numbers = schema.numbers(message)
    lines = [f"  {line}" for enum in message.enums for line in _enum(enum, schema)]
    opened = ""
    for field in message.fields:
        if field.oneof != opened:
            lines += ["  }"] if opened else []
            lines += [f"  oneof {field.oneof} {{"] if field.oneof else []
            opened = field.oneof
        indent = "    " if opened else "  "
        kind = field.type.replace(f"{message.name}.", "")
        lines += [*_comment(field.comment, indent), f"{indent}{kind} {field.name} = {numbers[field.name]};"]
    lines += ["  }"] if opened else []
    body = [*_reserved(schema.gone(message)), *lines]
    start = f"message {message.name} {{"
    return "\n".join([*_comment(message.comment), *([start, *body, "}"] if body else [start + "}"]), ""])


def _enum(enum: Enum, schema: Schema) -> list[str]:
    lines = [f"  {constant} = {number};" for constant, number in [(enum.zero, 0), *enum.constants]]
    return [f"enum {enum.name.rpartition('.')[2]} {{", *_reserved(schema.gone(enum)), *lines, "}"]


def _reserved(gone: dict[str, int]) -> list[str]:
    if not gone:
        return []
    names = ", ".join(f'"{name}"' for name in sorted(gone))
    return [f"  reserved {', '.join(map(str, sorted(gone.values())))};", f"  reserved {names};"]


def _comment(words: str, indent: str = "") -> list[str]:
    return [f"{indent}// {line}".rstrip() for line in words.splitlines()]
