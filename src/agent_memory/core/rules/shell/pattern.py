"""Patterns for commands: `git merge`, `rm -rf`, `kubectl delete --context=prod*`.

A pattern is made once and asked often. Words without a dash are the command's first ones, in order; options may stand
anywhere. A pattern of `having` has no program: its words, too, may stand anywhere.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from agent_memory.core.rules.answer import Answer
from agent_memory.core.rules.shell.globs import Glob
from agent_memory.core.rules.shell.programs import Grammar
from agent_memory.core.rules.shell.reading import BareWord, Option, grammar_of, tokens
from agent_memory.core.rules.shell.words import Argv, Word

LONGEST_PATTERN = 1_000
_NOT_ONE_COMMAND = re.compile(r"[|&;<>()$`\n]")
_OFF = {"false", "no", "off", "0", "never", "none"}


@dataclass(frozen=True)
class Need:
    """An option that must be there, perhaps with a value."""

    name: str
    value: Glob | None = None
    names: Glob | None = None
    """Where the name itself is a glob."""


@dataclass(frozen=True)
class PatternForm:
    """What a pattern asks of a command's words; `sure`: False where it is a second reading of the pattern."""

    needs: tuple[Need, ...]
    places: tuple[Glob, ...]
    sure: bool = True


@dataclass(frozen=True)
class CommandPattern:
    """`program` is None in a pattern that holds for any."""

    text: str
    program: Glob | None
    words: tuple[str, ...]
    forms: tuple[PatternForm, ...]


def pattern(text: str) -> CommandPattern:
    """The pattern that a text says; ValueError says what is wrong with it."""
    words = _split(text)
    name = re.sub(r"\.(exe|cmd|bat|com)$", "", re.split(r"[/\\]", words[0])[-1].lower())
    if not name or name.startswith("-"):
        raise ValueError(f"the command pattern {text!r} does not name a program: begin with one, or with *")
    glob = Glob(name)
    return CommandPattern(text, glob, tuple(words[1:]), _forms(tuple(words[1:]), glob.literal))


def having(text: str) -> CommandPattern:
    """The options or words that a text asks of any command: `--dry-run`, `-n prod`, `main`."""
    words = tuple(_split(text))
    return CommandPattern(text, None, words, ())


def matches(pattern: CommandPattern, argv: Argv) -> Answer:
    """Whether a command is what a pattern says."""
    if pattern.program is None:
        return min(_having(pattern, argv), Answer.YES if argv.certain else Answer.MAYBE)
    literal, name = pattern.program.literal, argv.program.text
    if literal is not None and name is not None:
        if literal != name:
            return Answer.NO
        answer = Answer.YES
    else:
        answer = pattern.program.answer(argv.program)
    if answer is Answer.NO:
        return answer
    if not argv.certain or name is None:
        answer = Answer.MAYBE
    read = _read(argv)
    forms = pattern.forms if literal is not None else _forms(pattern.words, name)
    return min(answer, max(_form(form, read) for form in forms))


def _split(text: str) -> list[str]:
    if len(text) > LONGEST_PATTERN or "\0" in text:
        raise ValueError(f"a command pattern has at most {LONGEST_PATTERN} characters and no NUL")
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", text)
    if found := _NOT_ONE_COMMAND.search(bare):
        raise ValueError(f"a command pattern is one command, without {found[0]!r}: write several patterns")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"the command pattern {text!r} cannot be read: {error}") from None
    if not words:
        raise ValueError("a command pattern is empty: name a program")
    return words


@lru_cache(maxsize=1024)
def _forms(words: tuple[str, ...], program: str | None) -> tuple[PatternForm, ...]:
    needs: list[Need] = []
    places: list[Glob] = []
    loose: list[Glob] = []
    for token in tokens([Word.of(word) for word in words], grammar_of(program), letters=True):
        if isinstance(token, Option):
            value = token.value.text if token.value is not None else None
            dashed = value is not None and value.startswith("-")
            names = Glob(token.name)
            needs.append(
                Need(
                    token.name,
                    Glob(value) if value is not None and not dashed else None,
                    names if names.literal is None else None,
                )
            )
        else:
            (places if token.sure else loose).append(Glob(token.word.text or ""))
    first = PatternForm(tuple(needs), tuple(places))
    if not loose:
        return (first,)
    # `foo -x bar`: -x may have a value in the pattern too, and then bar is a word of its own.
    ordered = tuple(Glob(word) for word in words if not word.startswith("-"))
    return first, PatternForm(tuple(Need(need.name, None, need.names) for need in needs), ordered, sure=False)


@dataclass(frozen=True)
class SortedTokens:
    """A command's tokens, sorted."""

    options: tuple[Option, ...]
    places: tuple[BareWord, ...]
    holes: tuple[Word, ...]
    negated: frozenset[str]
    grammar: Grammar


@lru_cache(maxsize=256)
def _read(argv: Argv) -> SortedTokens:
    grammar = grammar_of(argv.program.text)
    found = list(tokens(argv.words[1:], grammar))
    options = tuple(token for token in found if isinstance(token, Option))
    places = tuple(token for token in found if isinstance(token, BareWord))
    holes = tuple(word for word in _before_end(argv.words) if word.text is None and _may_be_options(word))
    negated = frozenset("--" + option.name[5:] for option in options if option.name.startswith("--no-"))
    return SortedTokens(options, places, holes, negated, grammar)


def _before_end(words: Sequence[Word]) -> Sequence[Word]:
    """What stands behind a `--` is no option."""
    return words[: next((at for at, word in enumerate(words) if word.text == "--"), len(words))]


def _may_be_options(word: Word) -> bool:
    """One value in quotes is taken for a file or a name, as globs are: who means options leaves the quotes away."""
    return (word.spreads and not word.files) or word.lead.startswith("-")


def _form(form: PatternForm, read: SortedTokens) -> Answer:
    answer = Answer.YES if form.sure else Answer.MAYBE
    for need in form.needs:
        answer = min(answer, _has(need, read))
        if answer is Answer.NO:
            return answer
    placed = _begins(form.places, read.places)
    if read.grammar.goals:  # a maybe: for an exception, what else is to be done must not go unseen
        placed = max(placed, min(_anywhere(form.places, read.places), Answer.MAYBE))
    return min(answer, placed)


def _has(need: Need, read: SortedTokens) -> Answer:
    """Whether an option is among those of a command."""
    best = Answer.NO
    for option in read.options:
        if option.name == need.name or (need.names is not None and need.names.answer(Word.of(option.name))):
            one = Answer.YES if need.value is None else Answer.NO
            if need.value is not None and option.value is not None:
                one = need.value.answer(option.value)
            off = need.value is None and option.value is not None and option.value.text in _OFF
            best = max(best, Answer.MAYBE if off else one)
        elif read.grammar.shortens and _shortened(option.name, need.name):
            fits = need.value is None or option.value is None or need.value.answer(option.value) > Answer.NO
            best = max(best, Answer.MAYBE if fits else Answer.NO)
    if best is Answer.YES and need.name in read.negated:
        return Answer.MAYBE
    return max(best, Answer.MAYBE) if any(_may_be(need.name, word) for word in read.holes) else best


def _shortened(given: str, name: str) -> bool:
    return len(given) > 2 and given.startswith("--") and name.startswith(given)


def _may_be(name: str, word: Word) -> bool:
    lead = word.lead
    return not lead or (
        lead.startswith("-") and "=" not in lead and (name.startswith(lead) or lead.startswith(name[:2]))
    )


def _begins(globs: Sequence[Glob], places: Sequence[BareWord]) -> Answer:
    """Whether the first places fit, in order. Every reading is followed at once: `at` are the numbers of globs met
    so far, -1 a reading that fails."""
    reached: dict[int, Answer] = {0: Answer.YES}
    for place in places:
        if all(at in (-1, len(globs)) for at in reached):
            break
        following: dict[int, Answer] = {}
        for at in reached:
            for to in _steps(at, place, globs):
                following[to] = Answer.YES
        reached = following
    if len(globs) not in reached:
        return Answer.NO
    return Answer.YES if len(reached) == 1 else Answer.MAYBE


def _steps(at: int, place: BareWord, globs: Sequence[Glob]) -> set[int]:
    if at in (-1, len(globs)):
        return {at}
    steps: set[int] = set() if place.sure and not place.word.spreads else {at}
    if place.word.spreads:
        while at < len(globs) and globs[at].answer(place.word) > Answer.NO:
            at += 1
            steps.add(at)
        return steps | {-1}
    answer = globs[at].answer(place.word)
    if answer > Answer.NO:
        steps.add(at + 1)
    if answer < Answer.YES:
        steps.add(-1)
        if place.word.lead == "" and place.word.text is None:
            steps.add(at)  # it may be an option
    return steps


def _having(pattern: CommandPattern, argv: Argv) -> Answer:
    read = _read(argv)
    form = _forms(pattern.words, argv.program.text)[0]
    answer = Answer.YES
    for need in form.needs:
        answer = min(answer, _has(need, read))
    return min(answer, _anywhere(form.places, read.places))


def _anywhere(globs: Sequence[Glob], places: Sequence[BareWord]) -> Answer:
    """Whether each is met by one of the places."""
    return min(
        (max((_somewhere(glob, place) for place in places), default=Answer.NO) for glob in globs), default=Answer.YES
    )


def _somewhere(glob: Glob, place: BareWord) -> Answer:
    answer = glob.answer(place.word)
    return answer if place.sure and not place.word.spreads else min(answer, Answer.MAYBE)
