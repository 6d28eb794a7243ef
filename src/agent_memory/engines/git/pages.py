"""`GitPages`: the pages that hold in a folder. The disk says what they are; git says which commit they belong to, or
what they were at another one."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_memory.engines.git import files, history, layout, refs, watch
from agent_memory.engines.git.disk import Disk
from agent_memory.engines.git.layout import Repository
from agent_memory.engines.git.objects import Commit, Objects, objects
from agent_memory.engines.git.program import SECONDS, Git, Trouble
from agent_memory.engines.git.snapshot import CommitTree
from agent_memory.engines.git.sparse import left_out
from agent_memory.engines.git.watch import PathWatch
from agent_memory.models.errors import InvalidInput, PartMissing
from agent_memory.models.rules import Layer, Version
from agent_memory.ports.pages import FoundPages, PageFile, PageRevision, is_page

NO_REPOSITORY = "not in a git repository"
NO_COMMIT = "the repository has no commits yet"
NO_HEAD = "HEAD does not name a commit in this clone"


@dataclass(frozen=True, slots=True)
class AskedFolder:
    """A folder that was asked about, and the repository that it is in."""

    folder: str
    repository: Repository | None
    watch: PathWatch


class GitPages:
    """`own` is the folder of the user-wide pages; `environment` is what git runs in, with what steers it taken out."""

    def __init__(self, own: Path | None, environment: Mapping[str, str], seconds: float = SECONDS) -> None:
        self._own = own
        self._git = Git(environment, seconds)

    def find(self, folder: Path, at: str | None = None) -> FoundPages:
        place = _place(folder)
        above = self._above(place)
        if place.repository is None:
            if at is not None:
                raise _no_version(at, NO_REPOSITORY)
            return self._outside(place, above)
        if at is not None or place.repository.bare:
            return self._at(place, place.repository, at, above)
        return self._here(place, place.repository, above)

    def still(self, found: FoundPages) -> FoundPages | None:
        if found.watched is None:
            return None
        seen = watch.still(found.watched)
        if seen is None:
            return None
        return found if seen is found.watched else found._replace(watched=seen)

    def log(self, folder: Path) -> Generator[PageRevision, None, None]:
        place = _place(folder)
        if place.repository is None:
            raise InvalidInput(
                f"folder: there is no log: it is {NO_REPOSITORY}", hint="name one that is", field="folder"
            )
        try:
            yield from history.revisions(self._git, place.repository)
        except Trouble as error:
            raise PartMissing(f"no log: {error}") from None

    def _above(self, place: AskedFolder) -> list[PageFile]:
        """Pages that are in no commit: the user's and the clone's."""
        found = [] if self._own is None else _plain(str(self._own), str(self._own), Layer.USER, place.watch)
        if place.repository is not None:
            common, root = place.repository.common, place.repository.root
            named = os.path.join(common, layout.OWN)
            label = layout.below(root, named) if not place.repository.bare else None
            found += _plain(named, label or named, Layer.CLONE, place.watch)
        return found

    def _outside(self, place: AskedFolder, above: list[PageFile]) -> FoundPages:
        root = layout.workspace(place.folder, place.watch)
        levels = Repository(root, "", "", False, layout.below(root, place.folder) or "").levels
        found = files.pages(Disk(root, place.watch), levels)
        return FoundPages((*above, *found), Version(why=NO_REPOSITORY), place.watch.all())

    def _here(self, place: AskedFolder, repository: Repository, above: list[PageFile]) -> FoundPages:
        """The working tree, page by page beside what HEAD holds."""
        layout.watch_ref(repository, "HEAD", place.watch)
        found = files.pages(Disk(repository.root, place.watch, (repository.git, repository.common)), repository.levels)
        branch = refs.branch(self._git, repository)
        try:
            with objects(self._git, repository.root) as stored:
                head = stored.commit("HEAD")
                if head is None:
                    why = NO_COMMIT if branch else NO_HEAD
                    version = Version(branch=branch, dirty=bool(found), why=why)
                    dirty = tuple(one._replace(dirty=True) for one in found)
                    return FoundPages((*above, *dirty), version, place.watch.all())
                pages, changed = self._beside(stored, head, repository, found, place.watch)
        except Trouble as error:
            return FoundPages((*above, *found), Version(branch=branch, why=str(error)))
        version = Version(commit=head.id, branch=branch, dirty=changed)
        return FoundPages((*above, *pages), version, place.watch.all())

    def _beside(
        self, stored: Objects, head: Commit, repository: Repository, found: list[PageFile], watch: PathWatch
    ) -> tuple[list[PageFile], bool]:
        """The pages with their commit, and whether any differs from it, is not in it, or is in it alone. What a sparse
        checkout leaves out of the working tree holds all the same, as it was committed."""
        snapshot = CommitTree(stored, head.tree)
        committed = {one.path: one for one in files.pages(snapshot, repository.levels)}
        pages = [one._replace(commit=head.id, dirty=_differs(one, committed.get(one.path))) for one in found]
        missing = [path for path in committed if path not in {one.path for one in found}]
        if missing:
            hidden = left_out(self._git, repository, watch)
            pages += [committed[path]._replace(commit=head.id) for path in missing if path in hidden]
            pages.sort(key=lambda one: _depth(one.path, repository))
            missing = [path for path in missing if path not in hidden]
        return pages, bool(missing) or any(one.dirty for one in pages)

    def _at(self, place: AskedFolder, repository: Repository, at: str | None, above: list[PageFile]) -> FoundPages:
        name = "HEAD" if at is None else refs.checked(at)
        known = layout.watch_ref(repository, name, place.watch)
        branch = refs.branch(self._git, repository) if at is None else None
        try:
            with objects(self._git, repository.root) as stored:
                commit = stored.commit(name)
                if commit is None:
                    if at is None:
                        return FoundPages(tuple(above), Version(branch=branch, why=NO_COMMIT), place.watch.all())
                    raise refs.unknown(self._git, repository, at)
                found = files.pages(CommitTree(stored, commit.tree), repository.levels)
        except Trouble as error:
            if at is None:
                return FoundPages(tuple(above), Version(why=str(error)))
            raise _no_version(at, str(error)) from None
        pages = (one._replace(commit=commit.id) for one in found)
        version = Version(commit=commit.id, ref=at, branch=branch)
        return FoundPages((*above, *pages), version, place.watch.all() if known else None)


def _place(folder: Path) -> AskedFolder:
    resolved = os.path.realpath(folder)
    if not os.path.isdir(resolved):
        raise InvalidInput(f"folder: {str(folder)!r} is not a folder", hint="name one that exists", field="folder")
    watch = PathWatch()
    return AskedFolder(resolved, layout.repository(resolved, watch), watch)


def _plain(folder: str, label: str, layer: Layer, watch: PathWatch) -> list[PageFile]:
    """The pages of a folder that is in no commit. The user's own links may lead anywhere."""
    disk = Disk(os.path.realpath(folder), watch, anywhere=layer is Layer.USER)
    found: list[PageFile] = []
    try:
        names = sorted(name for name in disk.names("") if is_page(name))
    except files.UnreadablePath as error:
        return [PageFile(layout.shown(label), layer, problem=str(error))]
    for name in names:
        path = layout.shown(f"{label}/{name}")
        try:
            found.append(files.page(path, layer, disk.read(name).data))
        except files.UnreadablePath as error:
            found.append(PageFile(path, layer, problem=str(error)))
    return found


def _differs(one: PageFile, committed: PageFile | None) -> bool:
    """Line ends apart, which git itself may change on the way to the disk."""
    if committed is None or one.digest == committed.digest:
        return committed is None or one.problem != committed.problem
    if one.text is None or committed.text is None:
        return True
    return one.text.replace("\r\n", "\n") != committed.text.replace("\r\n", "\n")


def _depth(path: str, repository: Repository) -> int:
    return max(len(level) for level in repository.levels if not level or path.startswith(f"{layout.shown(level)}/"))


def _no_version(at: str, why: str) -> InvalidInput:
    return InvalidInput(
        f"at: {at[:200]!r} cannot be read: {why}", hint="only what is on the disk can be read here", field="at"
    )
