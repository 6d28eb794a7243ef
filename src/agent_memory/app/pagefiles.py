"""Pages on the disk that somebody names: found, read with bounds, and written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agent_memory.app.workplace import Workplace
from agent_memory.models.errors import InvalidInput
from agent_memory.models.model import new_id
from agent_memory.models.rules import Page
from agent_memory.ports.pages import LARGEST_PAGE

MEMORY = ".memory"
NOTES = "working.md"  # in `.memory`: notes, and no rules
NAMED = ("AGENTS.md", "CLAUDE.md")
SKIPPED = frozenset({"node_modules", "venv", "__pycache__"})
MOST_FOLDERS = 20_000


@dataclass(frozen=True)
class PageFile:
    """A file that may be a page: `path` is how it is called in findings. Either `data` is there or `problem`."""

    path: str
    file: Path
    data: bytes = b""
    problem: str | None = None

    @property
    def text(self) -> str | None:
        try:
            return None if self.problem else self.data.decode("utf-8")
        except UnicodeDecodeError:
            return None

    def page(self) -> Page:
        """As it is understood; a problem is a finding."""
        from agent_memory.core.rules.page import read, unreadable

        text = self.text
        if text is not None:
            return read(self.path, text)
        return unreadable(self.path, self.problem or _undecodable(self.data))


def given(workplace: Workplace, folder: Path, paths: Iterable[str] | None) -> list[PageFile]:
    """The pages that are named, or those that hold in a folder and in those inside it. `InvalidInput` names a path that
    does not exist."""
    found: dict[Path, PageFile] = {}
    if paths is None:
        root = _repository(folder, workplace.root)
        found = {file: _read(file, folder, root) for file in above(folder, root)}
    for asked in paths if paths is not None else [str(folder)]:
        path = workplace.path(asked, folder)
        if not os.path.lexists(path):
            raise InvalidInput(f"paths: there is no {asked[:200]!r}", hint="name files or folders", field="paths")
        inside = below(path) if path.is_dir() and not _called_a_page(path) else [path]
        for file in inside:
            found.setdefault(file, _read(file, folder, path))
    return list(found.values())


def below(folder: Path) -> Iterator[Path]:
    """The pages in a folder and in those inside it, in a stable order. Links are not followed into folders."""
    for count, (root, folders, files) in enumerate(os.walk(folder)):
        if count >= MOST_FOLDERS:
            raise InvalidInput(f"paths: {str(folder)!r} has too many folders", hint="name smaller ones", field="paths")
        folders[:] = sorted(name for name in folders if _entered(name))
        yield from _among(Path(root), [*files, *folders])


def above(folder: Path, root: Path) -> Iterator[Path]:
    """The pages of the folders that a folder is in, from the root of its repository down."""
    outer = [parent for parent in folder.parents if parent.is_relative_to(root)]
    for parent in reversed(outer):
        skills = [*parent.glob("skills/*"), *parent.glob(".claude/skills/*")]
        for inner in (parent, parent / MEMORY, *sorted(skills)):
            yield from _among(inner, _names(inner))


def replace(file: Path, old: bytes, new: bytes) -> bool:
    """Write a file anew, whole or not at all; False if it is not what it was any more."""
    beside = file.with_name(f".{file.name}.{new_id()}")
    try:
        mode = stat.S_IMODE(file.stat().st_mode)
        _write(beside, new)
        beside.chmod(mode)
        if file.read_bytes() != old:
            return False
        beside.replace(file)
    except OSError as error:
        raise _unwritable(file, error) from None
    finally:
        beside.unlink(missing_ok=True)
    return True


def create(file: Path, data: bytes) -> bool:
    """Write a new file, whole or not at all; False if there is one of this name already."""
    beside = file.with_name(f".{file.name}.{new_id()}")
    try:
        file.parent.mkdir(exist_ok=True)
        _write(beside, data)
        try:
            os.link(beside, file)  # unlike a rename, it never takes the place of another
        except (PermissionError, NotImplementedError):  # a disk without such links
            _write(file, data)
    except FileExistsError:
        if file.parent.is_dir():
            return False
        raise InvalidInput(f"folder: {str(file.parent)!r} is no folder", hint="move it away", field="folder") from None
    except OSError as error:
        raise _unwritable(file, error) from None
    finally:
        if beside.parent.is_dir():
            beside.unlink(missing_ok=True)
    return True


def put(file: Path, data: bytes) -> None:
    """Write a file of ours, whole or not at all, in the place of whatever was there."""
    beside = file.with_name(f".{file.name}.{new_id()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        _write(beside, data)
        beside.replace(file)
    except OSError as error:
        raise _unwritable(file, error) from None
    finally:
        if beside.parent.is_dir():
            beside.unlink(missing_ok=True)


def append(file: Path, ending: Callable[[str], str]) -> None:
    """Add to a page what `ending` makes of its text. Nobody who writes it at the same time loses anything, and a disk
    that cannot take all of it leaves the page as it was."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab+", buffering=0) as out:
            out.seek(0)
            text = out.read(LARGEST_PAGE + 1) or b""
            added = ending(text.decode("utf-8")).encode("utf-8")
            if added and out.write(added) != len(added):
                out.truncate(len(text))
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(out.fileno())
    except UnicodeDecodeError:
        raise InvalidInput(f"{str(file)!r} is no UTF-8", hint="save it as UTF-8", field="folder") from None
    except OSError as error:
        raise _unwritable(file, error) from None


def _write(file: Path, data: bytes) -> None:
    with file.open("xb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())


def _unwritable(file: Path, error: OSError) -> InvalidInput:
    return InvalidInput(
        f"{str(file)!r} cannot be written: {error.strerror}", hint="check its permissions", field="folder"
    )


def _among(folder: Path, names: Iterable[str]) -> Iterator[Path]:
    """Of the names in a folder those of pages."""
    for name in sorted(names):
        ours = folder.name == MEMORY and name.endswith(".md") and name != NOTES
        if ours or name in NAMED or (folder.parent.name == "skills" and name == "SKILL.md"):
            yield folder / name


def _names(folder: Path) -> list[str]:
    try:
        return [one.name for one in folder.iterdir()]
    except OSError:  # none, no folder, or not to be read
        return []


def _repository(folder: Path, bound: Path | None) -> Path:
    """The root of the repository that a folder is in; the folder itself, if it is in none that the caller may see."""
    for parent in (folder, *folder.parents):
        if os.path.lexists(parent / ".git"):
            return parent if bound is None or parent.is_relative_to(bound) else bound
    return folder


def _entered(name: str) -> bool:
    return name in (MEMORY, ".claude") or not (name.startswith(".") or name in SKIPPED)


def _called_a_page(path: Path) -> bool:
    return path.name.endswith(".md")


def _read(file: Path, folder: Path, within: Path) -> PageFile:
    """A file, without following a link out of the folder that was asked about, or waiting for a pipe."""
    path = _shown(file, folder, within)
    real = Path(os.path.realpath(file))
    if within != file and not real.is_relative_to(within):
        return PageFile(path, file, problem="is a link that leads elsewhere: it is not followed")
    try:
        number = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        return PageFile(path, real, problem=f"cannot be read: {error.strerror}")
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        return PageFile(path, real, problem="is no file")
    with os.fdopen(number, "rb") as opened:
        data = opened.read(LARGEST_PAGE + 1)
    if len(data) > LARGEST_PAGE:
        return PageFile(path, real, problem=f"is longer than {LARGEST_PAGE:,} bytes: split it")
    return PageFile(path, real, data)


def _shown(file: Path, folder: Path, within: Path) -> str:
    """Seen from the folder, with slashes, and with nothing that could not be printed."""
    path = Path(os.path.relpath(file, folder)) if folder.is_relative_to(within) or file.is_relative_to(folder) else file
    return os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")


def _undecodable(data: bytes) -> str:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return f"is no UTF-8: {error.reason} in line {line}"
    return "cannot be read"
