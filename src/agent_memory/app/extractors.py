"""Extractors of other packages: who reads turns beside the rules. P20."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from agent_memory.app import plugins
from agent_memory.core.upkeep.extract.values import NamedExtractor, Said

SAMPLE = Said("Anna lives in Porto. Our checkout-api uses Redis 7.", datetime(2026, 3, 2, 9, tzinfo=UTC), "ada")
TAKEN = ("rules", "model")


def others() -> tuple[NamedExtractor, ...]:
    """One that cannot be used is left out, and `doctor` names it."""
    return tuple(one for _, one, wrong in registered() if one is not None and not wrong)


def registered() -> Iterator[tuple[plugins.Plugin, NamedExtractor | None, str]]:
    """Each entry point with its extractor, and what is wrong with it: it is given a turn to read."""
    taken = {*TAKEN}
    for plugin in plugins.installed(plugins.EXTRACTORS):
        name = plugin.entry.name
        if name in taken:
            yield plugin, None, "that name is taken"
            continue
        taken.add(name)
        try:
            from agent_memory.core.upkeep.extract.reading import checked  # only where there is one

            one = NamedExtractor(name, plugin.load())
            checked(one, SAMPLE)
        except Exception as error:  # noqa: BLE001 - a package that breaks takes no other extractor with it
            yield plugin, None, f"{type(error).__name__}: {error}"
        else:
            yield plugin, one, ""
