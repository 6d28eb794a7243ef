"""What somebody may have meant who typed a command that does not exist. Nothing that erases is proposed by chance."""

from __future__ import annotations

from collections.abc import Collection
from difflib import SequenceMatcher
from types import MappingProxyType

import click

LIKELY, SURE = 0.6, 0.85  # how alike a word must be to a command, and to one that erases
MEANT = MappingProxyType(
    {
        "ask": "recall",
        "cat": "show",
        "change": "edit",
        "check": "verify",
        "delete": "forget",
        "erase": "forget",
        "find": "recall",
        "get": "show",
        "info": "stats",
        "log": "journal",
        "ls": "list",
        "new": "add",
        "put": "add",
        "query": "recall",
        "read": "show",
        "remove": "forget",
        "rm": "forget",
        "save": "add",
        "search": "recall",
        "status": "stats",
        "store": "add",
        "update": "edit",
        "versions": "history",
        "view": "show",
        "write": "add",
    }
)
"""Words that other programs use -> ours."""

ERASING = frozenset(MEANT[word] for word in ("delete", "erase", "remove", "rm"))


def meant(word: str, names: Collection[str]) -> str | None:
    """A command among `names`, by how the word, or one that means the same elsewhere, is spelled."""
    known = {theirs: ours for theirs, ours in MEANT.items() if ours in names} | {name: name for name in names}
    alike = sorted((SequenceMatcher(None, word, theirs).ratio(), ours) for theirs, ours in known.items())
    return next((ours for ratio, ours in reversed(alike) if ratio >= (SURE if ours in ERASING else LIKELY)), None)


class Group(click.Group):
    """A group that says what may have been meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if self.get_command(ctx, word) is None and not word.startswith("-") and not ctx.resilient_parsing:
            near = meant(word, self.list_commands(ctx))
            ctx.fail(f"there is no command {word!r}" + (f"; did you mean {near!r}?" if near else ""))
        return super().resolve_command(ctx, args)
