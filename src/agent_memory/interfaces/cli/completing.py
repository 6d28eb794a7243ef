"""What the shell completes beside commands and options: ids and kinds. Whatever fails completes nothing: somebody is in
the middle of a line."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

import click
from click.shell_completion import CompletionItem

from agent_memory.interfaces.cli.cleaning import cut, one_line
from agent_memory.interfaces.cli.ids import LAST, REFERENCES
from agent_memory.interfaces.cli.session import Session
from agent_memory.interfaces.cli.whose import WHOSE

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
MOST = 20  # ids that are offered at a time


def teach(param: click.Parameter, operation: str) -> None:
    """Let the shell complete this parameter of this operation, if it is an id or a kind."""
    if f"{operation} {param.name}" in REFERENCES:
        complete: Complete = ids
    elif param.name in ("kind", "kinds"):
        complete = kinds
    else:
        return
    param.type = copy(param.type)
    setattr(param.type, "shell_complete", complete)  # noqa: B010 - in place of the method of its class


def ids(context: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
    """Ids that begin so; the newest, where nothing is typed yet."""
    if typed.startswith("@"):
        return [CompletionItem(LAST, help="what you wrote last")] if LAST.startswith(typed) else []
    try:
        with _session(context).memory() as memory:
            found = memory.records.resolve(typed, MOST) if typed else memory.records.find(limit=MOST)
    except Exception:  # noqa: BLE001 - an error in the middle of a line helps nobody
        return []
    return [CompletionItem(one.id, help=f"{one.kind}: {cut(one_line(one.text), 60)}") for one in found]


def kinds(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    from agent_memory.app.registry import installed_kinds

    return [CompletionItem(name) for name in sorted(installed_kinds()) if name.startswith(typed)]


def _session(context: click.Context) -> Session:
    """What was said before the command counts, too, though nothing runs yet. It warns of nothing."""
    said = context.find_root()
    session = copy(said.obj) if isinstance(said.obj, Session) else Session()
    session.json = True
    for option in WHOSE:
        name = option.removeprefix("--")
        if getattr(session, name) is None:
            setattr(session, name, said.params.get(name))
    return session
