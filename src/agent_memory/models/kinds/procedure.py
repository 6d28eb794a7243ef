"""Procedures as records: what pages of Markdown say, so that recall finds it. The pages stay the truth. P1, P3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from agent_memory.models.kinds.kind import Kind, joined_key
from agent_memory.models.model import Model, Name, Text

PAGE = "page"  # the source of what was read from a page
PROPOSED = "proposed"
USER = "user"  # the origin of pages of one's own


class ProcedurePayload(Model):
    """`page` is where it stands, below `origin`: a repository, or `user` for the pages of one's own. `markdown` is a
    rule as it is written, `reason` why somebody proposes it."""

    name: Name
    section: Literal["rule", "skill", "example", "guidance", "procedure"] = "procedure"
    page: Text | None = None
    origin: Text | None = None
    severity: Text | None = None
    markdown: Text | None = None
    reason: Text | None = None
    description: Text | None = None
    steps: list[Text] = Field(default_factory=list)


def page_key(payload: Mapping[str, Any]) -> str | None:
    """What stands on a page is known by its place, and a rule that is proposed by its id; others stand alone."""
    if not payload.get("page"):
        return joined_key(PROPOSED, payload["name"]) if payload.get("markdown") else None
    return joined_key(*(payload[name] for name in ("origin", "page", "section", "name")))


KINDS = (
    Kind(
        "procedure",
        "procedures",
        ProcedurePayload,
        key=lambda text, payload: page_key(payload),
        succeeds=True,
        indexed=("name", "section", "origin", "page"),
        asserts="directive",
    ),
)
