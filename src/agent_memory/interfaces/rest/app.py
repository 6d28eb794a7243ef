"""The REST application: routes, the guard before them, and one form for every error."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from starlette.responses import Response

from agent_memory import __version__
from agent_memory.app import headers
from agent_memory.app.service import Caller, Claim, Service
from agent_memory.interfaces.rest import problems
from agent_memory.interfaces.rest.call import call_router
from agent_memory.interfaces.rest.compat import compat_router
from agent_memory.interfaces.rest.guard import Guard, is_local
from agent_memory.interfaces.rest.routes import answered, router


def claimed(request: Request) -> Claim:
    """Who the headers say is calling."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    local = request.client is None or is_local(request.client.host)
    key = token.strip() if scheme.lower() == "bearer" else None
    return Claim(token=key, **headers.read(request.headers), local=local)


def create_app(service: Service, hosts: frozenset[str] = frozenset()) -> FastAPI:
    """Everything that REST offers for one store."""

    @asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(title="agent-memory", version=__version__, lifespan=living, redoc_url=None)
    problems.install(app)

    def identify(request: Request) -> Caller:
        return service.identify(claimed(request), f"{request.method} {request.url.path}")

    @app.get("/healthz", include_in_schema=False)
    async def alive() -> Response:
        return answered({"status": "ok"})

    @app.get("/readyz", include_in_schema=False)
    def ready() -> Response:
        service.runtime.store.records.seq_at(0)
        return answered({"status": "ready", "version": __version__})

    app.include_router(compat_router(service, identify))
    app.include_router(call_router(service, identify))
    app.include_router(router(service, identify))
    app.add_middleware(Guard, hosts=hosts)
    return app
