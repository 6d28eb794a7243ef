"""The table of operations. A public operation is one method of a namespace, marked `@operation`; every door loops
over the table, and nothing about an operation is said twice. Scope is never an argument: it belongs to the client."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, Generic, NamedTuple, ParamSpec, Self, TypeVar, overload

from pydantic import AfterValidator, Field, WithJsonSchema, create_model
from pydantic_core import to_jsonable_python

from agent_memory.app import namespaces
from agent_memory.app.caller import because
from agent_memory.models.access import Permission as Permission
from agent_memory.models.kinds.kind import check_plain
from agent_memory.models.model import Model, Text, bounded
from agent_memory.ports.forks import CALLS
from agent_memory.ports.spans import span

if TYPE_CHECKING:
    from agent_memory.app.client import Client
    from agent_memory.app.memory import AgentMemory

Whole = Annotated[int, Field(ge=-(2**63), le=2**63 - 1), WithJsonSchema({"type": "integer", "format": "int64"})]
P = ParamSpec("P")
R = TypeVar("R")
N = TypeVar("N", bound="Namespace")


class ToolSlot(NamedTuple):
    """An operation as a tool of one of MCP's toolsets, or as one action of such a tool."""

    toolset: str
    tool: str
    action: str | None = None


class ResourceSlot(NamedTuple):
    """An operation as a resource of MCP; parts of its address in braces are arguments."""

    uri: str


@dataclass(frozen=True, eq=False)
class Operation:
    """`name` is namespace.method; `route` is where REST has it, below its version; `command` is a short name on the
    command line, where there is one. `mcp` is where MCP has it, as tools and resources.
    `erases`: it takes something away, and nothing that a caller can do brings it back. `here`: it is about files of
    whoever calls, and runs in their own process also when the store is a server. `of_one`: a second route, for a
    single one of its `ids`. `verbatim`: it is about secrets; its arguments are not redacted, and it keeps none of
    them. `names`: arguments that identify what it is about, although elsewhere they do not. `shows`: it writes, and
    what it answers are memories that its caller did not just write."""

    name: str
    function: Callable[..., Any]
    route: str
    permission: Permission
    command: str | None
    mcp: Sequence[ToolSlot | ResourceSlot] = ()
    erases: bool = False
    here: bool = False
    of_one: str | None = None
    verbatim: bool = False
    names: Sequence[str] = ()
    shows: bool = False

    @property
    def shows_memories(self) -> bool:
        """Whether a call is noted in the access log."""
        reviewing = self.permission is Permission.REVIEW and self.route.startswith("GET ")
        return self.permission is Permission.READ or reviewing or self.shows

    @property
    def owner(self) -> type[Namespace]:
        """The namespace that has it."""
        return namespace(home(self.name))

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.function) or "").split("\n\n")[0].replace("\n", " ")

    @functools.cached_property
    def signature(self) -> Mapping[str, inspect.Parameter]:
        """Parameters with resolved types; `**fields: Unpack[SomeTypedDict]` is spelled out."""
        hints = typing.get_type_hints(self.function, include_extras=True)
        found: dict[str, inspect.Parameter] = {}
        for name, parameter in list(inspect.signature(self.function).parameters.items())[1:]:
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                (fields,) = typing.get_args(hints[name])
                for field, annotation in typing.get_type_hints(fields, include_extras=True).items():
                    found[field] = inspect.Parameter(
                        field, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation | None
                    )
            else:
                found[name] = parameter.replace(annotation=hints[name])
        return found

    @functools.cached_property
    def arguments(self) -> type[Model]:
        """The shape of a request: what doors parse into, and what every call is checked against."""
        fields: dict[str, Any] = {
            name: (
                storable(parameter.annotation),
                Field(... if parameter.default is parameter.empty else parameter.default),
            )
            for name, parameter in self.signature.items()
        }
        return create_model(self.name, __base__=Model, **fields)

    @functools.cached_property
    def _order(self) -> tuple[str, ...]:
        return tuple(self.signature)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Positional and named arguments as checked values; `InvalidInput` names the one that is wrong."""
        if len(args) > len(self._order):
            raise TypeError(f"{self.name} takes {len(self._order)} arguments, {len(args)} were given")
        named = dict(zip(self._order, args, strict=False))
        if twice := named.keys() & kwargs.keys():
            raise TypeError(f"{self.name} got {twice.pop()!r} twice")
        checked = self.arguments(**named, **bounded(kwargs, self.signature))
        return {name: getattr(checked, name) for name in checked.model_fields_set}


def storable(annotation: Any) -> Any:
    """The same type, narrowed to what a store can hold: text that is Unicode, 64-bit integers, values that are JSON."""
    if annotation is str:
        return Text
    if annotation is int:
        return Whole
    if annotation is Any:
        return Annotated[Any, AfterValidator(plain)]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is dict:
        return Annotated[annotation, AfterValidator(plain)]
    if origin is list:
        return Annotated[list[storable(arguments[0])], Field(fail_fast=True)]  # type: ignore[misc]
    if origin in (typing.Union, types.UnionType):
        return typing.Union[tuple(storable(one) for one in arguments)]  # noqa: UP007
    return annotation


def plain(value: Any) -> Any:
    """As JSON values; a ValueError when it has no such form."""
    try:
        converted = to_jsonable_python(value)
        check_plain(converted)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"cannot be stored as JSON: {str(error)[:200]}") from None
    return converted


class Namespace:
    """A group of operations of one client."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def _carried(self, operation: Operation, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments, with what this object keeps that an operation needs to be told when it runs elsewhere."""
        return arguments

    def _answered(self, operation: Operation, answer: Any) -> Any:
        """What a caller in Python gets: an answer may lead back to this client."""
        return answer


class Part(Generic[N]):
    """A namespace as an attribute of a client: made when it is first asked for, and then the same always."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, memory: None, owner: type) -> Self: ...
    @overload
    def __get__(self, memory: AgentMemory, owner: type) -> N: ...
    def __get__(self, memory: AgentMemory | None, owner: type) -> Self | N:
        if memory is None:
            return self
        made: N = vars(memory).setdefault(self._name, namespace(self._name)(memory._client))
        return made


NAMESPACES = {name.lower(): name for name in namespaces.__all__}
"""All namespaces by their names on a client, and what their classes are called."""


@functools.cache
def namespace(name: str) -> type[Namespace]:
    """The class that a client has under this name; loaded by the first who asks, where no fork catches the import."""
    with CALLS:
        found: type[Namespace] = getattr(namespaces, NAMESPACES[name])
    return found


def home(name: str) -> str:
    """The namespace of an operation; what has no name of one is the retriever's."""
    return name.rpartition(".")[0] or "retriever"


class Operations(MutableMapping[str, Operation]):
    """Every operation by name. Whoever wants one loads its namespace, whoever looks at all of them every one."""

    def __init__(self) -> None:
        self._known: dict[str, Operation] = {}
        self._whole = False

    def _all(self) -> dict[str, Operation]:
        if not self._whole:
            for name in NAMESPACES:
                namespace(name)
            order = {name: place for place, name in enumerate(NAMESPACES)}
            self._known = dict(sorted(self._known.items(), key=lambda one: order.get(home(one[0]), len(order))))
            self._whole = True
        return self._known

    def __getitem__(self, name: str) -> Operation:
        if name not in self._known and home(name) in NAMESPACES:
            namespace(home(name))
        return self._known[name]

    def __setitem__(self, name: str, operation: Operation) -> None:
        self._known[name] = operation

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


TABLE = Operations()


def operation(
    name: str,
    route: str,
    *,
    permission: Permission = Permission.READ,
    command: str | None = None,
    mcp: Sequence[ToolSlot | ResourceSlot] = (),
    erases: bool = False,
    here: bool = False,
    of_one: str | None = None,
    verbatim: bool = False,
    names: Sequence[str] = (),
    shows: bool = False,
) -> Callable[[Callable[Concatenate[N, P], R]], Callable[Concatenate[N, P], R]]:
    """Put a method into the table. Calling it dispatches the operation: here, or at a server."""

    def mark(function: Callable[Concatenate[N, P], R]) -> Callable[Concatenate[N, P], R]:
        declared = TABLE[name] = Operation(
            name, function, route, permission, command, mcp, erases, here, of_one, verbatim, names, shows
        )

        @functools.wraps(function)
        def call(self: N, *args: P.args, **kwargs: P.kwargs) -> R:
            why = kwargs.pop("why", None) if declared.shows_memories else None
            if self._client.run_id is not None and "run_id" in declared.signature:
                kwargs.setdefault("run_id", self._client.run_id)
            with CALLS, span(declared.name, self._client.transport.side), because(why):
                answer = self._client.dispatch(declared, declared.bind(args, kwargs), self)
                return typing.cast(R, self._answered(declared, answer))

        return typing.cast("Callable[Concatenate[N, P], R]", call)

    return mark
