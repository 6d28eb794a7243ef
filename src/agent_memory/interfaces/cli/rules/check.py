"""`agent-memory rules check`: whether something may be done, before it is. No store is opened."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent_memory.interfaces.cli import whose
from agent_memory.interfaces.cli.session import Session

if TYPE_CHECKING:
    from agent_memory.models.rules import Action

MOST_BYTES = 8 * 1024 * 1024


@whose.anywhere
@click.command("check", short_help="Say whether an action is allowed, by which rule it is not, and what to do instead")
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@click.option("--command", "line", metavar="LINE", help="a shell command line")
@click.option("--commit-msg", metavar="FILE", help="a commit message as git keeps it in a file; - reads it from a pipe")
@click.option("--path", "paths", metavar="PATH", multiple=True, help="a file to be written (repeatable)")
@click.option("--tool", metavar="NAME", help="a tool to be called")
@click.option("--args", "arguments", metavar="JSON", help="with --tool: its arguments, a JSON object")
@click.option("--text", metavar="FILE", help="a text, or with --path what will stand there; - reads it from a pipe")
@click.option("--label", metavar="TEXT", help="with --text: the type of text")
@click.option("--branch", metavar="NAME", help="the branch it is done on  [default: the one checked out]")
@click.option("--at", metavar="REF", help="use the rules of this commit, tag or branch  [default: those on disk]")
@click.option("--folder", metavar="FOLDER", default=".", help="the folder it is done in  [default: here]")
@click.option("--json", "_json", is_flag=True, help="answer in JSON")
@click.pass_obj
def command(session: Session, /, **given: Any) -> int:
    """Say whether an action is allowed, by which rule it is not, and what to do instead.

    Name exactly one: --command, --commit-msg, --path, --tool, --text, or the words of a command after `--`. Exits with
    0 if it is allowed (warnings are on the standard error), 9 if a rule denies it, something else if nobody knows.
    """
    from agent_memory.app.checking import together, verdict
    from agent_memory.interfaces.cli import exits, output
    from agent_memory.interfaces.cli.rules import saying

    folder = Path(given["folder"])
    found = together(verdict(action, folder, given["at"]) for action in _actions(folder, given))
    if session.json or given["_json"]:
        output.write_json(found)
    else:
        output.write(saying.blocks(found), stderr=found.allowed)
        output.write([saying.summed(found)])
    return exits.OK if found.allowed else exits.DENIED


def _actions(folder: Path, given: dict[str, Any]) -> list[Action]:
    from agent_memory.models.rules import Action

    about = [name for name in ("words", "line", "commit_msg", "paths", "tool") if given[name]]
    if len(about) > 1 or not (about or given["text"]):
        raise click.UsageError(
            "name exactly one of --command, --commit-msg, --path, --tool, --text and the words of a command after --"
        )
    more = {"branch": given["branch"]} if given["branch"] else {}
    if given["words"]:
        return [Action(argv=given["words"], **more)]
    if given["line"]:
        return [Action(command=given["line"], **more)]
    if given["commit_msg"]:
        from agent_memory.app.checking import message

        return [Action(commit_message=message(folder, _read(given["commit_msg"]), edited=True), **more)]
    if given["tool"]:
        return [Action(tool=given["tool"], arguments=_arguments(given["arguments"]), **more)]
    text = {"text": _read(given["text"])} if given["text"] else {}
    if not given["paths"]:
        return [Action(**text, label=given["label"], **more)]
    if text and len(given["paths"]) > 1:
        raise click.UsageError("--text says what will stand at one --path, and several were given")
    return [Action(path=path, **text, **more) for path in given["paths"]]


def _arguments(text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"--args is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise click.UsageError("--args must be a JSON object")
    return found


def _read(name: str) -> str:
    """A file, or the standard input; bytes that are no text stay recognisable."""
    try:
        if name == "-":
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise click.UsageError(f"{name}: {error.strerror or error}") from None
    if len(data) > MOST_BYTES:
        raise click.UsageError(f"{name} is longer than {MOST_BYTES} bytes")
    return data.decode("utf-8", "replace")
