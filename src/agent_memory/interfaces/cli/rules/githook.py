"""What our git hooks ask: `agent-memory rules git-hook NAME …`. Each turns what git tells it into actions."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from agent_memory.models.rules import Rulebook, Verdict

BEGIN = re.compile(r"(?:merge|pull)\b")
ZERO = re.compile(r"0+")


@click.command("git-hook", hidden=True)
@click.argument("name")
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def command(name: str, words: tuple[str, ...]) -> int:
    """What the git hooks of `rules install-hooks` ask. Exits with 9 if a rule denies what git is about to do."""
    from agent_memory.app.checking import together
    from agent_memory.interfaces.cli import exits
    from agent_memory.interfaces.cli.rules import saying

    if name not in ASKED:
        raise click.UsageError(f"there is no hook {name!r} of ours; there are {', '.join(ASKED)}")
    verdicts = list(ASKED[name](Path.cwd(), words))
    if not verdicts:
        return exits.OK
    found = together(verdicts)
    for line in saying.lines(found):
        click.echo(line, err=True)
    if name == "pre-merge-commit" and not found.allowed:
        click.echo("The merge has begun already. To end it: git merge --abort", err=True)
    return exits.OK if found.allowed else exits.DENIED


def _message(*, edited: bool) -> Callable[[Path, Sequence[str]], Iterator[Verdict]]:
    """The message in a file that git names. It sets GIT_EDITOR to a colon when nobody edits it."""

    def ask(folder: Path, words: Sequence[str]) -> Iterator[Verdict]:
        from agent_memory.app.checking import message, verdict
        from agent_memory.models.rules import Action

        text = Path(words[0]).read_bytes().decode("utf-8", "replace")
        cleaned = message(folder, text, edited=edited and os.environ.get("GIT_EDITOR") != ":")
        yield verdict(Action(commit_message=cleaned), folder)

    return ask


def _staged(folder: Path, words: Sequence[str]) -> Iterator[Verdict]:
    """The commit as a command, and every path with what will stand there."""
    from agent_memory.app.checking import LARGEST_READ, book_for, checker
    from agent_memory.core.rules.judge import wants_text
    from agent_memory.engines.git.staged import changes, contents
    from agent_memory.models.rules import Action

    folder = Path(os.path.realpath(folder))
    yield from _called("commit")(folder, ())
    found = list(changes(folder))
    books = {one.path: book_for(Action(path=one.path), folder) for one in found}
    asked = [one for one in found if not one.removed and wants_text(books[one.path].rules, Action(path=one.path))]
    texts = contents(folder, asked, LARGEST_READ)
    for one in found:
        book = _without_content(books[one.path]) if one.removed else books[one.path]
        text = texts.get(one.path)
        action = Action(path=one.path) if text is None else Action(path=one.path, text=text)
        yield checker().check(book, action, folder)


def _without_content(book: Rulebook) -> Rulebook:
    """What is asked of a file that goes: nothing about what stands in it."""
    kept = [one for one in book.rules if one.check is None or not (one.check.contains or one.check.every_line)]
    return book.model_copy(update={"rules": kept})


def _called(subcommand: str) -> Callable[[Path, Sequence[str]], Iterator[Verdict]]:
    """A hook that is about one command of git."""

    def ask(folder: Path, words: Sequence[str]) -> Iterator[Verdict]:
        return _judged(folder, _typed(folder, subcommand, ("git", subcommand, *words)))

    return ask


def _typed(folder: Path, subcommand: str, plain: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The git command that called the hook, as it was typed; `plain` where that cannot be seen, or, beside it, where it
    is neither this command nor an alias."""
    from agent_memory.app.checking import checker, clone
    from agent_memory.engines.git.callers import calling

    typed = calling()
    if typed is None:
        return [plain]
    if subcommand in typed or any(word in clone(checker().situations.of(folder)).aliases for word in typed[1:]):
        return [typed]
    return [typed, plain]


def _judged(folder: Path, commands: Sequence[tuple[str, ...]]) -> Iterator[Verdict]:
    from agent_memory.app.checking import verdict
    from agent_memory.models.rules import Action

    return (verdict(Action(argv=words), folder) for words in commands)


def _merge(folder: Path, _: Sequence[str]) -> Iterator[Verdict]:
    """A merge begins, or is committed. git says in GIT_REFLOG_ACTION what was asked for: of a pull all its words, of a
    merge not, and of a commit nothing."""
    from agent_memory.app.checking import checker, clone
    from agent_memory.engines.git.callers import calling

    action = os.environ.get("GIT_REFLOG_ACTION", "")
    words = ("git", *action.split())
    if not BEGIN.match(action):
        typed, aliases = calling() or (), clone(checker().situations.of(folder)).aliases
        commits = any(aliases.get(word, word).split(" ")[0] == "commit" for word in typed)
        return _judged(folder, [typed] if commits else [])
    return _judged(folder, _typed(folder, "merge", words) if action.startswith("merge") else [words])


def _push(folder: Path, words: Sequence[str]) -> Iterator[Verdict]:
    """The push as it was typed, and with what it leaves unsaid: the remote, and each branch that it goes to."""
    remote = words[0] if words else "origin"
    typed = _typed(folder, "push", ("git", "push", remote))
    options = [word for word in typed[0][1:] if word.startswith("-")]
    if any(word.startswith("+") for word in typed[0][1:]):
        options.append("--force")
    for line in sys.stdin.read().splitlines():
        source, local, target, _ = (*line.split(" "), "", "", "", "")[:4]
        if target:
            gone = ["--delete"] if ZERO.fullmatch(local) and source else []
            name = target.removeprefix("refs/heads/").removeprefix("refs/tags/")
            typed.append(("git", "push", remote, name, *gone, *options))
    return _judged(folder, typed)


ASKED = MappingProxyType(
    {
        "applypatch-msg": _message(edited=False),
        "commit-msg": _message(edited=True),
        "pre-commit": _staged,
        "pre-merge-commit": _called("merge"),
        "pre-push": _push,
        "pre-rebase": _called("rebase"),
        "reference-transaction": _merge,
    }
)
