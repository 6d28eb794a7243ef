"""From an action of somebody in a folder to a verdict: what the pure judge must be told of files and of git."""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agent_memory.core.rules.conventional import cleaned
from agent_memory.core.rules.judge import concerns, judge, wants_text
from agent_memory.engines.git.settings import Situation, Situations
from agent_memory.models.rules import Action, Rulebook, Subject, Verdict
from agent_memory.ports.pages import GUIDES, MEMORY, SKILLS

LARGEST_READ = 8 * 1024 * 1024  # bytes of a file that are read for its content
PLACES = (MEMORY, *GUIDES, *SKILLS)
FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def verdict(action: Action, folder: Path, at: str | None = None, own: bool = True) -> Verdict:
    """The verdict on an action in a folder, by the rules on the disk or at a ref: what doors ask that open no store.
    A path is judged by the rules of the folder that it is in. Not `own`: without the user-wide pages."""
    here = Path(os.path.realpath(folder))
    return checker().check(book_for(action, here, at, own), action, here)


def book_for(action: Action, folder: Path, at: str | None = None, own: bool = True) -> Rulebook:
    """The rules that hold for an action in a folder, its links resolved."""
    from agent_memory.app.trust import book

    return book(home(action, folder), at, own, checked=True)


@functools.cache
def checker() -> Checker:
    """The one of this process."""
    return Checker(Situations(os.environ))


def home(action: Action, folder: Path) -> Path:
    """The folder whose rules hold for an action: for a path, the nearest one above it that could have rules."""
    if action.path is None:
        return folder
    found = checker().situations.of(folder, settings=False)
    path = Path(os.path.realpath(folder / action.path))
    if found.root is None or not path.is_relative_to(found.root):
        return folder
    above = [one for one in path.parents if one.is_relative_to(found.root)]
    return next((one for one in above if any(os.path.lexists(one / name) for name in PLACES)), found.root)


def message(folder: Path, text: str, *, edited: bool) -> str:
    """A file with a commit message, as git will store it; `edited`: somebody had it in an editor, with comments."""
    settings = checker().situations.of(folder).settings
    comment = settings.get("core.commentstring") or settings.get("core.commentchar") or "#"
    cleanup = settings.get("commit.cleanup", "default")
    comments = cleanup == "strip" or (cleanup == "default" and edited)
    return cleaned(text, "#" if comment == "auto" else comment, comments=comments)


@dataclass(frozen=True)
class Checker:
    """Checks actions; what it knows of git's settings, it keeps."""

    situations: Situations

    def check(self, book: Rulebook, action: Action, folder: Path) -> Verdict:
        """The verdict on an action in a folder, whose links are resolved, by the rules that hold there."""
        needed = action.subject == Subject.COMMAND and _mentions_git(action)
        where = self.situations.of(
            folder, settings=needed and any(concerns(rule, Subject.COMMAND) for rule in book.rules)
        )
        if action.branch is None and where.branch is not None:
            action = action.model_copy(update={"branch": where.branch})
        if action.path is None:
            return judge(book.rules, action, book.findings, book.version, where.aliases)
        root = where.root or folder
        fold = _folds(root, where)
        return together(
            judge(book.rules, _read(book, one, root, fold), book.findings, book.version, fold=fold)
            for one in _named(action, folder, root)
        )


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict on what is done all at once: allowed if everything is."""
    first, *rest = all_of_them = list(verdicts)
    if not rest:
        return first
    return first.model_copy(
        update={
            "allowed": all(one.allowed for one in all_of_them),
            "violations": list(dict.fromkeys(found for one in all_of_them for found in one.violations)),
            "warnings": list(dict.fromkeys(found for one in all_of_them for found in one.warnings)),
            "doubt": next((one.doubt for one in all_of_them if one.doubt), None),
            "checked": max(one.checked for one in all_of_them),
            "findings": list(dict.fromkeys(found for one in all_of_them for found in one.findings)),
        }
    )


def _mentions_git(action: Action) -> bool:
    """Whether an alias of git could matter."""
    return "git" in (action.command or " ".join(action.argv or ())).lower()


def _named(action: Action, folder: Path, root: Path) -> list[Action]:
    """The path as seen from the root of the repository: as it was named, and where its links lead."""
    asked = folder / (action.path or "")
    plain = Path(os.path.normpath(asked))
    beside = Path(os.path.realpath(plain.parent)) / plain.name
    names = dict.fromkeys(_below(root, str(one)) for one in (plain, beside, os.path.realpath(asked)))
    return [action.model_copy(update={"path": name}) for name in names]


def _below(root: Path, path: str) -> str:
    """Below the root, with slashes; outside it, the whole path."""
    start = str(root).rstrip(os.sep) + os.sep
    return (path[len(start) :] if path.startswith(start) else path).replace(os.sep, "/")


def _read(book: Rulebook, action: Action, root: Path, fold: bool) -> Action:
    """With what stands there, where a rule asks for it and nobody brought it."""
    if not wants_text(book.rules, action, fold):
        return action
    text = content(root / (action.path or ""))
    return action if text is None else action.model_copy(update={"text": text})


def content(path: Path) -> str | None:
    """The text of a plain file; None when there is none, or more than anybody wants to read."""
    try:
        with os.fdopen(os.open(path, FLAGS), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST_READ:
                return None
            data = file.read(LARGEST_READ + 1)
    except (OSError, ValueError):
        return None
    return data.decode("utf-8", "replace") if len(data) <= LARGEST_READ else None


def _folds(root: Path, where: Situation) -> bool:
    """Whether big and small letters are the same here: the disk says so, or git does."""
    if where.settings.get("core.ignorecase", "").lower() == "true":
        return True
    other = root.with_name(root.name.swapcase()) if root.name else root
    try:
        return other.name != root.name and other.samefile(root)
    except OSError:
        return False
