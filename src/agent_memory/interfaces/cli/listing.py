"""What the help of the whole says of each command and namespace. It is kept in `listing.json`, so that `--help` and the
shell need not load all of them: `python -m agent_memory.interfaces.cli.listing` writes it anew."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import click

_FILE = Path(__file__).with_name("listing.json")
_ALL = 10_000  # characters: more than anything says


class Listing(NamedTuple):
    """By name, each in its order; `operations` are those behind commands, which then load nothing else."""

    commands: dict[str, str]
    namespaces: dict[str, str]
    operations: Mapping[str, str] = MappingProxyType({})

    def names(self) -> list[str]:
        return [*self.commands, *self.namespaces]

    def about(self, name: str) -> str:
        return self.commands.get(name) or self.namespaces[name]


@cache
def listed() -> Listing:
    return Listing(**json.loads(_FILE.read_text("utf-8")))


def made() -> str:
    """The file, from the commands themselves."""
    from agent_memory.interfaces.cli import commands, root

    context = click.Context(root.root)

    def about(names: Iterable[str]) -> dict[str, str]:
        return {name: _said(root.root.get_command(context, name)) for name in names}

    told = Listing(
        about(sorted([*commands.top(), *root.OWN])),
        about(commands.namespaces()),
        {name: operation.name for name, operation in commands.top().items()},
    )
    return json.dumps(told._asdict(), indent=1, ensure_ascii=False) + "\n"


def _said(command: click.Command | None) -> str:
    return command.get_short_help_str(_ALL) if command else ""


if __name__ == "__main__":
    _FILE.write_text(made(), "utf-8")
    sys.exit(0)
