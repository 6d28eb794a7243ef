"""What a command of git comes to in a clone: its settings, the branch and a merge that was begun decide about pulls,
pushes and commits. Said in words of git again, so that a rule about `git merge` or `git push origin main` meets every
way to write one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent_memory.core.rules.clone import CloneState
from agent_memory.core.rules.shell.programs import GIT_FRONT
from agent_memory.core.rules.shell.reading import BareWord, Option, grammar_of, tokens
from agent_memory.core.rules.shell.words import SOME, Argv, Word

OFF = ("false", "no", "off", "0")
_REF = re.compile(r"(?:refs/)?(?:heads|tags)/")
GIT, MERGE, PUSH = map(Word.of, ("git", "merge", "push"))


@dataclass(frozen=True)
class GitCall:
    """A command of git, taken apart: `before` are its words up to the subcommand, `places` those behind it."""

    before: tuple[Word, ...]
    name: str | None
    options: tuple[Option, ...]
    places: tuple[Word, ...]
    rest: tuple[Word, ...]

    @property
    def open(self) -> bool:
        """Whether there may be options that nobody knows yet."""
        return any(word.spreads and not word.files for word in self.rest)

    def last(self, *names: str) -> Option | None:
        """The last of these options: it is the one that counts."""
        return next((one for one in reversed(self.options) if one.name in names), None)


def front(words: Sequence[Word]) -> int:
    """Where the subcommand stands, behind git's own options."""
    at = 1
    while at < len(words) and words[at].lead.startswith("-"):
        at += 2 if words[at].text in GIT_FRONT else 1
    return min(at, len(words))


def settled(words: Sequence[Word], clone: CloneState) -> Sequence[Word]:
    """A pull with the option that the settings give it, where nobody typed another."""
    call = call_of(words)
    if call is None or call.name != "pull" or call.open or _rebases(call, {}) is not None or _only(call, {}):
        return words
    settings = _settings(call, clone)
    said = "--rebase" if _rebases(call, settings, clone.branch) else "--ff-only" if _only(call, settings) else None
    return words if said is None else (*call.before, Word.of("pull"), Word.of(said), *call.rest)


def restated(argv: Argv, clone: CloneState) -> Iterator[Argv]:
    """What else a command is: a pull or a commit that merges is a merge, a push goes to each of its branches."""
    call = call_of(argv.words)
    if call is None:
        return
    if call.name == "commit" and clone.merging and call.last("--dry-run") is None:
        yield Argv((GIT, MERGE, Word.of("--continue")), argv.certain, argv)
    elif call.name == "pull":
        rebases, only = _rebases(call, _settings(call, clone), clone.branch), _only(call, {})
        if not (rebases and not call.open) and not only:
            dashed = (word for word in call.rest if word.lead.startswith("-"))
            sure = not call.open and (rebases is False or call.last("--no-ff") is not None)
            yield Argv((GIT, MERGE, *dashed, *call.places[1:]), argv.certain and sure, argv)
    elif call.name == "push":
        yield from _pushes(argv, call, clone)


def call_of(words: Sequence[Word]) -> GitCall | None:
    """What a command of git is; None where it has no subcommand."""
    at = front(words)
    if at >= len(words):
        return None
    read = list(tokens(words[1:], grammar_of("git")))
    places = [one.word for one in read if isinstance(one, BareWord)]
    return GitCall(
        tuple(words[:at]),
        words[at].text,
        tuple(one for one in read if isinstance(one, Option)),
        tuple(places[1:]) if places else (),
        tuple(words[at + 1 :]),
    )


def _settings(call: GitCall, clone: CloneState) -> dict[str, str]:
    """Those of the clone, and what `git -c name=value` says."""
    found = dict(clone.settings or {})
    for at, word in enumerate(call.before[:-1]):
        if word.text == "-c":
            name, equals, value = call.before[at + 1].lead.partition("=")
            found[name.lower()] = value if equals else "true"
    return found


def _rebases(call: GitCall, settings: Mapping[str, str], branch: str | None = None) -> bool | None:
    """Whether a pull rebases; None where nobody says so or otherwise."""
    typed = call.last("--rebase", "--no-rebase")
    if typed is not None:
        said = typed.value.text if typed.value is not None and typed.name == "--rebase" else "true"
        return typed.name == "--rebase" and said not in (None, *OFF)
    said = settings.get(f"branch.{branch}.rebase", settings.get("pull.rebase"))
    return None if said is None else said.lower() not in OFF


def _only(call: GitCall, settings: Mapping[str, str]) -> bool:
    """Whether a pull or a merge can do no more than go forward."""
    typed = call.last("--ff-only", "--ff", "--no-ff")
    if typed is not None:
        return typed.name == "--ff-only"
    return settings.get("pull.ff", settings.get("merge.ff", "")).lower() == "only"


def _pushes(argv: Argv, call: GitCall, clone: CloneState) -> Iterator[Argv]:
    """A push to each of its branches by name, with what its refspecs say in signs said in options."""
    settings, branch = _settings(call, clone), clone.branch
    remote = call.places[0] if call.places else Word.of(_remote(call, settings, branch))
    options = [_written(one) for one in call.options if one.name not in ("-c", "-C")]
    refs = [_target(word, branch) for word in call.places[1:] if word.text != "tag"] or _unsaid(call, settings, branch)
    for name, signs in refs:
        words = (GIT, PUSH, remote, name, *options, *map(Word.of, signs))
        if name.parts != ("",) and (signs or [word.text for word in (remote, name)] != _texts(call.places)):
            yield Argv(words, argv.certain, argv)


def _remote(call: GitCall, settings: Mapping[str, str], branch: str | None) -> str:
    typed = call.last("--repo")
    if typed is not None and typed.value is not None and typed.value.text:
        return typed.value.text
    names = (f"branch.{branch}.pushremote", "remote.pushdefault", f"branch.{branch}.remote")
    return next((settings[name] for name in names if settings.get(name)), "origin")


def _unsaid(call: GitCall, settings: Mapping[str, str], branch: str | None) -> list[tuple[Word, tuple[str, ...]]]:
    """Where a push goes that names no branch."""
    if call.last("--all", "--branches", "--mirror") is not None:
        return [(SOME, ())]
    default = settings.get("push.default", "simple").lower()
    if call.last("--tags") is not None or branch is None or default == "nothing":
        return []
    if default == "matching" or any(re.fullmatch(r"remote\..+\.push", name) for name in settings):
        return [(SOME, ())]
    follows = settings.get(f"branch.{branch}.merge", branch) if default in ("upstream", "tracking") else branch
    return [(Word.of(_REF.sub("", follows, count=1)), ())]


def _target(ref: Word, branch: str | None) -> tuple[Word, tuple[str, ...]]:
    """The name that a refspec leads to, and the options that its signs stand for."""
    parts = list(ref.parts)
    signs: tuple[str, ...] = ()
    if ref.lead.startswith("+"):
        signs, parts[0] = ("--force",), ref.lead[1:]
    at = next((n for n in range(len(parts) - 1, -1, -1) if ":" in (parts[n] or "")), None)
    if at is not None:
        before, _, after = (parts[at] or "").rpartition(":")
        if at == 0 and not before and (after or parts[1:]):
            signs = (*signs, "--delete")
        elif at == 0 and not before:
            return SOME, signs  # a lonely colon: all branches that both sides have
        parts = [after, *parts[at + 1 :]]
    elif parts in (["HEAD"], ["@"]):
        parts = [branch]
    if parts[0] is not None:
        parts[0] = _REF.sub("", parts[0], count=1)
    known = tuple(one for one in parts if one != "") or ("",)
    return (SOME if "*" in (known[0] or "") else Word(known, ref.spreads, ref.files)), signs


def _written(option: Option) -> Word:
    if option.value is None:
        return Word.of(option.name)
    first, *more = option.value.parts
    return Word((f"{option.name}={first}", *more) if first is not None else (f"{option.name}=", None, *more))


def _texts(places: Sequence[Word]) -> list[str | None]:
    return [word.text for word in places]
