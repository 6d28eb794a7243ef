"""`agent-memory serve`: REST, and MCP and gRPC where they are installed, for one store, in one process or several."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from agent_memory.interfaces.cli import whose
from agent_memory.interfaces.cli.session import Session

if TYPE_CHECKING:
    from agent_memory.app.config import Settings

MOST_WORKERS = 64
IN_THE_CLEAR = (
    "keys and memories travel unencrypted: give --tls-cert and --tls-key, or put a proxy that has them in front"
)

NO_GRPC = "gRPC is not installed, and so not served: pip install 'agent-memory[server,grpc]'"


@whose.anywhere
@click.command("serve", short_help="Answer programs and agents over HTTP until Ctrl-C")
@click.option("--host", default="127.0.0.1", show_default=True, help="address to listen on")
@click.option(
    "--port",
    default=8005,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="port for REST and MCP; 0 picks a free one",
)
@click.option(
    "--grpc-port",
    default=8006,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="port for gRPC; 0 picks a free one",
)
@click.option(
    "--socket",
    metavar="PATH",
    help="listen on a Unix socket that only you can reach, and on no port unless one is named; clients: unix://PATH",
)
@click.option(
    "--workers",
    default=1,
    show_default=True,
    type=click.IntRange(1, MOST_WORKERS),
    help="number of worker processes; use as many as there are cores",
)
@click.option(
    "--max-memory",
    metavar="MB",
    type=click.FloatRange(1),
    help="megabytes that each process holds at most: vectors stay on the disk, what is not needed is dropped",
)
@click.option("--no-grpc", is_flag=True, help="leave gRPC out")
@click.option("--no-jobs", is_flag=True, help="leave background jobs to another server of this store")
@click.option("--allow-host", multiple=True, metavar="NAME", help="another host name of this server (repeatable)")
@click.option("--tls-cert", metavar="FILE", help="certificate to show, as PEM: REST, MCP and gRPC speak TLS")
@click.option("--tls-key", metavar="FILE", help="the key of that certificate, as PEM")
@click.option("--json", "_json", is_flag=True, help="print the addresses as JSON")
@click.pass_obj
def command(session: Session, /, **given: Any) -> int:
    """Answer programs and agents over HTTP until Ctrl-C.

    One line says where everything is. Only this machine can reach it, unless API keys are asked for: that is every
    user of this machine, and --socket is for you alone. --tls-cert and --tls-key encrypt what travels. Ctrl-C (or
    SIGTERM) finishes what was begun. --user and --tenant are those of callers who name none.
    """
    from agent_memory.app.service import Service
    from agent_memory.interfaces import serving, tls
    from agent_memory.interfaces.cli import exits, output
    from agent_memory.interfaces.loopback import is_local
    from agent_memory.models.errors import InvalidInput

    at = given["socket"] and Path(given["socket"]).expanduser().absolute()
    if at and given["tls_cert"]:
        raise InvalidInput(
            "socket: what travels over it stays on this machine",
            hint="leave out --tls-cert and --tls-key",
            field="socket",
        )

    context = click.get_current_context()

    def named(option: str) -> bool:
        return context.get_parameter_source(option) is not ParameterSource.DEFAULT

    def port(name: str) -> int | None:
        """Beside a socket only a port that somebody names is opened."""
        return given[name] if named(name) or not at else None

    settings = _bounded(session.settings(), given["max_memory"])
    listen = serving.Listen(
        host=given["host"],
        port=port("port"),
        grpc_port=None if given["no_grpc"] else port("grpc_port"),
        hosts=frozenset(given["allow_host"]),
        jobs=not given["no_jobs"],
        tls=tls.checked(given["tls_cert"], given["tls_key"]),
        socket=at or None,
    )

    def announce(where: dict[str, str]) -> None:
        if listen.tls is None and not is_local(listen.host):
            output.write_error("warning:", IN_THE_CLEAR, "yellow")
        if "grpc" not in where and listen.grpc_port is not None and named("grpc_port"):
            output.write_error("warning:", NO_GRPC, "yellow")
        if session.json or given["_json"]:
            output.write_json(where)
        else:
            click.echo(line(where))
        sys.stdout.flush()

    if given["workers"] > 1:
        from agent_memory.interfaces.workers import parent

        parent.serve(settings, listen, given["workers"], announce)
    else:
        serving.serve(Service(settings), listen, announce)
    return exits.OK


def _bounded(settings: Settings, megabytes: float | None) -> Settings:
    return settings if megabytes is None else settings.model_copy(update={"max_memory_mb": megabytes})


def line(where: dict[str, str]) -> str:
    """Where everything is, and how an agent gets there."""
    names = {"socket": "socket", "rest": "REST", "docs": "docs", "mcp": "MCP", "grpc": "gRPC"}
    parts = [f"{names[name]} {at}" for name, at in where.items()]
    if "socket" in where:
        parts.append(f"connect a client: agent-memory --store {where['socket']}")
    elif "mcp" in where:
        parts.append(f"connect an agent: claude mcp add --transport http memory {where['mcp']}")
    else:
        parts.append(f"connect an agent: GET {where['rest'].removesuffix('/v1')}/memory/retrieve?q=…")
    return "agent-memory serves · " + " · ".join(parts)
