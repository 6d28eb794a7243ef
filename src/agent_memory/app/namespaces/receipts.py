"""`memory.receipts`: what a recall left behind, and asking it again. P9."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

from agent_memory.app.operations import Namespace, Permission, ResourceSlot, ToolSlot, operation
from agent_memory.core.recall.costs import costs, told
from agent_memory.core.recall.feedback import check_judged, cited, merged, told_of
from agent_memory.core.recall.recall import recall
from agent_memory.core.recall.receipt import PIPELINE, differences, questions_of
from agent_memory.core.recall.shorthand import read
from agent_memory.core.write.commit import SELF, Revision, commit_after_reading
from agent_memory.core.write.wording import same
from agent_memory.core.write.words import FIRST
from agent_memory.models.answer import Replay
from agent_memory.models.draft import Draft
from agent_memory.models.errors import InvalidInput, NotFound
from agent_memory.models.kinds.experience import Feedback, FeedbackPayload
from agent_memory.models.kinds.kind import joined_key
from agent_memory.models.limits import Few
from agent_memory.models.merged import accesses_before
from agent_memory.models.model import Model, Moment, Name
from agent_memory.models.moment import from_micros, to_micros
from agent_memory.models.record import Link
from agent_memory.models.told import By, Cost, Told
from agent_memory.ports.changes import DERIVED_FROM, Expect
from agent_memory.ports.receipts import Kept
from agent_memory.ports.records import View

JUDGEMENTS = ("useful", "useless", "cited")
MOST_LINES = 100_000
TRACE_ID = re.compile("[0-9a-f]{32}")
WEEK = 7 * 86_400_000_000


class Access(Model):
    """How often recalls showed a record, and when last; None where that is not known any more."""

    id: str
    times: int | None
    last: Moment | None


class Receipts(Namespace):
    """Every recall leaves a receipt for 90 days; forgetting takes those that told of what is gone."""

    @operation(
        "receipts.get",
        "GET /receipts/{receipt_id}",
        command="receipt",
        mcp=[ToolSlot("records", "receipts", "get"), ResourceSlot("memory://receipts/{receipt_id}")],
    )
    def get(self, receipt_id: str) -> dict[str, Any]:
        """What was asked, of which moment, with which recipe, what was shown and why, its cost, and any feedback."""
        body = self._body(receipt_id)
        told = self._client.own("feedback", key=joined_key(receipt_id))
        said = {} if told is None else {"feedback": {name: told.payload[name] for name in JUDGEMENTS}}
        return {**body, **said, "now": from_micros(body["now"]).isoformat()}

    @operation(
        "receipts.feedback",
        "POST /receipts/{receipt_id}/feedback",
        permission=Permission.WRITE,
        command="feedback",
        mcp=[ToolSlot("records", "receipts", "feedback")],
    )
    def feedback(
        self,
        receipt_id: str,
        useful: list[Name] | None = None,
        useless: list[Name] | None = None,
        answer: str | None = None,
    ) -> Feedback:
        """Say which memories of a recall helped and which did not, by their ids; what was said before of others stays.

        With the text of an answer, the memories whose ids it cites are noted as cited, unless more is known of them.
        """
        client, key, made = self._client, joined_key(receipt_id), list[FeedbackPayload]()
        shown = [hit["id"] for hit in self._body(receipt_id)["hits"]]
        new = FeedbackPayload(
            receipt_id=receipt_id, useful=useful or [], useless=useless or [], cited=cited(answer or "", shown)
        )
        check_judged(new, shown)

        def read() -> Revision:
            old = client.own("feedback", key=key)
            made[:] = [merged(FeedbackPayload(**old.payload) if old else FeedbackPayload(receipt_id=receipt_id), new)]
            draft = Draft(
                kind="feedback",
                text="feedback on a recall",
                payload=made[0].model_dump(mode="json"),
                source="agent",
                links=tuple(Link(source_id=SELF, target_id=id, type=DERIVED_FROM, weight=0) for id in told_of(new)),
            )
            return Revision(draft, Expect(old.version if old else 0, kind="feedback", key=key), client.author())

        applied = commit_after_reading(client.runtime.writing, read, client.now())
        return Feedback(id=applied.outcomes[0].id, **made[0].model_dump())

    @operation("receipts.find", "GET /receipts", mcp=[ToolSlot("records", "receipts", "find")])
    def find(
        self,
        since: Moment | None = None,
        slower_than: float = 0.0,
        limit: Few = 50,
        trace_id: str | None = None,
        of_run: Name | None = None,
    ) -> list[Told]:
        """Recalls of this reader, the newest first: of the last seven days, or since a moment; those that took at least
        `slower_than` milliseconds, or those of one trace or run."""
        if trace_id is not None and not TRACE_ID.fullmatch(trace_id):
            raise InvalidInput(
                "trace_id: is not a trace id", hint="use 32 hexadecimal digits in lower case", field="trace_id"
            )
        found = (told(one) for one in self._since(self._client.view(), since))
        traced = (one for one in found if trace_id is None or one.trace_id == trace_id)
        chosen = (one for one in traced if of_run is None or one.run_id == of_run)
        return list(islice((one for one in chosen if one.milliseconds >= slower_than), limit))

    @operation("receipts.costs", "GET /receipts/costs", permission=Permission.ADMIN)
    def costs(self, since: Moment | None = None, by: By = "day") -> list[Cost]:
        """What the recalls of this tenant cost: how many, their tokens and money, and how long they took. A key that is
        bound to a user is told of that user's."""
        whose = self._client.view() if self._client.caller.user else self._client.scope.tenant
        return costs([told(one) for one in self._since(whose, since)], by)

    def _since(self, whose: View | str, since: Moment | None) -> list[Kept]:
        client = self._client
        client.runtime.receipts.flush()
        moment = client.now() - WEEK if since is None else to_micros(since)
        return client.runtime.store.receipts.since(whose, moment, MOST_LINES)

    @operation(
        "receipts.replay",
        "POST /receipts/{receipt_id}/replay",
        command="replay",
        mcp=[ToolSlot("records", "receipts", "replay")],
    )
    def replay(self, receipt_id: str, now: bool = False) -> Replay:
        """Ask a recall again as of its own moment, and prove that the answer is the same.

        With `now` it is asked of today's state, and the differences show what changed since. `same_space` is false when
        the embedding model was changed since: then the vectors of today are used. So are the words of today, where a
        rebuild made them anew since: `same_vocabularies`.
        """
        client = self._client
        early = {"space": None, "head": 0, "vocabularies": [FIRST]}  # the first receipts did not tell these
        body = early | self._body(receipt_id)
        if body.get("approximate") and not now:
            raise InvalidInput(
                "receipt_id: this answer was approximate, and has no replay",
                hint="ask with now=true",
                field="receipt_id",
            )
        if "namespace" in body:
            raise InvalidInput(
                "receipt_id: a recall in a namespace of vectors has no replay",
                hint="`receipt` shows what it answered; vectors.recall asks again",
                field="receipt_id",
            )
        same_space = self._same_space(body)
        questions = questions_of(body, client.scope, client.now() if now else None, same_space)
        recalled = recall(client.runtime.recalling, *questions)
        found = differences(body, recalled)
        lines = client.runtime.store.records.journal(client.view(), after=body["seq"], limit=MOST_LINES)
        return Replay(
            receipt_id=receipt_id,
            identical=not found,
            differences=found,
            recalled=recalled,
            forgotten=sum(line.operation == "erase" for line in lines),
            pending=body["pending"],
            space=body["space"],
            same_space=same_space and (now or recalled.space == body["space"]),  # an embedder may be out of reach
            pipeline=body["pipeline"],
            same_pipeline=body["pipeline"] == PIPELINE,
            vocabularies=body["vocabularies"],
            same_vocabularies=same(body["vocabularies"], client.runtime.store.vocabularies()),
        )

    @operation("receipts.accesses", "GET /accesses")
    def accesses(self, ids: list[str]) -> list[Access]:
        """How often each of these records was recalled, and when last; in the order asked, zero for those never. A
        merged record has the recalls of its originals, too."""
        store, view = self._client.runtime.store, self._client.view()
        self._client.runtime.receipts.flush()
        known = store.receipts.accesses(view, ids)
        before = {one.id: accesses_before(one) for one in store.records.get(view, ids)}
        found = [(id, *known.get(id, (0, None))) for id in ids]
        return [
            Access(
                id=id,
                times=None if times is None else times + before.get(id, 0),
                last=None if last is None else from_micros(last),
            )
            for id, times, last in found
        ]

    def _same_space(self, body: dict[str, Any]) -> bool:
        """Whether the vectors that answered then are still there; where none did, nothing is missing."""
        if body["space"] is None:
            return True
        runtime = self._client.runtime
        same: bool = body["space"] == runtime.embedding.space.fingerprint
        # The first receipts come from a store that had one journal, whose numbers both have kept.
        return same and not runtime.store.index.adopted(body.get("store", body["head"]))

    def _body(self, receipt_id: str) -> dict[str, Any]:
        self._client.runtime.receipts.flush()
        text = self._client.runtime.store.receipts.receipt(self._client.view(), receipt_id)
        if text is None:
            raise NotFound(
                f"no receipt {receipt_id!r}",
                hint="receipts are kept for 90 days, and go when what they told of is forgotten",
                field="receipt_id",
            )
        return read(text)
