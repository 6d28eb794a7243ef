"""`agent-memory rules lint`: findings as lines, JSON or annotations, and repairs where they are asked for."""

from __future__ import annotations

import click

from agent_memory.interfaces.cli import exits, output, whose
from agent_memory.interfaces.cli.rules import findings
from agent_memory.interfaces.cli.session import Session


@whose.anywhere
@click.command("lint", short_help="Check pages of procedures, and repair what is safe to repair")
@click.argument("paths", nargs=-1)
@click.option("--fix", is_flag=True, help="repair what is safe: missing ids, and how severities and keys are spelled")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github"]),
    default="text",
    show_default=True,
    help="lines, JSON, or annotations for GitHub Actions",
)
@click.option("--folder", help="the folder to look in  [default: here]")
@click.option("--json", "_json", is_flag=True, help="answer in JSON")
@click.pass_obj
def command(session: Session, /, paths: tuple[str, ...], fix: bool, form: str, folder: str | None, _json: bool) -> int:
    """Check pages of procedures, and say with line and column what is wrong with them.

    PATHS are files or folders; by default it is what is found here. Exits with 1 if there is an error; warnings do not
    count. What each code means is in the guide "Procedures".
    """
    with session.memory(files=True) as memory:
        result = (memory.rules.fix if fix else memory.rules.lint)(list(paths) or None, folder)
    if form == "json" or session.json or _json:
        output.write_json(result)
    else:
        output.write((findings.annotated if form == "github" else findings.linted)(result))
    return exits.OK if result.ok else exits.PROBLEMS
