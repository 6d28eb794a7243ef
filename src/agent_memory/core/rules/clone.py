"""What must be known of a clone to say what a command of git does there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True, eq=False)
class CloneState:
    """`settings` are git's, names as `git config --list` has them; None when nobody can read them. `branch` is the one
    that is checked out, `merging`: a merge was begun and waits for its commit."""

    settings: Mapping[str, str] | None = field(default_factory=dict)
    branch: str | None = None
    merging: bool = False

    def __eq__(self, other: object) -> bool:
        """Of the same settings, which are not compared one by one: they are many, and kept while they hold."""
        return isinstance(other, CloneState) and self._known == other._known

    def __hash__(self) -> int:
        return hash(self._known)

    @property
    def _known(self) -> tuple[int, str | None, bool]:
        return id(self.settings), self.branch, self.merging

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Git's aliases, of both ways to write one."""
        return {
            name.removeprefix("alias.").removesuffix(".command"): value
            for name, value in (self.settings or {}).items()
            if name.startswith("alias.")
        }


NOWHERE = CloneState()
