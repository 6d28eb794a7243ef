"""Hooks of ours in a repository. What was there before is kept as it is, runs first, and comes back byte for byte.

Where git's own folder of hooks is used, a hook that is in the way is kept beside ours under another name. Where
`core.hooksPath` leads elsewhere (husky, a folder that is tracked or that repositories share), nothing is written
there: such hooks may depend on their own name. Ours get a folder of their own, and call them where they are.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agent_memory.engines.git.script import CHECKED, MARK, PASSED, script
from agent_memory.models.errors import InvalidInput, PartMissing

KEPT = ".before-agent-memory"
BEFORE = "before"  # a file with what `core.hooksPath` was: as this repository had set it, if so, and as it led
SECONDS = 20
STEERING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX")


@dataclass(frozen=True)
class Installed:
    """`before` are the hooks that were there already, and run first."""

    folder: Path
    hooks: tuple[str, ...]
    before: tuple[str, ...]


@dataclass(frozen=True)
class _Place:
    """`folder` is git's own; `own` is ours; `elsewhere` is what `core.hooksPath` says, where it leads out of git's."""

    top: Path
    folder: Path
    own: Path
    elsewhere: str | None


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidInput(
            f"folder: {error.filename!r} cannot be written: {error.strerror}",
            hint="check its permissions, and the space on its disk",
            field="folder",
        ) from None


@_writing()
def install(repository: Path, python: str) -> Installed:
    """Put the hooks in place, or renew them."""
    place = _place(repository)
    if place.elsewhere is not None:
        return _install_apart(place, place.elsewhere, python)
    place.folder.mkdir(parents=True, exist_ok=True)
    for name in CHECKED:
        _check_free(place.folder / name)
    for name in CHECKED:
        hook, kept = place.folder / name, _kept(place.folder / name)
        if os.path.lexists(hook) and not _is_ours(hook):
            hook.rename(kept)
        _write(hook, script(name, str(kept), python, undo=_undo(hook, kept)))
    before = tuple(name for name in CHECKED if os.path.lexists(_kept(place.folder / name)))
    return Installed(place.folder, CHECKED, before)


@_writing()
def uninstall(repository: Path) -> Installed:
    """Take them away, and put back what was there; what is not ours is left alone."""
    place = _place(repository)
    removed: list[str] = []
    if place.elsewhere is not None and place.own.is_dir():
        removed += [hook.name for hook in sorted(place.own.iterdir()) if hook.name in CHECKED]
        _put_back_setting(place)
    before: list[str] = []
    for name in CHECKED:
        hook, kept = place.folder / name, _kept(place.folder / name)
        if _is_ours(hook):
            hook.unlink()
            removed.append(name)
            if os.path.lexists(kept):
                kept.rename(hook)
                before.append(name)
    return Installed(place.folder, tuple(removed), tuple(before))


def _install_apart(place: _Place, elsewhere: str, python: str) -> Installed:
    """Ours in a folder of their own, which git is told to use."""
    place.own.mkdir(parents=True, exist_ok=True)
    if _configured(place.top) != str(place.own):
        local = _git(place.top, "config", "--local", "--get", "core.hooksPath", fine=(0, 1)).removesuffix("\n")
        (place.own / BEFORE).write_text(f"{local}\n{elsewhere}\n", "utf-8")
    there = Path(os.path.join(place.top, elsewhere))
    others = [one.name for one in there.iterdir()] if there.is_dir() else []
    for name in (*CHECKED, *PASSED, *(one for one in others if _is_hook(one))):
        undo = "agent-memory rules install-hooks --uninstall"
        _write(place.own / name, script(name, os.path.join(elsewhere, name), python, undo=undo))
    _git(place.top, "config", "--local", "core.hooksPath", str(place.own))
    if _configured(place.top) != str(place.own):
        _put_back_setting(place)
        raise InvalidInput(
            "folder: another setting of this worktree overrules core.hooksPath of the repository",
            hint="unset it: git config --worktree --unset core.hooksPath",
            field="folder",
        )
    before = tuple(name for name in CHECKED if os.access(there / name, os.X_OK))
    return Installed(place.own, CHECKED, before)


def _put_back_setting(place: _Place) -> None:
    local, _ = _before(place.own)
    if local:
        _git(place.top, "config", "--local", "core.hooksPath", local)
    else:
        _git(place.top, "config", "--local", "--unset", "core.hooksPath", fine=(0, 5))
    shutil.rmtree(place.own)


def _place(repository: Path) -> _Place:
    """Where the hooks of a repository are. Worktrees share them."""
    said = _git(repository, "rev-parse", "--is-bare-repository", "--absolute-git-dir", "--git-common-dir").split("\n")
    bare, git, common = said[0] == "true", Path(said[1]), Path(os.path.realpath(repository / said[2]))
    top = git if bare else Path(_git(repository, "rev-parse", "--show-toplevel").removesuffix("\n"))
    own = common / "agent-memory" / "hooks"
    configured = _configured(top)
    if configured is None:
        return _Place(top, common / "hooks", own, None)
    real = Path(os.path.realpath(top / configured))
    if real == Path(os.path.realpath(own)):
        return _Place(top, common / "hooks", own, _before(own)[1])
    if real.is_relative_to(common):
        return _Place(top, real, own, None)
    return _Place(top, common / "hooks", own, configured)


def _before(own: Path) -> tuple[str, str]:
    """What this repository had set, or nothing, and the folder that our hooks call."""
    try:
        local, led, *_ = (own / BEFORE).read_text("utf-8").split("\n")
    except (OSError, ValueError):
        raise InvalidInput(
            f"folder: {own / BEFORE} is gone, so the hooks that were there before are unknown",
            hint="set core.hooksPath yourself: git config --local core.hooksPath …, or --unset it",
            field="folder",
        ) from None
    return local, led


def _configured(top: Path) -> str | None:
    return _git(top, "config", "--type=path", "--get", "core.hooksPath", fine=(0, 1)).removesuffix("\n") or None


def _check_free(hook: Path) -> None:
    kept = _kept(hook)
    if os.path.lexists(kept) and os.path.lexists(hook) and not _is_ours(hook):
        raise InvalidInput(
            f"folder: {hook} was replaced after our hook was installed, and {kept.name} is still there",
            hint="decide which of the two hooks you want, and remove or rename the other",
            field="folder",
        )


def _kept(hook: Path) -> Path:
    return hook.with_name(hook.name + KEPT)


def _undo(hook: Path, kept: Path) -> str:
    said = f"rm {_quoted(str(hook))}"
    return f"{said}; mv {_quoted(str(kept))} {_quoted(str(hook))}" if os.path.lexists(kept) else said


def _is_hook(name: str) -> bool:
    return name.replace("-", "").isalpha() and name not in (*CHECKED, *PASSED) and "-" in name


def _is_ours(hook: Path) -> bool:
    try:
        with hook.open("rb") as file:
            return MARK.encode() in file.read(300)
    except OSError:
        return False


def _write(hook: Path, text: str) -> None:
    """All of it or nothing: git may call it at any moment."""
    made = hook.with_name(f".{hook.name}.new")
    made.write_text(text, "utf-8", newline="\n")
    made.chmod(0o755)
    made.replace(hook)


def _quoted(word: str) -> str:
    import shlex

    return shlex.quote(word)


def _git(folder: Path, *words: str, fine: Sequence[int] = (0,)) -> str:
    """What git says; the repository that is meant is the one of the folder, whatever the environment names."""
    environment = {name: value for name, value in os.environ.items() if name not in STEERING}
    try:
        ran = subprocess.run(  # noqa: S603 - words of ours, and no shell
            [shutil.which("git") or "git", *words],
            cwd=folder,
            env={**environment, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (FileNotFoundError, NotADirectoryError):
        if not folder.is_dir():
            raise InvalidInput(f"folder: {str(folder)!r} is not a folder", field="folder") from None
        raise PartMissing("git is not installed", hint="install it: hooks are git's") from None
    except subprocess.TimeoutExpired:
        raise PartMissing(f"git did not answer within {SECONDS} s", hint="check that the disk can be reached") from None
    if ran.returncode not in fine:
        said = ran.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        raise InvalidInput(f"folder: {said or 'git refuses'}", hint="name a folder of a repository", field="folder")
    return os.fsdecode(ran.stdout)
