"""Where a repository is, and which of its files say what its refs mean. Read without git, so that pages are found also
where git is not installed or refuses, and so that a warm call needs no other program."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from agent_memory.engines.git.watch import PathWatch
from agent_memory.ports.pages import MEMORY

OWN = "agent-memory"  # the folder of a clone's own pages, inside its git folder
SMALL = 65_536  # bytes of a file that names another
MOST_HOPS = 5  # from one symbolic ref to the next, as git has it
PLAIN = re.compile(r"[^\^~:?*\[\\\s{]+(?:[\^~]\d*)*")
"""A ref, and steps back from it. Everything else may depend on the time, or on all commits."""
FORMS = ("{}", "refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD")
"""Where git looks for a ref, in this order."""
WHOLE = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class Repository:
    """`root` is the top of the working tree, and the repository itself when it is bare. Worktrees of one repository
    share its `common` folder. `inner` is the folder that was asked about, below the root, with slashes."""

    root: str
    git: str
    common: str
    bare: bool
    inner: str

    @property
    def levels(self) -> tuple[str, ...]:
        """The folders from the root down to the one asked about; the root is the empty name."""
        steps = [] if self.bare or not self.inner else self.inner.split("/")
        return ("", *("/".join(steps[:end]) for end in range(1, len(steps) + 1)))


def repository(folder: str, watch: PathWatch) -> Repository | None:
    """The nearest one, upwards from a folder whose links are resolved. What looks like a bare one inside a working tree
    may be no more than files that somebody committed: they do not end the walk."""
    bare: str | None = None
    for top in upwards(folder):
        dot = os.path.join(top, ".git")
        watch.see(dot, identity=True)
        git = _pointed(dot, watch) if os.path.isfile(dot) else dot
        if os.path.isfile(dot) or os.path.isfile(os.path.join(dot, "HEAD")):
            return _made(top, git, folder, watch, bare=False)
        if all(os.path.exists(os.path.join(top, name)) for name in ("HEAD", "objects", "refs")):
            if os.path.basename(top) == ".git":
                return _made(os.path.dirname(top), top, os.path.dirname(top), watch, bare=False)
            bare = bare or top
    return None if bare is None else _made(bare, bare, folder, watch, bare=True)


def workspace(folder: str, watch: PathWatch) -> str:
    """Outside git: the nearest folder upwards with a `.memory` of one's own, or the folder itself. What somebody else
    put above it is none of our procedures."""
    me = os.geteuid() if hasattr(os, "geteuid") else None
    for top in upwards(folder):
        memory = os.path.join(top, MEMORY)
        watch.see(memory, identity=True)
        try:
            owner = os.stat(memory).st_uid
        except OSError:
            continue
        if top == folder or me is None or owner == me:
            return top
    return folder


def upwards(folder: str) -> list[str]:
    return [str(one) for one in (Path(folder), *Path(folder).parents)]


def below(root: str, path: str) -> str | None:
    """`path` as seen from the root, with slashes; None when it is not inside. Links must be resolved."""
    if path == root:
        return ""
    start = root.rstrip(os.sep) + os.sep
    return path[len(start) :].replace(os.sep, "/") if path.startswith(start) else None


def shown(path: str) -> str:
    """A path that can be printed on one line: what is no text or no visible character is spelled out."""
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def head(repository: Repository) -> str:
    """The ref that is checked out; empty when it is a commit."""
    said = _first_line(os.path.join(repository.git, "HEAD"))
    return said.removeprefix("ref: ") if said.startswith("ref: ") else ""


def watch_ref(repository: Repository, ref: str, watch: PathWatch) -> bool:
    """Look at every file that could say which commit it is; False when files cannot tell."""
    if WHOLE.fullmatch(ref):
        return True
    if not PLAIN.fullmatch(ref):
        return False
    name = re.split(r"[\^~]", ref)[0]
    name = "HEAD" if name == "@" else name
    watch.see(os.path.join(repository.common, "packed-refs"))
    watch.see(os.path.join(repository.common, "reftable", "tables.list"))
    watch.see(os.path.join(repository.git, "reftable", "tables.list"))
    for form in FORMS[:1] if name == "HEAD" else FORMS:
        _watch_file(repository, form.format(name), watch)
    return True


def _watch_file(repository: Repository, name: str, watch: PathWatch) -> None:
    for _ in range(MOST_HOPS):
        if ".." in name.split("/") or os.path.isabs(name):
            return
        paths = {os.path.join(folder, *name.split("/")) for folder in (repository.git, repository.common)}
        for path in sorted(paths):
            watch.see(path, identity=os.path.isdir(path))
        lines = [_first_line(path) for path in sorted(paths)]
        name = next((line.removeprefix("ref: ") for line in lines if line.startswith("ref: ")), "")
        if not name:
            return


def _made(root: str, git: str, folder: str, watch: PathWatch, *, bare: bool) -> Repository:
    watch.see(os.path.join(git, "commondir"))
    shared = _first_line(os.path.join(git, "commondir"))
    common = os.path.realpath(os.path.join(git, shared)) if shared else git
    return Repository(root, git, common, bare, "" if bare else below(root, folder) or "")


def _pointed(dot: str, watch: PathWatch) -> str:
    """What a `.git` that is a file points to, as in worktrees and submodules."""
    watch.see(dot)
    target = _first_line(dot).removeprefix("gitdir: ")
    return os.path.realpath(os.path.join(os.path.dirname(dot), target))


def _first_line(path: str) -> str:
    """Without its end; empty when there is no such file. No path goes on behind a NUL, for git either."""
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, "rb") as file:
            return os.fsdecode(file.read(SMALL).split(b"\n", 1)[0].split(b"\0", 1)[0].rstrip(b"\r"))
    except OSError:
        return ""
