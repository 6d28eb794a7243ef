"""Programs that are given a command in another way than as their last words: by an option, behind a `--`, as the file
that they run, or in the language of another system."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from agent_memory.core.rules.shell.inner import Inner, InnerCommand, Script, joined
from agent_memory.core.rules.shell.words import ANY, Word

_TELLERS = frozenset("echo printf grep egrep fgrep rg ag set ls cat head tail wc cd rm mv cp touch test [".split())
_SCRIPTED = {
    "nix-shell": ("--run", "--command"),
    "nix": ("-c", "--command"),
    "vagrant": ("-c", "--command"),
    "entr": ("-s",),
    "npx": ("-c", "--call"),
    "npm": ("-c", "--call"),
    "hyperfine": ("-p", "--prepare", "-s", "--setup", "-c", "--cleanup", "--conclude"),
    "mapfile": ("-C",),
    "readarray": ("-C",),
}
_PYTHON = re.compile(r"-[bBdEhiIOPqRsSuvVx]*([cm])(.*)", re.DOTALL)
_CODE = re.compile(r"-\w*[eE]|-p|--(?:eval|print)")  # of perl, ruby, node and the like: what they run is in the line
_PHP_CODE = re.compile(r"-[rBRE]|--(?:run|process)")
INTERPRETER = re.compile(r"(?:python|pypy|perl|ruby|php)[\d.]*|py|node|nodejs|bun|lua|rscript|osascript")


def by_file(words: Sequence[Word]) -> Iterator[Inner]:
    """`python -m pip install`, `python deploy.py prod`, `node deploy.js`: the module or file is a program by itself."""
    name = words[0].lead.rpartition("/")[2].lower()
    yield from _python(words) if name.startswith("py") else _other(name, words)


def _python(words: Sequence[Word]) -> Iterator[Inner]:
    at = 1
    while at < len(words) and words[at].lead.startswith("-"):
        if words[at].text == "-":
            return
        found = _PYTHON.fullmatch(words[at].lead)
        if found is not None:
            attached = (Word((found[2], *words[at].parts[1:])),) if found[2] or len(words[at].parts) > 1 else ()
            if found[1] == "m":
                yield from run_file((*attached, *words[at + 1 :]), certain=True)
            return
        at += 2 if words[at].text in ("-W", "-X", "--check-hash-based-pycs") else 1
    yield from run_file(words[at:])


def _other(name: str, words: Sequence[Word]) -> Iterator[Inner]:
    """Whether an option takes the next word is not known: the file is that word, or the one behind it."""
    at, loose = 1, False
    while at < len(words) and words[at].lead.startswith("-"):
        if words[at].text == "-" or (_PHP_CODE if name.startswith("php") else _CODE).match(words[at].lead):
            return
        loose, at = "=" not in words[at].lead, at + 1
    for start in (at, at + 1) if loose else (at,):
        for inner in run_file(words[start:]):
            yield replace(inner, certain=inner.certain and not loose)


def run_file(words: Sequence[Word], certain: bool = False) -> Iterator[InnerCommand]:
    """A file and its arguments. Without a slash it may be no file, but a program that is looked for by its name."""
    if words and not words[0].spreads and (words[0].text is not None or "/" in (words[0].parts[-1] or "")):
        yield InnerCommand(tuple(words), certain or "/" in (words[0].parts[-1] or ""))


def by_option(words: Sequence[Word]) -> Iterator[Inner]:
    """`nix-shell --run "…"`, `nix develop -c …`, `vagrant ssh -c "…"`, `entr -s "…"`, `npx -c "…"`."""
    for at, word in enumerate(words[1:], start=1):
        name, equals, value = word.lead.partition("=")
        if name in _SCRIPTED.get(words[0].lead.rpartition("/")[2].lower(), ()):
            if equals:
                yield Script(Word((value, *word.parts[1:])))
            elif words[at + 1 :]:
                yield Script(words[at + 1])
                yield InnerCommand(tuple(words[at + 1 :]), False)


def interpreted(words: Sequence[Word]) -> Iterator[Inner]:
    """`cmd /c …` and `powershell -Command …`: read as if it were for our shells, which is mostly so."""
    for at, word in enumerate(words[1:], start=1):
        said = word.lead.lower().replace("//", "/")
        if said.startswith(("-e", "/e")) and "encodedcommand".startswith(said[1:]):
            yield Script(ANY, False)
        if (said in ("/c", "/k", "/r") or (len(said) > 1 and "-command".startswith(said))) and words[at + 1 :]:
            yield Script(joined(words[at + 1 :]), False)
            return


def behind(name: str, words: Sequence[Word]) -> Iterator[Inner]:
    """`op run -- git merge`: a program that we do not know may run what stands behind its `--`."""
    at = next((number for number, word in enumerate(words) if word.text == "--"), None)
    if at is not None and name not in _TELLERS and words[at + 1 :] and words[at + 1].text:
        yield InnerCommand(tuple(words[at + 1 :]), False)
