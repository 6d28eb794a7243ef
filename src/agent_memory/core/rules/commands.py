"""The commands of an action, and how a rule meets them: argv patterns, or regular expressions over what is written."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from agent_memory.core.rules.answer import Answer
from agent_memory.core.rules.clone import CloneState
from agent_memory.core.rules.effects import effect, is_effect
from agent_memory.core.rules.shell import (
    Argv,
    CommandPattern,
    Word,
    having,
    matches,
    pattern,
    understand,
    understand_argv,
)
from agent_memory.core.rules.text import expression, is_expression
from agent_memory.core.rules.unit import HIDDEN
from agent_memory.models.rules import Action

UNREAD_ALIASES = "the settings of git cannot be read, and so neither can its aliases"
QUOTES = ", or put quotes around a value"
PULLS = "a pull merges unless it is told otherwise: say --rebase or --ff-only, or set pull.rebase"
UNDO = "git merge --abort"
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
    def shown(self) -> str:
        return self.text if self.argv.typed is None else f"{self.argv.typed}, which is {self.text}"

    @property
    def merges(self) -> bool:
        """Whether it is a merge that was typed as something else: a pull, or the commit of a merge."""
        return self.argv.typed is not None and self.argv.words[1].text == "merge"

    @property
    def undo(self) -> str | None:
        """What takes back what was begun, if so."""
        return UNDO if [word.text for word in self.argv.words[:3]] == ["git", "merge", "--continue"] else None

    @property
    def hidden(self) -> bool:
        """Whether a part of it is not known yet: then nobody knows what its text will hold."""
        return any(word.text is None for word in self.argv.words)

    @property
    def unsure(self) -> str | None:
        if self.hidden:
            return HIDDEN + QUOTES if any(word.spreads for word in self.argv.words) else HIDDEN
        return None if self.argv.certain else PULLS if self.merges else UNSURE

    def excepted(self, span: str) -> Answer:
        """As `meets`, for an exception: of a merge that was typed as a pull it may name that."""
        typed = self.argv.typed
        own = self.meets(span)
        return own if typed is None or not self.merges else max(own, Command(typed, self.line).meets(span))

    def meets(self, span: str) -> Answer:
        if is_effect(span):
            return self._does(span)
        if not is_expression(span):
            return matches(_pattern(span), self.argv)
        find = expression(span)
        if find(self.text) or find(self.line):
            return Answer.YES
        return Answer.MAYBE if self.hidden else Answer.NO

    def _does(self, span: str) -> Answer:
        what = effect(span)
        about = max(self.meets(one) for one in what.patterns)
        excepted = max((self.meets(one) for one in what.unless), default=Answer.NO)
        return Answer.NO if excepted is Answer.YES else min(about, Answer.MAYBE) if excepted else about

    def has(self, span: str) -> Answer:
        """Whether it has an option, or a word, wherever that stands."""
        return self.meets(span) if is_expression(span) else matches(_having(span), self.argv)


@dataclass(frozen=True)
class ActionReading:
    """What an action could run, why there may be more, if so, and the files that it is seen to write."""

    commands: tuple[Command, ...]
    doubt: str | None
    writes: tuple[Word, ...]


def understood(action: Action, clone: CloneState) -> ActionReading:
    """A single word with spaces is rather a line that somebody put in quotes than the name of a program: it is both.
    Where nobody knows git's settings, anything may be an alias."""
    return _understood(action.command, action.argv, clone)


@lru_cache(maxsize=4)  # what is asked of the commands and then of the files of one action
def _understood(command: str | None, argv: tuple[str, ...] | None, clone: CloneState) -> ActionReading:
    line = command or " ".join(argv or ())
    readings = [] if argv is None else [understand_argv(argv, clone)]
    if argv is None or (len(argv) == 1 and len(line.split()) > 1):
        readings.append(understand(line, clone))
    doubt = next((one.doubt for one in readings if one.doubt), UNREAD_ALIASES if clone.settings is None else None)
    return ActionReading(
        tuple(Command(argv, line) for one in readings for argv in one.commands),
        doubt,
        tuple(dict.fromkeys(file for one in readings for file in one.writes)),
    )


def refused(span: str, key: str) -> str | None:
    """Why a span cannot be a pattern of a command under this key (`command`, `unless`, `with`); None if it can."""
    if is_effect(span) and key == "with":
        return f"`{span}` is what a command does: write it under `command` or `unless`"
    try:
        effect(span) if is_effect(span) else expression(span) if is_expression(span) else _having(
            span
        ) if key == "with" else _pattern(span)
    except ValueError as error:
        return str(error)
    return None


@lru_cache(maxsize=4096)
def _pattern(span: str) -> CommandPattern:
    return pattern(span)


@lru_cache(maxsize=4096)
def _having(span: str) -> CommandPattern:
    return having(span)
