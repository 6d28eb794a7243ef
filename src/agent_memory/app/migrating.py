"""`agent-memory migrate`: everything of a store into another one, on any engine, as one stream of rows.

A stream may end in a file, or come from one. Rows are taken in transactions, each with a mark of how far it came; who
starts again after a kill reads the stream anew, passes over what is there, and proves by a digest that it is the same.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from agent_memory.app import comparing, registry
from agent_memory.app.config import shown
from agent_memory.app.files import private
from agent_memory.ledger.shipment import SECTIONS, UNTOLD, ShippedRow, Tally, ending, heading, items, read, unlike
from agent_memory.models.errors import Conflict, Corrupt, InvalidInput, PartMissing, StoreError, StoreNewer
from agent_memory.ports.progress import counted, tell, told_as
from agent_memory.ports.shipping import Shipping, Show
from agent_memory.ports.store import Store

BATCH_ROWS, BATCH_BYTES = 2000, 8_000_000
STREAM = ".jsonl"
ABANDON = "`agent-memory migrate --abandon TO` empties the target; then run it again"

Heads = dict[str, str]
Progress = Callable[[str, int], None]
"""Is told which section is done, and how many rows it has."""


@dataclass(frozen=True)
class Migrated:
    """What was carried: `rows` by section, the last line of each journal (`SEQ:HEAD`, as `verify` has them), how many
    rows were there from a run before, and how many reads were compared."""

    source: str
    target: str
    tenant: str | None
    rows: dict[str, int]
    heads: Heads
    resumed: int
    compared: int
    seconds: float


@dataclass
class _Cargo:
    """What goes by: it is counted and digested on the way. `total` is a guess, for whoever watches."""

    rows: Iterator[ShippedRow]
    total: int = 0
    tally: Tally = field(default_factory=Tally)
    digest: Any = field(default_factory=hashlib.sha256)
    done: int = 0

    def __iter__(self) -> Iterator[ShippedRow]:
        for item in self.rows:
            self.tally.add(item)
            self.digest.update(item.line)
            self.done += 1
            if self.done % 256 == 0:
                tell("rows", self.done, max(self.done + 1, self.total))
            yield item

    def mark(self) -> str:
        return json.dumps({"rows": self.done, "digest": self.digest.hexdigest()})


def migrate(
    source: str, target: str, *, tenant: str | None = None, told: Progress = lambda section, rows: None
) -> Migrated:
    """From a store or a stream (`FILE.jsonl`) into an empty store, the half-filled one of this very migration, or a
    stream."""
    begun = time.monotonic()
    here, there = (one if _is_stream(one) else shown("store", registry.locate(one)) for one in (source, target))
    _check_ends(source, target, tenant)
    with ExitStack() as open:
        origin = None if _is_stream(source) else open.enter_context(_sound(source, tenant))
        resumed = compared = 0
        with _file(Path(source).expanduser()) if origin is None else _shown(origin, tenant) as (cargo, heads):
            store = None if _is_stream(target) else open.enter_context(_opened(target, "target"))
            if store is None:
                _save(Path(target).expanduser(), cargo, tenant, told)
            else:
                resumed = _fill(_shipping(store), cargo, told)
        if store is not None:
            compared, heads = _prove(origin, store, cargo.tally, tenant, heads)
            _shipping(store).open(after=cargo.mark())
    seconds = round(time.monotonic() - begun, 3)
    return Migrated(here, there, tenant, dict(cargo.tally.rows), heads, resumed, compared, seconds)


def abandon(target: str) -> None:
    """Empty a store that a `migrate` has begun to fill, and did not finish."""
    registry.check_there(registry.locate(target))
    with _opened(target, "target") as store:
        _shipping(store).abandon()


def _is_stream(place: str) -> bool:
    return "://" not in place and place.endswith(STREAM)


def _check_ends(source: str, target: str, tenant: str | None) -> None:
    if all(map(_is_stream, (source, target))):
        raise InvalidInput("target: both are streams", hint="copy the file, or name a store", field="target")
    if _is_stream(source):
        if tenant is not None:
            raise InvalidInput(
                "tenant: a stream is taken in whole", hint="say --tenant when you write it", field="tenant"
            )
        if not Path(source).expanduser().is_file():
            raise InvalidInput(f"source: there is no file {source}", hint="check the path", field="source")
        return
    if _is_stream(target) and Path(target).expanduser().exists():
        raise InvalidInput(
            f"target: {target} is there already", hint="name a file that is not there yet", field="target"
        )
    ends = [registry.locate(one) for one in (source, target) if not _is_stream(one)]
    paths = [registry.sqlite_path(one).resolve() for one in ends if one.startswith("sqlite://")]
    if len(ends) == 2 and (ends[0] == ends[1] or (len(paths) == 2 and paths[0] == paths[1])):
        raise InvalidInput("target: it is the source itself", hint="name another store", field="target")
    if ends[-1].startswith("sqlite://") and not _is_stream(target) and not paths[-1].parent.is_dir():
        raise InvalidInput(
            f"target: there is no folder {paths[-1].parent}",
            hint="make it first; the address of a database begins with postgresql://",
            field="target",
        )
    _check_source(ends[0])


def _check_source(url: str) -> None:
    """It must be there, and of today's version: what is only read is not upgraded on the way."""
    registry.check_there(url)
    found, newest = _versions(url)
    where = shown("store", url)
    if found == 0:
        raise StoreError(f"there is no store at {where}", hint="check the address")
    if found > newest:
        raise StoreNewer(
            f"the source was upgraded by a newer agent-memory, and has what this one cannot move: {where}",
            hint="run the newer one",
        )
    if found < newest:
        raise StoreError(
            f"the source was written by an older version: {where}",
            hint=f"run `agent-memory upgrade --store {where}` first; a database is upgraded by any command, as "
            "the role that owns it",
        )


def _versions(url: str) -> tuple[int, int]:
    """The number of the schema that is there (0: none), and of the one that we know."""
    scheme = url.partition("://")[0]
    if scheme == "sqlite":
        from agent_memory.engines.sqlite import schema

        path = registry.sqlite_path(url)
        return schema.version(path) if path.stat().st_size else 0, schema.newest()
    if scheme in registry.POSTGRES:
        registry.postgres("source")
        from agent_memory.engines.postgres.schema import health

        found = health(url)
        return found.schema, found.newest
    return 1, 1  # only the engine knows


@contextmanager
def _opened(place: str, field: str) -> Iterator[Store]:
    store = registry.open_store(registry.locate(place, field), field, filling=field == "target")
    try:
        _shipping(store)
        yield store
    finally:
        store.close()


def _shipping(store: Store) -> Shipping:
    if store.shipping is None:
        raise PartMissing(f"this engine cannot be migrated: {store.url}", hint="use SQLite or PostgreSQL")
    return store.shipping


@contextmanager
def _sound(source: str, tenant: str | None) -> Iterator[Store]:
    """A source whose journals prove what it holds. What is damaged would be damaged over there as well."""
    with _opened(source, "source") as store:
        with told_as("verifying the source", "journal"):
            found = store.records.verify(tenant, alone=tenant is not None)
        if found.problems:
            more = f", and {len(found.problems) - 1} more" if len(found.problems) > 1 else ""
            raise Corrupt(
                f"the source is damaged, and nothing was carried: {found.problems[0]}{more}: {store.url}",
                hint="`agent-memory verify` names it all; restore a backup",
            )
        yield store


@contextmanager
def _shown(store: Store, tenant: str | None) -> Iterator[tuple[_Cargo, Heads]]:
    with _shipping(store).showing(tenant) as show:
        total = sum(seq for _, seq, _ in show("heads")) * 4  # a line, a content, a version and a vector
        yield _Cargo(items(show, tenant), total), _heads(show)


@contextmanager
def _file(path: Path) -> Iterator[tuple[_Cargo, Heads]]:
    """From a file, whose heads only show when all is there. It is read to its end before anything is filled: one that
    was cut or changed leaves no target half full."""
    with path.open("rb") as lines:
        for _ in read(lines, str(path)):
            pass
    with path.open("rb") as lines:
        yield _Cargo(read(lines, str(path)), path.stat().st_size // 400), {}


def _heads(show: Show) -> Heads:
    return {name or "": f"{seq}:{chain.hex()}" for name, seq, chain in show("heads")}


def _save(path: Path, cargo: _Cargo, tenant: str | None, told: Progress) -> None:
    """Only its owner can read it, and it is there when it is whole."""
    try:
        with private(path) as file:
            file.write(heading(tenant))
            for batch in _batches(cargo, told):
                file.writelines(item.line for item in batch)
            file.write(ending(cargo.tally))
    except OSError as error:
        why = f"{path}: cannot be written: {error.strerror}"
        raise InvalidInput(why, hint="name another file", field="target") from error


def _fill(target: Shipping, cargo: _Cargo, told: Progress) -> int:
    """How many rows were there from a run before."""
    mark = target.mark()
    if mark is None:
        mark = cargo.mark()
        target.begin(mark)
    resumed = _passed(cargo, mark)
    for batch in _batches(cargo, told):
        sections = groupby(batch, lambda item: item.section.name)
        after, mark = mark, cargo.mark()
        target.take([(name, [item.cells for item in rows]) for name, rows in sections], mark, after=after)
    target.finish(after=mark)
    tell("rows", cargo.done, cargo.done)
    return resumed


def _passed(cargo: _Cargo, mark: str) -> int:
    """Read past what the target has, and make sure that it is that."""
    rows: int = json.loads(mark)["rows"]
    if rows:
        for _ in cargo:
            if cargo.done == rows:
                break
        if cargo.mark() != mark:
            raise Conflict(
                "the target holds a part of something else: another source, another tenant, or this one before it was "
                "changed",
                hint=ABANDON,
            )
    return rows


def _batches(cargo: _Cargo, told: Progress) -> Iterator[list[ShippedRow]]:
    """Not too many rows at a time, and not too much. What is behind them all is told."""
    batch: list[ShippedRow] = []
    size, left = 0, deque(SECTIONS)
    for item in cargo:
        while left[0] != item.section.name:
            told(left[0], cargo.tally.rows[left.popleft()])
        batch.append(item)
        size += len(item.line)
        if len(batch) == BATCH_ROWS or size > BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
    for name in left:
        told(name, cargo.tally.rows[name])


def _prove(origin: Store | None, store: Store, tally: Tally, tenant: str | None, heads: Heads) -> tuple[int, Heads]:
    """That the target holds what the source does, proves the same and answers the same: how many reads were compared,
    and the heads of the target."""
    with told_as("verifying the target", "journal"):
        found = store.records.verify(None)
    again = Tally()
    with _shipping(store).showing() as show:
        there = _heads(show)
        for item in counted(items(show), "comparing rows", lambda: sum(tally.rows.values())):
            again.add(item)
    wrong = [*found.problems, *unlike(tally.told(), again.told())]
    wrong += [
        f"the journal of {name or 'the store'!a} ends otherwise" for name in heads if heads[name] != there.get(name)
    ]
    compared = 0
    if origin is not None and not wrong:
        with _shipping(origin).showing(tenant) as show:
            moved = sorted(name for name, head in _heads(show).items() if heads.get(name) != head)
        if moved:
            raise _moved(f"in the journal of {moved[0] or 'the store'!a}")
        compared, wrong = comparing.compare(origin, store, tenant)
        with _shipping(origin).showing(tenant) as show:
            if changed := _changed(show, tenant, tally):
                raise _moved(f"in what no journal tells of: {changed}")
    if wrong:
        raise Corrupt(f"the target is not what was sent: {wrong[0]}: {store.url}", hint=ABANDON)
    return compared, there


def _changed(show: Show, tenant: str | None, tally: Tally) -> str:
    """What became of rows that no journal tells of, since they were sent; nothing, if nothing did."""
    now = Tally()
    for item in items(show, tenant, UNTOLD):
        now.add(item)
    sent, found = tally.told(), now.told()
    return ", ".join(
        f"{name} (rows: {sent[name][0]}, now {found[name][0]})" for name in UNTOLD if sent[name] != found[name]
    )


def _moved(where: str) -> Conflict:
    return Conflict(
        f"the source was written to meanwhile, {where}", hint=f"stop what uses it, also what only recalls. {ABANDON}"
    )
