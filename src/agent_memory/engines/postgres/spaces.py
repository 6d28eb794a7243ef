"""Embedding spaces: which one answers, what it still lacks, and building another beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_memory.engines.postgres.connection import PostgresSession
from agent_memory.engines.postgres.journal import tell_store
from agent_memory.engines.postgres.present import PostgresLook, columns
from agent_memory.engines.postgres.read import content
from agent_memory.engines.postgres.write import PostgresWriter
from agent_memory.ledger.quantise import restored
from agent_memory.ledger.rows import Lack
from agent_memory.ledger.seals import checksum
from agent_memory.ledger.spaces import LateVectors, adopting, beginning, switches
from agent_memory.ledger.spaces import embedded as filled
from agent_memory.ledger.tenants import another
from agent_memory.models.record import Scope
from agent_memory.ports.changes import Vector
from agent_memory.ports.embedder import Space
from agent_memory.ports.index import Embedded, Sampled


def named(space: Space) -> dict[str, Any]:
    return {"model": space.model, "version": space.version, "dimension": space.dimension}


def number(session: PostgresSession, space: Space) -> int:
    """0: there is none."""
    return session.cell("space", named(space)) or 0


def active(session: PostgresSession) -> Space | None:
    return next((Space(*said) for _, *said, is_active in session.rows("spaces") if is_active), None)


def begin(session: PostgresSession, space: Space, anew: bool) -> None:
    """Nobody writes meanwhile."""
    session.take_your_time()
    session.send("change_spaces")
    step = beginning(_known(session), space, anew=anew)
    if step.again:
        mine = number(session, space)
        session.send("unpend", {"space": mine})
        session.send("pend_again", {"space": mine} | _brought(session, mine))
    if step.new:
        made = session.cell("insert_space", named(space) | {"active": step.first})
        session.send("pend_everything", {"space": made})
    if step.first:
        tell(session, space.fingerprint)


def _known(session: PostgresSession) -> list[Space]:
    """The active space first, and one that is being built beside it."""
    return [Space(*said) for _, *said, _ in session.rows("spaces")]


def _brought(session: PostgresSession, space: int) -> dict[str, Any]:
    """Contents whose vector a caller brought, if it is as it came: nobody else could make it again."""
    sound = (
        (tenant, content)
        for tenant, line, place, space, scope, content, *rest, seal in session.rows("brought", {"space": space})
        if seal == checksum(line, place, space, scope, content, *rest)
    )
    return columns("tenants contents", sound)


def switch(session: PostgresSession, space: Space, anew: bool) -> None:
    session.take_your_time()
    session.send("change_spaces")
    mine = {"space": number(session, space)}
    if not switches(_known(session), space, session.cell("all_pending", mine), anew=anew):
        return
    for sql in ("delete_other_vectors", "delete_other_pending", "delete_other_spaces", "activate_space"):
        session.send(sql, mine)
    tell(session, space.fingerprint)


def tell(session: PostgresSession, reason: str) -> None:
    """Whoever holds the old vectors or words in memory reads them again."""
    tell_store(session, lambda head: [adopting(head, reason)])


def sample(session: PostgresSession, space: Space, count: int) -> list[Sampled]:
    """By chance, so that many a `verify` sees many."""
    rows = session.rows("sample", {"space": number(session, space), "limit": count})
    return [
        Sampled(tenant, handle, content(*text)[start:end], Vector.of(part, start, end, restored(scale, data)))
        for tenant, handle, *text, part, start, end, scale, data in rows
    ]


def embed(session: PostgresSession, look: PostgresLook, space: Space, batch: Sequence[Embedded], now: int) -> None:
    """Vectors that come later than what they are of."""
    present = look.present()
    batch = [one for one in batch if not another(look.founded, one.store, one.handle)]
    if space not in look.spaces or not batch:
        return
    which: dict[str, Any] = {"space": look.spaces[space]}
    lacking = {}
    asked = which | {"contents": [one.handle for one in batch]}
    for handle, user, agent, scope, part in session.rows("lacking", asked):
        whose = Scope(tenant=look.name, user=user, agent=agent)
        look.scopes[whose] = scope
        lacking[handle] = Lack(handle, whose, space, part)
    made = filled(batch, lacking, present.head, look.scopes, now)
    writer = PostgresWriter(session, look)
    writer.lines(made.lines)
    _fill(session, look, which, made)
    writer.vectors(made.vectors)


def _fill(session: PostgresSession, look: PostgresLook, which: dict[str, Any], made: LateVectors) -> None:
    """Contents lack only what comes from a passage on, or nothing any more."""
    anew = ((look.scopes[lack.scope], lack.content) for lack, _ in made.left if not lack.part)
    session.send("delete_vectors", which | columns("scopes contents", anew))  # the old ones stood in until now
    session.send("delete_pending", which | {"contents": [lack.content for lack, part in made.left if part is None]})
    left = ((lack.content, part) for lack, part in made.left if part is not None)
    session.send("go_on_pending", which | columns("contents parts", left))
