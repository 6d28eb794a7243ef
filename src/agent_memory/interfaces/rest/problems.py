"""Errors as `application/problem+json` (RFC 9457): the stable code, the field and the fix travel with the status."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match

from agent_memory.app.operations import TABLE
from agent_memory.models.errors import AgentMemoryError
from agent_memory.models.model import Model, invalid, wrong
from agent_memory.ports.spans import trace_id

STATUS: Mapping[str, int] = MappingProxyType(
    {
        "invalid_input": 422,
        "not_found": 404,
        "conflict": 409,
        "changed": 412,
        "lease_lost": 409,
        "denied": 403,
        "refused": 403,
        "unauthenticated": 401,
        "too_many": 429,
        "store_unavailable": 503,
        "store_busy": 503,
        "store_full": 507,
        "store_newer": 503,
        "space_mismatch": 409,
        "part_missing": 501,
        "unfinished": 502,
        "budget_exceeded": 429,
        "corrupt": 500,
    }
)
TITLES: Mapping[int, str] = MappingProxyType(
    {
        400: "Bad request",
        401: "Not authenticated",
        403: "Not allowed",
        404: "Not found",
        405: "Method not allowed",
        408: "Too slow",
        409: "Conflict",
        412: "Somebody else changed it",
        413: "Too large",
        415: "Only JSON",
        421: "Wrong host",
        422: "Invalid input",
        429: "Too many requests",
        500: "Something broke",
        501: "A part is missing",
        502: "A model did not answer",
        503: "The store is not available",
        504: "Too slow",
        507: "No space left",
    }
)
CALL = "/v1/call/"  # where our own client is, which tells its user of commands
_COMMAND = re.compile(r"`agent-memory ([a-z][a-z -]*)[^`]*`")
PLAIN: Mapping[int, str] = MappingProxyType({400: "invalid_json", 404: "no_such_path", 405: "method_not_allowed"})


class Problem(Model):
    """What went wrong: `code` for machines, `detail` and `hint` for people. Of an import: so many lines
    are `imported`, and `line` is the first that is not. Of a `limit`: what is `left`, and when it is
    whole again (`resets_at`). `trace_id` leads to the spans of a call that was traced."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    hint: str | None = None
    field: str | None = None
    line: int | None = None
    imported: int | None = None
    limit: int | None = None
    left: int | None = None
    resets_at: str | None = None
    trace_id: str | None = None


def problem(status: int, detail: str, code: str, **more: Any) -> JSONResponse:
    headers = more.pop("headers", None)
    body = {"type": "about:blank", "title": TITLES.get(status, "Problem"), "status": status, "detail": detail}
    more["trace_id"] = trace_id()
    body |= {"code": code, **{name: value for name, value in more.items() if value not in (None, "")}}
    return JSONResponse(body, status, headers, media_type="application/problem+json")


@functools.cache
def _paths() -> Mapping[str, str]:
    """Commands that read -> the requests that do the same."""
    found: dict[str, str] = {}
    for name, operation in TABLE.items():
        if operation.route.startswith("GET "):
            long = name.replace(".", " ").replace("_", "-")
            found |= dict.fromkeys([long, operation.command or long], operation.route.replace(" ", " /v1", 1))
    return found


def _request(found: re.Match[str]) -> str:
    """A command as a request, where it only reads. The rest is for whoever runs the server, and has a shell."""
    words = found[1].split()
    names = (" ".join(words[:size]) for size in (2, 1))
    return next((f"`{_paths()[name]}`" for name in names if name in _paths()), found[0])


def of_error(error: AgentMemoryError, *, hinted: bool = True) -> JSONResponse:
    headers = None
    if error.wait is not None:
        headers = {"retry-after": str(max(1, math.ceil(error.wait)))}  # HTTP knows whole seconds only
    status = STATUS.get(error.code, 500)
    hint = _COMMAND.sub(_request, error.hint) if hinted else error.hint
    return problem(status, error.message, error.code, hint=hint, field=error.field, headers=headers, **error.details())


def install(app: FastAPI) -> None:
    """Whatever is raised is answered in this one form."""

    @app.exception_handler(AgentMemoryError)
    async def ours(request: Request, error: AgentMemoryError) -> JSONResponse:
        return of_error(error, hinted=not request.url.path.startswith(CALL))

    @app.exception_handler(RequestValidationError)
    async def unreadable(request: Request, error: RequestValidationError) -> JSONResponse:
        first, *_ = report = error.errors()
        if first["type"] == "json_invalid":
            return problem(400, "the body is not JSON", "invalid_json", hint=str(first.get("ctx", {}).get("error", "")))
        field, said, hint = wrong([(one["loc"][1:] or one["loc"], one["msg"], one["type"]) for one in report])
        return problem(422, f"{field}: {said}", "invalid_input", field=field, hint=hint)

    @app.exception_handler(ValidationError)
    async def unfit(request: Request, error: ValidationError) -> JSONResponse:
        return of_error(invalid("request", error))

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> JSONResponse:
        code = PLAIN.get(error.status_code, "bad_request")
        headers = {"allow": _allowed(request)} if error.status_code == 405 else error.headers
        hint = "/docs lists what there is" if code == "no_such_path" else None
        return problem(error.status_code, str(error.detail), code, headers=headers, hint=hint)


def _allowed(request: Request) -> str:
    """Every method that this path has, whichever route has it."""
    routes = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
    return ", ".join(sorted({method for route in routes for method in getattr(route, "methods", None) or ()}))
