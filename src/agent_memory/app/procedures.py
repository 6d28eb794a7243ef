"""The rules that hold in a folder: find the pages, read each, merge them. Kept, so that an unchanged state costs a few
looks at the disk and a changed one is seen at the next call; a page that did not change is not read again."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from agent_memory.app.config import config_folder
from agent_memory.models.errors import InvalidInput, NotFound
from agent_memory.models.rules import Page, Rule, Rulebook, RuleChange, RuleRevision, Version
from agent_memory.ports.pages import FoundPages, PageFile, PageRevision, Pages

KINDS = ("added", "removed", "changed")
MOST_BOOKS = 64  # folders and refs that are kept
MOST_PAGES = 2000


class Untrusted(NamedTuple):
    """A repository whose pages nobody here has trusted: they are quoted, or, where an action is `checked`, may only
    forbid."""

    repository: str
    checked: bool = False


class Procedures:
    """Safe to use from several threads: what is kept is put into its place whole, and nobody waits for anybody."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._books: dict[tuple[object, ...], tuple[FoundPages, Rulebook, tuple[Page, ...]]] = {}
        self._read: dict[tuple[object, ...], Page] = {}

    def book(self, folder: Path, at: str | None = None, untrusted: Untrusted | None = None) -> Rulebook:
        """What holds in a folder (its links resolved), now or at a commit, tag or branch. It is shared: do not change
        its lists."""
        return self._held(folder, at, untrusted)[0]

    def pages(self, folder: Path, at: str | None = None) -> tuple[Page, ...]:
        """The pages behind it, the farthest first."""
        return self._held(folder, at)[1]

    def _held(
        self, folder: Path, at: str | None, untrusted: Untrusted | None = None
    ) -> tuple[Rulebook, tuple[Page, ...]]:
        key = (folder, at, untrusted)
        if (kept := self._books.get(key)) is not None:
            before, book, pages = kept
            found = self._pages.still(before)
            if found is not None:
                if found is not before:
                    self._books[key] = (found, book, pages)
                return book, pages
        found = self._pages.find(folder, at)
        pages = tuple(self._page(file) for file in found.files)
        book = _merged(pages, found.version, untrusted)
        if len(self._books) >= MOST_BOOKS:
            self._books.clear()
        self._books[key] = (found, book, pages)
        return book, pages

    def diff(self, folder: Path, a: str, b: str | None = None) -> list[RuleChange]:
        """The rules that differ between two states; the later one is the disk, where none is named."""
        from agent_memory.core.rules.changes import changes

        with called("a"):
            before = self.book(folder, a)
        with called("b"):
            return changes(before.rules, self.book(folder, b).rules)

    def log(self, folder: Path, limit: int) -> list[RuleRevision]:
        """The commits that changed rules, the newest first."""
        told = self._pages.log(folder)
        try:
            return list(islice((one for one in map(self._revision, told) if one is not None), limit))
        finally:
            told.close()

    def _revision(self, one: PageRevision) -> RuleRevision | None:
        from agent_memory.core.rules.changes import changes

        after = self._rules(one.after)
        found = [] if one.cut else changes(self._rules(one.before), after)
        if not found and not (one.cut and after):
            return None
        ids = {kind: [change.rule for change in found if change.change == kind] for kind in KINDS}
        return RuleRevision(commit=one.commit, author=one.author, at=one.at, subject=one.subject, cut=one.cut, **ids)

    def _rules(self, files: Iterable[PageFile]) -> list[Rule]:
        return _merged([self._page(file) for file in files], Version()).rules

    def _page(self, file: PageFile) -> Page:
        key = (file.path, file.layer, file.digest, file.problem, file.commit, file.dirty)
        if (kept := self._read.get(key)) is not None:
            return kept
        page = understood(file)
        if len(self._read) >= MOST_PAGES:
            self._read.clear()
        self._read[key] = page
        return page


@contextmanager
def called(field: str) -> Iterator[None]:
    """For a caller who knows the ref by another name: errors call it so."""
    try:
        yield
    except (InvalidInput, NotFound) as error:
        if error.field != "at":
            raise
        said = f"{field}:{error.message.removeprefix('at:')}"
        raise type(error)(said, hint=error.hint, field=field) from None


def understood(file: PageFile) -> Page:
    """A page as it is understood; a problem is a finding."""
    from agent_memory.core.rules.page import Facts, read, unreadable

    facts = Facts(file.layer, file.commit, file.dirty)
    if file.text is None:
        return unreadable(file.path, file.problem or "cannot be read", facts)
    return read(file.path, file.text, facts)


def _merged(pages: Sequence[Page], version: Version, untrusted: Untrusted | None = None) -> Rulebook:
    """Where there are no pages, what reads them is not loaded: most folders have none."""
    if not pages:
        return Rulebook(rules=[], entries=[], pages=[], version=version)
    if untrusted is not None:
        from agent_memory.core.rules.quoting import quoting, restraining

        return (restraining if untrusted.checked else quoting)(pages, version, untrusted.repository)
    from agent_memory.core.rules.merge import merged

    return merged(pages, version)


def procedures(own: bool = True) -> Procedures:
    """Those of this process: clients come and go, and share what was read. Not `own`: without the user-wide pages,
    which are no business of whoever calls over a network."""
    return _shared(config_folder() if own else None)


@functools.lru_cache(maxsize=8)
def _shared(own: Path | None) -> Procedures:
    from agent_memory.engines.git.pages import GitPages

    return Procedures(GitPages(own, os.environ))
