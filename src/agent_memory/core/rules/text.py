"""What a code span of a rule matches when it is about text: a path, a name, or a piece of what is written.

Regular expressions are RE2's: they take time that grows with the text alone, whatever somebody wrote into a page, and
no more memory than `MOST_MEMORY`. What cannot be matched so (look-around, back references) is refused when it is read.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Callable

from agent_memory.core.rules import conventional
from agent_memory.models.expression import is_expression as is_expression
from agent_memory.models.rules import Subject

Matcher = Callable[[str], bool]

MOST_MEMORY = 4 * 1024 * 1024  # bytes that one regular expression may take, compiled and running
LONGEST_PATTERN = 2000
CONVENTIONAL = "conventional"  # the one form of a commit message that has a name
VALUES = frozenset({Subject.TOOL, Subject.TEXT, "where", "branch"})
PIECES = frozenset({Subject.COMMIT, "contains", "every line"})
_SAID = {
    "invalid perl operator": "look-around is not possible, since a pattern must not be able to hang",
    "invalid escape sequence": "there is no such escape (back references are not possible)",
    "missing )": "a bracket is not closed",
    "missing ]": "a character class is not closed",
    "invalid repetition size": "is repeated too often: 1000 is the most",
    "pattern too large": "the pattern is too large",
}


@functools.lru_cache(maxsize=4096)
def matcher(span: str, what: str, fold: bool = False) -> Matcher:
    """What a span under the key `what` of a rule matches: `path`, `tool`, `text`, `where`, `branch`, `commit message`,
    `contains` or `every line`. `fold`: big and small letters are the same, as on some file systems.

    ValueError says what is wrong with a span that can be none.
    """
    if not span.strip():
        raise ValueError("the pattern is empty: write what it should match")
    if len(span) > LONGEST_PATTERN:
        raise ValueError(f"the pattern has {len(span)} characters: the limit is {LONGEST_PATTERN}")
    if is_expression(span):
        return expression(span, fold)
    if what == Subject.PATH:
        return _path(span, fold)
    if what in VALUES:
        return _compiled(rf"(?s)\A(?:{_glob(span, 'any')})\z", span, fold)
    if what not in PIECES:
        raise ValueError(f"{what!r} takes no pattern of text")
    if span == CONVENTIONAL and what == Subject.COMMIT:
        return lambda text: conventional.wrong(text) is None
    return lambda text: span in text


@functools.lru_cache(maxsize=4096)
def expression(span: str, fold: bool = False) -> Matcher:
    """What `/…/` finds anywhere in a text."""
    return _compiled(span[1:-1], span, fold)


def _compiled(pattern: str, span: str, fold: bool) -> Matcher:
    import re2  # only who has a pattern pays for it

    options = re2.Options()
    options.max_mem = MOST_MEMORY
    options.log_errors = False
    options.never_capture = True
    options.case_sensitive = not fold
    try:
        found = re2.compile(pattern, options)
    except re2.error as error:
        raise ValueError(f"the pattern {span} cannot be used: {_plainly(error)}") from None
    return lambda text: found.search(text) is not None


def _plainly(error: Exception) -> str:
    """What RE2 says, with the part that it stumbled over, in our words where we have them."""
    said = error.args[0] if error.args else ""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    problem, _, part = text.partition(": ")
    return f"`{part}`: {_SAID.get(problem, problem)}" if part else _SAID.get(problem, problem)


def _path(span: str, fold: bool) -> Matcher:
    """As a line of `.gitignore`: without a slash inside it is a name in any folder, and what it matches includes all
    that is below. `**` is any number of folders."""
    if span.startswith("!"):
        raise ValueError(f"the path {span} begins with `!`: write what is excepted under `unless`")
    below = span.endswith("/")
    parts = unicodedata.normalize("NFC", span).strip("/").split("/")
    if ".." in parts or "." in parts:
        raise ValueError(f"the path {span} has `.` or `..` in it: paths begin at the root of the repository")
    anywhere = len(parts) == 1 and not span.startswith("/")
    made = "(?:.*/)?" if anywhere else ""
    for place, part in enumerate(parts):
        last = place == len(parts) - 1
        if part == "**":
            made += ".+" if last else "(?:.*/)?"
        else:
            made += _glob(part, "name") + ("" if last else "/")
    found = _compiled(rf"(?s)\A{made}{'/.*' if below else '(?:/.*)?'}\z", span, fold)
    return lambda text: found(unicodedata.normalize("NFC", text))


def _glob(pattern: str, star: str) -> str:
    """A pattern with `*`, `?` and `[…]` as a regular expression; `star` says whether they cross slashes."""
    any_one = "." if star == "any" else "[^/]"
    made, place = "", 0
    while place < len(pattern):
        char = pattern[place]
        place += 1
        if char == "*":
            made += f"{any_one}*"
        elif char == "?":
            made += any_one
        elif char == "[" and (end := pattern.find("]", place + 1 + (pattern[place : place + 1] in "!^"))) > 0:
            inside = pattern[place:end].replace("\\", "\\\\").replace("[", "\\[")
            made += f"[^{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]"
            place = end + 1
        else:
            made += _quoted(char)
    return made


def _quoted(char: str) -> str:
    return char if char.isalnum() or char == "_" or ord(char) > 127 else f"\\x{{{ord(char):x}}}"
