"""What is wrong with pages, in the order in which somebody would read them."""

from __future__ import annotations

from collections.abc import Sequence

from agent_memory.core.rules.merge import duplicates
from agent_memory.models.rules import Finding, Page


def lint(pages: Sequence[Page]) -> list[Finding]:
    """The findings of all pages, and what is wrong with them side by side."""
    order = {page.path: number for number, page in enumerate(pages)}
    found = [finding for page in pages for finding in page.findings] + duplicates(pages)
    return sorted(found, key=lambda one: (order[one.path], one.line, one.column, one.code))
