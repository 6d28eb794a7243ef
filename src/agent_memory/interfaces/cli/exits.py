"""How a command ends: exit statuses by error code, and problems in one line. Tracebacks are for `--debug`."""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from agent_memory.interfaces.cli import PROGRAM
from agent_memory.interfaces.cli.output import ReaderGone, write_error
from agent_memory.interfaces.cli.session import Session

if TYPE_CHECKING:
    from agent_memory.models.errors import AgentMemoryError

OK, PROBLEMS, USAGE, DENIED, UNEXPECTED, STOPPED, PIPE = 0, 1, 2, 9, 70, 130, 141

STATUS = MappingProxyType(
    {
        "invalid_input": USAGE,
        "not_found": 3,
        "conflict": 4,
        "changed": 4,
        "lease_lost": 4,
        "denied": 5,
        "refused": 5,
        "unauthenticated": 5,
        "too_many": 5,
        "store_unavailable": 6,
        "store_busy": 6,
        "store_full": 6,
        "store_newer": 6,
        "part_missing": 7,
        "unfinished": 7,
        "budget_exceeded": 10,
        "space_mismatch": 7,
        "corrupt": 8,
    }
)

MEANING = MappingProxyType(
    {
        OK: "done",
        PROBLEMS: "`verify`, `doctor` or `rules lint` found problems",
        USAGE: "wrong usage, or invalid input",
        3: "no such record, key or kind",
        4: "a conflict: somebody else changed it, or the idempotency key is taken; nothing was written",
        5: "not allowed",
        6: "the store cannot be opened or written, is full, or was written by a newer version",
        7: "an optional part is missing, or the embedder is not the one the store was built with",
        8: "the store is damaged",
        10: "today's limit for model calls is used up; no model was asked",
        DENIED: "`rules check`: a rule denies it",
        UNEXPECTED: "an unexpected error: a bug; `--debug` shows where",
        125: "`guard`: it cannot be determined whether the command is allowed; it was not run",
        126: "`guard`: a rule denies the command, or it cannot be run",
        127: "`guard`: there is no such command",
        STOPPED: "stopped: by Ctrl-C, or by answering no to a question",
        PIPE: "the output was closed by its reader",
    }
)


def guarded(arguments: Sequence[str] | None) -> int:
    """Run the command line and turn everything that can happen into a status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    session = Session(json="--json" in itertools.takewhile(lambda word: word != "--", given))
    try:
        from agent_memory.interfaces.cli.root import root

        _open_closed()
        _write_anything()
        status = root.main(given, prog_name=PROGRAM, obj=session, standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else OK
    except (click.Abort, KeyboardInterrupt):
        return STOPPED
    except (BrokenPipeError, ReaderGone):
        _swallow_output()
        return PIPE
    except click.ClickException as error:
        return _usage(error, session)
    except Exception as error:  # noqa: BLE001 - the door: whatever it is, people get a sentence
        if session.debug:
            import traceback

            traceback.print_exc()
        return _failed(error, session)


def _usage(error: click.ClickException, session: Session) -> int:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else PROGRAM
    hint = getattr(error, "hint", None) or f"`{path} --help` shows how"
    _complain({"code": "usage", "message": error.format_message(), "hint": hint}, session)
    return USAGE


def _failed(error: Exception, session: Session) -> int:
    from agent_memory.models.errors import AgentMemoryError

    if isinstance(error, AgentMemoryError):
        _complain(error.to_dict(), session)
        return status_of(error)
    said = " ".join(str(error).split())
    problem = {
        "code": "unexpected",
        "message": f"{type(error).__name__}: {said}" if said else type(error).__name__,
        "hint": "this is a bug; run it again with AGENT_MEMORY_DEBUG=1 and report what it shows",
    }
    trace = getattr(error, "trace_id", None)
    _complain({**problem, "trace_id": trace} if trace else problem, session)
    return UNEXPECTED


def status_of(error: AgentMemoryError) -> int:
    return STATUS.get(error.code, UNEXPECTED)


def _complain(problem: dict[str, str], session: Session) -> None:
    if session.json:
        sys.stderr.write(json.dumps({"error": problem}, indent=2) + "\n")
        return
    write_error("error:", problem["message"], "red")
    if problem.get("hint"):
        write_error("hint:", problem["hint"], "yellow")
    if problem.get("trace_id"):
        write_error("trace:", problem["trace_id"], "dim")


def _open_closed() -> None:
    """An output that was closed before we began (`>&-`) goes nowhere, and its number to no other file."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - as long as we live


def _write_anything() -> None:
    """An output that is not Unicode shows what it cannot write as an escape, rather than failing."""
    for stream in (sys.stdout, sys.stderr):
        if (getattr(stream, "encoding", None) or "").lower().replace("-", "") != "utf8" and hasattr(
            stream, "reconfigure"
        ):
            stream.reconfigure(errors="backslashreplace")


def _swallow_output() -> None:
    """What is still in the buffer goes nowhere, or the interpreter would complain about it on its way out."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # no real file behind it
        return
