"""The jobs that every store has. Add one to `JOBS`, and every worker runs it, `jobs` shows it, `/metrics` counts it."""

from __future__ import annotations

from agent_memory.core.upkeep.cleanup import CLEANUP, DECAY, cleanup, decay
from agent_memory.core.upkeep.conversations import JOB as CONVERSATIONS
from agent_memory.core.upkeep.conversations import behind, conversations
from agent_memory.core.upkeep.embeddings import JOB as EMBEDDINGS
from agent_memory.core.upkeep.embeddings import behind as unlooked
from agent_memory.core.upkeep.embeddings import embeddings
from agent_memory.core.upkeep.job import Did, Job, JobTurn, Keeping
from agent_memory.core.write.embed import Embedding, following
from agent_memory.core.write.mirror import JOB as VECTORS
from agent_memory.ports.feed import Work
from agent_memory.ports.records import View

PATTERNS, CONSOLIDATE = "patterns", "consolidate"
DAILY = 86_400.0  # seconds


def embed(
    embedding: Embedding, now: int, seconds: float | None = None, view: View | None = None, work: Work | None = None
) -> dict[str, int]:
    """Make the vectors that bulk writes and embedders out of reach left for later, in all of the store or a view. A
    store that lacks none is not asked to agree with this embedder: nobody used it yet. Vectors of a model that this
    one follows are made anew, and then these answer."""
    follows = view is None and following(embedding)
    if follows:
        embedding.begin()
    before = left = embedding.pending(view)
    if before:
        embedding.agree()
        left = embedding.catch_up(view, seconds=seconds, now=now, work=work)
    if follows and not embedding.pending():
        embedding.succeed()
    return {"vectors": before - left, "pending_vectors": left}


def catch_up(keeping: Keeping, turn: JobTurn) -> Did:
    return embed(keeping.writing.embedding, turn.now, turn.seconds, work=Work(turn.lease))


def retention(keeping: Keeping, turn: JobTurn) -> Did:
    """Let receipts go whose time is over, also where no new one comes. Whoever does it, the same ones go: it is not
    fenced."""
    return {"receipts": keeping.store.receipts.expire(turn.now)}


def scrub(keeping: Keeping, turn: JobTurn) -> Did:
    """Take from the disk what was forgotten while somebody read, and from places outside what was forgotten while they
    were away, also where nobody writes any more."""
    if turn.seconds is None:
        keeping.mirroring.retry()
    scrubbed = keeping.store.scrub(turn.seconds is None)
    return {"owed": int(not (keeping.writing.debts.pay() and scrubbed))}


def owed(keeping: Keeping) -> int:
    """What can be taken now. What is not ripe is shown by `stats` and `doctor`."""
    return int(keeping.store.owes() and keeping.store.ripe()) + keeping.writing.debts.left


def index(keeping: Keeping, turn: JobTurn) -> Did:
    """Prepare what is too large for memory. Whoever does it, the same rows come of it: it is not fenced."""
    indexing = keeping.store.indexing
    return {"contents": 0, "left": 0} if indexing is None else indexing.run(turn.seconds)


def unindexed(keeping: Keeping) -> int:
    return 0 if keeping.store.indexing is None else keeping.store.indexing.left()


def unprepared(keeping: Keeping) -> int:
    """Also where another role has to do it."""
    indexing = keeping.store.indexing
    return 0 if indexing is None else indexing.left() or indexing.wanting()


def vectors(keeping: Keeping, turn: JobTurn) -> Did:
    """Tell the vector store elsewhere what it missed while it was away, or while others were telling it something."""
    return keeping.mirroring.catch_up(Work(turn.lease), turn.seconds)


def consolidate(keeping: Keeping, turn: JobTurn) -> Did:
    from agent_memory.core.upkeep.consolidate import consolidate  # its tables are compiled when they are read

    return consolidate(keeping, turn)


def patterns(keeping: Keeping, turn: JobTurn) -> Did:
    from agent_memory.core.upkeep.patterns import patterns  # it reads rules, which few who ask for jobs do

    return patterns(keeping, turn)


def merge(keeping: Keeping, turn: JobTurn) -> Did:
    from agent_memory.core.upkeep.merge import merge

    return merge(keeping, turn)


def unmerged(keeping: Keeping) -> int:
    from agent_memory.core.upkeep.merge import waiting

    return waiting(keeping)


def archive(keeping: Keeping, turn: JobTurn) -> Did:
    from agent_memory.core.upkeep.archive import archive

    return archive(keeping, turn)


JOBS = (
    Job(
        "catch_up",
        5.0,
        catch_up,
        left=lambda keeping: keeping.writing.embedding.pending() or int(following(keeping.writing.embedding)),
        more=lambda did: did["vectors"] > 0 and did["pending_vectors"] > 0,
    ),
    Job("retention", 3600.0, retention),
    Job("scrub", 10.0, scrub, left=owed),
    Job(
        "index",
        60.0,
        index,
        left=unindexed,
        more=lambda did: did["contents"] > 0 and did["left"] > 0,
        lag=unprepared,
    ),
    Job(
        VECTORS,
        10.0,
        vectors,
        left=lambda keeping: keeping.mirroring.left,
        more=lambda did: did["vectors"] > 0 and did["behind"] > 0,
    ),
    Job(EMBEDDINGS, 10.0, embeddings, left=unlooked, more=lambda did: did["behind"] > 0),
    Job(CONVERSATIONS, 60.0, conversations, left=behind, more=lambda did: did["behind"] > 0),
    Job(
        CONSOLIDATE,
        900.0,
        consolidate,
        left=lambda keeping: keeping.store.feed.behind(CONSOLIDATE),
        more=lambda did: did["conversations"] > 0 and did["behind"] > 0,
    ),
    Job(
        PATTERNS,
        3600.0,
        patterns,
        left=lambda keeping: keeping.store.feed.behind(PATTERNS),
        more=lambda did: did["behind"] > 0,
    ),
    Job("merge", 60.0, merge, left=unmerged, more=lambda did: did["left"] > 0),
    Job("archive", DAILY, archive),
    Job(DECAY, DAILY, decay),
    Job(CLEANUP, DAILY, cleanup),
)
