"""The values below a rule: code spans, parted by commas, each tried as the pattern that its key makes of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from agent_memory.core.rules import effects, keys, markdown, patterns
from agent_memory.core.rules.codes import Notes
from agent_memory.core.rules.markdown import LONGEST_PARAGRAPH, Block, InlineSpan, MarkdownSource
from agent_memory.core.rules.text import CONVENTIONAL
from agent_memory.models.model import clean_name
from agent_memory.models.rules import Argument, Subject

SIGNS = ("=", "is", ":")
_BETWEEN = re.compile(r"[\s,;.]|\band\b|\bor\b")


@dataclass
class Values:
    """What the keys of one rule say."""

    patterns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    where: tuple[Argument, ...] = ()
    words: dict[str, str] = field(default_factory=dict)
    git_config: dict[str, str] = field(default_factory=dict)

    def fields(self) -> dict[str, Any]:
        """As a check has them, but for its own patterns."""
        found = {field: self.patterns.get(key, ()) for key, field in keys.FIELDS.items()}
        return {**found, "where": self.where}

    def take(self, source: MarkdownSource, key: str, item: Block, notes: Notes, subject: Subject | None) -> list[str]:
        """Add what an item says under a key; gives what makes the rule's check unusable. An exception has the form of
        the patterns that it is excepted from."""
        paragraphs = list(_paragraphs(item))
        opening = paragraphs[0]
        place = markdown.within(source, opening, 0)
        if any(len(one.content) > LONGEST_PARAGRAPH for one in paragraphs):
            return [notes.say("too-long", place, f"is longer than {LONGEST_PARAGRAPH} characters: cut it")]
        if key in keys.WORDS:
            self.words[key] = _words([opening.content.partition(":")[2], *(one.content for one in paragraphs[1:])])
            return []
        found = [(one, span) for one in paragraphs for span in markdown.spans(one.content)]
        if key == "where":
            return self._where(source, found, place, notes)
        codes = [(markdown.within(source, one, span.at), span.text) for one, span in found if span.kind == "code"]
        beside = "".join(span.text for _, span in found if span.kind == "text").partition(":")[2]
        stray = _BETWEEN.sub("", beside)
        if key == Subject.COMMIT and stray.lower() == CONVENTIONAL:
            codes, stray = [*codes, (place, CONVENTIONAL)], ""
        if (Subject.COMMAND in (key, subject)) and key in (Subject.COMMAND, "unless"):
            bare = effects.named(beside)
            codes = [*codes, *((place, name) for name in bare)]
            stray = _BETWEEN.sub("", re.sub("|".join(map(re.escape, bare)) or "$^", "", beside))
        if key == "git config":
            self._configure(codes, place, notes)
            return []
        if not codes and (stray or key not in keys.SUBJECTS):
            said = f"`{key}` has no value: write it as a code span, between backticks"
            return [notes.say("no-value", place, said)]
        if stray:
            notes.say("stray-text", place, f"{beside.strip()[:60]!r} is not part of the value: only code spans are")
        return self._patterns(key, codes, notes, (subject or "") if key == "unless" else key)

    def _patterns(self, key: str, codes: list[tuple[tuple[int, int], str]], notes: Notes, form: str) -> list[str]:
        problems = []
        for place, span in codes:
            if said := patterns.refused(span, form) if form else None:
                problems.append(notes.say("bad-pattern", place, said))
            else:
                self.patterns[key] = (*self.patterns.get(key, ()), span)
        return problems

    def _where(
        self, source: MarkdownSource, found: list[tuple[Block, InlineSpan]], place: tuple[int, int], notes: Notes
    ) -> list[str]:
        problems = []
        codes = [number for number, (_, span) in enumerate(found) if span.kind == "code"]
        while codes:
            number = codes.pop(0)
            block, span = found[number]
            at = markdown.within(source, block, span.at)
            sign = "".join(one.text for _, one in found[number + 1 : codes[0]]).strip() if codes else ""
            if sign in SIGNS:
                name, value = span.text, found[codes.pop(0)][1].text
            else:
                name, equals, value = (part.strip() for part in span.text.partition("="))
                if not equals:
                    said = f"`{span.text}` wants a value: `where: {'`name` = `pattern`'}`"
                    problems.append(notes.say("bad-value", at, said))
                    continue
            try:
                clean_name(name)
            except ValueError as error:
                problems.append(notes.say("bad-value", at, f"the name of an argument {error}"))
                continue
            if problem := patterns.refused(value, "where"):
                problems.append(notes.say("bad-pattern", at, problem))
            else:
                self.where = (*self.where, Argument(name=name, pattern=value))
        if not self.where and not problems:
            problems.append(notes.say("no-value", place, "`where` has no value: write `name` = `pattern`"))
        return problems

    def _configure(self, codes: list[tuple[tuple[int, int], str]], place: tuple[int, int], notes: Notes) -> None:
        if not codes:
            notes.say("no-value", place, "`git config` has no value: write it as a code span, `name=value`")
        for at, span in codes:
            name, equals, value = (part.strip() for part in span.partition("="))
            if not equals or not keys.is_setting(value):
                notes.say("bad-value", at, f"`{span[:60]}` is not a setting: write `name=value`")
            elif name.lower() not in keys.GIT_CONFIG:
                allowed = ", ".join(sorted(keys.GIT_CONFIG.values()))
                notes.say("git-config", at, f"a page may not set {name[:60]!r} (what it may: {allowed})")
            else:
                self.git_config[keys.GIT_CONFIG[name.lower()]] = value


def _paragraphs(item: Block) -> list[Block]:
    """Those of an item and of all that is inside it."""
    found: list[Block] = []
    for block in item.blocks:
        found += [block] if block.kind == "paragraph" else _paragraphs(block)
    return found


def _words(parts: list[str]) -> str:
    """Plain words; of a single code span what is in it."""
    said = " ".join(" ".join(part.split()) for part in parts).strip()
    found = [one for one in markdown.spans(said) if one.kind == "code" or one.text.strip()]
    return found[0].text if len(found) == 1 and found[0].kind == "code" else said
