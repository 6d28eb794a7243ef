"""Open the gRPC door of a store: `start(service).stop()`. The library behind it is loaded only then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_memory.app.service import Service
from agent_memory.interfaces.loopback import is_local, listening
from agent_memory.interfaces.tls import Tls
from agent_memory.models.errors import InvalidInput, PartMissing

if TYPE_CHECKING:
    from agent_memory.interfaces.grpc.door import GrpcDoor

PORT = 8006
_PARTS = {"grpc": "grpcio", "grpc_health": "grpcio-health-checking", "grpc_reflection": "grpcio-reflection"}


def start(
    service: Service, host: str = "127.0.0.1", port: int = PORT, tls: Tls | None = None, shares: bool = False
) -> GrpcDoor:
    """Listen and answer, in threads of its own, until it is stopped; port 0 takes one that is free. With `shares` other
    processes may listen on the same port.

    As long as nobody is asked for a key, only this machine is listened to.
    """
    if not is_local(host) and not service.has_keys():
        raise InvalidInput(
            f"host: {host} can be reached from other machines, and no key is asked for",
            hint="listen on 127.0.0.1, or make an API key first",
            field="host",
        )
    try:
        from agent_memory.interfaces.grpc.door import GrpcDoor
    except ImportError as error:
        package = _PARTS.get((error.name or "").partition(".")[0], "protobuf")
        raise PartMissing(
            f"gRPC: {package} is not installed", hint="pip install 'agent-memory[server,grpc]'"
        ) from error
    if port and not shares:
        listening(host, port, "--grpc-port").close()  # gRPC itself would say it badly, and on the standard error
    return GrpcDoor(service, f"[{host}]:{port}" if ":" in host else f"{host}:{port}", tls, shares)
