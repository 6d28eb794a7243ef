"""What git runs in turn: aliases, and commands that take commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from agent_memory.core.rules.shell.inner import Inner, InnerCommand, Script, joined
from agent_memory.core.rules.shell.meaning import front
from agent_memory.core.rules.shell.words import ANY, Word

STEERS = re.compile(r"GIT_CONFIG_(?:COUNT|KEY_|PARAMETERS)")  # variables that give git settings, aliases too


def configured(words: Sequence[Word]) -> dict[str, str]:
    """The alias that `git config alias.m merge` makes for what follows."""
    texts = [word.text or "" for word in words]
    at = next((number for number, text in enumerate(texts) if text.lower().startswith("alias.")), None)
    if at is None or "config" not in texts[:at] or at + 1 >= len(texts):
        return {}
    return {texts[at][len("alias.") :].removesuffix(".command"): texts[at + 1]}


def git(words: Sequence[Word], aliases: Mapping[str, str]) -> Iterator[Inner]:
    at, known, unclear = front(words), {name.lower(): value for name, value in aliases.items()}, False
    for number, word in enumerate(words[:at]):
        text = word.text or word.lead
        value = words[number + 1] if number + 1 < at else None
        if text == "-c" and value is not None:
            unclear = _inline(value, known) or unclear
        named = value.lead if text == "--config-env" and value is not None else text.removeprefix("--config-env=")
        unclear = unclear or (text.startswith("--config-env") and named.lower().startswith("alias."))
    if at >= len(words):
        return
    if unclear:
        yield Script(ANY, False)
    sub, rest = words[at].text, words[at + 1 :]
    if sub is None:
        return
    alias = known.get(sub.lower())
    if alias is not None:
        yield from _alias(words[:at], sub, alias, rest)
    elif sub == "submodule":
        yield from _foreach(rest)
    elif sub == "bisect" and rest and rest[0].text == "run":
        yield from [InnerCommand(tuple(rest[1:]))] if rest[1:] else []
    elif sub in ("rebase", "filter-branch", "difftool"):
        yield from _scripts(rest)
    elif sub == "for-each-repo":
        after = next((n for n, word in enumerate(rest) if not word.lead.startswith("-")), len(rest))
        yield from (InnerCommand((words[0], *rest[start:]), False) for start in {after, after + 1} if rest[start:])


def _inline(value: Word, known: dict[str, str]) -> bool:
    """Takes up `alias.m=merge`; True: it may be an alias that nobody knows yet."""
    key, equals, text = value.lead.partition("=")
    section, _, name = key.lower().partition(".")
    if value.text is None and (not equals or section == "alias"):
        return section in ("alias", "") or not equals
    if section == "alias" and name:
        known[name.removesuffix(".command")] = text
    return False


def _alias(front: Sequence[Word], name: str, value: str, rest: Sequence[Word]) -> Iterator[Inner]:
    if value.startswith("!"):
        yield Script(joined([Word.of(value[1:]), *rest]))
        return
    try:
        split = shlex.split(value)
    except ValueError:
        yield Script(ANY, False)
        return
    if split and split[0] != name:
        yield InnerCommand((*front, *map(Word.of, split), *rest))


def _foreach(rest: Sequence[Word]) -> Iterator[Inner]:
    at = next((n for n, word in enumerate(rest) if word.text == "foreach"), None)
    if at is None:
        return
    at += 1
    while at < len(rest) and rest[at].lead.startswith("-"):
        at += 1
    if rest[at:]:
        yield Script(joined(rest[at:]))


def _scripts(rest: Sequence[Word]) -> Iterator[Inner]:
    for at, word in enumerate(rest):
        text = word.lead
        name, equals, value = text.partition("=")
        takes = (
            name in ("--exec", "--extcmd")
            or name.endswith("-filter")
            or (name.startswith("--exe") and "--exec".startswith(name))
        )
        if takes and equals:
            yield Script(Word((value, *word.parts[1:])))
        elif (takes or (text.startswith("-") and not text.startswith("--") and text.endswith("x"))) and rest[at + 1 :]:
            yield Script(rest[at + 1])
        elif text.startswith("-x") and len(text) > 2:
            yield Script(Word((text[2:], *word.parts[1:])))
