"""Pages on the disk that somebody names: found, read with bounds, and written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from agent_memory.app.workplace import Workplace
from agent_memory.models.errors import InvalidInput
from agent_memory.models.model import new_id
from agent_memory.models.rules import Layer
from agent_memory.ports.pages import GUIDES, LARGEST_PAGE, MEMORY, SKILL, PageFile, is_page

SKIPPED = frozenset({"node_modules", "venv", "__pycache__"})
MOST_FOLDERS = 20_000


class FoundFile(NamedTuple):
    """A file that may be a page, as it was found, and where it really is. `data` are its bytes, if it could be read."""

    found: PageFile
    file: Path
    data: bytes = b""


def given(workplace: Workplace, folder: Path, paths: Iterable[str] | None) -> list[FoundFile]:
    """The pages that are named, or those that hold in a folder and in those inside it. `InvalidInput` names a path that
    does not exist."""
    found: dict[Path, FoundFile] = {}
    if paths is None:
        root = _repository(folder, workplace.root)
        found = {file: read(file, folder, root) for file in above(folder, root)}
    for asked in paths if paths is not None else [str(folder)]:
        path = workplace.path(asked, folder)
        if not os.path.lexists(path):
            raise InvalidInput(f"paths: there is no {asked[:200]!r}", hint="name files or folders", field="paths")
        inside = below(path) if path.is_dir() and not _called_a_page(path) else [path]
        for file in inside:
            found.setdefault(file, read(file, folder, path))
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
    with _written_beside(file, new) as beside:
        beside.chmod(stat.S_IMODE(file.stat().st_mode))
        if file.read_bytes() != old:
            return False
        beside.replace(file)
        return True


def create(file: Path, data: bytes, mode: int = 0o666) -> bool:
    """Write a new file, whole or not at all; False if there is one of this name already."""
    _make_folder(file.parent)
    try:
        with _written_beside(file, data, mode) as beside:
            try:
                os.link(beside, file)  # unlike a rename, it never takes the place of another
            except (PermissionError, NotImplementedError):  # a disk without such links
                _write(file, data, mode)
            return True
    except FileExistsError:
        return False


def put(file: Path, data: bytes, mode: int = 0o666) -> None:
    """Write a file of ours, whole or not at all, in the place of whatever was there."""
    _make_folder(file.parent)
    with _written_beside(file, data, mode) as beside:
        beside.replace(file)


def append(file: Path, ending: Callable[[str], str]) -> None:
    """Add to a page what `ending` makes of its text. Nobody who writes it at the same time loses anything, and a disk
    that cannot take all of it leaves the page as it was."""
    _make_folder(file.parent)
    try:
        with file.open("ab+", buffering=0) as out:
            out.seek(0)
            text = out.read(LARGEST_PAGE + 1) or b""
            added = ending(text.decode("utf-8")).encode("utf-8")
            if added and out.write(added) != len(added):
                out.truncate(len(text))
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(out.fileno())
    except UnicodeDecodeError:
        raise InvalidInput(f"{str(file)!r} is not UTF-8", hint="save it as UTF-8", field="folder") from None
    except OSError as error:
        raise _unwritable(file, error) from None


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InvalidInput(f"folder: {str(folder)!r} is not a folder", hint="move it away", field="folder") from None
    except OSError as error:
        raise _unwritable(folder, error) from None


@contextmanager
def _written_beside(file: Path, data: bytes, mode: int = 0o666) -> Iterator[Path]:
    """The data under another name in the same folder, which is gone when this ends."""
    beside = file.with_name(f".{file.name}.{new_id()}")
    try:
        _write(beside, data, mode)
        yield beside
    except FileExistsError:
        raise
    except OSError as error:
        raise _unwritable(file, error) from None
    finally:
        beside.unlink(missing_ok=True)


def _write(file: Path, data: bytes, mode: int = 0o666) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode), "wb") as out:
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
        ours = folder.name == MEMORY and is_page(name)
        if ours or name in GUIDES or (folder.parent.name == "skills" and name == SKILL):
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


def read(file: Path, folder: Path, within: Path) -> FoundFile:
    """A file, without following a link out of the folder that was asked about, or waiting for a pipe."""
    from agent_memory.engines.git import layout
    from agent_memory.engines.git.disk import Disk
    from agent_memory.engines.git.files import UnreadablePath, page
    from agent_memory.engines.git.watch import PathWatch

    path = _shown(file, folder, within)
    root = str(within if within != file else file.parent)
    try:
        read = Disk(root, PathWatch(), (str(Path(root, ".git")),)).read(layout.below(root, str(file)) or "")
    except UnreadablePath as problem:
        return FoundFile(PageFile(path, Layer.REPOSITORY, problem=str(problem)), file)
    return FoundFile(page(path, Layer.REPOSITORY, read.data), Path(root, read.real), read.data)


def _shown(file: Path, folder: Path, within: Path) -> str:
    """Seen from the folder, if it is near."""
    near = folder.is_relative_to(within) or file.is_relative_to(folder)
    from agent_memory.engines.git import layout

    return layout.shown(Path(os.path.relpath(file, folder) if near else file).as_posix())
