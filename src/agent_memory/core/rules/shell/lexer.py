"""Words of a simple command, as bash takes them apart: quotes, escapes, expansions, redirections.

The grammar says where commands begin and end and where substitutions end; what stands inside one command is read here,
since the grammar is loose about it (it takes `merge` in `git > out merge` for a second file). Where the two disagree
nobody knows what runs, and that is `Unclear`.

The source is UTF-8 seen as Latin-1: one character is one byte, so offsets are those of the tree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from agent_memory.core.rules.shell.braces import WordPart
from agent_memory.core.rules.shell.words import Unclear

_PLAIN = re.compile(r"[^\\'\"$`\s;&|()<>]+")
_PLAIN_QUOTED = re.compile(r"[^\\\"$`]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIMPLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_REDIRECT = re.compile(r"(?:[0-9]+|\{[A-Za-z_]\w*\})?(?:&>>|&>|<<<|<>|<&|>&|>>|>\||<(?![<(])|>(?!\())")
_ASSIGN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\+?=")
_FD = re.compile(r"\d*-?")
_BLANK = re.compile(r"(?:[ \t]|\\\n)*")
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c(.)|(.))", re.S)
_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(frozen=True)
class Constant:
    """A variable that has one known value from an offset on."""

    value: str
    since: int


@dataclass
class Lexed:
    words: list[list[WordPart]] = field(default_factory=list)
    assigned: list[list[WordPart]] = field(default_factory=list)
    fed: list[WordPart] | None = None
    """What a here-string gives to its standard input."""
    reads: bool = False
    """Its standard input is a file."""
    written: list[list[WordPart]] = field(default_factory=list)
    """Files that its output goes to."""


@dataclass(frozen=True)
class ShellSource:
    """A text with what the tree says of it: where what begins at an offset ends, and which variables are constant."""

    text: str
    ends: Mapping[int, int]
    constants: Mapping[str, Constant]
    bash: bool = True
    """Not: another shell reads it, and what only bash takes for quotes or operators may be text there."""

    def lex(self, start: int, end: int, into: Lexed, leading: bool = True) -> None:
        """The words between two offsets, added to `into`."""
        at = start
        while at < end:
            char = self.text[at]
            if char in " \t":
                at += 1
            elif self.text.startswith("\\\n", at):
                at += 2
            elif found := _REDIRECT.match(self.text, at, end):
                at = self._redirect(found, end, into)
            elif char in ";&|()\n#" and not self._process(at):
                raise Unclear(f"the shell grammar is unclear near {self.text[at : at + 20]!r}")
            else:
                begin = at
                pieces, at = self.word(at, end)
                if at == begin:
                    raise Unclear(f"the shell grammar is unclear near {self.text[at : at + 20]!r}")
                if at == end and self.text[at : at + 1] in ("<", ">") and self.text[begin:at].isdecimal():
                    raise Unclear("a number before a redirection")
                assigns = leading and not into.words and bool(pieces) and assigns_to(pieces) is not None
                (into.assigned if assigns else into.words).append(pieces)

    def ended(self, at: int) -> None:
        """A simple command ends where an operator, a comment or the line does, or the grammar is wrong."""
        following = _BLANK.match(self.text, at)
        at = following.end() if following else at
        if self.text[at : at + 1] not in ("", *"\n;&|)<>`#"):
            raise Unclear(f"the shell grammar is unclear near {self.text[at : at + 20]!r}")

    def _redirect(self, found: re.Match[str], end: int, into: Lexed) -> int:
        at = found.end()
        while at < end and (self.text[at] in " \t" or self.text.startswith("\\\n", at)):
            at += 2 if self.text[at] == "\\" else 1
        if at >= end:
            raise Unclear("a redirection without a file")
        target, at = self.word(at, end)
        operator = found[0].lstrip("0123456789")
        if ">" in operator and not (
            operator.endswith("&") and _FD.fullmatch("".join(one.text or "" for one in target))
        ):
            into.written.append(target)
        if not self.bash and operator.startswith(("&", "{")):
            raise Unclear(f"{operator} means something else in shells other than bash")
        fd = found[0][: -len(operator)]
        if fd in ("", "0") and operator == "<<<":
            into.fed = target
        elif fd in ("", "0") and operator.startswith("<"):
            into.reads, into.fed = True, None
            if any(piece.text is None for piece in target):
                into.fed = [WordPart(None, True)]
        return at

    def _process(self, at: int) -> bool:
        return self.text[at : at + 2] in ("<(", ">(") and at in self.ends

    def word(self, start: int, end: int) -> tuple[list[WordPart], int]:
        """The word at an offset, and where it ends."""
        pieces: list[WordPart] = []
        at = start
        while at < end:
            char = self.text[at]
            if char in "<>" and self._process(at):
                pieces += [WordPart("/dev/fd/", True), WordPart(None, True)]
                at = self.ends[at]
            elif char == "(" and pieces and assigns_to(pieces) == "" and at in self.ends:
                pieces.append(WordPart(None, True))
                at = self.ends[at]
            elif char in " \t\n;&|()<>":
                break
            elif char == "\\":
                if at + 1 >= end:
                    raise Unclear("it ends in a backslash")
                if self.text[at + 1] != "\n":
                    pieces.append(WordPart(self.text[at + 1], True))
                at += 2
            elif char == "'":
                close = self._close("'", at + 1, end)
                pieces.append(WordPart(self.text[at + 1 : close], True))
                at = close + 1
            elif char == '"':
                at = self._quoted(at + 1, end, pieces)
            elif char in "$`":
                at = self._dollar(at, end, pieces, False)
            elif found := _PLAIN.match(self.text, at, end):
                pieces.append(WordPart(found[0], False))
                at = found.end()
            else:
                raise Unclear(f"the character {char!r} outside quotes")
        return pieces, at

    def _close(self, char: str, at: int, end: int) -> int:
        close = self.text.find(char, at, end)
        if close < 0:
            raise Unclear(f"a {char} that does not end")
        return close

    def _quoted(self, at: int, end: int, pieces: list[WordPart]) -> int:
        pieces.append(WordPart("", True))
        while at < end:
            char = self.text[at]
            if char == '"':
                return at + 1
            if char == "\\" and at + 1 < end:
                following = self.text[at + 1]
                if following != "\n":
                    pieces.append(WordPart(following if following in '$`"\\' else "\\" + following, True))
                at += 2
            elif char in "$`":
                at = self._dollar(at, end, pieces, True)
            elif found := _PLAIN_QUOTED.match(self.text, at, end):
                pieces.append(WordPart(found[0], True))
                at = found.end()
            else:
                break
        raise Unclear('a " that does not end')

    def heredoc(self, start: int, end: int) -> list[WordPart]:
        """The body of a here-document whose delimiter is not quoted."""
        pieces: list[WordPart] = []
        at = start
        while at < end:
            char = self.text[at]
            if char == "\\" and at + 1 < end and self.text[at + 1] in "$`\\\n":
                if self.text[at + 1] != "\n":
                    pieces.append(WordPart(self.text[at + 1], True))
                at += 2
            elif char == "`":
                at = self.text.index("`", at + 1) + 1 if "`" in self.text[at + 1 : end] else end
                pieces.append(WordPart(None, True))
            elif char == "$":
                at = self._dollar(at, end, pieces, True)
            else:
                pieces.append(WordPart(char, True))
                at += 1
        return pieces

    def _dollar(self, at: int, end: int, pieces: list[WordPart], quoted: bool) -> int:
        following = self.text[at + 1 : at + 2] if at + 1 < end else ""
        if self.text[at] == "`" or following in ("(", "{", "["):
            until = self.ends.get(at)
            if until is None or until > end:
                raise Unclear(f"a substitution near {self.text[at : at + 20]!r}")
            simple = _SIMPLE.fullmatch(self.text, at, until)
            number = self.text.startswith("$((", at) or following == "["
            pieces.append(self._variable(simple[1], at, quoted) if simple else WordPart(None, quoted or number))
            return until
        if following == "'" and not quoted:
            return self._ansi(at + 2, end, pieces)
        if following == '"' and not quoted:
            if not self.bash:
                pieces.append(WordPart(None, True))  # elsewhere it is a dollar before quotes
            return self._quoted(at + 2, end, pieces)
        if found := _NAME.match(self.text, at + 1, end):
            pieces.append(self._variable(found[0], at, quoted))
            return found.end()
        if following and following in "@*0123456789#?$!-_":
            pieces.append(WordPart(None, quoted and following != "@", spreads=following == "@"))
            return at + 2
        pieces.append(WordPart("$", quoted))
        return at + 1

    def _variable(self, name: str, at: int, quoted: bool) -> WordPart:
        constant = self.constants.get(name)
        if constant is None or at < constant.since:
            return WordPart(None, quoted)
        return WordPart(constant.value, quoted, split=not quoted)

    def _ansi(self, at: int, end: int, pieces: list[WordPart]) -> int:
        close = at
        while close < end and self.text[close] != "'":
            close += 2 if self.text[close] == "\\" else 1
        if close >= end:
            raise Unclear("a $' that does not end")
        if not self.bash and "'" in (read := self.text[at:close]):
            raise Unclear(f"$'{read}' ends elsewhere in shells other than bash")
        pieces.append(WordPart(_ESCAPE.sub(_escaped, self.text[at:close]) if self.bash else None, True))
        return close + 1


def _escaped(found: re.Match[str]) -> str:
    octal, byte, short, long, control, letter = found.groups()
    if control is not None:
        return chr(ord(control.upper()) & 0x1F)
    if letter is not None:
        return _LETTERS.get(letter, letter if letter in "\\'\"?" else "\\" + letter)
    code = int(octal, 8) & 0xFF if octal else int(byte or short or long, 16)
    if code == 0 or code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise Unclear("a character that no word can hold")
    return chr(code) if octal or byte else chr(code).encode().decode("latin-1")


def assigns_to(pieces: list[WordPart]) -> str | None:
    """What follows the `=` in the first piece of an assignment; None: it is no assignment."""
    first = pieces[0]
    if first.quoted or first.split or first.text is None:
        return None
    found = _ASSIGN.match(first.text)
    return first.text[found.end() :] if found else None
