"""`agent-memory rules hook`: what a coding agent asks before it uses a tool. Whatever goes wrong here, it is a no."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

MOST_BYTES = 16 * 1024 * 1024
BLOCKED = 2  # the exit status that agents take for a no, whatever was printed
FORMATS = ("auto", "claude", "codex", "gemini", "cursor", "copilot")


@click.command("hook", short_help="Answer a coding agent that asks before it uses a tool")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="auto",
    show_default=True,
    help="the format of the answer; auto: the format of the call",
)
@click.option("--ask", is_flag=True, help="ask the user in doubtful cases, if the agent can ask")
def command(form: str, ask: bool) -> int:
    """Answer a coding agent that asks before it uses a tool.

    The call is read from the standard input as JSON, and the answer written to the standard output, in the shape that
    Claude Code, Codex, Gemini CLI, Cursor and Copilot have for it. A command that the tool runs and a file that it
    writes are checked, too. What is allowed is answered with {}: the agent's own questions stay. What cannot be read
    is denied, with exit status 2.
    """
    try:
        from agent_memory.interfaces.cli.rules import calls

        told = _told()
        form = calls.form_of(told) if form == "auto" else form
        _say(_answered(told, form, ask))
        return 0
    except Exception as error:  # noqa: BLE001 - a door: an agent must never take our failure for a yes
        reason = f"agent-memory cannot tell whether this is allowed, so it is not: {_line(error)}"
        _say_no(reason, form)
        return BLOCKED


def _answered(told: dict[str, Any], form: str, ask: bool) -> dict[str, Any]:
    from agent_memory.app.checking import together, verdict
    from agent_memory.interfaces.cli.rules import calls, saying

    call = calls.read(told)
    asked = list(calls.actions(call))
    found = together(verdict(action, folder) for folder in (call.folder, *call.others) for action in asked)
    text = saying.told(found)
    asks = ask and not any(one.certain for one in found.violations)
    if found.allowed:
        return calls.answer(form, None, text or None)
    return calls.answer(form, text, None, asks=asks)


def _told() -> dict[str, Any]:
    data = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"the call is longer than {MOST_BYTES} bytes")
    from agent_memory.interfaces.cli.rules import calls

    told = calls.parsed(data, "the call on the standard input is")
    if not isinstance(told, dict):
        raise ValueError("the call is not a JSON object")
    return told


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _say_no(reason: str, form: str) -> None:
    """In words, and in the agent's shape as well, for those that look at nothing else."""
    sys.stderr.write(f"{reason}\n")
    try:
        from agent_memory.interfaces.cli.rules import calls

        _say(calls.answer("claude" if form == "auto" else form, reason, None))
    except Exception:  # noqa: BLE001 - the status says it all
        return


def _line(error: Exception) -> str:
    named = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "  # those of ours say it in words
    return " ".join(f"{named}{error}".split())[:500]
