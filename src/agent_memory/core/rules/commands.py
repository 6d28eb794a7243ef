"""The commands of an action, and how a rule meets them: argv patterns, or regular expressions over what is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from agent_memory.core.rules.answer import Answer
from agent_memory.core.rules.shell import Argv, Pattern, having, matches, pattern, understand, understand_argv
from agent_memory.core.rules.text import expression, is_expression
from agent_memory.models.rules import Action

UNREAD_ALIASES = "the settings of git cannot be read, and so neither can its aliases"
HIDDEN = "a part of it is known only when it runs: write it out"
QUOTES = ", or put quotes around a value"
UNSURE = "what is written can be read so that it is run as a command"


@dataclass(frozen=True)
class Command:
    """One command of a line. A regular expression sees the command by itself and the line as it was written."""

    argv: Argv
    line: str

    @property
    def text(self) -> str:
        return str(self.argv)

    @property
    def hidden(self) -> bool:
        """Whether a part of it is not known yet: then nobody knows what its text will hold."""
        return any(word.text is None for word in self.argv.words)

    @property
    def unsure(self) -> str | None:
        if self.hidden:
            return HIDDEN + QUOTES if any(word.spreads for word in self.argv.words) else HIDDEN
        return None if self.argv.certain else UNSURE

    def meets(self, span: str) -> Answer:
        if not is_expression(span):
            return matches(_pattern(span), self.argv)
        find = expression(span)
        if find(self.text) or find(self.line):
            return Answer.YES
        return Answer.MAYBE if self.hidden else Answer.NO

    def has(self, span: str) -> Answer:
        """Whether it has an option, or a word, wherever that stands."""
        return self.meets(span) if is_expression(span) else matches(_having(span), self.argv)


def understood(action: Action, aliases: Mapping[str, str] | None) -> tuple[list[Command], str | None]:
    """What an action could run, and why there may be more, if so: also where nobody knows git's aliases (None).
    A single word with spaces is rather a line that somebody put in quotes than the name of a program: it is both."""
    line = action.command or " ".join(action.argv or ())
    readings = [] if action.argv is None else [understand_argv(action.argv, aliases)]
    if action.argv is None or (len(action.argv) == 1 and len(line.split()) > 1):
        readings.append(understand(line, aliases))
    doubt = next((one.doubt for one in readings if one.doubt), UNREAD_ALIASES if aliases is None else None)
    return [Command(argv, line) for one in readings for argv in one.commands], doubt


def refused(span: str, key: str) -> str | None:
    """Why a span cannot be a pattern of a command under this key (`command`, `unless`, `with`); None if it can."""
    try:
        expression(span) if is_expression(span) else _having(span) if key == "with" else _pattern(span)
    except ValueError as error:
        return str(error)
    return None


@lru_cache(maxsize=4096)
def _pattern(span: str) -> Pattern:
    return pattern(span)


@lru_cache(maxsize=4096)
def _having(span: str) -> Pattern:
    return having(span)
