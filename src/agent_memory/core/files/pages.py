"""Markdown that people write, as entries that can be read, replaced, added and taken out. Everything else in the text
stays where it is, byte for byte. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from agent_memory.models.errors import InvalidInput
from agent_memory.models.kinds.kind import fold, joined_key, typed_value
from agent_memory.models.kinds.person import Preference

_DOMAIN = re.compile(r"^##\s+(?P<domain>.+?)\s*$")
_TITLE = re.compile(r"^#\s")
_LINE = re.compile(r"^[-*]\s+\*\*(?P<name>.+?)\*\*\s*:\s*(?P<value>\S.*?)\s*$")
_HEADING = re.compile(r"^#{1,6}\s+(?P<title>.+?)[\s#]*$")
_FENCE = re.compile(r"^\s{0,3}(```|~~~)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
GENERAL = "general"


class Strange(NamedTuple):
    """A line that was not understood, counted from 1. `repeats`: the line that says the same thing before it."""

    line: int
    text: str
    repeats: int | None = None

    def __str__(self) -> str:
        again = f" (line {self.repeats} says that already)" if self.repeats else ""
        return f"line {self.line}: {self.text.strip()[:80]!r}{again}"


class _Entry(NamedTuple):
    """Lines `begin` to `end` of a text."""

    begin: int
    end: int
    value: str


class PreferencesPage:
    """`- **name**: value` below `## domain`. `entries` are values as they are spelled, by key; `strange` are lines that
    are neither that nor a heading, and those that say again what stands above."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines(keepends=True)
        self._places: dict[str, _Entry] = {}
        self._ends: dict[str, int] = {}  # behind the last line of a domain
        self._repeats: list[tuple[str, int]] = []
        self.preferences: dict[str, Preference] = {}
        self.strange: list[Strange] = []
        domain = GENERAL
        for number, line in _read(self._lines):
            if heading := _DOMAIN.match(line):
                domain = heading["domain"]
                self._ends[fold(domain)] = number + 1
            elif item := _LINE.match(line):
                self._take(number, domain, item)
            elif line.strip() and not _TITLE.match(line):
                self.strange.append(Strange(number + 1, line))

    @property
    def entries(self) -> dict[str, str]:
        return {key: place.value for key, place in self._places.items()}

    def _take(self, number: int, domain: str, item: re.Match[str]) -> None:
        try:
            found = Preference(domain=domain, name=item["name"], value=typed_value(item["value"]))
        except InvalidInput:
            found = None
        if found is None or (key := preference_key(found)) in self._places:
            first = None if found is None else self._places[key].begin + 1
            self.strange.append(Strange(number + 1, item.string, first))
            self._repeats += [] if found is None else [(key, number)]
            return
        self.preferences[key] = found
        self._places[key] = _Entry(number, number + 1, spelled(found.value))
        self._ends[fold(domain)] = number + 1

    def changed(self, news: Mapping[str, Preference | None]) -> str:
        """The text with these preferences in it; None: without what it says of them."""
        end = _line_end(self._lines)
        lines: list[str] = list(self._lines)
        added: dict[str, list[str]] = {}
        names: dict[str, str] = {}
        for key, preference in news.items():
            place = self._places.get(key)
            if place is not None:
                lines[place.begin] = "" if preference is None else _spelled_line(preference) + end
            elif preference is not None:
                added.setdefault(fold(preference.domain), []).append(_spelled_line(preference) + end)
                names.setdefault(fold(preference.domain), preference.domain)
        for key, number in self._repeats:  # otherwise the next who reads it finds there what is gone
            if key in news and news[key] is None:
                lines[number] = ""
        for domain in sorted(added, key=lambda one: -self._ends.get(one, 0)):
            if (behind := self._ends.get(domain)) is not None:
                lines[behind - 1] = _ended(lines[behind - 1], end)
                if _DOMAIN.match(self._lines[behind - 1]):
                    added[domain].insert(0, end)
                lines[behind:behind] = added[domain]
        for domain in sorted(added.keys() - self._ends.keys()):
            if lines:
                lines[-1] = _ended(lines[-1], end)
                lines.append(end)
            lines += [f"## {names[domain]}{end}", end, *added[domain]]
        return "".join(lines)


class NotesPage:
    """A section for each heading, and what stands before the first. `entries` are their texts, by heading, where
    there is more below it than comments; `titles` are the same headings as they are written."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines(keepends=True)
        self._places: dict[str, _Entry] = {}
        self.titles: dict[str, str] = {}
        self.strange: list[Strange] = []
        begin, title, fenced = 0, "", False
        for number, line in enumerate(self._lines):
            if _FENCE.match(line):
                fenced = not fenced
            if not fenced and (heading := _HEADING.match(line)):
                self._take(title, begin, number)
                begin, title = number, heading["title"]
        self._take(title, begin, len(self._lines))

    @property
    def entries(self) -> dict[str, str]:
        return {key: place.value for key, place in self._places.items()}

    def _take(self, title: str, begin: int, end: int) -> None:
        body = "".join(self._lines[begin + bool(title) : end])
        if not _COMMENT.sub("", body).strip():
            return
        key, count = fold(title), 1
        while key in self._places:
            count += 1
            key = joined_key(title, count)
        self.titles[key] = title if count == 1 else f"{title}\x1f{count}"
        self._places[key] = _Entry(begin, end, "".join(self._lines[begin:end]).strip().replace("\r\n", "\n"))

    def rename(self, keys: Mapping[str, str]) -> None:
        """Use other keys for some sections. The text stays."""
        self._places = {keys.get(key, key): place for key, place in self._places.items()}
        self.titles = {keys.get(key, key): title for key, title in self.titles.items()}

    def changed(self, news: Mapping[str, str | None]) -> str:
        """The text with these sections in it; None: without them."""
        end = _line_end(self._lines)
        lines: list[str] = list(self._lines)
        for key, value in news.items():
            written = None if value is None else value.strip().replace("\n", end)
            place = self._places.get(key)
            if place is not None:
                lines[place.begin : place.end] = [""] * (place.end - place.begin)
                lines[place.begin] = "" if written is None else written + end + end
            elif written is not None:
                lines.append((end if lines else "") + written + end)
        return "".join(lines)


def _read(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Those that are neither in a comment nor in a block of code."""
    fenced = commented = False
    for number, line in enumerate(lines):
        if commented or (not fenced and "<!--" in line):
            commented = "-->" not in line
        elif _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield number, line


def preference_key(preference: Preference) -> str:
    return joined_key(preference.domain, preference.name)


def preferences_text(preferences: list[Preference]) -> str:
    """A whole page."""
    return PreferencesPage("# Preferences\n").changed({preference_key(one): one for one in preferences})


def spelled(value: Any) -> str:
    """On one line, and so that it is read back as it was."""
    if value and isinstance(value, str) and typed_value(value) == value.strip() == value and value.isprintable():
        return value
    written = json.dumps(value, ensure_ascii=False)
    return written if written.isprintable() else json.dumps(value)


def fits(preference: Preference) -> bool:
    """Whether a line can say it: a name may hold stars or a domain may look like something else."""
    page = PreferencesPage(f"## {preference.domain}\n{_spelled_line(preference)}\n")
    return list(page.preferences.values()) == [preference] and not page.strange


def _spelled_line(preference: Preference) -> str:
    return f"- **{preference.name}**: {spelled(preference.value)}"


def _line_end(lines: list[str]) -> str:
    return "\r\n" if lines and lines[0].endswith("\r\n") else "\n"


def _ended(line: str, end: str) -> str:
    return line if not line or line.endswith(("\n", "\r")) else line + end
