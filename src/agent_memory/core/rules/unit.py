"""What a check looks at: one part of an action. A line for a shell has as many parts as it runs commands; every other
action is one."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent_memory.core.rules.answer import Answer
from agent_memory.core.rules.clone import CloneState
from agent_memory.core.rules.text import is_expression, matcher
from agent_memory.models.rules import Action, Subject

if TYPE_CHECKING:
    from agent_memory.core.rules.commands import Command
    from agent_memory.core.rules.shell import Word

HIDDEN = "a part of it is known only when it runs: write it out"
UNREAD = "its content is not known"


@dataclass(frozen=True)
class Unit:
    """`name` is what patterns are about, `text` what `contains` looks into, None where it is not known (`blank` says
    so). `unsure` says why it may be another one, `hidden` that a part of it is known only when it runs."""

    subject: str
    name: str | None
    text: str | None
    shown: str
    branch: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    command: Command | None = None
    fold: bool = False
    blank: str = UNREAD
    file: Word | None = None
    """A path of which a part is known only when it runs."""

    @property
    def unsure(self) -> str | None:
        if self.file is not None:
            return HIDDEN
        return None if self.command is None else self.command.unsure

    @property
    def hidden(self) -> bool:
        return self.command is not None and self.command.hidden

    def meets(self, span: str) -> Answer:
        """Whether a pattern, or an exception, is about this part."""
        if self.command is not None:
            return self.command.meets(span)
        if self.file is not None:
            from agent_memory.core.rules.shell.globs import may_be_path

            may = is_expression(span) or may_be_path(span, self.file)
            return Answer.MAYBE if may else Answer.NO
        matches = matcher(span, self.subject, self.fold and self.subject == Subject.PATH)
        return Answer.YES if self.name is not None and matches(self.name) else Answer.NO

    def excepted(self, span: str) -> Answer:
        """Whether an exception is about this part."""
        return self.meets(span) if self.command is None else self.command.excepted(span)

    def has(self, span: str) -> Answer:
        """Whether a command has an option, or a word, wherever it stands."""
        return Answer.NO if self.command is None else self.command.has(span)


def units(action: Action, clone: CloneState, fold: bool) -> tuple[list[Unit], str | None]:
    """The parts of an action, and why it could not be understood for certain, if so."""
    if action.subject == Subject.COMMAND:
        from agent_memory.core.rules.commands import understood  # a parser, which nothing else needs

        read = understood(action, clone)
        return [
            Unit(Subject.COMMAND, None, one.line, one.shown, action.branch, command=one) for one in read.commands
        ], read.doubt
    return [_single(action, fold)], None


def _single(action: Action, fold: bool) -> Unit:
    if action.commit_message is not None:
        message = action.commit_message
        return Unit(Subject.COMMIT, message, message, message.strip().split("\n")[0], action.branch)
    if action.path is not None:
        return Unit(Subject.PATH, action.path, action.text, action.path, action.branch, fold=fold)
    if action.tool is not None:
        told = json.dumps(action.arguments, ensure_ascii=False, sort_keys=True)
        shown = f"{action.tool} {told}" if action.arguments else action.tool
        return Unit(Subject.TOOL, action.tool, told, shown, action.branch, action.arguments)
    return Unit(Subject.TEXT, action.label, action.text, action.label or (action.text or "").strip().split("\n")[0])
