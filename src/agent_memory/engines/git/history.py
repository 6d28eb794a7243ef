"""Commits that touched pages, with the pages before and after each."""

from __future__ import annotations

from collections.abc import Iterator

from agent_memory.engines.git import files
from agent_memory.engines.git.layout import Repository
from agent_memory.engines.git.objects import Commit, Objects, objects
from agent_memory.engines.git.program import Git, lines
from agent_memory.engines.git.snapshot import CommitTree
from agent_memory.ports.pages import PageFile, PageRevision

PATIENCE = 6  # a long history has to be walked


def revisions(git: Git, repository: Repository) -> Iterator[PageRevision]:
    """The newest first; nothing in a repository without commits."""
    with objects(git, repository.root, PATIENCE) as stored:
        head = stored.commit("HEAD")
        if head is None:
            return
        words = ["rev-list", head.id, "--", *_paths(stored, head, repository)]
        for line in lines(git, repository.root, words, b"\n", PATIENCE):
            commit = stored.commit(line.decode())
            if commit is not None:
                yield _revision(stored, commit, repository)


def _revision(stored: Objects, commit: Commit, repository: Repository) -> PageRevision:
    """Beside the first parent: what a merge brought to the branch."""
    parent = stored.commit(commit.parents[0]) if commit.parents else None
    cut = bool(commit.parents) and parent is None
    before = _pages(stored, parent, repository) if parent else ()
    after = _pages(stored, commit, repository)
    return PageRevision(commit.id, commit.author, commit.at, commit.subject, before, after, cut)


def _pages(stored: Objects, commit: Commit, repository: Repository) -> tuple[PageFile, ...]:
    return tuple(files.pages(CommitTree(stored, commit.tree), repository.levels))


def _paths(stored: Objects, head: Commit, repository: Repository) -> list[str]:
    """Where pages are, and what links lead to as things stand."""
    snapshot = CommitTree(stored, head.tree)
    found = [path for level in repository.levels for path in files.roots(level)]
    for path, problem in files.candidates(snapshot, repository.levels):
        try:
            found += [] if problem else [snapshot.real(path)]
        except files.UnreadablePath:
            continue
    return list(dict.fromkeys(found))
