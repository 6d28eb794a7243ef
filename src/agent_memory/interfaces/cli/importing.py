"""`agent-memory import-mcp FILE`: take over the memory file of the official MCP memory server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agent_memory.interfaces.cli import whose
from agent_memory.interfaces.cli.session import Session

if TYPE_CHECKING:
    from agent_memory.app.memory import AgentMemory
    from agent_memory.models.graph import GraphImported


@whose.anywhere
@click.command("import-mcp", short_help="Import the memory file of the official MCP memory server")
@click.argument("file", metavar="FILE")
@click.option("--skip-bad", is_flag=True, help="skip lines that cannot be read, and import the rest")
@click.option("--later", is_flag=True, help="make the vectors later: until then, records are found by their words only")
@click.option("--json", "_json", is_flag=True, help="answer in JSON")
@click.pass_obj
def command(session: Session, file: str, skip_bad: bool, later: bool, _json: bool) -> int:
    """Import the memory file of the official MCP memory server: all of it, or nothing.

    Doing it twice changes nothing. Lines that cannot be read are named by number. `-` reads the standard input.
    """
    from agent_memory.interfaces.cli import exits, output, progress, vectors
    from agent_memory.interfaces.cli.blocks import Block, Sentence
    from agent_memory.models.errors import InvalidInput
    from agent_memory.models.size import counted

    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).expanduser().read_bytes()
    except OSError as error:
        raise InvalidInput(f"{file}: cannot be read: {error.strerror}", hint="check the path", field="file") from error
    with session.memory(creates=True) as memory, progress.shown(in_json=session.json or _json):
        taken = _loaded(memory, file, data.decode("utf-8", errors="replace"), skip_bad)
        left, waiting = vectors.finished(memory, later=later)
    if session.json or _json:
        output.write_json(taken)
        return exits.OK
    counts = ", ".join(
        (
            counted(taken.entities, "entity", "entities"),
            counted(taken.observations, "observation"),
            counted(taken.relations, "relation"),
        )
    )
    lines: list[Block] = [Sentence(f"took over {counts}; {taken.known} already known")]
    lines += [Sentence(f"left out {one}", "yellow") for one in taken.bad]
    output.write(lines)
    if left:
        output.write_error("note:", waiting, "yellow")
    return exits.OK


def _loaded(memory: AgentMemory, file: str, text: str, skip_bad: bool) -> GraphImported:
    """What is wrong is told of the file and by the option, which is what somebody here can change."""
    from agent_memory.models.errors import InvalidInput

    try:
        return memory.graph.load(text, skip_bad)
    except InvalidInput as error:
        if error.field != "text":
            raise
        said = f"{'standard input' if file == '-' else file}: {error.message.removeprefix('text: ')}"
        raise InvalidInput(said, hint=error.hint.replace("skip_bad", "--skip-bad"), field="file") from error
