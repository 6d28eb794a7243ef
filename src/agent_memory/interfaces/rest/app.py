"""The REST application: routes, what stands before them, and one form for every error."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from agent_memory import __version__
from agent_memory.app import headers
from agent_memory.app.service import Caller, Claim, Service
from agent_memory.interfaces.loopback import is_local
from agent_memory.interfaces.rest import pages, problems
from agent_memory.interfaces.rest.call import call_router
from agent_memory.interfaces.rest.compat import compat_router
from agent_memory.interfaces.rest.guard import Guard
from agent_memory.interfaces.rest.limits import Limits
from agent_memory.interfaces.rest.metrics import Measured, Metrics
from agent_memory.interfaces.rest.routes import answered, router
from agent_memory.interfaces.rest.streams import stream_router
from agent_memory.interfaces.rest.traces import Traced
from agent_memory.models.errors import AgentMemoryError

SILENT: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""FastAPI would hand bodies and arguments to whatever collects traces in this process."""


def claimed(request: Request) -> Claim:
    """Who the headers say is calling."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    local = request.client is None or is_local(request.client.host)
    key = token.strip() if scheme.lower() == "bearer" else None
    return Claim(token=key, **headers.read(request.headers), local=local)


def create_app(service: Service, hosts: frozenset[str] = frozenset(), **limits: float) -> FastAPI:
    """Everything that REST offers for one store. `limits` are those of `Limits`.

    `app.state.identify` says who calls; `app.state.stopping` is set when streams should end.
    """

    @asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[None]:
        yield
        app.state.stopping.set()
        service.close()

    def identify(request: Request) -> Caller:
        return service.identify(claimed(request), f"{request.method} {request.url.path}")

    app = FastAPI(
        title="agent-memory",
        version=__version__,
        lifespan=living,
        docs_url=None,  # those pages come from elsewhere
        redoc_url=None,
        telemetry=SILENT,
    )
    app.state.identify, app.state.stopping = identify, threading.Event()
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    problems.install(app)
    metrics = Metrics(service)
    _operate(app, service, metrics)
    for part in (compat_router, call_router, stream_router, router):
        app.router.routes.extend(part(service, identify).routes)
    app.add_middleware(Limits, **limits)
    app.add_middleware(Guard, hosts=hosts)
    app.add_middleware(Measured, metrics=metrics)
    app.add_middleware(Traced)
    return app


def _operate(app: FastAPI, service: Service, metrics: Metrics) -> None:
    """What whoever runs the server asks for."""

    @app.get("/healthz", include_in_schema=False)
    async def healthz() -> Response:
        return answered({"status": "ok", "version": __version__})

    @app.get("/readyz", include_in_schema=False)
    def readyz() -> Response:
        checks = _checks(service)
        broken = {name: said for name, said in checks.items() if said != "ok"}
        if not broken:
            return answered({"status": "ready", "version": __version__, "checks": checks})
        detail = "; ".join(f"{name}: {said}" for name, said in broken.items())
        return problems.problem(503, detail, "not_ready", hint="`agent-memory doctor` tells more")

    @app.get("/metrics", include_in_schema=False)
    def prometheus() -> Response:
        return metrics.answer()

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return await run_in_threadpool(pages.docs, app)


def _checks(service: Service) -> dict[str, str]:
    """Part -> `ok`, or why it is not."""
    found = {}
    checks: dict[str, Callable[[], object]] = {
        "store": lambda: service.runtime.store.records.seq_at(0),
        "embedder": lambda: service.runtime.embedding.agree(settle=False),
    }
    for name, check in checks.items():
        try:
            check()
            found[name] = "ok"
        except AgentMemoryError as error:
            found[name] = error.message
    return found


def _described(app: FastAPI) -> dict[str, Any]:
    """OpenAPI, with the one form of every error."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, routes=app.routes)
        made["components"]["schemas"][problems.Problem.__name__] = problems.Problem.model_json_schema()
        app.openapi_schema = made
    return app.openapi_schema
