"""Whose pages hold, and which of them are remembered. Trust is given on the machine where a repository is, by whoever
works there: nobody gives it over a network."""

from __future__ import annotations

import os
from pathlib import Path

from agent_memory.app import following, trust
from agent_memory.app.operations import Namespace, Permission, operation
from agent_memory.models.errors import Denied, NotFound
from agent_memory.models.rules import FollowedPages, TrustedRepository


class Trusting(Namespace):
    """What of `memory.rules` is about repositories that are trusted."""

    @operation("rules.trust", "POST /rules/trust", permission=Permission.ADMIN, here=True)
    def trust(self, folder: str | None = None) -> TrustedRepository:
        """Trust the repository of a folder: its pages become rules, and are no longer just quoted.

        Trust holds for this folder and the origin it was cloned from, and only while both stay the same. Look at the
        pages first: `rules read` shows them.
        """
        self._check_own()
        return trust.trust(trust.TrustTarget(self._client.workplace.folder(folder)))

    @operation("rules.untrust", "POST /rules/untrust", permission=Permission.ADMIN, here=True)
    def untrust(self, folder: str | None = None) -> None:
        """Stop trusting the repository of a folder: its pages are only quoted from now on."""
        self._check_own()
        place = self._client.workplace.path(folder or ".", field="folder")
        root = trust.TrustTarget(place).root if os.path.isdir(place) else str(place)  # noqa: PTH112 - never raises
        if not trust.untrust(root):
            raise NotFound(f"{root} is not trusted", hint="`agent-memory rules trusted` lists those that are")

    @operation("rules.trusted", "GET /rules/trusted", here=True)
    def trusted(self) -> list[TrustedRepository]:
        """The repositories that you trust, each with its folder and origin."""
        return [one for one in trust.trusted() if self._client.workplace.holds(Path(one.path))]

    @operation("rules.follow", "POST /rules/follow", permission=Permission.WRITE, here=True)
    def follow(self, folder: str | None = None) -> FollowedPages:
        """Remember what the pages of a trusted repository say, so that `recall` finds it there.

        Your own pages are remembered, too. Only what changed is written; do it again when pages changed.
        """
        place = self._client.workplace.folder(folder)
        if strange := following.untrusted(self._client, place):
            raise Denied(
                f"folder: {strange.name} is not trusted",
                hint=trust.HOW,
                field="folder",
            )
        return following.follow(self._client, place)

    def _check_own(self) -> None:
        if self._client.workplace.root is not None:
            raise Denied(
                "folder: trust is given on the machine where the repository is",
                hint="run `agent-memory rules trust` there, as the user who runs the server",
                field="folder",
            )
