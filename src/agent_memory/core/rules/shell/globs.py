"""Whether a glob matches a word that may have holes: surely, perhaps or never."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache

from agent_memory.core.rules.answer import Answer
from agent_memory.core.rules.shell.words import Word

_TOKEN = re.compile(r"\[!?\]?[^\]]*\]|.", re.S)
_WILD = re.compile(r"[*?\[]")


class Glob:
    """A pattern for one word: `*`, `?` and `[…]`."""

    __slots__ = ("_match", "literal", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.literal = None if _WILD.search(text) else text
        self._match = re.compile(translate(text)).match

    def answer(self, word: Word) -> Answer:
        known = word.text
        if known is not None:
            same = known == self.literal if self.literal is not None else bool(self._match(known))
            return Answer.YES if same else Answer.NO
        if self.text == "*" and not word.spreads:
            return Answer.YES
        return Answer.MAYBE if _meet(self.text, word.parts) else Answer.NO


def may_be_path(pattern: str, word: Word) -> bool:
    """Whether a word with holes may become a path that a pattern of paths matches (see `text`)."""
    plain = re.sub(r"\*\*/?", "*", pattern.strip("/"))
    anywhere = "/" not in pattern.rstrip("/")
    ways = [plain, f"*/{plain}"] if anywhere else [plain]
    if not (anywhere and plain.startswith("*")):  # what is called `*.pem` is a file, and nothing is in it
        ways += [f"{way}/*" for way in ways]
    slashes = not word.files or word.parts == (None,)
    return any(_meet(way, word.parts, slashes) for way in ways)


@lru_cache(maxsize=4096)
def _meet(pattern: str, parts: tuple[str | None, ...], slashes: bool = True) -> bool:
    """Whether some filling of the holes matches; without `slashes` they hold none, as globs do."""
    if parts == (None,) and slashes:
        return True
    left: list[str] = _TOKEN.findall(pattern)
    right: list[str | None] = [one for part in parts for one in ([None] if part is None else part)]
    reach = {0}
    reach |= _free(reach, left)
    for token in right:
        following: set[int] = set()
        for at in reach:
            if token is None:
                end = left.index("/", at) if not slashes and "/" in left[at:] else len(left)
                following |= set(range(at, end + 1))
            elif at < len(left) and (left[at] == "*" or _one(left[at], token)):
                following.add(at if left[at] == "*" else at + 1)
        reach = following | _free(following, left)
    return len(left) in reach


def _free(reach: set[int], left: list[str]) -> set[int]:
    """Where a `*` that matches nothing leads."""
    found = set()
    for at in reach:
        while at < len(left) and left[at] == "*":
            at += 1
            found.add(at)
    return found


def _one(token: str, char: str) -> bool:
    return token in (char, "?") or (len(token) > 2 and bool(re.match(translate(token), char)))
