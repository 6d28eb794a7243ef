"""From the text of a page to its rules, skills and examples. Pure: whoever found the text says where it stands. Nothing
that a page holds makes this fail; what is wrong with it is a finding."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from agent_memory.core.rules import markdown, syntax
from agent_memory.core.rules.codes import Notes
from agent_memory.core.rules.front import front
from agent_memory.core.rules.markdown import Block, MarkdownSource
from agent_memory.core.rules.parts import EXAMPLES, RULES, SECTIONS, SKILLS, PagePart, parts
from agent_memory.core.rules.syntax import RuleDraft
from agent_memory.models.model import LONGEST_NAME
from agent_memory.models.rules import Entry, Finding, Layer, Page, Place, Rule, Severity
from agent_memory.ports.pages import GUIDES, LARGEST_PAGE, SKILL

MOST_LINES = 20_000
STYLE = ("bad-id", "duplicate-id", "empty-rule")  # errors that leave a check as it is
Kind = Literal["skill", "example", "guidance"]


@dataclass(frozen=True)
class Facts:
    """Where a page stands."""

    layer: Layer = Layer.REPOSITORY
    commit: str | None = None
    dirty: bool = False


def read(path: str, text: str, facts: Facts | None = None) -> Page:
    """A page, understood. `AGENTS.md` and `CLAUDE.md` are taken as they stand, `SKILL.md` is a skill."""
    facts = facts or Facts()
    if (problem := _too_much(text)) is not None:
        return unreadable(path, problem, facts)
    reading = understood(path, text, facts)
    rules = [rule for rule, _ in reading.ruled()]
    return Page(
        path=path,
        layer=facts.layer,
        digest=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        rules=tuple(rules),
        entries=tuple(reading.entries),
        findings=tuple(_kept(reading.notes)),
    )


def understood(path: str, text: str, facts: Facts) -> PageReading:
    """A page of a bearable size with its parts, and where in the text they stand."""
    notes, source = Notes(path), MarkdownSource(text.encode("utf-8", "replace").decode())  # no lone surrogates
    _control(notes, text, source)
    matter = front(source.lines, notes)
    blocks, deep = markdown.blocks(source, matter.lines)
    if deep is not None:
        notes.say("nested-deeply", (deep, 0), "lists are nested too deeply here, and are not read")
    name = PurePosixPath(path).name
    reading = PageReading(source, notes, path, facts)
    if name == SKILL:
        reading.skill(matter.values, matter.lines)
    elif name in GUIDES:
        reading.foreign(blocks)
    else:
        reading.own(blocks)
    return reading


def unreadable(path: str, problem: str, facts: Facts | None = None) -> Page:
    """A page that could not be read, and why. One of ours denies everything but its repair, since nobody knows what it
    forbids; one that is for agents of any kind does not."""
    facts, notes, name = facts or Facts(), Notes(path), PurePosixPath(path).name
    why = notes.say("unreadable", (0, 0), f"the page {problem}")
    rules: tuple[Rule, ...] = ()
    if name != SKILL and name not in GUIDES:
        at = Place(path=path, layer=facts.layer, commit=facts.commit, dirty=facts.dirty)
        text = f"{name} cannot be read, and what it forbids is not known."
        rules = (Rule(id=f"unreadable-{syntax.slug(name)}", text=text, severity=Severity.DENY, broken=why, at=at),)
    return Page(path=path, layer=facts.layer, digest="", rules=rules, findings=tuple(notes.findings))


class PageReading:
    """One page, while it is read."""

    def __init__(self, source: MarkdownSource, notes: Notes, path: str, facts: Facts) -> None:
        self.source, self.notes, self.path, self.facts = source, notes, path, facts
        self.drafts: list[RuleDraft] = []
        self.entries: list[Entry] = []
        self._names = _Names()

    def own(self, blocks: Sequence[Block]) -> None:
        """A page of ours: rules under "Rules", skills and examples under theirs, guidance under other headings."""
        found = list(parts(blocks))
        titled = any(part.name for part in found)  # what stands below its title then tells what the page is
        for part in found:
            if part.name == RULES:
                self._rules(part.blocks)
            elif not part.name:
                self._near(part)
                self._stray(part.blocks)
                if part.blocks and part.heading and not (titled and part.heading.level == 1):
                    self._entry("guidance", part.title, part.first, part.end)
        self._entries([part for part in found if part.name == SKILLS], "skill")
        self._entries([part for part in found if part.name == EXAMPLES], "example")

    def foreign(self, blocks: Sequence[Block]) -> None:
        """A page for agents of any kind, as it stands."""
        for part in parts(blocks):
            lists = [block for block in part.blocks if block.kind == "list"]
            if part.name == RULES:
                self._rules(part.blocks, foreign=True)
            else:
                for item in filter(_formed, _items(part.blocks)):
                    if made := syntax.draft(self.source, item, self.notes, foreign=True):
                        self.drafts.append(made)
            if part.blocks and (part.name != RULES or len(lists) < len(part.blocks)):
                self._entry("guidance", part.title or PurePosixPath(self.path).name, part.first, part.end)

    def skill(self, values: dict[str, object], lines: int) -> None:
        """The form of Agent Skills: a name and a description before the text."""
        folder = PurePosixPath(self.path).parent.name
        name, about = (str(values.get(key) or "").strip() for key in ("name", "description"))
        if not name:
            self.notes.say("skill-form", (0, 0), "the skill has no name: write `name:` into its front matter")
        if not about:
            self.notes.say("skill-form", (0, 0), "the skill has no description: agents choose by it")
        named = name if name.isprintable() and len(name) <= LONGEST_NAME else ""
        self._entry("skill", about or named or folder, lines, len(self.source.lines), named or folder)

    def ruled(self) -> Iterator[tuple[Rule, RuleDraft]]:
        """The rules of the page, with ids: those that were given stay, others are made of words."""
        taken: dict[str, int] = {}
        for one in self.drafts:
            id = one.head.id
            if id is not None and _is_id(id):
                if id in taken:
                    said = f"{id!r} is also the id of the rule in line {taken[id] + 1}"
                    self.notes.say("duplicate-id", one.place, said)
                taken.setdefault(id, one.place[0])
        names = _Names(taken)
        for one in self.drafts:
            id = one.head.id
            if id is None or not _is_id(id):
                made = names.free(syntax.slug(id or one.text))
                if id is None:
                    self.notes.say("made-id", one.place, f"has no id: write **{made}** before it")
                else:
                    said = f"{id[:60]!r} is not an id: write **{made}** (lower-case letters, digits and dashes)"
                    self.notes.say("bad-id", one.place, said)
                id = made
            yield self._rule(id, one), one

    def _rule(self, id: str, one: RuleDraft) -> Rule:
        return Rule(
            id=id,
            text=one.text or id.replace("-", " "),
            severity=one.severity,
            check=one.check,
            broken="; ".join(dict.fromkeys(one.broken)) or None,
            because=one.values.words.get("because") or None,
            fix=one.values.words.get("fix") or None,
            git_config=one.values.git_config,
            at=self._place(*one.place),
        )

    def _rules(self, blocks: Sequence[Block], *, foreign: bool = False) -> None:
        for block in blocks:
            for item in block.blocks if block.kind == "list" else ():
                if made := syntax.draft(self.source, item, self.notes, foreign=foreign):
                    self.drafts.append(made)
            if not foreign:
                self._stray([one for item in block.blocks for one in item.blocks] if block.kind == "list" else [block])

    def _entries(self, found: Sequence[PagePart], kind: Kind) -> None:
        """A part under a smaller heading is one entry, with all below it; elsewhere each item of a list is."""
        top = min((part.depth for part in found if part.inner), default=0)
        runs: list[list[PagePart]] = []
        for part in found:
            if part.inner and part.depth > top and runs and runs[-1][0].inner:
                runs[-1].append(part)
            else:
                runs.append([part])
        for run in runs:
            part = run[0]
            lists = [block for block in part.blocks if block.kind == "list"]
            if part.inner:
                self._entry(kind, part.title, part.first, run[-1].end)
            elif lists:
                for item in [item for block in lists for item in block.blocks]:
                    self._entry(kind, _title(self.source, item), item.first, item.end)
            elif part.blocks:
                self._entry(kind, part.title, part.blocks[0].first, part.end)

    def _entry(self, kind: Kind, title: str, first: int, end: int, id: str | None = None) -> None:
        text = self.source.between(first, end)
        if not text:
            return
        shown = " ".join(title.split())[:200] or text[:80]
        id = self._names.free(id or syntax.slug(shown))
        while first < end - 1 and not self.source.lines[first].strip():
            first += 1
        at = self._place(first, 0)
        self.entries.append(Entry(id=id, section=kind, title=shown, text=text, at=at))

    def _near(self, part: PagePart) -> None:
        """A heading that is nearly "Rules" would be rules that nobody obeys."""
        if part.heading and (near := difflib.get_close_matches(part.title.lower()[:40], SECTIONS, 1, 0.8)):
            said = f"{part.title!r} is nearly {near[0].capitalize()!r}, and means nothing as it is"
            self.notes.say("section-name", (part.heading.first, 0), said)

    def _stray(self, blocks: Sequence[Block]) -> None:
        for item in _items(blocks):
            if _formed(item):
                place = markdown.within(self.source, item.blocks[0], 0)
                self.notes.say("stray-rule", place, 'is not a rule here: move it to the list below the heading "Rules"')

    def _place(self, line: int, column: int) -> Place:
        facts = self.facts
        return Place(
            path=self.path,
            line=line + 1,
            column=column + 1,
            layer=facts.layer,
            commit=facts.commit,
            dirty=facts.dirty,
        )


def _items(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        if block.kind == "item":
            yield block
        yield from _items(block.blocks)


def _formed(item: Block) -> bool:
    """Whether it is written as a rule: `**id** (severity)`."""
    if not item.blocks or item.blocks[0].kind != "paragraph":
        return False
    head = syntax.head_of(item.blocks[0].content)
    return head.id is not None and _is_id(head.id) and (head.severity or "").strip().lower() in syntax.SEVERITIES


def _is_id(id: str) -> bool:
    return len(id) <= syntax.LONGEST_ID and syntax.ID.fullmatch(id) is not None


class _Names:
    """Ids of one page: what is taken gets a number."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def free(self, id: str) -> str:
        made = id
        while made in self._taken:
            number = self._next.get(id, 2)
            self._next[id] = number + 1
            made = f"{id}-{number}"
        self._taken.add(made)
        return made


def _title(source: MarkdownSource, item: Block) -> str:
    opening = item.blocks[0] if item.blocks else None
    if opening is None or opening.kind != "paragraph":
        return source.between(item.first, item.end).split("\n")[0]
    return " ".join(opening.content.split())


def _control(notes: Notes, given: str, source: MarkdownSource) -> None:
    """Characters that no text holds: a NUL, or half of a pair."""
    bad = next((place for place, char in enumerate(given) if char == "\0" or "\ud800" <= char <= "\udfff"), None)
    if bad is not None:
        said = "holds characters that are not text (NUL or the like): remove them"
        notes.say("control-characters", source.place(bad), said)


def _too_much(text: str) -> str | None:
    if len(text) > LARGEST_PAGE:
        return f"is longer than {LARGEST_PAGE:,} characters: split it"
    lines = max(text.count("\n"), text.count("\r"))
    return f"is longer than {MOST_LINES:,} lines: split it" if lines > MOST_LINES else None


def _kept(notes: Notes) -> list[Finding]:
    """In the order of the page. Of pages that are not ours only what makes a rule unusable is said."""
    ours = PurePosixPath(notes.path).name not in GUIDES
    found = [one for one in notes.findings if ours or (one.level == "error" and one.code not in STYLE)]
    return sorted(found, key=lambda one: (one.line, one.column, one.code))
