"""A route for every operation of the table: path, query or body from its declaration, nothing said twice."""

from __future__ import annotations

import inspect
import json
import re
import typing
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Annotated, Any

from fastapi import Body, HTTPException, Path, Query, Request
from fastapi.routing import APIRoute
from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema, create_model
from pydantic_core import to_json
from starlette.responses import Response
from starlette.routing import BaseRoute

from agent_memory.app.operations import TABLE, Operation, storable
from agent_memory.app.service import Service
from agent_memory.interfaces.rest.description import reference
from agent_memory.interfaces.rest.entrance import known
from agent_memory.interfaces.rest.headers import HeaderArguments, gives, takes, told
from agent_memory.interfaces.rest.latent import LatentRoute
from agent_memory.interfaces.rest.problems import Problem
from agent_memory.interfaces.threads import threaded
from agent_memory.models.errors import InvalidInput
from agent_memory.models.model import Model

_PATH = re.compile(r"{(\w+)}")
_QUERY = frozenset({"GET", "DELETE"})
_PROBLEM = {
    "content": {"application/problem+json": {"schema": reference("schemas", Problem.__name__)}},
    "headers": {"Retry-After": reference("headers", "RetryAfter")},
}
ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "a problem of the request", **_PROBLEM},
    "5XX": {"description": "a problem of the server", **_PROBLEM},
}


class RequestBody(Model):
    """What a request holds. Built at once: FastAPI silences a warning of pydantic's only while it builds a route."""

    model_config = ConfigDict(defer_build=False)


class Bodied(APIRoute):
    """A route with a body: FastAPI describes it, its endpoint gets the request as it is. FastAPI would parse and check
    a body on the event loop, where everybody waits for it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler: Callable[[Request], Coroutine[Any, Any, Response]] = self.endpoint
        return handler


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object that a body is; an empty body is an empty one."""
    try:
        found = json.loads(body.decode("utf-8-sig") or "{}")  # of bytes it takes UTF-16, too, which nobody weighed
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"the body is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise InvalidInput("the body is not a JSON object", hint="send the arguments by name")
    return found


def operation_routes(service: Service) -> list[BaseRoute]:
    """Every operation as a resource."""
    routed = [(one, one.route, "") for one in TABLE.values()]
    routed += [(one, one.of_one, "_one") for one in TABLE.values() if one.of_one is not None]
    routed.sort(key=lambda one: "{" in one[1].rpartition("/")[2])
    made: list[BaseRoute] = []
    for operation, route, suffix in routed:
        method, path = route.split(" ")
        path = "/v1" + _PATH.sub(r"{\1:path}", path)  # an id may hold a slash
        name = operation.name.replace(".", "_") + suffix
        made.append(LatentRoute(method, path, partial(_built, operation, route, service, path, name)))
    return made


def _built(operation: Operation, route: str, service: Service, path: str, name: str) -> APIRoute:
    method = route.partition(" ")[0]
    made = APIRoute if method in _QUERY else Bodied
    return made(
        path,
        _endpoint(operation, route, service),
        methods=[method],
        operation_id=name,
        summary=operation.summary,
        description=inspect.getdoc(operation.function),
        tags=[operation.name.rpartition(".")[0] or "retriever"],
        responses={200: {"model": _answer(operation), "headers": gives(operation)}, **ERRORS},
        response_model=None,
        openapi_extra={"parameters": takes(operation)},
    )


def answered(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(to_json(value, inf_nan_mode="constants"), status, headers, media_type="application/json")


def _answer(operation: Operation) -> Any:
    gives = typing.get_type_hints(operation.function).get("return", Any)
    return Any if gives is type(None) else gives


def _endpoint(operation: Operation, route: str, service: Service) -> Callable[..., Any]:
    """A function with the signature that FastAPI reads: path parameters, and one model for the rest."""
    method, path = route.split(" ")
    in_path = _PATH.findall(path)
    of_one = route == operation.of_one

    def answer(request: Request, named: dict[str, Any], given: dict[str, Any]) -> Response:
        if of_one:
            named = {"ids": [named["id"]]}
        if twice := named.keys() & given.keys():
            field = twice.pop()
            raise InvalidInput(f"{field}: is in the path", hint="leave it out of the body", field=field)
        said = {**HeaderArguments(request.headers).arguments(operation, given), **named, **given}
        answer = service.call(operation, known(request), said)
        return answered(answer, headers=told(operation, answer, said.get("limit"), request.url))

    async def query(request: Request, given: Model | None = None, **named: str) -> Response:
        return await threaded(lambda: answer(request, named, arguments_of(given)))

    async def body(request: Request) -> Response:
        raw = await request.body()
        return await threaded(lambda: answer(request, request.path_params, read_object(raw)))

    endpoint = query if method in _QUERY else body
    taken = {*in_path, "ids"} if of_one else set(in_path)
    rest = [name for name in operation.signature if name not in taken]
    endpoint.__signature__ = _signature(operation, in_path, rest, in_query=method in _QUERY)  # type: ignore[attr-defined]
    endpoint.__name__ = operation.name.replace(".", "_")
    return endpoint


def _signature(operation: Operation, in_path: list[str], rest: list[str], *, in_query: bool) -> inspect.Signature:
    parameters = [_parameter("request", Request), *(_parameter(name, Annotated[str, Path()]) for name in in_path)]
    if rest:
        shape = shape_of(operation, rest, in_query=in_query)
        required = any(operation.signature[name].default is inspect.Parameter.empty for name in rest)
        default = inspect.Parameter.empty if required or in_query else shape()
        parameters.append(_parameter("given", Annotated[shape, Query() if in_query else Body()], default))
    return inspect.Signature(parameters)


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def arguments_of(given: Model | None) -> dict[str, Any]:
    """Those that were said, by name."""
    return {} if given is None else {name: getattr(given, name) for name in given.model_fields_set}


def shape_of(operation: Operation, names: list[str], *, in_query: bool) -> type[Model]:
    """A model of some of an operation's arguments."""
    fields: dict[str, Any] = {}
    for name in names:
        parameter = operation.signature[name]
        annotation = storable(parameter.annotation)
        if in_query and _holds_dict(annotation):
            annotation = Annotated[annotation, BeforeValidator(_from_json), WithJsonSchema({"type": "string"})]
        missing = parameter.default is parameter.empty
        fields[name] = (annotation, Field(... if missing else parameter.default))
    return create_model(
        f"{operation.name.title().replace('.', '').replace('_', '')}Request", __base__=RequestBody, **fields
    )


def _holds_dict(annotation: Any) -> bool:
    origin = typing.get_origin(annotation)
    return origin is dict or any(_holds_dict(one) for one in typing.get_args(annotation) if one is not annotation)


def _from_json(value: Any) -> Any:
    """An object in a query is written as JSON."""
    return json.loads(value) if isinstance(value, str) else value
