"""Conventional Commits 1.0.0: what a commit message must look like, and what is wrong with one that does not.

Messages that git writes by itself are left alone: a merge (whether one may merge is another rule), and a revert that
names the commit. `fixup!`, `squash!` and `amend!` are judged by what they will be folded into.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEADER = re.compile(r"(?P<type>[^\s():!]+)(?P<scope>\([^()\r\n]*\))?(?P<bang>!)?(?P<colon>:)?(?P<rest>.*)", re.S)
_FOOTER = re.compile(r"(?P<token>BREAKING CHANGE|[A-Za-z0-9][A-Za-z0-9-]*)(?P<mark>: | #)(?P<value>.*)", re.S)
_BREAKING = re.compile(r"breaking[ -]change\b", re.I)
_FOLDED = re.compile(r"(?:(?:fixup|squash|amend)! )+")
_MERGE = re.compile(
    r"Merge (?:(?:remote-tracking )?branch(?:es)?|tags?|commits?) '|Merge pull request #\d+ |Merge [0-9a-f]{7,} into "
)
_REVERT = re.compile(r'(?:Revert|Reapply) ".*"\Z', re.S)
_REVERTED = re.compile(r"^This reverts commit [0-9a-f]{7,}", re.M)
_SCISSORS = "------------------------ >8 ------------------------"
EXAMPLE = "feat(parser): read empty files"


@dataclass(frozen=True)
class Footer:
    token: str
    value: str


@dataclass(frozen=True)
class CommitMessage:
    """A message as the specification names its parts."""

    type: str
    scope: str | None
    description: str
    body: str | None
    footers: tuple[Footer, ...]
    breaking: bool


def wrong(message: str) -> str | None:
    """What is wrong with a message, in a sentence that names the part and the fix; None if nothing is."""
    if _by_git(message):
        return None
    try:
        parse(message)
    except ValueError as error:
        return str(error)
    return None


def parse(message: str) -> CommitMessage:
    """A message in its parts; ValueError says what is wrong with it."""
    lines = message.replace("\r\n", "\n").strip("\n").split("\n")
    kind, scope, bang, description = _header(_FOLDED.sub("", lines[0], count=1))
    if len(lines) > 1 and lines[1].strip():
        raise ValueError("the second line must be empty: a body begins one blank line after the description")
    body, footers = _sections(lines[2:])
    named = any(footer.token in ("BREAKING CHANGE", "BREAKING-CHANGE") for footer in footers)
    return CommitMessage(kind, scope, description, body or None, tuple(footers), bang or named)


def cleaned(message: str, comment: str = "#", *, comments: bool = True) -> str:
    """A message file as git will store it: without what is below the scissors, without blank lines at its ends, and
    without comments, if git takes `comments` for such."""
    kept: list[str] = []
    for line in message.replace("\r\n", "\n").split("\n"):
        if line.startswith(comment):
            if line[len(comment) :].strip() == _SCISSORS:
                break
            if comments:
                continue
        kept.append(line.rstrip())
    return "\n".join(kept).strip("\n")


def _by_git(message: str) -> bool:
    first, _, rest = message.strip("\n").partition("\n")
    return bool(_MERGE.match(first) or (_REVERT.match(first) and _REVERTED.search(rest)))


def _header(line: str) -> tuple[str, str | None, bool, str]:
    if not line.strip():
        raise ValueError(f"the message is empty: write for example `{EXAMPLE}`")
    found = _HEADER.match(line)
    if found is None or not found["colon"]:
        raise ValueError(f"`{_short(line)}` has no type: begin with one and a colon, for example `{EXAMPLE}`")
    kind, scope, rest = found["type"], found["scope"], found["rest"]
    if not kind[0].isalpha():
        raise ValueError(f"the type `{_short(kind)}` is not a noun: write `feat`, `fix`, `docs` or the like")
    if scope is not None and (not scope[1:-1].strip() or scope[1:-1] != scope[1:-1].strip()):
        raise ValueError(f"the scope `{_short(scope)}` must be a noun in brackets: `{kind}(parser): …`")
    if not rest.startswith(" "):
        raise ValueError(f"there is no space after the colon of `{_short(line)}`")
    if not rest.strip():
        raise ValueError(f"there is no description after `{kind}:`")
    if rest.startswith("  "):
        raise ValueError(f"there is more than one space after the colon of `{_short(line)}`")
    return kind.lower(), scope[1:-1] if scope else None, bool(found["bang"]), rest.strip()


def _sections(lines: list[str]) -> tuple[str, list[Footer]]:
    """Body and footers. Footers begin after a blank line, and a value goes on until the next one."""
    body: list[str] = []
    footers: list[Footer] = []
    for place, line in enumerate(lines):
        fresh = place == 0 or not lines[place - 1].strip() or bool(footers)
        found = _FOOTER.match(line) if fresh else None
        if _BREAKING.match(line):
            _check_breaking(line, fresh)
        if found is not None:
            footers.append(Footer(found["token"], found["value"]))
        elif footers:
            footers[-1] = Footer(footers[-1].token, f"{footers[-1].value}\n{line}".rstrip())
        else:
            body.append(line)
    return "\n".join(body).strip("\n"), footers


def _check_breaking(line: str, fresh: bool) -> None:
    """A line that begins with these words is a footer where it looks like one, and then it must be a good one."""
    word, rest = line[: len("BREAKING CHANGE")], line[len("BREAKING CHANGE") :]
    if rest.strip() and not rest.lstrip().startswith((":", "#")):
        return  # a sentence
    if word != word.upper():
        if fresh:
            raise ValueError(f"`{word}` must be in capitals: `BREAKING CHANGE: …`")
        return
    if not rest.startswith(": ") or not rest[2:].strip():
        raise ValueError(f"the footer `{_short(line)}` needs a colon, a space and what breaks: `BREAKING CHANGE: …`")
    if not fresh:
        raise ValueError(f"the footer `{_short(line)}` needs a blank line before it")


def _short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
