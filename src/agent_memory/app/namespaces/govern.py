"""`memory.govern`: secrets in what is stored, and what only looks like one. P23."""

from __future__ import annotations

from pydantic import Field

from agent_memory.app.operations import Namespace, Permission, operation
from agent_memory.core.govern.audit import Auditing
from agent_memory.core.govern.redaction import commons
from agent_memory.core.write.aside import Aside
from agent_memory.core.write.commit import How, commit, until_settled
from agent_memory.core.write.forget import forget
from agent_memory.core.write.scan import Scanning, Stain
from agent_memory.models.audit import AuditLine
from agent_memory.models.draft import Draft
from agent_memory.models.errors import Changed, NotFound
from agent_memory.models.kinds.govern import ALLOWANCE, Fingerprint
from agent_memory.models.limits import Denials
from agent_memory.models.model import Model, Moment
from agent_memory.models.moment import to_micros
from agent_memory.models.record import Scope
from agent_memory.ports.reading import ReadsWanted


class FoundSecret(Model):
    """Where a secret is, and never the secret. `where`: in which part of a record, or at which characters of a text;
    `id`, `user` and `version`: of which record, and in which of its versions. A false alarm is allowed by its
    `fingerprint`; it is null as long as the tenant has stored nothing."""

    kind: str
    where: str
    fingerprint: str | None
    user: str | None = None
    id: str | None = None
    version: int | None = None


class Scanned(Model):
    """`found` are the secrets in records, in working values and in the metadata of vectors. With `fix`, those of the
    records in `cleaned` are gone, and so are those that are in no record; records in `busy` were changed again and
    again meanwhile, and still have theirs. `left` are those in receipts, which go after 90 days, and in reasons in the
    journal, which stay. `scrubbed` as in `Forgotten`."""

    found: list[FoundSecret]
    left: list[FoundSecret]
    cleaned: list[str]
    scrubbed: bool = True
    busy: list[str] = Field(default_factory=list)
    fixed: bool = False


class Govern(Namespace):
    """What may be stored, what should not have been, and who read it."""

    @operation("govern.audit", "GET /audit", permission=Permission.ADMIN, command="audit")
    def audit(
        self,
        id: str | None = None,
        by: str | None = None,
        key: str | None = None,
        since: Moment | None = None,
        limit: Denials = 100,
    ) -> list[AuditLine]:
        """Who read and changed a record, or what a user or an API key did, the newest first: never the text.

        `by` also returns what background jobs changed in that user's memory. Reads are kept for 90 days, changes
        forever. The journal does not name API keys, so with `key` only reads are returned. A key bound to a user only
        sees what that user did.
        """
        client = self._client
        client.runtime.reads.flush()
        bound = client.caller.user
        if bound is not None and by not in (None, bound):
            return []
        wanted = ReadsWanted(id, by or bound, key, 0 if since is None else to_micros(since))
        return Auditing(client.runtime.store, client.scope.tenant, client.now()).lines(wanted, limit)

    @operation("govern.scan", "POST /scan", permission=Permission.ADMIN, command="scan", erases=True)
    def scan(self, fix: bool = False) -> Scanned:
        """Look for secrets in everything that this tenant stored: of all users, in every version, on desks and in the
        metadata of vectors.

        With `fix`, each record that holds one is erased with its history, and what is believed of it is written again
        without the secret, under the same id.
        """
        client = self._client
        runtime = client.runtime
        runtime.receipts.flush()
        scanning = Scanning(runtime.store, runtime.writing, runtime.redaction, client.scope.tenant, client.now())
        aside = Aside(runtime.store, runtime.redaction, client.scope.tenant, client.now())
        stained = [*scanning.records()]
        found = [self._told(one) for _, _, stains in stained for one in stains]
        found += [self._told(Stain(*one)) for one in aside.found()]
        cleaned, busy, scrubbed = list[str](), list[str](), True
        for scope, id, _ in stained if fix else ():
            try:
                scrubbed &= self._cleaned(scanning, scope, id)
                cleaned.append(id)
            except Changed:
                busy.append(id)
        if fix:
            aside.clean()
        left = [self._told(one) for one in scanning.elsewhere()]
        return Scanned(found=found, left=left, cleaned=cleaned, scrubbed=scrubbed, busy=busy, fixed=fix)

    def _cleaned(self, scanning: Scanning, scope: Scope, id: str) -> bool:
        """Of a record that others write at the same time, what it is by now."""
        client = self._client
        return until_settled(
            lambda now: scanning._replace(now=now).clean(scope, id, client.author("redacted")), client.now
        )

    @operation("govern.check", "POST /scan/text", verbatim=True)
    def check(self, text: str) -> list[FoundSecret]:
        """Tell what redaction takes out of a text, and where. Nothing of the text is kept."""
        redaction, tenant = self._client.runtime.redaction, self._client.scope.tenant
        return [
            FoundSecret(
                kind=one.kind,
                where=f"{one.start}-{one.end}",
                fingerprint=redaction.fingerprint(tenant, text[one.start : one.end]),
            )
            for one in redaction.redactor.spans(text, self._client.known().allowed)
        ]

    @operation("govern.allow", "POST /scan/allowed", permission=Permission.ADMIN)
    def allow(self, fingerprint: Fingerprint, reason: str = "") -> None:
        """Say that what has this fingerprint is not a secret: from now on it is stored as it is, for all users of the
        tenant. `check` and `scan` tell fingerprints."""
        client = self._client
        draft = Draft(kind=ALLOWANCE, text=reason, payload={"fingerprint": fingerprint})
        author = client.author(reason or None)._replace(scope=commons(client.scope.tenant))
        commit(client.runtime.writing, [draft], author, client.now(), How(decides=True))

    @operation("govern.disallow", "POST /scan/disallowed", permission=Permission.ADMIN)
    def disallow(self, fingerprint: Fingerprint) -> None:
        """Take an allowance back: what has this fingerprint is a secret again."""
        client = self._client
        scope = commons(client.scope.tenant)
        known = client.runtime.store.records.head(scope, ALLOWANCE, key=fingerprint)
        if known is None:
            raise NotFound(
                f"fingerprint: nothing with the fingerprint {fingerprint} is allowed",
                hint="`list --kind allowance` shows what is",
                field="fingerprint",
            )
        forget(client.runtime.writing, [known.id], client.author()._replace(scope=scope), client.now())

    def _told(self, stain: Stain) -> FoundSecret:
        return FoundSecret(
            kind=stain.secret.kind,
            where=stain.secret.where,
            fingerprint=self._client.runtime.redaction.fingerprint(stain.scope.tenant, stain.secret.secret),
            user=stain.scope.user,
            id=stain.id,
            version=stain.version,
        )
