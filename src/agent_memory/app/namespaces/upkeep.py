"""`memory.upkeep`: numbers for everybody, and what an operator asks of the whole store."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Unpack

from pydantic import Field

from agent_memory.app.jobs import jobs
from agent_memory.app.namespaces.extracting import Extracting
from agent_memory.app.namespaces.learning import FromFeedback
from agent_memory.app.namespaces.merging import Consolidating
from agent_memory.app.namespaces.options import Moments
from agent_memory.app.namespaces.pruning import Pruning
from agent_memory.app.operations import Permission, ResourceSlot, ToolSlot, operation
from agent_memory.app.registry import locate
from agent_memory.core.graph.origins import origins_of
from agent_memory.core.upkeep.job import Job, Keeping
from agent_memory.core.upkeep.jobs import embed
from agent_memory.core.upkeep.runner import Runner
from agent_memory.core.write.sample import sample
from agent_memory.core.write.wording import analysis, checker
from agent_memory.models.errors import InvalidInput, NotFound
from agent_memory.models.model import Model
from agent_memory.models.moment import from_micros, maybe_moment
from agent_memory.models.origin import Origins
from agent_memory.ports.changes import Mark
from agent_memory.ports.feed import JobState
from agent_memory.ports.store import Store, TextSizes

SCALE_BYTES = 8
OF_THE_STORE = ("store", "bytes_on_disk", "resident_bytes", "debts", "behind")


class Verification(Model):
    """`ok` when the journals' chains hold, everything in the store is what was written, and words, indexed fields and a
    sample of the vectors are what follows from it. Keep `seq` and `head`, the end of this tenant's journal, elsewhere,
    as `SEQ:HEAD`: `verify(expect=…)` then proves that a later store still contains that line. `heads` are the same of
    each journal that was proved, by tenant; that of the store itself has no name. `notes` tell of old damage that an
    operator accepted; it is no problem any more."""

    ok: bool
    seq: int
    head: str
    checked: dict[str, int]
    problems: list[str]
    heads: dict[str, str] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)


class JobReport(Model):
    """A background job. `did` is what its last run changed, in numbers; `last_error` stays until there is another one.
    `lag` is how much is left to do; null: only a run can tell. `cursor` is the last line of this tenant's journal that
    it is done with; null: it has read none, or does not follow the journal. Nobody has it where `held_by` is null."""

    name: str
    every_seconds: float
    last_run: datetime | None
    took_seconds: float | None
    did: dict[str, int]
    last_error: str | None
    failed_at: datetime | None
    lag: int | None
    cursor: int | None
    held_by: str | None
    held_until: datetime | None


class Upkeep(Extracting, Consolidating, Pruning, FromFeedback):
    """Numbers, proofs and repairs."""

    @operation(
        "upkeep.stats", "GET /stats", command="stats", mcp=[ToolSlot("upkeep", "stats"), ResourceSlot("memory://stats")]
    )
    def stats(self) -> dict[str, Any]:
        """How much there is, for this user. Where the store is, its size, that of the process and its debts are told to
        operators, and null for others.

        `scrub_owed_since`: something that was forgotten then may still be on the disk; later writes and jobs
        overwrite it. `debts`: places outside that must still forget records or whole tenants, how many, since when, and
        the last error. `behind`: vector stores that have not been told everything, in the same way. `replica`, where
        there is one: how many seconds at most and how many lines of this tenant it is behind; null where it is out of
        reach.
        """
        runtime = self._client.runtime
        runtime.receipts.flush()
        found = runtime.store.records.stats(self._client.view())
        for told, name in ((found["accesses"], "last"), (found, "scrub_owed_since")):
            told[name] = None if told.get(name) is None else from_micros(told[name]).isoformat()
        found = {
            "store": runtime.store.url,
            **found,
            "debts": _debts(runtime.store),
            "behind": _behind(runtime.store),
            "resident_bytes": resident_bytes(),
            "compression": _compression(found["vectors"], runtime.embedding.space.dimension, self._texts()),
        }
        return found if self._client.caller.operates else {**found, **dict.fromkeys(OF_THE_STORE)}

    def _texts(self) -> TextSizes:
        encodings = self._client.runtime.store.encodings
        return TextSizes() if encodings is None else encodings.sizes(self._client.view())

    @operation("upkeep.compressed", "GET /compressed")
    def compressed(self, ids: list[str]) -> list[str]:
        """Those of these records whose text is kept compressed."""
        encodings = self._client.runtime.store.encodings
        found = set() if encodings is None else encodings.encoded(self._client.view(), ids)
        return [id for id in ids if id in found]

    @operation(
        "upkeep.verify",
        "POST /verify",
        permission=Permission.OPERATOR,
        command="verify",
        mcp=[ToolSlot("upkeep", "verify")],
    )
    def verify(self, expect: str | None = None) -> Verification:
        """Prove the hash chains of all tenants' journals and of the store's own, every record and every key against
        them, and look for damage in all the rest.

        `expect` is what an earlier run printed as its head, noted elsewhere: `SEQ:HEAD` of this tenant's journal and,
        after a `+`, of the store's own. A journal whose end was cut off, or that was written anew, no longer holds
        that line.
        """
        runtime = self._client.runtime
        own, store = (None, None) if expect is None else _marks(expect)
        records = runtime.store.records
        found = records.verify(self._client.scope.tenant, checker(runtime.kinds), own)
        lost = [] if store is None else records.verify(None, None, store, alone=True).problems
        made, strange = sample(runtime.embedding.embedder, runtime.store.index)
        problems = [*found.problems, *(f"store: {one}" for one in lost if one not in found.problems), *strange]
        return Verification(
            heads={name or "": f"{mark.seq}:{mark.head}" for name, mark in found.heads.items()},
            ok=not problems,
            seq=found.seq,
            head=found.head,
            checked={**found.checked, **({"vectors made anew": made} if made else {})},
            problems=problems,
            notes=list(found.notes),
        )

    @operation("upkeep.why", "GET /records/{id}/origins", command="why", mcp=[ToolSlot("upkeep", "why")])
    def why(self, id: str, **at: Unpack[Moments]) -> Origins:
        """Where a record comes from: what it was derived from, and what that was, down to the turns.

        Sources that were forgotten, or that this reader may not see, are not named."""
        view, records = self._client.view(**at), self._client.runtime.store.records
        found = records.get(view, [id])
        if not found:
            raise NotFound(f"no record {id!r}", field="id")
        return origins_of(records, view, found[0])

    @operation("upkeep.catch_up", "POST /catch-up", permission=Permission.WRITE)
    def catch_up(self) -> dict[str, int]:
        """Make the vectors that are still missing; returns how many there were and how many are left. For an operator
        these are all of the store, for others those that they can see."""
        client = self._client
        client.runtime.embedding.agree()
        view = None if client.caller.operates else client.view()
        return embed(client.runtime.embedding, client.now(), view=view)

    @operation("upkeep.run_jobs", "POST /jobs", permission=Permission.OPERATOR)
    def run_jobs(self) -> dict[str, dict[str, int]]:
        """Run every background job once, now, and say what each did. `worker` and `serve` run them on their own.

        All of them are run, even if one fails; then the first failure is raised.
        """
        client = self._client
        runner = Runner(client.runtime.keeping(client.clock), self._jobs())
        return {name: dict(did) for name, did in runner.once().items()}

    @operation("upkeep.jobs", "GET /jobs", permission=Permission.OPERATOR, command="jobs")
    def jobs(self) -> list[JobReport]:
        """What each background job did last, how far it is behind, and which worker has it now."""
        client = self._client
        keeping = client.runtime.keeping(client.clock)
        known = {state.name: state for state in keeping.store.feed.states()}
        tenant = client.scope.tenant
        return [_report(keeping, tenant, job, known.get(job.leased, JobState(job.name))) for job in self._jobs()]

    def _jobs(self) -> Sequence[Job]:
        return jobs(self._client.runtime, self._client.settings, self._client.workplace.own)

    @operation("upkeep.detach", "POST /places/detach", permission=Permission.OPERATOR)
    def detach(self, place: str) -> int:
        """Detach an outside place that no longer holds anything, or will not come back: erasures no longer concern it.

        Returns how many erasures it still owed; `stats` names the places that owe some. A vector store that is used
        again later is filled from scratch.
        """
        debts = self._client.runtime.store.debts
        attached = [one.place for one in debts.standing()] if debts else []
        meant = place if place in attached else next((one for one in attached if _spelled(one) == _spelled(place)), "")
        left = debts.detach(meant) if debts else None
        if left is None:
            raise NotFound(
                f"place: {place!r} is not attached",
                hint=f"attached: {', '.join(attached)}" if attached else "no place outside is attached",
                field="place",
            )
        return left

    @operation(
        "upkeep.rebuild",
        "POST /rebuild",
        permission=Permission.OPERATOR,
        command="rebuild",
        mcp=[ToolSlot("upkeep", "rebuild")],
    )
    def rebuild(self, vectors: bool = False) -> dict[str, Any]:
        """Rebuild everything derived: words, fields, views and missing vectors.

        With `vectors`, all of them are made again; the space of another embedder is built next to the old one, which
        answers until it is complete. Vectors that callers supplied are kept, unless the space is another.
        """
        runtime = self._client.runtime
        made = dict(runtime.store.records.rebuild(analysis(runtime.kinds, runtime.store.vocabularies())))
        space = runtime.embedding.space
        another = vectors or not runtime.embedding.agree()
        if another:
            runtime.store.index.begin(space, anew=vectors)
        before = runtime.store.index.pending(space)
        left = runtime.embedding.catch_up(None, seconds=None, now=self._client.now())
        if another:
            runtime.store.index.switch(space, anew=vectors)
            runtime.embedding.disagree()
        return {**made, "vectors": before - left, "pending_vectors": left, "space": space.fingerprint}


def _spelled(place: str) -> str:
    """A part and its address in one spelling: a path is absolute, and no slash ends it."""
    name, _, url = place.strip().partition(" ")
    try:
        return f"{name} {locate(url.strip().rstrip('/'))}"
    except InvalidInput:
        return place


def _debts(store: Store) -> list[dict[str, Any]]:
    standing = store.debts.standing() if store.debts else []
    return [
        {
            "place": one.place,
            "records": one.records,
            "tenants": one.tenants,
            "since": None if one.since is None else from_micros(one.since).isoformat(),
            "error": one.error,
        }
        for one in standing
        if one.left
    ]


def _behind(store: Store) -> list[dict[str, Any]]:
    return [
        {
            "place": one.place,
            "vectors": one.vectors,
            "since": from_micros(one.since).isoformat(),
            "error": one.error,
        }
        for one in store.vectors.lags()
    ]


def _report(keeping: Keeping, tenant: str, job: Job, state: JobState) -> JobReport:
    return JobReport(
        name=job.name,
        every_seconds=job.seconds,
        last_run=maybe_moment(state.ran_at),
        took_seconds=state.seconds,
        did=dict(state.did),
        last_error=state.error,
        failed_at=maybe_moment(state.failed_at),
        lag=None if (lag := job.lag or job.left) is None else lag(keeping),
        cursor=keeping.store.feed.cursor(job.name, tenant).seq or None,
        held_by=state.holder,
        held_until=maybe_moment(state.until),
    )


def _marks(text: str) -> tuple[Mark, Mark | None]:
    """Of the tenant's journal, and of the store's."""
    found = re.fullmatch("([0-9]{1,18}):([0-9a-fA-F]{64})(?:[+]([0-9]{1,18}):([0-9a-fA-F]{64}))?", text)
    if found is None:
        raise InvalidInput(
            f"expect: {text!r} is not SEQ:HEAD, or SEQ:HEAD+SEQ:HEAD",
            hint="numbers and 64 hexadecimal digits, as an earlier `agent-memory verify` printed them",
            field="expect",
        )
    seq, head, store_seq, store_head = found.groups()
    own = Mark(int(seq), head.lower())
    return own, None if store_seq is None else Mark(int(store_seq), store_head.lower())


def resident_bytes(process: int | None = None) -> int | None:
    """How much memory this process, or another, holds right now; of this one its peak where the system tells no more;
    None where it tells nothing."""
    try:
        return int(Path(f"/proc/{process or 'self'}/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        if process is not None:
            return None
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _compression(vectors: int, dimension: int, texts: TextSizes) -> dict[str, Any]:
    """Vectors are kept as int8 with one scale each, against float32; texts as they stand, or in a codec."""
    plain, stored = 4 * dimension, dimension + SCALE_BYTES
    return {
        "vectors": {"float32_bytes": vectors * plain, "stored_bytes": vectors * stored},
        "vector_ratio": round(plain / stored, 2),
        "texts": texts._asdict(),
        "text_ratio": round(texts.bytes / texts.stored, 2) if texts.stored else 1.0,
    }
