"""Pages as records, so that recall finds them. The pages are the truth: this only follows them.

A record holds what the page says, and neither commit nor line: a page that moved is no new version, and is not
embedded again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from agent_memory.core.rules.place import beside
from agent_memory.core.rules.prompt import shown
from agent_memory.core.rules.written import markdown
from agent_memory.models.draft import Draft
from agent_memory.models.kinds.procedure import PAGE, USER, page_key
from agent_memory.models.record import Record, Status
from agent_memory.models.rules import Entry, Layer, Page, Rule


@dataclass(frozen=True)
class Projection:
    """What makes records follow pages: drafts to write, and ids of records whose page says it no more."""

    drafts: tuple[Draft, ...] = ()
    gone: tuple[str, ...] = ()


def drafts(pages: Sequence[Page], repository: str) -> dict[str, Draft]:
    """Everything on the pages by its key: also rules that a nearer page overrides, since that depends on the folder."""
    made = [_rule(rule, repository) for page in pages for rule in page.rules]
    made += [_entry(entry, repository) for page in pages for entry in page.entries]
    return {str(page_key(draft.payload)): draft for draft in made}


def followed(wanted: Mapping[str, Draft], known: Sequence[Record], reach: Callable[[str], bool]) -> Projection:
    """Only what differs. `reach` says whether a page of this name would have been found from here if it were there:
    nothing is known of the others."""
    have = {record.key: record for record in known}
    return Projection(
        tuple(draft for key, draft in wanted.items() if not _same(draft, have.get(key))),
        tuple(record.id for record in known if record.key not in wanted and reach(record.payload["page"])),
    )


def reach(folder: str) -> Callable[[str], bool]:
    """For a folder, named from the root of its repository: pages beside the way up from it."""
    above = {folder, *(str(one) for one in PurePosixPath(folder).parents), ""}
    return lambda page: beside(page) in above


def _rule(rule: Rule, repository: str) -> Draft:
    said = [rule.text, *(f"{word}: {text}" for word, text in (("because", rule.because), ("fix", rule.fix)) if text)]
    return _draft(
        {"name": rule.id, "section": "rule", "severity": str(rule.severity), "markdown": markdown(rule)},
        "\n".join(said),
        rule.at.path,
        _origin(rule.at.layer, repository),
    )


def _entry(entry: Entry, repository: str) -> Draft:
    return _draft(
        {"name": entry.id, "section": entry.section},
        shown(entry),
        entry.at.path,
        _origin(entry.at.layer, repository),
    )


def _draft(payload: dict[str, str], text: str, page: str, origin: str) -> Draft:
    return Draft(
        kind="procedure",
        text=text,
        payload={**payload, "page": page, "origin": origin},
        repository=None if origin == USER else origin,
        source=PAGE,
    )


def _origin(layer: Layer, repository: str) -> str:
    return USER if layer == Layer.USER else repository


def _same(draft: Draft, record: Record | None) -> bool:
    return (
        record is not None
        and record.status == Status.ACTIVE
        and record.text == draft.text
        and all(record.payload.get(name) == value for name, value in draft.payload.items())
    )
