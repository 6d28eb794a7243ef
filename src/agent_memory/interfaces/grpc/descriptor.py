"""The schema as protobuf knows it: descriptors and message classes, made at run time.

No generated code is kept: generated Python is bound to the protobuf release that made it, and would be a second copy
of the table. A test compiles the .proto file with protoc and finds the same descriptor as the one that is made here.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, struct_pb2, timestamp_pb2

from agent_memory.interfaces.grpc.schema import FILE, GO_PACKAGE, PACKAGE, Schema
from agent_memory.interfaces.grpc.shapes import Enum, Field, Message

Proto = descriptor_pb2.FieldDescriptorProto
SCALARS = {
    "string": Proto.TYPE_STRING,
    "bool": Proto.TYPE_BOOL,
    "int64": Proto.TYPE_INT64,
    "double": Proto.TYPE_DOUBLE,
}


def file_of(schema: Schema) -> Any:
    """The whole schema as one file descriptor."""
    made = descriptor_pb2.FileDescriptorProto(name=FILE, package=PACKAGE, syntax="proto3")
    made.options.go_package = GO_PACKAGE
    made.dependency.extend(["google/protobuf/struct.proto", "google/protobuf/timestamp.proto"])
    enums = schema.shapes.enums
    for _, message in sorted(schema.shapes.messages.items()):
        _describe(made.message_type.add(name=message.name), message, schema)
    for _, enum in sorted(enums.items()):
        if "." not in enum.name:
            _describe_enum(made.enum_type.add(), enum, schema)
    for name, methods in schema.services.items():
        service = made.service.add(name=name)
        for method in methods:
            added = service.method.add(name=method.name)
            added.input_type, added.output_type = _full(method.request.name), _full(method.response.name)
            if method.stream is not None:
                side = "client_streaming" if method.stream.takes_many else "server_streaming"
                setattr(added, side, True)
    return made


def pool_of(file: Any, *others: bytes) -> descriptor_pool.DescriptorPool:
    """A pool of our own: two schemas of one process do not meet."""
    pool = descriptor_pool.DescriptorPool()
    for known in (timestamp_pb2.DESCRIPTOR.serialized_pb, struct_pb2.DESCRIPTOR.serialized_pb, *others):
        pool.AddSerializedFile(known)
    pool.AddSerializedFile(file.SerializeToString())
    return pool


def message_class(pool: descriptor_pool.DescriptorPool, name: str) -> Any:
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))


def _describe(made: Any, message: Message, schema: Schema) -> None:
    numbers = schema.numbers(message)
    enums = schema.shapes.enums
    for enum in message.enums:
        _describe_enum(made.enum_type.add(), enum, schema)
    for name in dict.fromkeys(field.oneof for field in message.fields if field.oneof):
        made.oneof_decl.add(name=name)
    for field in message.fields:
        added = made.field.add(name=field.name, number=numbers[field.name], json_name=_camel(field.name))
        repeated = field.label in ("repeated", "map")
        added.label = Proto.LABEL_REPEATED if repeated else Proto.LABEL_OPTIONAL
        if field.label == "map":
            entry = made.nested_type.add(name=_entry(field))
            entry.options.map_entry = True
            _describe_type(entry.field.add(name="key", number=1, json_name="key", label=1), "string", enums)
            _describe_type(entry.field.add(name="value", number=2, json_name="value", label=1), field.item.type, enums)
            added.type, added.type_name = Proto.TYPE_MESSAGE, f"{_full(message.name)}.{_entry(field)}"
        else:
            _describe_type(added, field.item.type, enums)
        if field.oneof:
            added.oneof_index = [one.name for one in made.oneof_decl].index(field.oneof)
    for field, added in zip(message.fields, made.field, strict=True):
        if field.label == "optional":  # in proto3 a oneof of its own, after all others
            added.proto3_optional, added.oneof_index = True, len(made.oneof_decl)
            made.oneof_decl.add(name=f"_{field.name}")
    gone = schema.gone(message)
    made.reserved_name.extend(sorted(gone))
    for number in sorted(gone.values()):
        made.reserved_range.add(start=number, end=number + 1)


def _describe_type(field: Any, kind: str, enums: dict[str, Enum]) -> None:
    if kind in SCALARS:
        field.type = SCALARS[kind]
    else:
        field.type = Proto.TYPE_ENUM if kind in enums else Proto.TYPE_MESSAGE
        field.type_name = f".{kind}" if kind.startswith("google.") else _full(kind)


def _describe_enum(made: Any, enum: Enum, schema: Schema) -> None:
    made.name = enum.name.rpartition(".")[2]
    for constant, number in [(enum.zero, 0), *enum.constants]:
        made.value.add(name=constant, number=number)
    gone = schema.gone(enum)
    made.reserved_name.extend(sorted(gone))
    for number in sorted(gone.values()):
        made.reserved_range.add(start=number, end=number)


def _entry(field: Field) -> str:
    return f"{_camel(field.name)[:1].upper()}{_camel(field.name)[1:]}Entry"


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)


def _full(name: str) -> str:
    return f".{PACKAGE}.{name}"
