"""Importers of other packages: what a file of another program holds, as records. P20.

One is a function of an open file (binary), and gives what `add` takes, one mapping for each record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, BinaryIO

from agent_memory.app import plugins
from agent_memory.models.errors import AgentMemoryError, InvalidInput


def lines(name: str, source: BinaryIO) -> Iterator[bytes]:
    """The records that the importer of this name finds, as lines of JSON; `InvalidInput` names one that fails."""
    plugin = plugins.find(plugins.IMPORTERS, name)
    if plugin is None:
        known = ", ".join(one.entry.name for one in plugins.installed(plugins.IMPORTERS))
        hint = f"installed: {known}" if known else f"no installed package brings one (`{plugins.IMPORTERS}`)"
        raise InvalidInput(f"importer: there is none named {name!r}", hint=hint, field="importer")
    try:
        for one in plugin.load()(source):
            yield json.dumps(one, default=_plain).encode() + b"\n"
    except AgentMemoryError:
        raise
    except Exception as error:
        why = f"{plugin} fails: {type(error).__name__}: {error}"
        raise InvalidInput(why, hint="repair it, upgrade it, or check the file", field="importer") from error


def registered() -> Iterator[tuple[plugins.Plugin, Any, str]]:
    """Each entry point, and what is wrong with it."""
    for plugin in plugins.installed(plugins.IMPORTERS):
        try:
            found = plugin.load()
        except Exception as error:  # noqa: BLE001 - a package that breaks takes nothing else with it
            yield plugin, None, f"{type(error).__name__}: {error}"
        else:
            yield plugin, found, "" if callable(found) else "it is no function"


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"a {type(value).__name__} cannot be stored")
