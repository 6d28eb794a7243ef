"""`agent-memory mcp`: the memory as an MCP server on the standard streams. What a coding agent starts."""

from __future__ import annotations

import sys

import click

from agent_memory.interfaces.cli import whose
from agent_memory.interfaces.cli.session import Session


@whose.anywhere
@click.command("mcp", short_help="Serve this memory to an agent over MCP (standard input and output)")
@click.option(
    "--toolsets", "--toolset", "toolsets", multiple=True, metavar="NAMES", help="which tools, such as core,knowledge"
)
@click.option("--compat", is_flag=True, help="the nine tools of the official memory server instead of ours")
@click.pass_obj
def command(session: Session, toolsets: tuple[str, ...], compat: bool) -> int:
    """Serve this memory to an agent over MCP, on the standard input and output.

    An agent starts this by itself: `docs/guides/mcp.md` has the lines for its configuration. Toolsets are core (the
    default: six tools), records, blocks, conversation, experience, knowledge, operational, upkeep, work, working, and
    all. Several agents may share one store.
    """
    from agent_memory.interfaces.cli import exits, output
    from agent_memory.interfaces.parts import needing

    if compat and toolsets:
        raise click.UsageError("--compat has tools of its own: leave out --toolsets")
    with needing("mcp"):
        from agent_memory.interfaces.mcp import places, stdio
    names = places.chosen([places.COMPAT] if compat else toolsets)
    service, caller = session.service()
    if sys.stdin is not None and sys.stdin.isatty():
        output.write_error("note:", "this is meant to be started by an agent that speaks MCP; Ctrl-C ends it", "dim")
    return exits.STOPPED if stdio.serve(service, caller, names) else exits.OK
