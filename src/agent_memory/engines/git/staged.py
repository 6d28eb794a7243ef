"""What a commit is about to hold, from the index that git commits from (not from the working tree)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SAFE = ("-c", "core.fsmonitor=false", "-c", "core.quotePath=false")
LINK, MODULE = "120000", "160000"
SECONDS = 60


class Unreadable(Exception):
    """The index cannot be read, and why."""


@dataclass(frozen=True)
class Change:
    """A path below the root that a commit changes; `removed` when it goes. `mode` and `blob` are what will be there."""

    path: str
    mode: str
    blob: str
    removed: bool


def changes(root: Path) -> Iterator[Change]:
    """Every path that differs from HEAD. The environment of a hook says which index it is."""
    head = _git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", fine=(0, 1)).strip()
    against = [head.decode()] if head else [_git(root, "hash-object", "-t", "tree", os.devnull).decode().strip()]
    said = _git(root, "diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", *against, "--")
    records = said.split(b"\0")
    for told, name in zip(records[::2], records[1::2], strict=False):
        _, mode, _, blob, status = told.decode().lstrip(":").split(" ")
        yield Change(name.decode("utf-8", "replace"), mode, blob, status == "D")


def contents(root: Path, wanted: Sequence[Change], largest: int) -> dict[str, str | None]:
    """What will stand at each path; None where it is larger than that. A link is what it leads to."""
    found: dict[str, str | None] = {one.path: "" for one in wanted if one.mode == MODULE}
    asked = [one for one in wanted if one.mode != MODULE and not one.removed]
    told = "".join(f"{one.blob}\n" for one in asked).encode()
    sizes = _git(root, "cat-file", "--batch-check=%(objectsize)", given=told).split()
    small = [one for one, size in zip(asked, sizes, strict=True) if size.isdigit() and int(size) <= largest]
    found |= {one.path: None for one in asked if one not in small}
    data = _git(root, "cat-file", "--batch", given="".join(f"{one.blob}\n" for one in small).encode())
    at = 0
    for one in small:
        end = data.index(b"\n", at)
        size = int(data[at:end].split()[2])
        found[one.path] = data[end + 1 : end + 1 + size].decode("utf-8", "replace")
        at = end + 1 + size + 1
    return found


def _git(root: Path, *words: str, given: bytes = b"", fine: Sequence[int] = (0,)) -> bytes:
    """In the environment of the hook, which names the index."""
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    environment.pop("GIT_EXTERNAL_DIFF", None)
    try:
        ran = subprocess.run(  # noqa: S603 - words of ours, and no shell
            [shutil.which("git") or "git", *SAFE, *words],
            cwd=root,
            env=environment,
            input=given,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unreadable(f"git cannot be asked what is staged: {error}") from None
    if ran.returncode not in fine:
        raise Unreadable(f"git cannot say what is staged: {ran.stderr.decode('utf-8', 'replace').strip()[:300]}")
    return ran.stdout
