"""A folder of documents and what the memory knows of it: what is new, what changed, what is gone."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agent_memory.app.documents import (
    PDF,
    SUFFIXES,
    as_text,
    ingest_file,
    media_type_of,
    reachable,
    read_file,
    source_of,
    start_of,
)
from agent_memory.app.pagefiles import MOST_FOLDERS, SKIPPED
from agent_memory.core.govern.redact import mark, same_but_for_secrets
from agent_memory.core.govern.shapes import MARK
from agent_memory.models.errors import InvalidInput, NotFound, PartMissing
from agent_memory.models.kinds.documents import DOCUMENT, Document, Ingested, MediaType, SkippedFile, SyncedFolder
from agent_memory.models.record import Status
from agent_memory.models.size import counted as counted_as
from agent_memory.ports.progress import counted

if TYPE_CHECKING:
    from agent_memory.app.client import Client

MOST_FILES = 20_000
GONE_SHARE = 3  # more than one in so many that are gone: that is a mistake, until somebody says otherwise
PAGE = 1000
SHOWN = 5
REMOVED = "it was removed (`knowledge ingest` with this file brings it back)"
NO_ENDING = "no ending"
ENDINGS = tuple(f"*{suffix}" for suffix in SUFFIXES)


class Walk(NamedTuple):
    """The files that were found, by where they really are, what was not looked at, and how many other files there are,
    by their endings."""

    files: list[Path]
    skipped: list[SkippedFile]
    others: dict[str, int]


def sync_folder(
    client: Client, folder: str, globs: Sequence[str] | None, *, dry_run: bool = False, force: bool = False
) -> SyncedFolder:
    """Read what is new or changed, archive what is gone. One file that cannot be read stops no other."""
    from agent_memory.core.knowledge.keep import FORM

    root = reachable(client, folder, "folder")
    fits = _globs(globs or ENDINGS)
    found = walk(root, fits)
    known = {path: one for path, one in _within(client, root, _documents(client)) if fits(_shown(path, root))}
    gone = sorted(path for path in known if not os.path.lexists(path) and not _is_kept(path, found.files))
    if not os.path.isdir(root) and not (force and gone and not os.path.lexists(root)):  # noqa: PTH112 - never raises
        raise _no_folder(folder, len(gone))
    if len(gone) * GONE_SHARE > len(known) and not force:
        raise _too_many_gone(root, gone, len(known))
    removed = {path for path, _ in _within(client, root, _removed(client))}
    others = {} if globs else found.others
    told = SyncedFolder(folder=source_of(client, root), skipped=found.skipped, others=others, dry_run=dry_run)
    for path in counted(found.files, "documents", lambda: len(found.files)):
        shown = _shown(path, root)
        before = known.get(path)
        if path in removed:
            told.skipped.append(SkippedFile(path=shown, why=REMOVED))
            continue
        try:
            kind = media_type_of(shown, None, "path")
            data = read_file(path, shown)
            if before and (before.digest, before.form) == (hashlib.sha256(data).hexdigest(), FORM):
                told.unchanged += 1
                continue
            made = None if dry_run else ingest_file(client, shown, source_of(client, path), kind, data)
            if _is_unchanged(client, path, kind, data) if made is None else made.effect == "unchanged":
                told.unchanged += 1  # without secrets it is what it was
                continue
            if made is not None:
                _count(told, made)
        except (InvalidInput, PartMissing) as error:
            told.skipped.append(SkippedFile(path=shown, why=_why(error, shown)))
            continue
        (told.changed if before else told.added).append(shown)
    for path in gone:
        if not dry_run:
            with suppress(NotFound):  # others removed it meanwhile
                told.chunks_removed += client.ask("knowledge.remove", document=known[path].id, gone=True).removed
        told.gone.append(_shown(path, root))
    return told


def walk(root: Path, fits: Callable[[str], bool]) -> Walk:
    """The files of a folder that fit, in a stable order. What is hidden is not read, and no link is followed out of
    the folder; both are told."""
    files: dict[Path, None] = {}
    skipped: list[SkippedFile] = []
    others: Counter[str] = Counter()
    for count, (place, folders, names) in enumerate(os.walk(root)):
        if count >= MOST_FOLDERS or len(files) > MOST_FILES:
            raise InvalidInput(f"folder: {str(root)!r} holds too much", hint="sync smaller folders", field="folder")
        here = Path(place)
        for name in sorted(folders):
            why = _not_entered(here / name)
            if why:
                folders.remove(name)
                skipped.append(SkippedFile(path=_shown(here / name, root) + "/", why=why))
        folders.sort()
        for name in sorted(names):
            shown = _shown(here / name, root)
            if not fits(shown):
                others[here.joinpath(name).suffix.lower() or NO_ENDING] += 1
                continue
            real = Path(os.path.realpath(here / name))
            if name.startswith("."):
                skipped.append(SkippedFile(path=shown, why="a hidden file"))
            elif not real.is_relative_to(root):
                skipped.append(SkippedFile(path=shown, why="a link out of the folder"))
            elif any(part.startswith(".") or part in SKIPPED for part in real.relative_to(root).parts):
                skipped.append(SkippedFile(path=shown, why="a link to a hidden file"))
            else:
                files[real] = None
    return Walk(list(files), skipped, dict(others.most_common()))


def _shown(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def _not_entered(folder: Path) -> str | None:
    if folder.is_symlink():
        return "a link to a folder"
    if folder.name.startswith("."):
        return "a hidden folder"
    return "not documents" if folder.name in SKIPPED else None


def _globs(patterns: Sequence[str]) -> Callable[[str], bool]:
    """As lines of `.gitignore` say it: `*.md` anywhere, `docs/**/*.md` from here."""
    from agent_memory.core.rules.text import matcher
    from agent_memory.models.rules import Subject

    try:
        chosen = [matcher(pattern, Subject.PATH) for pattern in patterns]
    except ValueError as error:
        raise InvalidInput(f"glob: {error}", hint="for example --glob '**/*.md'", field="glob") from None
    return lambda path: any(one(path) for one in chosen)


def _documents(client: Client) -> Iterator[Document]:
    after: str | None = None
    while page := client.ask("knowledge.documents", limit=PAGE, after_id=after):
        after = page[-1].id
        yield from page


def _removed(client: Client) -> Iterator[Document]:
    """Those that somebody removed, and did not ingest again."""
    from agent_memory.core.knowledge import keep

    after: str | None = None
    while page := client.ask("records.find", kind=DOCUMENT, status=keep.REMOVED, limit=PAGE, after_id=after):
        after = page[-1].id
        yield from map(Document.of, page)


def _within(client: Client, root: Path, documents: Iterable[Document]) -> Iterator[tuple[Path, Document]]:
    """Those that came from files of this folder."""
    start = start_of(client) or Path("/")
    for one in documents:
        path = start / one.source
        if path.is_relative_to(root) and source_of(client, path) == one.source:
            yield path, one


def _is_kept(path: Path, files: Sequence[Path]) -> bool:
    """Whether this is what the memory calls a file that has a secret in its name."""
    return MARK in str(path) and any(same_but_for_secrets(str(one), str(path)) for one in files)


def _is_unchanged(client: Client, path: Path, kind: MediaType, data: bytes) -> bool:
    """Whether a file is, without secrets in its name and text, what the memory has."""
    from agent_memory.core.knowledge.keep import FORM

    known = client.ask("records.lookup", kind=DOCUMENT, key=source_of(client, path))
    if known is None or known.status != Status.ACTIVE:
        return False
    if kind != PDF:
        data = _redacted(client, as_text(data, f"path: {path.name!r}", "path")).encode()
    said = {"digest": hashlib.sha256(data).hexdigest(), "form": FORM, "media_type": kind}
    return all(known.payload[name] == value for name, value in said.items())


def _redacted(client: Client, text: str) -> str:
    """As the memory would keep it, which knows what is allowed."""
    while found := client.ask("govern.check", text=text):
        for one in reversed(found):
            start, end = map(int, one.where.split("-"))
            text = text[:start] + mark(one.kind) + text[end:]
    return text


def _count(told: SyncedFolder, done: Ingested) -> None:
    told.chunks_added += done.added
    told.chunks_updated += done.updated
    told.chunks_removed += done.removed


def _why(error: InvalidInput | PartMissing, called: str) -> str:
    """Without the name of the file, which stands before it."""
    said = error.message.removeprefix("path: ").removeprefix(repr(called)).strip()
    return f"{said} ({error.hint})" if error.hint else said


def _too_many_gone(root: Path, gone: list[Path], known: int) -> InvalidInput:
    names = ", ".join(_shown(one, root) for one in gone[:SHOWN])
    more = f" and {len(gone) - SHOWN} more" if len(gone) > SHOWN else ""
    return InvalidInput(
        f"folder: {len(gone)} of {known} documents known from it are gone: {names}{more}; nothing was changed",
        hint="check that it is the right folder, and complete; `force` archives them",
        field="force",
    )


def _no_folder(folder: str, gone: int) -> InvalidInput:
    known = f", and {counted_as(gone, 'document')} in memory came from it; nothing was changed" if gone else ""
    hint = "name a folder that exists; `force` archives the documents" if gone else "name one that exists"
    return InvalidInput(f"folder: {folder[:200]!r} is not a folder{known}", hint=hint, field="folder")
