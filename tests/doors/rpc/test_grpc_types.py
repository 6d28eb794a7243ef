"""Every type there and back, and whatever else a caller may send: no input breaks anything."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC
from enum import StrEnum
from typing import Any, Literal

import grpc
import pytest
from foreign import Foreign
from google.protobuf import message_factory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import Field

from agent_memory import AgentMemory
from agent_memory.app.namespaces import Records
from agent_memory.app.operations import TABLE, Permission, operation
from agent_memory.app.service import Service
from agent_memory.core.govern.access import Meter
from agent_memory.interfaces.grpc import descriptor
from agent_memory.interfaces.grpc.door import GrpcDoor
from agent_memory.interfaces.grpc.schema import schema
from agent_memory.interfaces.grpc.server import start
from agent_memory.models.model import Model, Moment, Text

QUIET = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class Colour(StrEnum):
    RED = "red"
    DARK_BLUE = "dark-blue"


class Inner(Model):
    number: float
    words: list[Text] = Field(default_factory=list)


class Everything(Model):
    """One field of every sort that operations have."""

    text: Text
    flag: bool
    whole: int
    part: float
    moment: Moment
    colour: Colour
    word: Literal["one", "two words"]
    inner: Inner
    anything: Any = None
    free: dict[str, Any] = Field(default_factory=dict)
    listed: list[Inner] = Field(default_factory=list)
    tall: list[list[float]] = Field(default_factory=list)
    filled: tuple[float, ...] = (0.5,)
    counted: dict[str, int] = Field(default_factory=dict)
    grouped: dict[str, list[Inner]] = Field(default_factory=dict)
    placed: tuple[int, float] | None = None
    either: Inner | str = "neither"
    maybe: int | None = None
    colours: list[Colour] = Field(default_factory=list)


def echo(self: Records, everything: Everything) -> Everything:
    """The same again."""
    return everything


numbers = st.floats(allow_nan=False, allow_infinity=False)
wholes = st.integers(-(2**63), 2**63 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
moments = st.datetimes(timezones=st.just(UTC))
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
inners = st.builds(Inner, number=numbers, words=st.lists(texts, max_size=3))
everythings = st.builds(
    Everything,
    text=texts,
    flag=st.booleans(),
    whole=wholes,
    part=numbers,
    moment=moments,
    colour=st.sampled_from(Colour),
    word=st.sampled_from(["one", "two words"]),
    inner=inners,
    anything=plain,
    free=st.dictionaries(texts, plain, max_size=3),
    listed=st.lists(inners, max_size=3),
    tall=st.lists(st.lists(numbers, max_size=3), max_size=3),
    filled=st.lists(numbers, max_size=3).map(tuple),
    counted=st.dictionaries(texts, wholes, max_size=3),
    grouped=st.dictionaries(texts, st.lists(inners, max_size=2), max_size=3),
    placed=st.none() | st.tuples(wholes, numbers),
    either=inners | texts,
    maybe=st.none() | wholes,
    colours=st.lists(st.sampled_from(Colour), max_size=3),
)


@pytest.fixture
def echoing(home: object) -> Iterator[tuple[Service, GrpcDoor]]:
    Records.echo = operation("records.echo", "POST /toys/echo")(echo)  # type: ignore[attr-defined]
    service = Service()
    try:
        with start(service, port=0) as door:
            yield service, door
    finally:
        service.close()
        del Records.echo, TABLE["records.echo"]  # type: ignore[attr-defined]


@pytest.mark.requirement("T8")
def test_every_type_comes_back_as_it_went(echoing: tuple[Service, GrpcDoor]) -> None:
    _, door = echoing
    client = Foreign(door.port)
    made = schema()
    (method,) = [one for one in made.methods if one.operation is not None and one.operation.name == "records.echo"]
    pool = descriptor.pool_of(descriptor.file_of(made))
    takes, gives = (descriptor.message_class(pool, one.name) for one in (method.request, method.response))

    @QUIET
    @given(everythings)
    def there_and_back(sent: Everything) -> None:
        message = takes()
        method.request.fill(message, {"everything": sent})
        answer = gives.FromString(client.raw("RecordsService/Echo", message.SerializeToString()))
        assert Everything(**method.response.read(answer)["result"]) == sent

    there_and_back()
    client.close()


def scribble(message: Any, draw: Any, depth: int = 0) -> Any:
    """Fill a message that nobody explained with values of the right type and no sense at all."""
    for field in message.DESCRIPTOR.fields:
        if depth > 3 or draw(st.integers(0, 2)) == 0:
            continue
        many = field.is_repeated
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            value = field.message_type.fields_by_name["value"]
            key = draw(texts)
            if value.message_type is not None:
                scribble(getattr(message, field.name)[key], draw, depth + 1)
            else:
                getattr(message, field.name)[key] = draw(_values(value))
        elif field.message_type is not None:
            target = getattr(message, field.name)
            if not many:
                target.SetInParent()
            scribble(target.add() if many else target, draw, depth + 1)
        elif many:
            getattr(message, field.name).extend(draw(st.lists(_values(field), max_size=3)))
        else:
            setattr(message, field.name, draw(_values(field)))
    return message


def _values(field: Any) -> st.SearchStrategy[Any]:
    kinds = {
        field.CPPTYPE_STRING: texts | st.sampled_from(["turn", "fact", "default", "*", "global", "\x00"]),
        field.CPPTYPE_BOOL: st.booleans(),
        field.CPPTYPE_INT64: wholes | st.integers(-2, 20),
        field.CPPTYPE_INT32: st.integers(-(2**31), 2**31 - 1),
        field.CPPTYPE_DOUBLE: st.floats() | st.floats(-1, 2),
        field.CPPTYPE_ENUM: st.integers(-1, 6),
    }
    return kinds[field.cpp_type]


@pytest.mark.requirement("T8")
def test_no_input_breaks_anything(monkeypatch: pytest.MonkeyPatch, echoing: tuple[Service, GrpcDoor]) -> None:
    service, door = echoing
    monkeypatch.setattr(service, "_meter", Meter(0))
    with AgentMemory("ada") as owner:
        key = owner.keys.create("fuzz", list(Permission))
    client = Foreign(door.port, token=key.secret)
    names = sorted(name.partition(".v1.")[2] for name in client.methods() if "StreamService" not in name)

    @settings(QUIET, max_examples=400)
    @given(st.data())
    def asked(data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(names))
        message = message_factory.GetMessageClass(client.method(name).input_type)()
        body = scribble(message, data.draw).SerializeToString()
        if data.draw(st.integers(0, 9)) == 0:
            body = data.draw(st.binary(max_size=40))
        try:
            client.raw(name, body)
        except grpc.RpcError as error:
            assert error.code() not in (
                grpc.StatusCode.INTERNAL,
                grpc.StatusCode.UNKNOWN,
                grpc.StatusCode.UNAUTHENTICATED,
            ), (name, error.details())

    asked()
    assert client.call("UpkeepService/Verify")["ok"] is True
    client.close()
