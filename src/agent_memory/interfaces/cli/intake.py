"""`agent-memory import FILE`: records from lines of JSON, such as `agent-memory export` writes."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from agent_memory.interfaces.cli import whose
from agent_memory.interfaces.cli.session import Session

if TYPE_CHECKING:
    from agent_memory.app.memory import AgentMemory
    from agent_memory.app.transfer import Import


@whose.anywhere
@click.command("import", short_help="Import records, one JSON object per line")
@click.argument("file", metavar="FILE")
@click.option("--importer", metavar="NAME", help="another package reads the file: the name of its importer")
@click.option("--restore-forgotten", is_flag=True, help="also store records that were forgotten")
@click.option("--later", is_flag=True, help="make the vectors later: until then, records are found by their words only")
@click.option("--json", "_json", is_flag=True, help="answer in JSON")
@click.pass_obj
def command(
    session: Session, file: str, importer: str | None, restore_forgotten: bool, later: bool, _json: bool
) -> int:
    """Import records, one JSON object per line: what `agent-memory export` wrote, or what `add` takes.

    Lines that have an id change nothing when they come again. At the first line that is refused it ends; those before
    it are in the store. What was forgotten is skipped, unless you ask to restore it. `-` reads the standard input.
    Vectors are made at the end; stopping there (Ctrl-C) loses nothing. With `--importer`, a package reads the file of
    another program, and gives what a line would say.
    """
    from agent_memory.interfaces.cli import exits, output, progress, vectors
    from agent_memory.interfaces.cli.blocks import Sentence
    from agent_memory.models.errors import InvalidInput
    from agent_memory.models.size import counted

    in_json = session.json or _json
    try:
        with (
            nullcontext(sys.stdin.buffer) if file == "-" else Path(file).expanduser().open("rb") as source,
            session.memory(creates=True) as memory,
            progress.shown(in_json=in_json),
        ):
            taken = _read(memory, source, importer, restore_forgotten)
            left, waiting = vectors.finished(memory, later=later)
    except OSError as error:
        raise InvalidInput(f"{file}: cannot be read: {error.strerror}", hint="check the path", field="file") from error
    if in_json:
        output.write_json({"lines": taken.lines, **taken.effects, "pending_vectors": left})
    else:
        forgotten = taken.effects["forgotten"]
        told = {name: count for name, count in taken.effects.items() if count or name not in ("held", "forgotten")}
        counts = ", ".join(f"{count} {name}" for name, count in told.items() if name != "forgotten")
        passed = f"; {forgotten} forgotten before, skipped (--restore-forgotten stores them)" if forgotten else ""
        output.write([Sentence(f"read {counted(taken.lines, 'line')}: {counts}{passed}")])
        if left:
            output.write_error("note:", waiting, "yellow")
    return exits.OK


def _read(memory: AgentMemory, source: BinaryIO, importer: str | None, restore_forgotten: bool) -> Import:
    from agent_memory.app import importers
    from agent_memory.app.transfer import LONGEST_LINE, PAGE, Import
    from agent_memory.models.errors import AgentMemoryError, InvalidInput
    from agent_memory.models.size import counted
    from agent_memory.ports.progress import tell

    taken = Import(memory._client.ask)
    size, done = os.fstat(source.fileno()).st_size, 0
    tell("importing", 0, size)
    every = importers.lines(importer, source) if importer else iter(lambda: source.readline(LONGEST_LINE + 1), b"")
    try:
        while lines := list(islice(every, PAGE)):
            whole = lines if len(lines[-1]) <= LONGEST_LINE else lines[:-1]
            taken.take(whole, restore_forgotten=restore_forgotten)
            if whole is not lines:
                raise InvalidInput(f"longer than {LONGEST_LINE} bytes", hint="one JSON object a line")
            done += sum(map(len, lines))
            tell("importing", done, max(done, size))
    except AgentMemoryError as error:
        hints = [error.hint] if error.hint else []
        if taken.lines:
            hints.append(
                f"the {counted(taken.lines, 'line')} before it {'is' if taken.lines == 1 else 'are'} in the store"
            )
        raise type(error)(
            error.message if error.field == "importer" else f"line {taken.lines + 1}: {error.message}",
            hint="; ".join(hints),
            field=error.field,
        ) from error
    return taken
