"""`POST /v1/call/{operation}`: any operation by its name, arguments as one JSON object. What our own client speaks."""

from __future__ import annotations

import json

from fastapi import APIRouter, Request
from starlette.responses import Response

from agent_memory.app.operations import TABLE
from agent_memory.app.service import Service
from agent_memory.interfaces.rest.headers import Said
from agent_memory.interfaces.rest.problems import problem
from agent_memory.interfaces.rest.routes import ERRORS, Identify, answered
from agent_memory.interfaces.threads import threaded


def call_router(service: Service, identify: Identify) -> APIRouter:
    made = APIRouter(prefix="/v1/call")

    @made.post("/{operation}", responses=ERRORS, response_model=None, tags=["call"])
    async def call(operation: str, request: Request) -> Response:
        """Any operation by its name; the body is its arguments as a JSON object."""
        declared = TABLE.get(operation)
        if declared is None:
            return problem(404, f"no operation {operation!r}", "no_such_operation")
        try:
            arguments = json.loads(await request.body() or b"{}")
        except (ValueError, RecursionError) as error:
            return problem(400, f"the body is no JSON: {error}", "invalid_json")
        if not isinstance(arguments, dict):
            return problem(422, "the body is no JSON object", "invalid_input", hint="arguments by name")
        said = {**Said(request.headers).arguments(declared), **arguments}
        return answered(await threaded(lambda: service.call(declared, identify(request), said)))

    return made
