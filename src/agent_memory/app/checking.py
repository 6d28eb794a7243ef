"""From an action of somebody in a folder to a verdict: what the pure judge must be told of files and of git."""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agent_memory.core.rules.clone import CloneState
from agent_memory.core.rules.conventional import cleaned
from agent_memory.core.rules.judge import concerns, judge, judge_file, of_paths, wants_text
from agent_memory.engines.git.settings import Situation, Situations
from agent_memory.models.rules import Action, Rulebook, Subject, Verdict
from agent_memory.ports.pages import GUIDES, MEMORY, SKILLS

if TYPE_CHECKING:
    from agent_memory.core.rules.shell import Word

LARGEST_READ = 8 * 1024 * 1024  # bytes of a file that are read for its content
MOST_FILES = 1000  # that a command writes; of more, each may be any
PLACES = (MEMORY, *GUIDES, *SKILLS)
FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def verdict(action: Action, folder: Path, at: str | None = None, own: bool = True) -> Verdict:
    """The verdict on an action in a folder, by the rules on the disk or at a ref: what doors ask that open no store.
    A path is judged by the rules of the folder that it is in, and so is each file that a command is seen to write. Not
    `own`: without the user-wide pages, and without a word about files elsewhere."""
    here = Path(os.path.realpath(folder))
    book = book_for(action, here, at, own)
    found = checker().check(book, action, here)
    if action.subject != Subject.COMMAND:
        return found
    return together([found, *_written(book, action, here, functools.partial(book_for, at=at, own=own), own)])


def _written(
    book: Rulebook, action: Action, folder: Path, books: Callable[[Action, Path], Rulebook], own: bool
) -> Iterator[Verdict]:
    """The verdict on each file that a command is seen to write. What will stand there nobody knows, so that rules about
    content have no say."""
    from agent_memory.core.rules.commands import understood
    from agent_memory.core.rules.shell.words import ANY

    where = checker().situation(book, action, folder)
    root = where.root or folder
    files = understood(action, clone(where)).writes
    for file in (*files[:MOST_FILES], *([ANY] if len(files) > MOST_FILES else [])):
        if file.text is None:
            yield judge_file(of_paths(book.rules), action, _rooted(file, folder, root), book.version)
        elif file.text and "\0" not in file.text:
            path = file.text.encode("utf-8", "replace").decode()
            if own or Path(os.path.normpath(folder / path)).is_relative_to(root):
                one = Action(path=path, branch=action.branch)
                there = books(one, folder)
                rules = of_paths(there.rules)
                if rules:
                    kept = there.model_copy(update={"rules": rules, "findings": []})
                    yield checker().check(kept, one, folder)


def _rooted(file: Word, folder: Path, root: Path) -> Word:
    """A file of which a part is not known, as seen from the root of the repository."""
    first = file.parts[0]
    if first is None:
        return file
    inside, slash, name = first.rpartition("/")
    path = _below(root, os.path.normpath(folder / (inside + slash)))
    lead = "" if path == str(root) else f"{path}/"
    return replace(file, parts=(lead + name, *file.parts[1:]))


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


def clone(where: Situation) -> CloneState:
    """What decides what a command of git means where somebody is."""
    return CloneState(None if where.problem else where.settings, where.branch, where.merging)


def message(folder: Path, text: str, *, edited: bool) -> str:
    """A file with a commit message, as git will store it; `edited`: somebody had it in an editor, with comments."""
    settings = checker().situations.of(folder).settings
    comment = settings.get("core.commentstring") or settings.get("core.commentchar") or "#"
    cleanup = settings.get("commit.cleanup", "default")
    comments = cleanup == "strip" or (cleanup == "default" and edited)
    return cleaned(text, "#" if comment == "auto" else comment, comments=comments)


class Checker(NamedTuple):
    """Checks actions; what it knows of git's settings, it keeps."""

    situations: Situations

    def situation(self, book: Rulebook, action: Action, folder: Path) -> Situation:
        """Where a folder is, and with git's settings if they could decide about an action."""
        asked = (Subject.COMMAND, Subject.PATH) if action.subject == Subject.COMMAND and _mentions_git(action) else ()
        return self.situations.of(
            folder, settings=any(concerns(rule, subject) for rule in book.rules for subject in asked)
        )

    def check(self, book: Rulebook, action: Action, folder: Path) -> Verdict:
        """The verdict on an action in a folder, whose links are resolved, by the rules that hold there."""
        where = self.situation(book, action, folder)
        if action.branch is None and where.branch is not None:
            action = action.model_copy(update={"branch": where.branch})
        if action.path is None:
            return judge(book.rules, action, book.findings, book.version, clone(where))
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
