"""Records that follow the pages of a folder, so that recall and contexts find what they say. Looked at before each
call that could find them: unchanged pages cost a few looks at the disk, and only what changed is written."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_memory.app.procedures import procedures
from agent_memory.models.errors import Denied, InvalidInput, PartMissing, StoreError
from agent_memory.models.record import SHARED, Status
from agent_memory.ports import spans

if TYPE_CHECKING:
    from agent_memory.app.client import Client
    from agent_memory.models.draft import Draft
    from agent_memory.models.rules import Page, Rule

MOST = 10_000
MOST_PLACES = 4096  # whose pages are remembered, for each reader


def follow(client: Client, folder: Path) -> str:
    """Make the records of this user follow the pages that hold in a folder; the name of its repository.

    A store that cannot be written, or a key that may only read, is left as it is.
    """
    repository, inner = where(folder)
    pages = procedures(client.workplace.own).pages(folder)
    seen = tuple((page.path, page.digest) for page in pages)
    here = (client.scope, repository, inner)
    if client.followed.get(here) != seen:
        try:
            with spans.untold():  # nobody asked for it
                _write(client, pages, repository, inner)
        except (Denied, StoreError):
            return repository
        if len(client.followed) >= MOST_PLACES:
            client.followed.clear()
        client.followed[here] = seen
    return repository


def follow_here(client: Client) -> str | None:
    """The same for the folder that this client works in, unless it was told not to. Callers of a server work in its
    folder only if it was given one."""
    settings = client.settings
    if not settings.procedures or (client.workplace.root is not None and settings.workplace is None):
        return None
    try:
        return follow(client, client.workplace.folder())
    except (InvalidInput, PartMissing):  # the folder is gone: then it has no pages
        return None


def book_here(client: Client) -> list[Rule]:
    """The rules that hold there."""
    return procedures(client.workplace.own).book(client.workplace.folder()).rules


def where(folder: Path) -> tuple[str, str]:
    """The repository that a folder is in, by name, and the folder below its root."""
    from agent_memory.engines.git import clone

    found = clone.clone(folder)
    if found is None:
        return str(folder), ""
    return clone.name(found), found.inner


def _write(client: Client, pages: tuple[Page, ...], repository: str, inner: str) -> None:
    from agent_memory.app.namespaces.records import Records
    from agent_memory.core.rules.project import USER, drafts, followed, reach
    from agent_memory.models.rules import Layer

    writer = copy.copy(client)  # an agent's own client writes for its user: pages are nobody's secret from him
    writer.scope = client.scope.model_copy(update={"agent": SHARED})
    records = Records(writer)
    places = [(repository, {Layer.CLONE, Layer.REPOSITORY})]
    if client.workplace.own:  # of a user's own pages a server knows nothing, so it says nothing of them
        places.insert(0, (USER, {Layer.USER}))
    unread = {page.path for page in pages if not page.digest}  # what they say is not known, so it stays as it was
    for origin, layers in places:
        wanted = drafts([page for page in pages if page.layer in layers and page.digest], repository)
        known = records.find("procedure", MOST, fields={"origin": origin})
        known = [one for one in known if one.scope == writer.scope and one.payload["page"] not in unread]
        change = followed(wanted, known, reach(inner) if origin == repository else lambda page: True)
        if change.drafts:
            records.add_many([_fields(draft) for draft in change.drafts], reason="the page says so", embed=True)
        for id in change.gone:
            records.amend(id, status=Status.ARCHIVED, reason="the page says so no more")


def _fields(draft: Draft) -> dict[str, Any]:
    said = {"kind": draft.kind, "text": draft.text, "payload": draft.payload, "source": draft.source}
    return said if draft.repository is None else {**said, "repository": draft.repository}
