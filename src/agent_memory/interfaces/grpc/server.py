"""Open the gRPC door of a store: `start(service).stop()`. The library behind it is loaded only then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from agent_memory.app.service import Caller, Service
from agent_memory.interfaces.loopback import is_local
from agent_memory.models.errors import InvalidInput, PartMissing

if TYPE_CHECKING:
    from agent_memory.interfaces.grpc.calls import Identify
    from agent_memory.interfaces.grpc.door import Door

PORT = 8006
SAID = ("user", "tenant", "agent", "conversation")
_PARTS = {"grpc": "grpcio", "grpc_health": "grpcio-health-checking", "grpc_reflection": "grpcio-reflection"}


def start(service: Service, host: str = "127.0.0.1", port: int = PORT, identify: Identify | None = None) -> Door:
    """Listen and answer, in threads of its own, until it is stopped; port 0 takes one that is free.

    Without `identify` callers are who they say they are, so only this machine is listened to.
    """
    if identify is None and not is_local(host):
        raise InvalidInput(
            f"host: {host} can be reached from elsewhere, and nobody is asked for a key",
            hint="listen on 127.0.0.1, or create an API key",
            field="host",
        )
    try:
        from agent_memory.interfaces.grpc.door import Door
    except ImportError as error:
        package = _PARTS.get((error.name or "").partition(".")[0], "protobuf")
        raise PartMissing(f"gRPC: {package} is not installed", hint="pip install 'agent-memory[grpc]'") from error
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return Door(service, address, identify or anyone(service))


def anyone(service: Service) -> Identify:
    """On this machine, without keys: whoever they say they are."""

    def identify(metadata: Mapping[str, str], operation: str) -> Caller:
        return service.anonymous(**{name: metadata.get(f"x-memory-{name}") for name in SAID})

    return identify
