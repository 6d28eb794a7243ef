"""What a command runs in turn: `sudo -u x sh -c "git merge"` runs a shell that runs git.

Each function gives the commands (`InnerCommand`) and scripts (`Script`) inside one command; the caller looks into those
again.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agent_memory.core.rules.shell.gitruns import git
from agent_memory.core.rules.shell.given import INTERPRETER, behind, by_file, by_option, interpreted, run_file
from agent_memory.core.rules.shell.inner import Inner, InnerCommand, Script, joined
from agent_memory.core.rules.shell.launchers import LAUNCHERS, SUBCOMMANDS, Launcher
from agent_memory.core.rules.shell.words import ANY, FILES, SOME, Argv, Word

SHELLS = frozenset("sh bash zsh dash ksh ash mksh yash rbash fish oksh ksh93 csh tcsh nu xonsh elvish".split())
_BASH = frozenset(("bash", "rbash"))
_READERS = frozenset(". source sudo doas su runuser ssh chroot unshare nsenter".split())
_STDIN = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
_ASSIGN = re.compile(r"[A-Za-z_]\w*\+?=")

__all__ = ["Inner", "InnerCommand", "Script", "unwrapped"]


def unwrapped(argv: Argv, fed: Word | None, aliases: Mapping[str, str]) -> Iterator[Inner]:
    """The commands inside a command. `fed` is what its standard input gives it, `aliases` those of git."""
    name = argv.program.text
    if name is None:
        return
    words = argv.words
    if fed is not None and name in _READERS and _reads(words, name):
        yield Script(fed, bash=None if name in (".", "source") else False)
    if name in SHELLS:
        yield from (replace(one, bash=name in _BASH) if isinstance(one, Script) else one for one in _shell(words, fed))
    elif name == "git":
        yield from git(words, aliases)
    elif name.startswith("git-"):
        yield InnerCommand((Word.of("git"), Word.of(name[4:]), *words[1:]))
    elif INTERPRETER.fullmatch(name):
        yield from by_file(words)
    elif name in _SPECIAL:
        yield from _SPECIAL[name](words)
    elif name in LAUNCHERS:
        yield from by_option(words)
        yield from _launched(words, LAUNCHERS[name])
    else:
        yield from by_option(words)
        found = list(_subcommand(name, words))
        yield from found or behind(name, words)


def _reads(words: Sequence[Word], name: str) -> bool:
    """Whether a program starts a shell that reads its standard input, or reads that itself."""
    if name in (".", "source"):
        return len(words) > 1 and words[1].text in (*_STDIN, "-")
    launcher = LAUNCHERS.get(name)
    return launcher is None or any(start.at >= len(words) for start in _starts(words, launcher))


@dataclass(frozen=True)
class Start:
    at: int
    certain: bool = True
    doubt: str | None = None


def _starts(words: Sequence[Word], launcher: Launcher, at: int = 1) -> Iterator[Start]:
    """Where the command behind a launcher's own words may begin."""
    skip, options, certain, doubt = launcher.skip, True, True, None
    while at < len(words):
        word, text = words[at], words[at].text
        if text is None:
            if options and not word.spreads and (word.lead.startswith("-") or _assigns(word, launcher)):
                at += 1
                continue
            if not skip or word.spreads:
                doubt = "a part of a command is known only when it runs"
                if word.spreads and at + 1 < len(words):
                    certain = False
                    at += 1
                    continue
            if not skip:
                break
            skip, at = skip - 1, at + 1
        elif options and text == "--":
            options, at = False, at + 1
        elif options and text.startswith("-") and len(text) > 1:
            length, sure = _option(text, launcher)
            if not sure:
                certain = False
                yield Start(at + 2, False)
            at += length
        elif (options and text == "-") or _assigns(word, launcher):
            at += 1
        elif skip:
            skip, at = skip - 1, at + 1
        else:
            break
    yield Start(at, certain, doubt)


def _assigns(word: Word, launcher: Launcher) -> bool:
    return launcher.assigns and bool(_ASSIGN.match(word.lead))


def _option(text: str, launcher: Launcher) -> tuple[int, bool]:
    """How many words an option is, and whether that is sure."""
    if text.startswith("--"):
        name, equals, _ = text.partition("=")
        if equals:
            return 1, True
        valued, flag = (any(one.startswith(name) for one in some) for some in (launcher.long, launcher.flags))
        return (2 if name in launcher.long or (valued and not flag) else 1), valued or flag
    for number, letter in enumerate(text[1:], start=2):
        if letter in launcher.valued:
            return (1 if number < len(text) else 2), True
        if letter not in launcher.bare:
            return 1, False
    return 1, True


def _launched(words: Sequence[Word], launcher: Launcher, at: int = 1) -> Iterator[Inner]:
    for start in _starts(words, launcher, at):
        rest = tuple(words[start.at :])
        if rest and launcher.script:
            yield Script(joined(rest), start.certain, start.doubt)
        elif rest:
            yield InnerCommand(rest, start.certain, start.doubt)


def _shell(words: Sequence[Word], fed: Word | None) -> Iterator[Inner]:
    at, command, stdin = 1, False, False
    while at < len(words):
        word, text = words[at], words[at].text
        if text is None:
            if word.spreads or not word.lead:
                yield Script(ANY, False)
            break
        if text in ("--", "-"):
            at += 1
            break
        if text.startswith("--"):
            if text.startswith("--command="):
                yield Script(Word.of(text.partition("=")[2]))
            command = command or text in ("--command", "--commands")
            at += 2 if text in ("--rcfile", "--init-file", "--init-command") else 1
        elif text[:1] in ("-", "+") and len(text) > 1:
            command = command or (text[0] == "-" and "c" in text)
            stdin = stdin or (text[0] == "-" and "s" in text)
            at += 1 + len(re.findall("[oO]", text))
        else:
            break
    rest = words[at:]
    if command:
        if rest:
            yield Script(SOME if rest[0].spreads else rest[0])
    elif not rest or stdin or rest[0].text in _STDIN:
        if fed is not None:
            yield Script(fed)
    elif rest[0].text is None and (rest[0].spreads or rest[0].lead.startswith("/dev/fd/")):
        yield Script(ANY, False)
    else:
        yield from run_file(rest)


def _su(words: Sequence[Word]) -> Iterator[Inner]:
    """`su`, `runuser` and `script`: a script behind -c, wherever it stands."""
    for at, word in enumerate(words[1:], start=1):
        text = word.lead
        if text in ("-c", "--command", "--session-command") or re.fullmatch(r"-[a-zA-Z]*c", text):
            yield from [Script(words[at + 1])] if at + 1 < len(words) else []
        elif text.startswith(("--command=", "--session-command=")):
            yield Script(Word((text.partition("=")[2], *word.parts[1:])))
        elif re.match(r"-c.", text):
            yield Script(Word((text[2:], *word.parts[1:])))
        elif (word.text == "--" or (words[at - 1].text == "-u" and at > 1)) and at + 1 < len(words):
            yield InnerCommand(tuple(words[at + 1 :]), False)
        elif word.spreads:
            yield Script(ANY, False)


def _script(words: Sequence[Word]) -> Iterator[Inner]:
    """`script FILE COMMAND …`, as it is outside Linux."""
    yield from _su(words)
    for inner in _launched(words, Launcher("t", "adefkqpr", skip=1)):
        yield _unsure(inner)


def _flock(words: Sequence[Word]) -> Iterator[Inner]:
    yield from _su(words)
    yield from _launched(words, LAUNCHERS["flock"])


def _eval(words: Sequence[Word]) -> Iterator[Inner]:
    ended = words[1:2] and words[1].text == "--"  # which only bash takes for no command
    rest = words[2:] if ended else words[1:]
    if rest:
        yield Script(joined(rest), not ended, bash=None)


def _source(words: Sequence[Word]) -> Iterator[Inner]:
    if len(words) > 1 and words[1].text is None and words[1].lead.startswith("/dev/fd/"):
        yield Script(ANY, False)
    else:
        yield from run_file(words[1:])


def _trap(words: Sequence[Word]) -> Iterator[Inner]:
    rest = words[2:] if words[1:2] and words[1].text == "--" else words[1:]
    if rest and not rest[0].lead.startswith("-"):
        yield Script(rest[0], bash=None)


def _command(words: Sequence[Word]) -> Iterator[Inner]:
    if not any(re.fullmatch(r"-[pvV]*[vV][pvV]*", word.text or "") for word in words[1:3]):
        yield from _launched(words, LAUNCHERS["command"])


def _env(words: Sequence[Word]) -> Iterator[Inner]:
    """`env -S "git merge"` splits its value into words, which may be options of its own."""
    for at, word in enumerate(words[1:], start=1):
        text = word.lead
        found = re.match(r"-[i0v]*S|--split-string=?|--s[a-z-]*=?", text)
        if found:
            attached = found.end() < len(text) or len(word.parts) > 1
            value = Word((text[found.end() :], *word.parts[1:])) if attached else (words[at + 1 : at + 2] or [ANY])[0]
            rest = words[at + (1 if attached else 2) :]
            if value.text is None:
                yield Script(ANY, False)
                return
            plain = not re.search(r"[\\'\"$#]", value.text)
            try:
                split = shlex.split(value.text)
            except ValueError:
                split = value.text.split()
            doubt = None if plain else "env -S with quotes or variables"
            yield InnerCommand((words[0], *map(Word.of, split), *rest), plain, doubt)
            return
        if text == "--" or not (text.startswith("-") or _ASSIGN.match(text)):
            break
    yield from _launched(words, LAUNCHERS["env"])


def _watch(words: Sequence[Word]) -> Iterator[Inner]:
    yield from _launched(words, LAUNCHERS["watch"])


def _parallel(words: Sequence[Word]) -> Iterator[Inner]:
    for start in _starts(words, LAUNCHERS["parallel"]):
        cut = next(
            (at for at, word in enumerate(words) if at >= start.at and (word.text or "").startswith(":::")), None
        )
        rest = words[start.at : cut]
        yield Script(Word((*joined(rest).parts, " ", None)) if rest else ANY, False)


def _xargs(words: Sequence[Word]) -> Iterator[Inner]:
    launcher = Launcher(
        "adEILnPsJRS",
        "0oprtxeil",
        frozenset("--arg-file --delimiter --max-args --max-procs --max-chars --process-slot-var".split()),
        frozenset(
            "--null --open-tty --interactive --no-run-if-empty --verbose --exit --replace --eof --max-lines".split()
        ),
    )
    for start in _starts(words, launcher):
        own, rest = words[1 : start.at], words[start.at :]
        mark = _replaced(own)
        if not rest:
            continue
        if mark is None:
            yield InnerCommand((*rest, FILES), start.certain, start.doubt)
        else:
            yield InnerCommand(tuple(_marked(word, mark) for word in rest), start.certain, start.doubt)


def _replaced(own: Sequence[Word]) -> str | None:
    for at, word in enumerate(own):
        text = word.text or ""
        if text.startswith(("-I", "-J")):
            return text[2:] or (own[at + 1].text or "{}" if at + 1 < len(own) else "{}")
        if text in ("-i", "--replace"):
            return "{}"
        if text.startswith(("-i", "--replace=")):
            return text.removeprefix("--replace=").removeprefix("-i")
    return None


def _marked(word: Word, mark: str) -> Word:
    """A word in which a mark is replaced by what is not known yet."""
    if mark not in word.lead:
        return word
    pieces = [one for text in word.lead.split(mark) for one in (None, text)][1:]
    return Word((*(one for one in pieces if one != ""), *word.parts[1:]), word.spreads)


def _find(words: Sequence[Word]) -> Iterator[Inner]:
    at = 1
    while at < len(words):
        if words[at].text in ("-exec", "-execdir", "-ok", "-okdir"):
            end = next((n for n in range(at + 1, len(words)) if words[n].text in (";", "+")), len(words))
            rest = words[at + 1 : end]
            many = end < len(words) and words[end].text == "+"
            if rest:
                yield InnerCommand(tuple(FILES if many and word.text == "{}" else _marked(word, "{}") for word in rest))
            at = end
        at += 1


def _fd(words: Sequence[Word]) -> Iterator[Inner]:
    for at, word in enumerate(words):
        found = re.match(r"-[xX](?=.)|--exec(?:-batch)?=", word.lead)
        rest = words[at + 1 :]
        if found:
            rest = [Word((word.lead[found.end() :], *word.parts[1:])), *rest]
        if rest and (found or word.text in ("-x", "-X", "--exec", "--exec-batch")):
            yield InnerCommand((*(_marked(one, "{}") for one in rest), SOME), False)


def _kubectl(words: Sequence[Word]) -> Iterator[Inner]:
    texts = [word.text for word in words]
    runs = next((text for text in texts if text in ("run", "debug")), None)
    if runs is not None and "exec" not in texts:
        yield from behind("kubectl", words)
    elif "exec" in texts and "--" in texts[texts.index("exec") :]:
        rest = words[texts.index("--", texts.index("exec")) + 1 :]
        if rest:
            yield InnerCommand(tuple(rest))
    elif "exec" in texts and words[texts.index("exec") + 2 :]:
        yield InnerCommand(tuple(words[texts.index("exec") + 2 :]), False)


def _subcommand(name: str, words: Sequence[Word]) -> Iterator[Inner]:
    """`uv run git merge`, `docker exec box git merge`: the first word that is a launching subcommand."""
    for at, word in enumerate(words[1:], start=1):
        launcher = SUBCOMMANDS.get((name, word.text or ""))
        if launcher is None:
            continue
        if word.text == "compose":
            found = next((n for n in range(at + 1, len(words)) if words[n].text in ("exec", "run")), None)
            if found is not None:
                yield from (_unsure(one) for one in _launched(words, SUBCOMMANDS[name, "run"], found + 1))
            return
        if word.text == "kubectl":
            rest = words[at + 2 :] if words[at + 1 : at + 2] and words[at + 1].text == "--" else words[at + 1 :]
            yield InnerCommand((word, *rest))
            return
        entry = _entry(words[at + 1 :]) if word.text == "run" else None
        for inner in _launched(words, launcher, at + 1):
            if entry is not None and isinstance(inner, InnerCommand):
                yield InnerCommand((entry, *inner.words), False, inner.doubt)
            yield inner
        return


def _unsure(inner: Inner) -> Inner:
    return replace(inner, certain=False)


def _entry(words: Sequence[Word]) -> Word | None:
    for at, word in enumerate(words):
        if word.text == "--entrypoint" and at + 1 < len(words):
            return words[at + 1]
        if word.lead.startswith("--entrypoint="):
            return Word((word.lead.partition("=")[2], *word.parts[1:]))
    return None


_SPECIAL: dict[str, Callable[[Sequence[Word]], Iterator[Inner]]] = {
    "su": _su,
    "runuser": _su,
    "script": _script,
    "cmd": interpreted,
    "powershell": interpreted,
    "pwsh": interpreted,
    "flock": _flock,
    "eval": _eval,
    "trap": _trap,
    ".": _source,
    "source": _source,
    "command": _command,
    "env": _env,
    "parallel": _parallel,
    "xargs": _xargs,
    "find": _find,
    "gfind": _find,
    "fd": _fd,
    "fdfind": _fd,
    "kubectl": _kubectl,
    "oc": _kubectl,
}
