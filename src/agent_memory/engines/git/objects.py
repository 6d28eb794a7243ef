"""Objects of a repository, all from one `git cat-file --batch`. It is told names on its standard input, so nothing that
a caller says can become an option, and it gives bytes as they are stored: no filter, no conversion."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO

from agent_memory.engines.git.program import Git, Silent, Trouble

LARGEST = 32_000_000  # bytes of a commit or a tree
LONGEST = 10_000  # bytes of a name or a subject: longer ones take for ever with some encodings that a commit may name
CHUNK = 1 << 16
ID = re.compile(rb"[0-9a-f]{40}|[0-9a-f]{64}")
HEADER = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}) (commit|tree|blob|tag) (\d+)\n")


@dataclass(frozen=True, slots=True)
class GitObject:
    """An object; `data` is None when it is larger than was asked for."""

    id: str
    kind: str
    data: bytes | None


@dataclass(frozen=True, slots=True)
class Commit:
    id: str
    tree: str
    parents: tuple[str, ...]
    author: str
    at: datetime
    subject: str


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """What a name in a tree stands for."""

    mode: int
    id: str

    @property
    def is_link(self) -> bool:
        return self.mode == 0o120000

    @property
    def is_folder(self) -> bool:
        return self.mode == 0o040000

    @property
    def is_file(self) -> bool:
        return self.mode & 0o170000 == 0o100000


class Objects:
    """Ask for one object after the other. A tree that was read once is kept."""

    def __init__(self, ask: IO[bytes], answer: IO[bytes]) -> None:
        self._ask = ask
        self._answer = answer
        self._trees: dict[str, dict[bytes, TreeEntry]] = {}

    def get(self, name: str, largest: int = LARGEST) -> GitObject | None:
        """None when there is no such object here, or when the name fits several."""
        try:
            self._ask.write(name.encode("utf-8", "surrogateescape") + b"\n")
            self._ask.flush()
        except BrokenPipeError:
            raise Silent from None
        line = self._answer.readline()
        if not line.endswith(b"\n"):
            raise Silent
        header = HEADER.fullmatch(line)
        if header is None:
            return None
        id, kind, size = header[1].decode(), header[2].decode(), int(header[3])
        if size > largest:
            self._pass_over(size + 1)
            return GitObject(id, kind, None)
        return GitObject(id, kind, self._read(size + 1)[:-1])

    def commit(self, name: str) -> Commit | None:
        found = self.get(f"{name}^{{commit}}")
        return None if found is None or found.data is None else parse_commit(found.id, found.data)

    def tree(self, id: str) -> dict[bytes, TreeEntry]:
        if id not in self._trees:
            found = self.get(id)
            if found is None or found.kind != "tree" or found.data is None:
                raise Trouble(f"git has no folder {id[:10]} in this clone")
            self._trees[id] = parse_tree(found.data, len(id) // 2)
        return self._trees[id]

    def _read(self, size: int) -> bytes:
        data = self._answer.read(size)
        if len(data) < size:
            raise Silent
        return data

    def _pass_over(self, size: int) -> None:
        while size:
            size -= len(self._read(min(size, CHUNK)))


@contextmanager
def objects(git: Git, folder: str, patience: int = 1) -> Iterator[Objects]:
    with git.running(folder, ["cat-file", "--batch"], patience) as process:
        assert process.stdin is not None and process.stdout is not None
        yield Objects(process.stdin, process.stdout)


def parse_tree(data: bytes, width: int) -> dict[bytes, TreeEntry]:
    found: dict[bytes, TreeEntry] = {}
    start = 0
    try:
        while start < len(data):
            blank, nul = data.index(b" ", start), data.index(b"\0", start)
            found[data[blank + 1 : nul]] = TreeEntry(int(data[start:blank], 8), data[nul + 1 : nul + 1 + width].hex())
            start = nul + 1 + width
    except ValueError:
        raise Trouble("a folder in git is broken: git fsck says more") from None
    return found


def parse_commit(id: str, data: bytes) -> Commit:
    head, _, message = data.partition(b"\n\n")
    lines = [line.split(b" ", 1) for line in head.split(b"\n") if b" " in line and not line.startswith(b" ")]
    said = dict(reversed(lines))
    encoding = said.get(b"encoding", b"utf-8").decode("ascii", "replace")
    name, _, when = said.get(b"author", b"").rpartition(b"> ")
    subject = message.strip(b"\n").split(b"\n", 1)[0]
    named = [said.get(b"tree", b""), *(value for key, value in lines if key == b"parent")]
    if not all(ID.fullmatch(one) for one in named):
        raise Trouble("a commit in git is broken: git fsck says more")
    tree, *parents = (one.decode() for one in named)
    return Commit(
        id,
        tree,
        tuple(parents),
        _text(name.rpartition(b" <")[0], encoding),
        _moment(when),
        _text(subject, encoding),
    )


def _text(data: bytes, encoding: str) -> str:
    try:
        text = data[:LONGEST].decode(encoding)
    except (LookupError, ValueError):
        text = data[:LONGEST].decode("utf-8", "replace")
    return text.encode("utf-8", "replace").decode()  # some encodings can spell what is no text


def _moment(said: bytes) -> datetime:
    """The first of its two numbers, seconds since 1970; nonsense, which git allows, is the beginning of time."""
    try:
        return datetime.fromtimestamp(int(said.split()[0]), UTC)
    except (ValueError, IndexError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)
