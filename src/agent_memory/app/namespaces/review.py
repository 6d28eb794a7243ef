"""`memory.review`: what waits for a person's decision. P8."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agent_memory.app.operations import Namespace, Permission, operation
from agent_memory.core.govern.redaction import commons
from agent_memory.core.govern.review import WHY, HeldKey
from agent_memory.core.govern.waiting import after, known, waiting, waits
from agent_memory.core.write.commit import How, commit, until_settled, write
from agent_memory.core.write.normalise import known_kind, natural_key, normalise
from agent_memory.ledger.request import own
from agent_memory.models.draft import Draft
from agent_memory.models.errors import Denied, InvalidInput
from agent_memory.models.kinds.govern import POLICY
from agent_memory.models.kinds.procedure import PROPOSED
from agent_memory.models.limits import Many
from agent_memory.models.record import SHARED, Link, Record, Status
from agent_memory.models.review import HeldMemory, ReviewEvidence, ReviewPolicy, ReviewRule
from agent_memory.models.trust import trust_of
from agent_memory.ports.changes import DERIVED_FROM, Amend, Author, Expect
from agent_memory.ports.records import View

BECAME = "BECAME"
"""From what was held to the record that it is a version of now."""
PROPOSED_RULE = "somebody proposed it as a rule"


class Review(Namespace):
    """Memories that take effect only when somebody approves them, and the policy that holds them."""

    @operation("review.show", "GET /review/{id}", permission=Permission.REVIEW)
    def show(self, id: str) -> HeldMemory:
        """One of them, with what is in force meanwhile and what it was made from."""
        return self._shown(id)

    @operation("review.approve", "POST /review/{id}/approve", permission=Permission.REVIEW)
    def approve(self, id: str, reason: str | None = None) -> Record:
        """Let it take effect, and return the resulting record. What it replaces stays in history."""
        client = self._client

        def attempt(held: Record) -> Record:
            named, author = self._named(held), self._author(held, reason or "approved")
            draft, standing = self._meant(held, named)
            how = How(expect=[Expect(held.version, id=held.id)])
            if standing is not None:
                if draft.valid_from is not None and draft.valid_from <= standing.valid_from:
                    draft = replace(draft, valid_from=client.clock.now())
                became = Link(source_id=held.id, target_id=standing.id, type=BECAME)
                draft = replace(draft, links=(became, *self._links(held, standing.id)))
                how = how._replace(changes=[Amend(held.id, Status.ARCHIVED)])
            applied = commit(client.runtime.writing, [draft], author, client.now(), how)
            record = client.runtime.store.records.head(held.scope, held.kind, id=applied.outcomes[0].id)
            assert record is not None
            return record

        return until_settled(attempt, lambda: self._waiting(id))

    @operation("review.edit", "PUT /review/{id}", permission=Permission.REVIEW)
    def edit(self, id: str, text: str | None = None, payload: dict[str, Any] | None = None) -> HeldMemory:
        """Correct what waits; it goes on waiting. `payload` changes the fields it names.

        Of a preference and the like, the payload takes effect: give it with a new text.
        """
        client = self._client
        if text is None and payload is None:
            raise InvalidInput("text: nothing to change", hint="give a text, a payload or both", field="text")

        def attempt(held: Record) -> HeldMemory:
            named, author = self._named(held), self._author(held, "edited for review")
            runtime, now = client.runtime, client.now()
            if payload is None and runtime.kinds[held.kind].asserts == "directive":
                hint = "give the payload, too"
                raise InvalidInput(f"payload: is what takes effect of a {held.kind}", hint=hint, field="payload")
            said = held.text if text is None else text
            draft = replace(Draft.of(held), text=said, payload={**held.payload, **(payload or {})})
            put = normalise(draft, runtime.kinds, now, runtime.wording.analyser)
            before = natural_key(runtime.kinds[held.kind], Draft.of(held), held.payload)
            about_another = text is None and put.state.key != before  # it is not a version of that record any more
            key = named._replace(id="").respelled(held) if about_another else held.key
            aside = put._replace(state=put.state._replace(key=key), succeeds=False)
            write(runtime.writing, [aside], author, now, How(expect=[Expect(held.version, id=held.id)]))
            return self._shown(id)

        return until_settled(attempt, lambda: self._waiting(id))

    @operation("review.reject", "POST /review/{id}/reject", permission=Permission.REVIEW)
    def reject(self, id: str, reason: str | None = None) -> HeldMemory:
        """Turn it down. It stays in the history with the reason, and the same is not proposed again."""
        held, client = self._waiting(id), self._client
        author, how = self._author(held, reason or "rejected"), How(expect=[Expect(held.version, id=held.id)])
        write(client.runtime.writing, [Amend(held.id, Status.REJECTED)], author, client.now(), how)
        return self._told(held)

    @operation("review.policy", "GET /review-policy", permission=Permission.REVIEW)
    def policy(self) -> ReviewPolicy:
        """What this tenant holds or lets in, other than by default."""
        return self._client.runtime.review.policy(self._client.scope.tenant)

    @operation("review.set_policy", "PUT /review-policy", permission=Permission.ADMIN)
    def set_policy(self, rules: list[ReviewRule]) -> ReviewPolicy:
        """Replace the policy of this tenant, for all processes. The first rule that fits a write decides.

        A rule holds what it fits, or with `hold: false` lets it in. It fits by `kind`, `source`, `trust` and `below`,
        a confidence; what it leaves out may be anything.
        """
        client, policy = self._client, ReviewPolicy(rules=[*rules])
        for rule in policy.rules:
            known_kind(rule.kind or "observation", client.runtime.kinds)
        draft = Draft(kind=POLICY, text="", payload=policy.model_dump(mode="json"))
        author = Author(commons(client.scope.tenant), client.scope.user)
        commit(client.runtime.writing, [draft], author, client.now(), How(decides=True))
        return policy

    def _waiting(self, id: str) -> Record:
        client = self._client
        return waits(client.runtime.store.records, client.scope, client.now(), id)

    def _view(self, held: Record) -> View:
        """As its own agent sees what it belongs to."""
        return View(held.scope, self._client.now())

    def _shown(self, id: str) -> HeldMemory:
        record = self._waiting(id)
        return self._told(record).model_copy(update={"evidence": self._evidence(record)})

    def _author(self, held: Record, reason: str) -> Author:
        """Who may change it may decide about it: what all share is decided by whoever writes for all."""
        client = self._client
        theirs = client.scope.agent == SHARED and held.scope.user == client.scope.user  # an agent of this user
        if not theirs and held.scope not in own(client.scope):
            raise Denied(f"id: {held.id!r} is shared by all users", hint="decide about it with shared=True", field="id")
        return Author(held.scope, client.scope.user, reason, reviewed=True)

    def _named(self, held: Record) -> HeldKey:
        if held.source == PROPOSED and held.kind == "procedure":
            raise InvalidInput(
                f"id: {held.id!r} is a rule, which takes effect on a page",
                hint=f"`agent-memory rules approve {held.id}` writes it there",
                field="id",
            )
        return _told_by(held)

    def _links(self, held: Record, id: str) -> list[Link]:
        """Those that start at what was held, as those of the record that it becomes a version of."""
        found = self._client.runtime.store.records.links(self._view(held), [held.id])
        return [
            one.model_copy(update={"source_id": id}) for one in found if one.source_id == held.id and one.type != BECAME
        ]

    def _meant(self, held: Record, named: HeldKey) -> tuple[Draft, Record | None]:
        """What was to be written, and the record that it would be a version of."""
        client = self._client
        draft = replace(Draft.of(held), status=Status.ACTIVE, key=named.key or None)
        key = named.key or natural_key(client.runtime.kinds[held.kind], draft, draft.payload)
        records, scope = client.runtime.store.records, held.scope
        standing = records.head(scope, held.kind, id=named.id) if named.id else None
        standing = standing or (records.head(scope, held.kind, key=key) if key else None)
        return (draft if standing is None else replace(draft, id=standing.id)), standing

    def _told(self, held: Record) -> HeldMemory:
        named, proposal = _told_by(held), held.kind == "procedure" and held.source == PROPOSED
        standing = None if proposal else self._meant(held, named)[1]
        return HeldMemory(
            id=held.id,
            kind=held.kind,
            text=held.text,
            why=PROPOSED_RULE if proposal else WHY[named.why],
            source=held.source,
            confidence=held.confidence,
            at=held.recorded_at,
            in_force=standing.text if standing and standing.status is Status.ACTIVE else None,
            payload=dict(held.payload),
        )

    def _evidence(self, held: Record) -> Sequence[ReviewEvidence]:
        records, view = self._client.runtime.store.records, self._view(held)
        ids = [
            one.target_id
            for one in records.links(view, [held.id])
            if one.type == DERIVED_FROM and one.source_id == held.id
        ]
        ids += [held.payload["source_turn_id"]] if held.payload.get("source_turn_id") else []
        return [
            ReviewEvidence(id=one.id, kind=one.kind, text=one.text, source=one.source, trust=trust_of(one.source))
            for one in records.get(view, ids)
        ]

    @operation("review.list", "GET /review", permission=Permission.REVIEW)
    def list(self, limit: Many = 50, after_id: str | None = None) -> list[HeldMemory]:
        """What waits, the newest first. `after_id` continues a page.

        A user sees also what their agents proposed for themselves.
        """
        client = self._client
        records, now = client.runtime.store.records, client.now()
        found = waiting(records, client.scope, now)
        last = None if after_id is None else known(records, client.scope, now, after_id)
        return [self._told(one) for one in after(found, last)[:limit]]


def _told_by(held: Record) -> HeldKey:
    """What its key tells. Of those from before there were such keys: that it is what it is."""
    return HeldKey.of(held) or HeldKey("asked", held.id, "")
