"""What a server tells about itself: the schema with its comments, so that `grpcurl describe` says what a method does.

The library behind it asks a pool of descriptors, which knows neither comments nor, by their names, methods. Here is one
that does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pool import DescriptorPool

from agent_memory.interfaces.grpc.schema import FILE, Schema

File = descriptor_pb2.FileDescriptorProto
_MESSAGES, _ENUMS, _SERVICES = (
    File.DESCRIPTOR.fields_by_name[name].number for name in ("message_type", "enum_type", "service")
)
_INSIDE = 2  # a field in its message, and a method in its service


def commented(schema: Schema, file: Any) -> Any:
    """The descriptor of the schema, with what its .proto file says of everything."""
    made = File.FromString(file.SerializeToString())
    for path, comment in _comments(schema, made):
        lines = "".join(f" {line}\n" for line in comment.splitlines())
        made.source_code_info.location.add(path=path, span=(0, 0, 0), leading_comments=lines)
    return made


def _comments(schema: Schema, file: Any) -> Iterator[tuple[list[int], str]]:
    """Where something stands in the descriptor, and its comment."""
    for place, described in enumerate(file.message_type):
        message = schema.shapes.messages[described.name]
        fields = [([_MESSAGES, place, _INSIDE, inner], one.comment) for inner, one in enumerate(message.fields)]
        yield from [([_MESSAGES, place], message.comment), *fields]
    for place, described in enumerate(file.enum_type):
        yield [_ENUMS, place], schema.shapes.enums[described.name].comment
    for place, described in enumerate(file.service):
        methods = schema.services[described.name]
        yield from (([_SERVICES, place, _INSIDE, inner], one.comment) for inner, one in enumerate(methods))


class Known:
    """A pool as reflection asks it."""

    def __init__(self, pool: DescriptorPool, schema: Schema, file: Any) -> None:
        self._pool = pool
        self._told = _Told(pool.FindFileByName(FILE), commented(schema, file))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)

    def FindFileByName(self, name: str) -> Any:  # noqa: N802 - protobuf's name
        return self._told if name == FILE else self._pool.FindFileByName(name)

    def FindFileContainingSymbol(self, name: str) -> Any:  # noqa: N802 - protobuf's name
        """Of a method, too: the file of its service."""
        try:
            found = self._pool.FindFileContainingSymbol(name)
        except KeyError:
            service, _, method = name.rpartition(".")
            found = self._pool.FindServiceByName(service).methods_by_name[method].containing_service.file
        return self._told if found.name == FILE else found


class _Told:
    """A file with its comments, as far as reflection looks at it."""

    def __init__(self, file: Any, proto: Any) -> None:
        self.name = file.name
        self.dependencies = file.dependencies
        self._proto = proto

    def CopyToProto(self, proto: Any) -> None:  # noqa: N802 - protobuf's name
        proto.CopyFrom(self._proto)
