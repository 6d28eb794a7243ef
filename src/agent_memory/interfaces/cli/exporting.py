"""`agent-memory export [FILE]`: every record of a user's own, one JSON object a line."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from agent_memory.interfaces.cli import whose
from agent_memory.interfaces.cli.session import Session

if TYPE_CHECKING:
    from agent_memory.app.memory import AgentMemory


@whose.anywhere
@click.command("export", short_help="Export every record of the user, one JSON object per line")
@click.argument("file", metavar="[FILE]", default="-")
@click.option("--json", "_json", is_flag=True, help="answer in JSON")
@click.pass_obj
def command(session: Session, file: str, _json: bool) -> int:
    """Export every record of the user, one JSON object per line: into a file, or to the standard output.

    Every version that is believed, also of what held before or begins later, with the links between them. Only you can
    read the file (mode 0600); one that is there is replaced when all is written.
    `agent-memory import` takes it in again, also into another store.
    """
    from agent_memory.app.files import private
    from agent_memory.interfaces.cli import exits, output, progress
    from agent_memory.interfaces.cli.blocks import Sentence
    from agent_memory.models.errors import InvalidInput
    from agent_memory.models.size import counted

    in_json, out = session.json or _json, sys.stdout.buffer
    with session.memory() as memory, progress.shown(in_json=in_json or file == "-"):
        try:
            with nullcontext(out) if file == "-" else private(Path(file).expanduser()) as target:
                count = _write(memory, target, seen=target is out and sys.stdout.isatty())
        except BrokenPipeError:
            raise output.ReaderGone from None
        except OSError as error:
            why = f"{file}: cannot be written: {error.strerror}"
            raise InvalidInput(why, hint="name another file", field="file") from error
    if file != "-":
        wrote = Sentence(f"wrote {counted(count, 'record')} to {file}")
        output.write_json({"records": count}) if in_json else output.write([wrote])
    return exits.OK


def _write(memory: AgentMemory, target: BinaryIO, *, seen: bool) -> int:
    """`seen`: by somebody at a terminal, where what is invisible or drives the terminal is a JSON escape. It means the
    same to whoever reads it as JSON."""
    from pydantic_core import to_json

    from agent_memory.app.transfer import exported
    from agent_memory.interfaces.cli.cleaning import clean_json
    from agent_memory.ports.progress import tell

    total, count = memory.upkeep.stats()["records"], 0
    for page in exported(memory._client.ask, memory.user_id, {}):
        lines = [to_json(record) + b"\n" for record in page]
        target.writelines([clean_json(line.decode()).encode() for line in lines] if seen else lines)
        count += len(page)
        tell("exporting", count, max(count, total))
    target.flush()
    return count
