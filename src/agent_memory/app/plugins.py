"""Parts from other packages: entry points, looked up in one way for all ports. A plug-in adds, and never replaces."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

from agent_memory.models.errors import InvalidInput, PartMissing

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

KINDS = "agent_memory.kinds"
STORES = "agent_memory.stores"
WORKING = "agent_memory.working"
VECTORS = "agent_memory.vectors"
EMBEDDERS = "agent_memory.embedders"
RERANKERS = "agent_memory.rerankers"
CHAT_MODELS = "agent_memory.chat_models"
GATES = "agent_memory.gates"
JOBS = "agent_memory.jobs"
EXTRACTORS = "agent_memory.extractors"
IMPORTERS = "agent_memory.importers"
OURS = {
    STORES: frozenset(["sqlite", "postgresql", "postgres", "memory", "http", "https", "unix"]),
    WORKING: frozenset(["sqlite", "postgresql", "postgres", "memory"]),
    VECTORS: frozenset(["sqlite", "postgresql", "postgres", "memory"]),
    EMBEDDERS: frozenset(["local", "openai", "ollama"]),
    RERANKERS: frozenset(["http", "https"]),
    CHAT_MODELS: frozenset(["openai", "ollama"]),
}
"""The names in each group that no plug-in is asked for."""


class Plugin(NamedTuple):
    """An entry point of another package."""

    entry: EntryPoint

    def __str__(self) -> str:
        package = f" of {self.entry.dist.name}" if self.entry.dist else ""
        return f"entry point {self.entry.name!r} in {self.entry.group}{package}"

    def load(self) -> Any:
        try:
            return self.entry.load()
        except (ImportError, AttributeError) as error:
            raise PartMissing(
                f"{self}: {self.entry.value} cannot be loaded: {error}", hint="install what it needs, or uninstall it"
            ) from error

    def make(self, *arguments: Any, shape: type, **given: Any) -> Any:
        """Call it with these, those that are None left out; `InvalidInput` if it does not take them, or gives something
        of another shape."""
        call, named = self.load(), {name: value for name, value in given.items() if value is not None}
        self._check_takes(call, arguments, named)
        made = call(*arguments, **named)
        missing = [name for name in _asked_of(shape) if not _has(made, name)]
        if missing:
            raise InvalidInput(
                f"{self} gives a {type(made).__name__} without {', '.join(missing)}",
                hint=f"it must offer what {shape.__module__}.{shape.__name__} asks for; upgrade it, or uninstall it",
            )
        return made

    def _check_takes(self, call: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        try:
            signature = inspect.signature(call)
        except (TypeError, ValueError):  # one that is not written in Python tells nothing
            return
        try:
            signature.bind(*arguments, **named)
        except TypeError as error:
            raise InvalidInput(
                f"{self} cannot be called with what the settings say: {error}",
                hint=f"unset that setting, or upgrade the package; it is called as `{self.entry.value}{signature}`",
            ) from None


def installed(group: str) -> list[Plugin]:
    """All of a group, by name."""
    from importlib.metadata import entry_points

    return [Plugin(entry) for entry in sorted(entry_points(group=group), key=lambda entry: (entry.name, entry.value))]


def find(group: str, name: str) -> Plugin | None:
    """The one of this name, unless it is one of ours. Two packages with the same name are an error."""
    if name in OURS.get(group, ()):
        return None
    found = [one for one in installed(group) if one.entry.name == name]
    if len(found) > 1:
        raise InvalidInput(f"{found[0]} and {found[1]} have the same name", hint="uninstall one of them")
    return found[0] if found else None


def _asked_of(shape: type) -> list[str]:
    return [name for name in (*vars(shape), *vars(shape).get("__annotations__", ())) if not name.startswith("_")]


def _has(made: object, name: str) -> bool:
    return inspect.getattr_static(made, name, None) is not None
