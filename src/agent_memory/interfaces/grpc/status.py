"""Errors as gRPC statuses: one table. The stable code, the field and the fix travel as trailing metadata, and once
more as google.rpc details, which most clients know how to show."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import grpc
from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, duration_pb2, message_factory

from agent_memory.models.errors import AgentMemoryError
from agent_memory.ports import spans

CODES: Mapping[str, grpc.StatusCode] = MappingProxyType(
    {
        "invalid_input": grpc.StatusCode.INVALID_ARGUMENT,
        "not_found": grpc.StatusCode.NOT_FOUND,
        "conflict": grpc.StatusCode.ABORTED,
        "changed": grpc.StatusCode.ABORTED,
        "lease_lost": grpc.StatusCode.ABORTED,
        "denied": grpc.StatusCode.PERMISSION_DENIED,
        "refused": grpc.StatusCode.PERMISSION_DENIED,
        "unauthenticated": grpc.StatusCode.UNAUTHENTICATED,
        "too_many": grpc.StatusCode.RESOURCE_EXHAUSTED,
        "store_unavailable": grpc.StatusCode.UNAVAILABLE,
        "store_busy": grpc.StatusCode.UNAVAILABLE,
        "store_full": grpc.StatusCode.RESOURCE_EXHAUSTED,
        "store_newer": grpc.StatusCode.FAILED_PRECONDITION,
        "space_mismatch": grpc.StatusCode.FAILED_PRECONDITION,
        "part_missing": grpc.StatusCode.UNIMPLEMENTED,
        "unfinished": grpc.StatusCode.UNAVAILABLE,
        "budget_exceeded": grpc.StatusCode.RESOURCE_EXHAUSTED,
        "corrupt": grpc.StatusCode.DATA_LOSS,
    }
)
DOMAIN = "agent-memory"
PUSHBACK = "grpc-retry-pushback-ms"
"""How long to wait, for clients whose library repeats calls by itself."""
LONGEST = 1000  # characters: a status has to fit into a header
_PRINTABLE = "".join(map(chr, range(0x20, 0x7F))).replace("%", "")
log = spans.log("agent_memory.grpc")


@asynccontextmanager
async def telling(context: Any) -> AsyncIterator[None]:
    """Whatever goes wrong inside is told in one form. What nobody foresaw is logged, and not shown."""
    told: AgentMemoryError
    try:
        yield
        return
    except AgentMemoryError as error:
        told = error
    except Exception as error:
        log.exception("a call failed")
        told = AgentMemoryError("something broke", hint="the log of the server has more")
        told.trace_id = spans.trace_id(error)
    await abort(context, told)


async def abort(context: Any, error: AgentMemoryError) -> None:
    """End a call with an error of ours. Never returns."""
    code = CODES.get(error.code, grpc.StatusCode.INTERNAL)
    told = {"code": error.code, "field": error.field, "hint": error.hint, "trace-id": error.trace_id}
    metadata = [(f"memory-{name}", quote(value[:LONGEST], _PRINTABLE)) for name, value in told.items() if value]
    if error.wait is not None:
        metadata.append((PUSHBACK, str(math.ceil(error.wait * 1000))))
    details = ("grpc-status-details-bin", _details(code.value[0], error))
    await context.abort(code, error.message[:LONGEST], (*metadata, details))


def _details(code: int, error: AgentMemoryError) -> bytes:
    made = _STATUS(code=code, message=error.message[:LONGEST])
    info = _INFO(reason=error.code.upper(), domain=DOMAIN)
    if error.hint:
        info.metadata["hint"] = error.hint[:LONGEST]
    if error.field:
        info.metadata["field"] = error.field[:LONGEST]
    made.details.add(type_url="type.googleapis.com/google.rpc.ErrorInfo", value=info.SerializeToString())
    if error.wait is not None:
        delay = _RETRY()
        delay.retry_delay.FromNanoseconds(math.ceil(error.wait * 1e9))
        made.details.add(type_url="type.googleapis.com/google.rpc.RetryInfo", value=delay.SerializeToString())
    return bytes(made.SerializeToString())


def _file(name: str, message: str, fields: list[tuple[str, int, str]], needs: list[str]) -> Any:
    """A file with one message; a field is its name, its type, and the message that it holds if it holds one."""
    made = descriptor_pb2.FileDescriptorProto(name=name, package="google.rpc", syntax="proto3", dependency=needs)
    described = made.message_type.add(name=message)
    for number, (field, kind, holds) in enumerate(fields, 1):
        added = described.field.add(name=field, number=number, type=kind, label=3 if holds else 1, json_name=field)
        if holds:
            added.type_name = holds
    return made


def _rpc_files() -> list[Any]:
    """`google.rpc.Status`, `ErrorInfo` and `RetryInfo` as published: three messages are no reason for a dependency."""
    kinds = descriptor_pb2.FieldDescriptorProto
    status = _file(
        "google/rpc/status.proto",
        "Status",
        [
            ("code", kinds.TYPE_INT32, ""),
            ("message", kinds.TYPE_STRING, ""),
            ("details", kinds.TYPE_MESSAGE, ".google.protobuf.Any"),
        ],
        ["google/protobuf/any.proto"],
    )
    entries = ".google.rpc.ErrorInfo.MetadataEntry"
    text = kinds.TYPE_STRING
    info = _file(
        "google/rpc/error_details.proto",
        "ErrorInfo",
        [("reason", text, ""), ("domain", text, ""), ("metadata", kinds.TYPE_MESSAGE, entries)],
        [duration_pb2.DESCRIPTOR.name],
    )
    entry = info.message_type[0].nested_type.add(name="MetadataEntry")
    entry.options.map_entry = True
    for number, name in enumerate(("key", "value"), 1):
        entry.field.add(name=name, number=number, type=text, label=1, json_name=name)
    delay = info.message_type.add(name="RetryInfo").field.add(
        name="retry_delay", number=1, label=1, json_name="retryDelay"
    )
    delay.type, delay.type_name = kinds.TYPE_MESSAGE, ".google.protobuf.Duration"
    return [status, info]


FILES = (
    any_pb2.DESCRIPTOR.serialized_pb,
    duration_pb2.DESCRIPTOR.serialized_pb,
    *(one.SerializeToString() for one in _rpc_files()),
)
"""What a pool needs to know these."""
_POOL = descriptor_pool.DescriptorPool()
for _known in FILES:
    _POOL.AddSerializedFile(_known)
_STATUS = message_factory.GetMessageClass(_POOL.FindMessageTypeByName("google.rpc.Status"))
_INFO = message_factory.GetMessageClass(_POOL.FindMessageTypeByName("google.rpc.ErrorInfo"))
_RETRY = message_factory.GetMessageClass(_POOL.FindMessageTypeByName("google.rpc.RetryInfo"))
