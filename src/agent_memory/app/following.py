"""Pages and the memory. Reads take rules and skills from the pages themselves, and store nothing; records of kind
`procedure` follow the pages of a repository only where somebody asks for it, and are shown in that repository alone."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_memory.app.trust import TrustTarget, may_be_trusted
from agent_memory.models.errors import InvalidInput
from agent_memory.models.kinds.procedure import USER
from agent_memory.models.record import SHARED, Status

if TYPE_CHECKING:
    from agent_memory.app.client import Client
    from agent_memory.app.namespaces.asking import Where
    from agent_memory.core.rules.project import Projection
    from agent_memory.models.draft import Draft
    from agent_memory.models.rules import FollowedPages

MOST = 10_000


def folder_here(client: Client) -> Path | None:
    """Where this client works, unless it was told not to look. Callers of a server work in its folder only if it was
    given one; whoever runs it for himself alone works where it was started."""
    settings, workplace = client.settings, client.workplace
    if not settings.procedures or (workplace.root is not None and settings.workplace is None and not workplace.own):
        return None
    try:
        return workplace.folder()
    except InvalidInput:  # it is gone: then it has no pages
        return None


def shown_here(client: Client, repository: str | None) -> tuple[str, ...]:
    """The origins whose pages a read may show: the user's own, and the repository that it names, or else the one that
    the call is made from, if it is trusted."""
    if repository is not None:
        return (USER, repository)
    folder = folder_here(client)
    if folder is None or not may_be_trusted(folder):  # each recall asks; mostly, that is all
        return (USER,)
    here = TrustTarget(folder)
    return (USER, here.name) if here.trusted else (USER,)


def untrusted(client: Client, folder: Path) -> TrustTarget | None:
    """The repository of a folder, where it has pages that nobody here has trusted: those are not followed."""
    from agent_memory.app.procedures import procedures
    from agent_memory.models.rules import Layer

    pages = procedures(client.workplace.own).pages(folder)
    here = TrustTarget(folder)
    return here if any(page.layer != Layer.USER for page in pages) and not here.trusted else None


def follow(client: Client, folder: Path) -> FollowedPages:
    """Make the records of this user follow the pages that hold in a folder, and those of his own."""
    from agent_memory.models.rules import FollowedPages

    writer = for_user(client)
    written = archived = unchanged = 0
    for change, found in _changes(writer, folder):
        if change.drafts:
            said = [fields(draft) for draft in change.drafts]
            writer.ask("records.add_many", records=said, reason="the page says so", embed=True)
        for id in change.gone:
            writer.ask("records.amend", id=id, status=Status.ARCHIVED, reason="the page says so no more")
        written, archived = written + len(change.drafts), archived + len(change.gone)
        unchanged += found - len(change.drafts)
    return FollowedPages(repository=TrustTarget(folder).name, written=written, archived=archived, unchanged=unchanged)


def left(client: Client, folder: Path) -> int:
    """How many records do not say what the pages do: what `follow` would change."""
    return sum(len(change.drafts) + len(change.gone) for change, _ in _changes(for_user(client), folder))


def for_user(client: Client) -> Client:
    """An agent's own client writes for its user: pages are nobody's secret from him."""
    writer = copy.copy(client)
    writer.scope = client.scope.model_copy(update={"agent": SHARED})
    return writer


def _changes(writer: Client, folder: Path) -> Iterator[tuple[Projection, int]]:
    """What is to be changed, place by place, and how much its pages say in all."""
    from agent_memory.app.procedures import procedures
    from agent_memory.core.rules.project import drafts, followed, reach
    from agent_memory.models.rules import Layer

    here = TrustTarget(folder)
    pages = procedures(writer.workplace.own).pages(folder)
    places = [(here.name, {Layer.CLONE, Layer.REPOSITORY})]
    if writer.workplace.own:  # of a user's own pages a server knows nothing, so it says nothing of them
        places.insert(0, (USER, {Layer.USER}))
    unread = {page.path for page in pages if not page.digest}  # what they say is not known, so it stays as it was
    for origin, layers in places:
        wanted = drafts([page for page in pages if page.layer in layers and page.digest], here.name)
        of: Where = {"fields": {"origin": origin}}
        if origin != USER:
            of["repository"] = origin
        known = writer.ask("records.find", kind="procedure", limit=MOST, **of)
        known = [one for one in known if one.scope == writer.scope and one.payload["page"] not in unread]
        yield followed(wanted, known, reach(here.inner) if origin != USER else lambda page: True), len(wanted)


def fields(draft: Draft) -> dict[str, Any]:
    said = {"kind": draft.kind, "text": draft.text, "payload": draft.payload, "source": draft.source}
    return said if draft.repository is None else {**said, "repository": draft.repository}
