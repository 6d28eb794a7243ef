"""Procedures that people write and agents obey: pages of Markdown, their rules, skills and examples, the actions that
are checked against them and the verdict. P1 to P5. What a page looks like is in `docs/guides/procedures.md`."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from agent_memory.models.model import Model, Moment, Name, Text, Unit

Into = Literal["user", "repository"]
"""Where a rule is written that was approved: to the page of one's own, or to that of the repository."""
LONGEST_ACTION = 1_000_000  # characters of a command, a message or a text that is checked


class Severity(StrEnum):
    """What happens to an action that meets a rule. `require` denies what lacks the required; `advise` is for the
    prompt alone."""

    DENY = "deny"
    WARN = "warn"
    REQUIRE = "require"
    ADVISE = "advise"


class Subject(StrEnum):
    """What a check looks at."""

    COMMAND = "command"
    COMMIT = "commit message"
    PATH = "path"
    TOOL = "tool"
    TEXT = "text"


class Layer(StrEnum):
    """Whose page it is; the later ones are nearer, and win."""

    USER = "user"
    CLONE = "clone"
    REPOSITORY = "repository"


class Version(Model):
    """Which state of the pages an answer is about. Outside git there is no commit, and `why` says so."""

    model_config = ConfigDict(frozen=True)

    commit: str | None = None
    ref: str | None = None
    branch: str | None = None
    dirty: bool = False
    why: str | None = None


class Place(Model):
    """Where something stands: `.memory/procedural.md:12` of a commit. `dirty`: the page differs from that commit."""

    model_config = ConfigDict(frozen=True)

    path: str
    line: int = 1
    column: int = 1
    layer: Layer = Layer.REPOSITORY
    commit: str | None = None
    dirty: bool = False

    def __str__(self) -> str:
        at = f" ({self.commit[:10]}{', changed since' if self.dirty else ''})" if self.commit else ""
        return f"{self.path}:{self.line}{at}"


class Argument(Model):
    """A condition on one argument of a tool call: `name` may lead into objects with dots."""

    model_config = ConfigDict(frozen=True)

    name: Name
    pattern: Text


class Check(Model):
    """The part of a rule that a machine can check.

    `patterns` say what it is about, any of them; an empty tuple is every action of this subject. All conditions
    (`contains`, `every_line`, `having`, `where`, `branches`) must hold as well; within one, any pattern will do.
    `unless` are exceptions, in the form of the patterns.
    """

    model_config = ConfigDict(frozen=True)

    subject: Subject
    patterns: tuple[Text, ...] = ()
    contains: tuple[Text, ...] = ()
    every_line: tuple[Text, ...] = ()
    having: tuple[Text, ...] = ()
    where: tuple[Argument, ...] = ()
    branches: tuple[Text, ...] = ()
    unless: tuple[Text, ...] = ()


class Rule(Model):
    """One item of a section "Rules". `git_config` is what `rules apply` sets in a clone. `broken` says why its check
    cannot be used: such a rule denies what it is about, since nobody knows what it would have allowed."""

    model_config = ConfigDict(frozen=True)

    id: Name
    text: Text
    severity: Severity = Severity.ADVISE
    check: Check | None = None
    broken: Text | None = None
    because: Text | None = None
    fix: Text | None = None
    git_config: dict[str, str] = Field(default_factory=dict)
    at: Place


class Entry(Model):
    """A skill, an example or a piece of guidance: Markdown that a prompt may show whole."""

    model_config = ConfigDict(frozen=True)

    id: Name
    section: Literal["skill", "example", "guidance"]
    title: Text
    text: Text
    at: Place


class Finding(Model):
    """What a linter says of a page. A page with an `error` has a rule that cannot be trusted."""

    model_config = ConfigDict(frozen=True)

    path: str
    line: int
    column: int = 1
    code: str
    level: Literal["error", "warning"]
    message: str
    fixable: bool = False

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column} {self.code} {self.message}"


class Page(Model):
    """One file of procedures, understood."""

    model_config = ConfigDict(frozen=True)

    path: str
    layer: Layer = Layer.REPOSITORY
    digest: str
    rules: tuple[Rule, ...] = ()
    entries: tuple[Entry, ...] = ()
    findings: tuple[Finding, ...] = ()


class Quoted(Model):
    """What a page says of a repository that is not trusted: data from a named source, and no rule."""

    model_config = ConfigDict(frozen=True)

    repository: str
    page: str
    section: str
    id: Name
    text: Text


class Rulebook(Model):
    """Everything that holds in a folder: of rules with one id, the nearest. In a repository that is not trusted these
    are the rules of one's own alone, and `quoted` is what its pages say."""

    model_config = ConfigDict(frozen=True)

    rules: list[Rule]
    entries: list[Entry]
    pages: list[str]
    findings: list[Finding] = Field(default_factory=list)
    version: Version
    repository: str | None = None
    is_trusted: bool = True
    quoted: list[Quoted] = Field(default_factory=list)


class Action(Model):
    """What somebody is about to do: exactly one of `command` (a line for a shell), `argv` (words, no shell),
    `commit_message`, `path`, `tool` and `text`. A string is a command.

    `path` may bring the `text` that would be written there (otherwise the file is read), `tool` its `arguments`, and
    `text` a `label` that says what sort of text it is. `branch` is the current one, where it matters.
    """

    model_config = ConfigDict(frozen=True)

    command: Text | None = Field(default=None, max_length=LONGEST_ACTION)
    argv: tuple[Text, ...] | None = None
    commit_message: Text | None = Field(default=None, max_length=LONGEST_ACTION)
    path: Text | None = None
    tool: Text | None = None
    arguments: dict[str, Any] = Field(default_factory=dict)
    text: Text | None = None
    label: Text | None = None
    branch: Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_text(cls, given: Any) -> Any:
        return {"command": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _one(self) -> Self:
        said = [
            name for name in ("command", "argv", "commit_message", "path", "tool") if getattr(self, name) is not None
        ]
        if len(said) > 1 or (not said and self.text is None):
            raise ValueError("name exactly one of command, argv, commit_message, path, tool and text")
        if self.argv == ():
            raise ValueError("argv: is empty: name the program")
        return self

    @property
    def subject(self) -> Subject:
        if self.command is not None or self.argv is not None:
            return Subject.COMMAND
        if self.commit_message is not None:
            return Subject.COMMIT
        if self.path is not None:
            return Subject.PATH
        return Subject.TEXT if self.tool is None else Subject.TOOL


class Violation(Model):
    """A rule that an action breaks. `matched` is the part of the action that does, `why` what is wrong with it, where
    the rule alone does not say; not `certain`: it cannot be told before it runs, and could."""

    model_config = ConfigDict(frozen=True)

    rule: str
    severity: Severity
    text: str
    matched: str
    why: str | None = None
    certain: bool = True
    because: str | None = None
    fix: str | None = None
    at: Place


class Verdict(Model):
    """Whether an action may be done, and the rules that say so."""

    model_config = ConfigDict(frozen=True)

    allowed: bool
    violations: list[Violation] = Field(default_factory=list)
    warnings: list[Violation] = Field(default_factory=list)
    doubt: str | None = None
    """Why the action could not be understood for certain, where it could not."""
    checked: int
    """How many rules were asked."""
    findings: list[Finding] = Field(default_factory=list)
    """What is wrong with the pages: rules that could not be asked, and rules that took the place of stricter ones."""
    version: Version


class RuleRevision(Model):
    """A commit that changed rules, and the ids of those. `cut`: the commit before it is not in this clone, so that
    nobody here knows which they are."""

    model_config = ConfigDict(frozen=True)

    commit: str
    author: str
    at: Moment
    subject: str
    added: list[str] = Field(default_factory=list)
    removed: list[str] = Field(default_factory=list)
    changed: list[str] = Field(default_factory=list)
    cut: bool = False


class RuleChange(Model):
    """A rule that differs between two states of the pages."""

    model_config = ConfigDict(frozen=True)

    change: Literal["added", "removed", "changed"]
    rule: str
    before: Rule | None = None
    after: Rule | None = None
    fields: list[str] = Field(default_factory=list)


class LeftOutProcedure(Model):
    """What is not in a prompt. `budget`: no room; `relevance`: it does not fit the task."""

    model_config = ConfigDict(frozen=True)

    section: str
    id: str
    reason: Literal["budget", "relevance"]
    tokens: int


class Prefix(Model):
    """The beginning of a prompt. The same `digest` is the same text, so that a prompt cache can keep it. `untrusted`
    names the repository whose pages are only quoted, since nobody here trusts it; `quoted` are their ids."""

    model_config = ConfigDict(frozen=True)

    text: str
    tokens: int
    max_tokens: int
    rules: list[str]
    entries: list[str]
    left_out: list[LeftOutProcedure] = Field(default_factory=list)
    digest: str
    version: Version
    quoted: list[str] = Field(default_factory=list)
    untrusted: str | None = None


class Proposal(Model):
    """A rule that somebody proposes. It holds nowhere until it is approved; `rule` is Markdown, as on a page, and
    `page` where it was written then; `diff` is what it would change there."""

    model_config = ConfigDict(frozen=True)

    id: Name
    name: Name
    rule: Text
    confidence: Unit
    reason: Text | None = None
    at: Moment
    page: str | None = None
    diff: str | None = None


class AppliedRules(Model):
    """What `rules apply` did to a clone, and what it left alone and why."""

    model_config = ConfigDict(frozen=True)

    folder: str
    rules: list[str]
    config: dict[str, str] = Field(default_factory=dict)
    hooks: list[str] = Field(default_factory=list)
    skipped: dict[str, str] = Field(default_factory=dict)


class TrustedRepository(Model):
    """A repository whose pages hold: by its folder and by where it was cloned from (empty: from nowhere), and only
    while both are so."""

    model_config = ConfigDict(frozen=True)

    path: str
    origin: str
    at: Moment


class FollowedPages(Model):
    """What `rules follow` did: how many records it wrote, and how many it archived, since no page says so any more."""

    model_config = ConfigDict(frozen=True)

    repository: str
    written: int
    archived: int
    unchanged: int
