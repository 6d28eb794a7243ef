"""Names of commits that a caller gives: which are refused, and what to say when nothing is called so."""

from __future__ import annotations

import difflib
import os
import re

from agent_memory.engines.git.layout import Repository, head, shown
from agent_memory.engines.git.program import Git, Trouble, lines
from agent_memory.models.errors import InvalidInput, NotFound

HEADS = "refs/heads/"
ELSEWHERE = "refs/heads/.invalid"  # what HEAD says in the newest format of refs
LONGEST = 1000
MOST_NAMES = 5000  # that are looked at for one that is alike
SHORT = re.compile(r"[0-9a-f]{4,39}")


def checked(at: str) -> str:
    """The name, when it can be one."""
    if not at or at.startswith("-") or len(at) > LONGEST or not at.isprintable() or at != at.strip():
        raise InvalidInput(
            f"at: {at[:200]!r} cannot be the name of a commit",
            hint="name a commit, a tag or a branch, such as HEAD~1, v0.2 or main",
            field="at",
        )
    return at


def branch(git: Git, repository: Repository) -> str | None:
    """The branch that is checked out; None when HEAD is a commit. Git is asked only where its files do not tell."""
    name = head(repository)
    if name == ELSEWHERE:
        try:
            name = os.fsdecode(next(lines(git, repository.root, ["symbolic-ref", "HEAD"], b"\n"), b""))
        except Trouble:
            return None
    return shown(name.removeprefix(HEADS)) if name.startswith(HEADS) else None


def unknown(git: Git, repository: Repository, at: str) -> NotFound:
    """No commit is called so: what the caller may have meant."""
    names = _names(git, repository)
    if not names and branch(git, repository) is not None:
        hint = "commit something first, or git fetch what others have"
        return NotFound(f"at: there is no {at!r}, since this clone has no commits yet", hint=hint, field="at")
    likely = difflib.get_close_matches(at, names, 3) or [name for name in names if at.lower() in name.lower()][:3]
    if likely:
        hint = f"did you mean {' or '.join(likely)}?"
    elif os.path.exists(os.path.join(repository.common, "shallow")):
        hint = "this clone is shallow: git fetch --unshallow brings what is older"
    elif SHORT.fullmatch(at):
        hint = "git fetch brings what is new; where several commits begin so, give more digits"
    else:
        hint = "git fetch --tags brings what is new; git tag and git branch --all list what is here"
    return NotFound(f"at: no commit, tag or branch {at!r} in this clone", hint=hint, field="at")


def _names(git: Git, repository: Repository) -> list[str]:
    words = ["for-each-ref", f"--count={MOST_NAMES}", "--format=%(refname)"]
    try:
        found = [os.fsdecode(line) for line in lines(git, repository.root, words, b"\n")]
    except Trouble:
        return []
    return [re.sub("^refs/(?:heads|tags|remotes)/", "", name) for name in found if name.isprintable()]
