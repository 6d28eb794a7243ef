"""A command's words as its program would take them: options with their values, and the words between them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent_memory.core.rules.shell.programs import ANY_PROGRAM, PROGRAMS, Grammar, Options
from agent_memory.core.rules.shell.words import Word

_ASSIGN = re.compile(r"([A-Za-z_][\w.-]*)[:+?!]*=")
_CLUSTER = re.compile(r"-[A-Za-z0-9]{2,5}")


@dataclass(frozen=True)
class Option:
    """An option by its long name, where it has one. `value` is the next word where that may be its value."""

    name: str
    value: Word | None = None


@dataclass(frozen=True)
class BareWord:
    """A word without a dash. Not `sure`: it may be the value of the option before it. `late`: behind a `--`."""

    word: Word
    sure: bool = True
    late: bool = False


Token = Option | BareWord


def grammar_of(program: str | None) -> Grammar:
    return PROGRAMS.get(program or "", ANY_PROGRAM)


def tokens(words: Sequence[Word], grammar: Grammar, letters: bool = False) -> Iterator[Token]:
    """The tokens of the words behind a program. `letters`: only the letters of `-rf`, not the whole as well."""
    at, sub, ended = 0, False, False
    options = grammar.front or grammar.every
    while at < len(words):
        word = words[at]
        following = words[at + 1] if at + 1 < len(words) else None
        at += 1
        if grammar.goals and (named := _ASSIGN.match(word.lead)):
            yield Option(f"{named[1]}=", Word((word.lead[named.end() :], *word.parts[1:])))
            continue
        if ended or not word.lead.startswith("-") or word.lead == "-":
            yield BareWord(word, late=ended)
            if not sub and grammar.front is not None and not word.spreads:
                sub, options = True, grammar.subs.get(word.text or "", grammar.every)
            continue
        if word.text == "--":
            ended = True
            continue
        for option, takes in _options(word, grammar, options, letters):
            if takes is False or following is None or option.value is not None:
                yield option
                continue
            yield Option(option.name, following)
            if following.spreads or (takes is None and not following.lead.startswith("-")):
                yield BareWord(following, sure=False)
                at += 1
            elif takes:
                at += 1
            break


def _options(word: Word, grammar: Grammar, options: Options, letters: bool) -> Iterator[tuple[Option, bool | None]]:
    """The options in one word, and whether each takes the next word (None: nobody knows)."""
    text = word.lead
    if grammar.dashed and text.startswith("--"):
        text = text[1:]
    name, equals, value = text.partition("=")
    if text.startswith("--") or grammar.dashed or (len(name) > 2 and equals and not letters):
        attached = Word((value, *word.parts[1:])) if equals else None
        if not equals and word.text is None:
            yield Option(name, word), False
        else:
            yield Option(name, attached), not equals and _takes(name, grammar, options)
        return
    if len(text) == 2 and len(word.parts) == 1:
        yield Option(options.same.get(text, text)), _takes(text, grammar, options)
        return
    yield from _cluster(word, text, options, letters)


def _cluster(word: Word, text: str, options: Options, letters: bool) -> Iterator[tuple[Option, bool | None]]:
    """`-rf` is -r and -f; in `-nprod` the rest is the value."""
    whole = not (_CLUSTER.fullmatch(text) and len(set(text)) == len(text))
    if whole or not letters:
        yield Option(text), False
    if whole and letters:
        return
    for number, letter in enumerate(text[1:], start=2):
        short = "-" + letter
        name = options.same.get(short, short)
        rest = text[number:].removeprefix("=")
        if short in options.valued:
            attached = Word((rest, *word.parts[1:])) if rest or len(word.parts) > 1 else None
            yield Option(name, attached), attached is None
            return
        last = number == len(text) and len(word.parts) == 1
        yield Option(name), (None if not options.closed else False) if last else False


def _takes(name: str, grammar: Grammar, options: Options) -> bool | None:
    if name in options.valued:
        return True
    if name.startswith("--") and grammar.shortens and any(one.startswith(name) for one in options.valued):
        return None
    return False if options.closed or name in options.flags else None
