"""Programs that write, move or remove the files that they are given: which of their words these are.

A short table of what people and agents type, and no more: what else writes files is in the guide.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from agent_memory.core.rules.shell.meaning import GitCall, call_of
from agent_memory.core.rules.shell.words import Argv, Word

BELOW = "…"  # stands for whatever is in a folder
_EACH = {"tee": "", "touch": "drt", "truncate": "sr", "shred": "ns", "unlink": "", "rm": "", "mv": "tS", "sponge": ""}
"""Every word is such a file: program -> letters of its options that take a value."""
_LAST = {"cp": "tS", "mv": "tS", "install": "mogtS", "ln": "tS", "rsync": "efTB", "scp": "FicloPSJ"}
"""The last word is, or the folder behind -t."""
_OUTPUT = {
    "curl": ("-o", "--output"),
    "wget": ("-O", "--output-document"),
    "sort": ("-o", "--output"),
    "dd": ("of",),
}
_IN_PLACE = {"sed": ("-[nErsuz]*i", "efl"), "perl": ("-[A-Za-z0]*i", "eEIM"), "ruby": ("-[A-Za-z0]*i", "eIr")}
"""Those that change their files: how the option looks, and letters of options that take a value."""
_ELSEWHERE = re.compile(r"[^/]*:")  # a file of another machine


def written(argv: Argv) -> Iterator[Word]:
    """The files that a command is given to write, move or remove. A folder is also what is in it."""
    name, words = argv.program.text or "", argv.words
    if name == "git":
        call = call_of(words)
        yield from _git(call) if call is not None else ()
        return
    if name in _OUTPUT:
        yield from _valued(words, _OUTPUT[name])
    if name in _IN_PLACE:
        yield from _in_place(words, *_IN_PLACE[name])
    if name == "patch":
        yield from _operands(words, "diopBFVzDr")[:1]
    if name in _EACH:
        files = _operands(words, _EACH[name])
        yield from files
        if name == "mv" or any(re.match(r"--r|-[a-zA-Z]*[rR]", word.lead) for word in words[1:]):
            yield from map(below, files)
    if name in _LAST:
        yield from _into(words, _LAST[name])


def below(word: Word, name: Word | None = None) -> Word:
    """A file in a folder: this one, or whichever."""
    inside = (BELOW,) if name is None else name.parts
    *front, last = word.parts
    folder = [*front, f"{last.rstrip('/')}/"] if last is not None else [*front, last, "/"]
    joined = [*folder[:-1], f"{folder[-1]}{inside[0]}", *inside[1:]] if inside[0] is not None else [*folder, *inside]
    spreads = word.spreads or (name is not None and name.spreads)
    return Word(tuple(joined), spreads, word.files or (name is not None and name.files and None not in word.parts))


def _operands(words: Sequence[Word], valued: str) -> list[Word]:
    """The words that are no options and no values of such."""
    found: list[Word] = []
    at = 1
    while at < len(words):
        word = words[at]
        if word.text == "--":
            return [*found, *words[at + 1 :]]
        if not word.lead.startswith("-") or word.text == "-":
            found.append(word)
        elif not word.lead.startswith("--") and word.text is not None and word.text[-1] in valued:
            at += 1
        at += 1
    return found


def _valued(words: Sequence[Word], names: Sequence[str]) -> Iterator[Word]:
    for at, word in enumerate(words[1:], start=1):
        name, equals, value = word.lead.partition("=")
        short = next((one for one in names if len(one) == 2 and word.lead.startswith(one)), None)
        if name in names and equals:
            yield Word((value, *word.parts[1:]) if value else word.parts[1:] or ("",), word.spreads)
        elif word.text in names and at + 1 < len(words):
            yield words[at + 1]
        elif short is not None and len(word.lead) > 2 and "of" not in names:
            yield Word((word.lead[2:], *word.parts[1:]), word.spreads)


def _in_place(words: Sequence[Word], option: str, valued: str) -> Iterator[Word]:
    if not any(re.match(f"{option}|--in-place", word.lead) for word in words[1:]):
        return
    scripted = any(re.match(r"-[A-Za-z0]*[eEf]|--(?:expression|file)", word.lead) for word in words[1:])
    yield from _operands(words, valued)[0 if scripted else 1 :]


def _into(words: Sequence[Word], valued: str) -> Iterator[Word]:
    """Where something is copied or moved to: that file, or one of the same name in that folder."""
    files = _operands(words, valued)
    folders = list(_valued(words, ("-t", "--target-directory"))) if "t" in valued else []
    targets, sources = (folders, files) if folders else (files[-1:], files[:-1])
    for target in targets:
        if not _ELSEWHERE.match(target.lead):
            yield from (target, below(target), *(below(target, _base(one)) for one in sources))


def _base(word: Word) -> Word:
    """The last name in a path."""
    parts = [one.rstrip("/") if number == len(word.parts) - 1 and one else one for number, one in enumerate(word.parts)]
    at = next((n for n in range(len(parts) - 1, -1, -1) if "/" in (parts[n] or "")), None)
    if at is not None:
        parts = [(parts[at] or "").rpartition("/")[2], *parts[at + 1 :]]
    return Word(tuple(one for one in parts if one != "") or ("",), word.spreads, word.files)


def _git(call: GitCall) -> Iterator[Word]:
    writes = {
        "mv": True,
        "checkout": call.last("-b", "-B", "--orphan") is None,
        "restore": call.last("--staged") is None or call.last("--worktree") is not None,
        "rm": call.last("--cached", "--dry-run") is None,
    }
    if not writes.get(call.name or ""):
        return
    at = next((number for number, word in enumerate(call.rest) if word.text == "--"), None)
    inside = [value.text or "" for option, value in pairwise(call.before) if option.text == "-C"]
    files = [moved(posixpath.join("", *inside), one) for one in (call.places if at is None else call.rest[at + 1 :])]
    if call.name == "mv":
        yield from (below(files[-1], _base(one)) for one in files[:-1])
    for word in files:
        yield from (word, below(word))


def moved(folder: str, word: Word) -> Word:
    """A file as seen from where a line began, when it has gone to a folder."""
    first = word.parts[0]
    if not folder or first is None or first.startswith("/"):
        return word
    return Word((f"{folder.rstrip('/')}/{first}", *word.parts[1:]), word.spreads, word.files)
