"""The REST application: routes, what stands before them, and one form for every error."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import RedirectResponse, Response

from agent_memory import __version__
from agent_memory.app.service import Caller, Service
from agent_memory.interfaces.rest import pages, problems
from agent_memory.interfaces.rest.answers import Answers
from agent_memory.interfaces.rest.call import call_router
from agent_memory.interfaces.rest.compat import compat_router
from agent_memory.interfaces.rest.description import described
from agent_memory.interfaces.rest.entrance import Entrance, claimed, identified, known
from agent_memory.interfaces.rest.guard import Guard
from agent_memory.interfaces.rest.limits import RequestLimits
from agent_memory.interfaces.rest.metrics import Measured, Metrics
from agent_memory.interfaces.rest.routes import answered, operation_routes
from agent_memory.interfaces.rest.streams import stream_router
from agent_memory.interfaces.rest.traces import TraceMiddleware
from agent_memory.models.access import Permission
from agent_memory.models.errors import AgentMemoryError, Corrupt, StoreError
from agent_memory.ports import spans

_log = spans.log(__name__)
SILENT: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""FastAPI would hand bodies and arguments to whatever collects traces in this process."""


def create_app(service: Service, hosts: frozenset[str] = frozenset(), **limits: float) -> FastAPI:
    """Everything that REST offers for one store. `limits` are those of `RequestLimits`.

    `app.state.identify` says who was let in; `app.state.stopping` is set when streams should end.
    """

    @asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[None]:
        yield
        app.state.stopping.set()
        service.close()

    def identify(request: Request) -> Caller:
        return identified(service, request)

    app = FastAPI(
        title="agent-memory",
        version=__version__,
        lifespan=living,
        docs_url=None,  # those pages come from elsewhere
        redoc_url=None,
        openapi_url=None,  # ours asks for a key
        telemetry=SILENT,
    )
    app.state.identify, app.state.stopping = known, threading.Event()
    app.openapi = lambda: described(app)  # type: ignore[method-assign]
    problems.install(app)
    metrics = Metrics(service)
    for part in (call_router(service), compat_router(service), stream_router(service)):
        app.router.routes.extend(part.routes)
    app.router.routes.extend(operation_routes(service))
    _operate(app, service, metrics)
    app.add_middleware(RequestLimits, **limits)
    app.add_middleware(Entrance, identify=identify)
    app.add_middleware(Guard, hosts=hosts)
    app.add_middleware(Answers)
    app.add_middleware(Measured, metrics=metrics)
    app.add_middleware(TraceMiddleware)
    return app


def _operate(app: FastAPI, service: Service, metrics: Metrics) -> None:
    """What whoever runs the server asks for. Where there are keys, all but health needs one; what is about the whole
    store is told to its operators."""
    told: set[str] = set()

    @app.get("/healthz", include_in_schema=False)
    async def healthz() -> Response:
        return answered({"status": "ok", "version": __version__})

    @app.get("/readyz", include_in_schema=False)
    def readyz(request: Request) -> Response:
        checks = _checks(service)
        broken = "; ".join(f"{name}: {said}" for name, said in checks.items() if said != "ok")
        operates = service.operates(claimed(request))
        if not broken:
            told.clear()
            return answered({"status": "ready", "version": __version__} | ({"checks": checks} if operates else {}))
        if broken not in told:  # once, and not at every look
            told.add(broken)
            _log.warning("not ready: %s", broken)
        hint = "the log of the server says why; `agent-memory doctor` tells more"
        return problems.problem(503, broken if operates else "not ready", "not_ready", hint=hint)

    @app.get("/metrics", include_in_schema=False)
    def prometheus(request: Request) -> Response:
        try:
            service.admit(claimed(request), "GET /metrics", Permission.METRICS)
        except (StoreError, Corrupt):  # nobody can be known, and that is what there is to tell
            return metrics.store_down()
        return metrics.answer()

    @app.get("/openapi.json", include_in_schema=False)
    def description(request: Request) -> Response:
        service.admit(claimed(request), "GET /openapi.json")
        return answered(app.openapi())

    @app.get("/", include_in_schema=False)
    async def top() -> Response:
        return RedirectResponse("docs")

    @app.get("/docs", include_in_schema=False)
    def docs(request: Request) -> Response:
        service.admit(claimed(request), "GET /docs")
        return pages.docs(app)


def _checks(service: Service) -> dict[str, str]:
    """Part -> `ok`, or why it is not."""
    found = {}
    parts: dict[str, Callable[[], object]] = {
        "store": lambda: service.runtime.store.records.seq_at(service.settings.tenant, 0),
        "embedder": lambda: service.runtime.embedding.agree(settle=False),
    }
    for name, check in parts.items():
        try:
            check()
            found[name] = "ok"
        except AgentMemoryError as error:
            found[name] = error.message
    if (board := service.board) is not None:
        ready = len(board.ready())
        found["workers"] = "ok" if ready == board.workers else f"{ready} of {board.workers} are ready"
    return found
