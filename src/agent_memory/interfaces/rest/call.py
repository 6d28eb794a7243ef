"""`POST /v1/call/{operation}`: any operation by its name, arguments as one JSON object. What our own client speaks."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from agent_memory.app.operations import TABLE
from agent_memory.app.service import Service
from agent_memory.interfaces.rest.description import TAKEN, reference
from agent_memory.interfaces.rest.entrance import known
from agent_memory.interfaces.rest.headers import HeaderArguments
from agent_memory.interfaces.rest.problems import problem
from agent_memory.interfaces.rest.routes import ERRORS, Bodied, answered, read_object
from agent_memory.interfaces.threads import threaded


def call_router(service: Service) -> APIRouter:
    made = APIRouter(prefix="/v1/call", route_class=Bodied)

    body = {"content": {"application/json": {"schema": {"type": "object"}}}}
    named = {"name": "operation", "in": "path", "required": True, "schema": {"type": "string", "title": "Operation"}}
    headers = [reference("parameters", name) for name in TAKEN]

    @made.post(
        "/{operation}",
        operation_id="call_operation",
        responses=ERRORS,
        response_model=None,
        tags=["call"],
        openapi_extra={"requestBody": body, "parameters": [named, *headers]},
    )
    async def call(request: Request) -> Response:
        """Any operation by its name; the body is its arguments as a JSON object."""
        name: str = request.path_params["operation"]
        declared = TABLE.get(name)
        if declared is None:
            return problem(404, f"no operation {name!r}", "no_such_operation")
        raw = await request.body()

        def work() -> Response:
            given = read_object(raw)
            said = {**HeaderArguments(request.headers).arguments(declared, given), **given}
            return answered(service.call(declared, known(request), said))

        return await threaded(work)

    return made
