"""The .proto file is a promise: it is what the server speaks, and what was once published stays true."""

from __future__ import annotations

import copy
import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import grpc_tools
import pytest
from google.protobuf import descriptor_pb2
from grpc_tools import protoc

from agent_memory.app import memory
from agent_memory.app.operations import TABLE
from agent_memory.interfaces.grpc import descriptor, lock
from agent_memory.interfaces.grpc.schema import FILE, Schema, schema
from agent_memory.interfaces.grpc.text import text

ROOT = Path(__file__).parents[3]
PROTO = ROOT / "src/agent_memory/interfaces/grpc/proto"
PUBLISHED = ROOT / "tests/data/grpc-0.1.0.binpb"  # as first published; never made again
assert memory


def compiled(folder: Path, tmp_path: Path) -> Any:
    out = tmp_path / "compiled.binpb"
    known = Path(grpc_tools.__file__).parent / "_proto"
    assert protoc.main(["protoc", f"-I{folder}", f"-I{known}", f"--descriptor_set_out={out}", FILE]) == 0
    return descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file[0]


def in_order(file: Any) -> Any:
    made = descriptor_pb2.FileDescriptorProto.FromString(file.SerializeToString())
    for part in (made.message_type, made.enum_type, made.service):
        sorted_ones = [copy.deepcopy(one) for one in sorted(part, key=lambda one: one.name)]
        del part[:]
        part.extend(sorted_ones)
    return made


@pytest.mark.requirement("T8")
def test_the_file_is_what_the_table_says_and_what_the_server_speaks(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "scripts/proto.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr or "run `make docs`"
    assert in_order(compiled(PROTO, tmp_path)) == in_order(descriptor.file_of(schema()))


@pytest.mark.requirement("T8")
def test_what_was_published_still_holds(tmp_path: Path) -> None:
    """Every method, field and value of then is there, the same, or its number and name are reserved."""
    (then,) = [
        one for one in descriptor_pb2.FileDescriptorSet.FromString(PUBLISHED.read_bytes()).file if one.name == FILE
    ]
    now = descriptor.file_of(schema())
    methods = {(service.name, str(method)) for service in now.service for method in service.method}
    assert {(service.name, str(method)) for service in then.service for method in service.method} <= methods
    messages = {one.name: one for one in now.message_type}
    for old in then.message_type:
        new = messages[old.name]
        fields = {one.name: one for one in new.field}
        for field in old.field:
            if field.name in fields:
                assert unplaced(field) == unplaced(fields[field.name]), f"{old.name}.{field.name}"
            else:
                assert field.name in new.reserved_name, f"{old.name}.{field.name}"
        holds(old.enum_type, new.enum_type)
    holds(then.enum_type, now.enum_type)


def holds(then: Any, now: Any) -> None:
    enums = {one.name: one for one in now}
    for old in then:
        values = {one.name: one.number for one in enums[old.name].value}
        for value in old.value:
            assert values.get(value.name, value.number) == value.number
            assert value.name in values or value.name in enums[old.name].reserved_name


def unplaced(field: Any) -> Any:
    """Where a oneof stands in its message is nobody's business."""
    made = copy.deepcopy(field)
    made.ClearField("oneof_index")
    return made


def published(function: Any, pinned: lock.Lock | None = None) -> Schema:
    """The schema of a table that has one operation more."""
    toy = dataclasses.replace(TABLE["records.get"], name="records.toy", function=function)
    return schema({**TABLE, toy.name: toy}, pinned)


def test_an_operation_that_is_added_is_in_the_file_and_in_the_lock(tmp_path: Path) -> None:
    def toy(self: Any, words: str, times: int = 2) -> list[str]:
        """Say it again."""
        return [words] * times

    made = published(toy)
    said = text(made)
    assert "  // Say it again.\n  rpc Toy(RecordsServiceToyRequest) returns (RecordsServiceToyResponse);" in said
    assert (
        "message RecordsServiceToyRequest {\n  string words = 1;\n  // Default: 2.\n  optional int64 times = 2;\n}"
        in said
    )
    assert made.lock["messages"]["RecordsServiceToyRequest"] == {"words": [1, "string"], "times": [2, "optional int64"]}
    before = schema().lock["messages"]
    assert {name: made.lock["messages"][name] for name in before} == before
    (tmp_path / FILE).parent.mkdir(parents=True)
    (tmp_path / FILE).write_text(said, "utf-8")
    assert in_order(compiled(tmp_path, tmp_path)) == in_order(descriptor.file_of(made))


def test_numbers_are_for_ever(tmp_path: Path) -> None:
    def first(self: Any, a: str, b: int, c: float) -> str: ...

    def second(self: Any, c: float, d: bool, a: str) -> str: ...

    pinned = published(first).lock
    made = published(second, pinned)
    fields = made.lock["messages"]["RecordsServiceToyRequest"]
    assert {name: number for name, (number, _) in fields.items()} == {"a": 1, "b": 2, "c": 3, "d": 4}
    said = text(made)
    assert 'message RecordsServiceToyRequest {\n  reserved 2;\n  reserved "b";\n  double c = 3;\n' in said
    (tmp_path / FILE).parent.mkdir(parents=True)
    (tmp_path / FILE).write_text(said, "utf-8")
    assert in_order(compiled(tmp_path, tmp_path)) == in_order(descriptor.file_of(made))


def test_another_type_is_refused() -> None:
    def first(self: Any, a: str) -> str: ...

    def second(self: Any, a: int) -> str: ...

    pinned = published(first).lock
    with pytest.raises(lock.Breaking, match=r"RecordsServiceToyRequest\.a was `string` and is `int64`"):
        published(second, pinned)


def test_the_lock_only_grows() -> None:
    """What is in the lock as it is kept has the numbers that it was published with."""
    known = lock.shipped()["messages"]
    (then,) = [
        one for one in descriptor_pb2.FileDescriptorSet.FromString(PUBLISHED.read_bytes()).file if one.name == FILE
    ]
    for message in then.message_type:
        for field in message.field:
            assert known[message.name][field.name][0] == field.number
