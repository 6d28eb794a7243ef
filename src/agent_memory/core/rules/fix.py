"""Repairs of a page that change how it is written and not what it says. Every other byte stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from agent_memory.core.rules import keys, markdown, syntax
from agent_memory.core.rules.markdown import MarkdownSource
from agent_memory.core.rules.page import Facts, read, understood
from agent_memory.core.rules.syntax import RuleDraft
from agent_memory.models.rules import Page, Rule
from agent_memory.ports.pages import GUIDES, SKILL

MOST_TRIES = 100  # pages that are read to find the one repair that would change a meaning


@dataclass(frozen=True)
class Edit:
    """Characters of a text, and what to write in their place."""

    start: int
    end: int
    new: str


def fixed(path: str, text: str) -> str:
    """The same page with ids, severities and keys written as they should be. What it says is what it said: a repair
    that would change that is left out. Pages that are not ours stay as they are."""
    before = read(path, text)
    if PurePosixPath(path).name in (SKILL, *GUIDES) or not any(one.fixable for one in before.findings):
        return text
    reading = understood(path, text, Facts())
    if reading.source.text != text:
        return text  # it holds what is no text: places in it cannot be told
    edits = [edit for rule, draft in reading.ruled() for edit in _edits(reading.source, rule, draft)]
    whole = _applied(text, edits)
    if _says(read(path, whole)) == _says(before):
        return whole
    kept: list[Edit] = []
    for edit in edits[:MOST_TRIES]:
        if _says(read(path, _applied(text, [*kept, edit]))) == _says(before):
            kept.append(edit)
    return _applied(text, kept)


def _applied(text: str, edits: Iterable[Edit]) -> str:
    for edit in sorted(edits, key=lambda one: one.start, reverse=True):
        text = text[: edit.start] + edit.new + text[edit.end :]
    return text


def _says(page: Page) -> list[object]:
    """What a page means, wherever in it that is written."""
    rules = [rule.model_dump(exclude={"at"}) for rule in page.rules]
    return [*rules, *(entry.model_dump(exclude={"at"}) for entry in page.entries)]


def _edits(source: MarkdownSource, rule: Rule, draft: RuleDraft) -> Iterator[Edit]:
    yield from _head(source, rule, draft)
    if not draft.formed:
        return
    for item in [item for block in draft.item.lists() for item in block.blocks]:
        said = (syntax.keyed(item) or "").removesuffix(":")
        name, spelled = keys.known(said)
        begin = markdown.start(source, item.blocks[0]) if name and not spelled else None
        if name is not None and begin is not None:
            begin += item.blocks[0].content.index(said)
            yield Edit(begin, begin + len(said), name)


def _head(source: MarkdownSource, rule: Rule, draft: RuleDraft) -> Iterator[Edit]:
    opening = draft.item.blocks[0] if draft.item.blocks else None
    if opening is None or opening.kind != "paragraph":
        return
    begin = markdown.start(source, opening)
    if begin is None:
        return
    head, line = draft.head, opening.content.partition("\n")[0]
    if head.id is None:
        yield Edit(begin, begin, f"**{rule.id}** " if head.severity else f"**{rule.id}** (advise) ")
    elif head.id != rule.id and (at := line.find(head.id)) >= 0:
        yield Edit(begin + at, begin + at + len(head.id), rule.id)
    if head.severity is not None and (plain := head.severity.strip().lower()) in syntax.SEVERITIES:
        at = line.find(f"({head.severity})")
        if plain != head.severity and at >= 0:
            yield Edit(begin + at + 1, begin + at + 1 + len(head.severity), plain)
