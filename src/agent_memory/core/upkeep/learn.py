"""Recall learns from feedback: what was said of past recalls becomes an adapter, where that proves to be better. E6.

Recalls are asked again as of now, so that what is learned is what words, dates and names of a question did not tell.
A part of them is held back: a new adapter is written only if it answers these better than the present one, and still
finds memories that nobody asked about. It is derived from all that it saw, and so is forgotten with any of it."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from agent_memory.core.recall.adapter import Adapter, decoded, encoded, stored
from agent_memory.core.recall.gather import Recalling
from agent_memory.core.recall.question import read, spoken
from agent_memory.core.recall.recall import answer
from agent_memory.core.recall.receipt import Question, questions_of
from agent_memory.core.recall.shorthand import spelled_out
from agent_memory.core.upkeep.fit import LOSS, RANK, Example, better, fit, gain, remembered
from agent_memory.core.upkeep.job import Did, JobTurn, Keeping, followed
from agent_memory.core.write.commit import How, commit, connect
from agent_memory.core.write.embed import AT_ONCE
from agent_memory.ledger.journal import ERASE, PUT
from agent_memory.models.answer import Hit
from agent_memory.models.draft import Draft
from agent_memory.models.kinds.adapter import ADAPTER, AdapterPayload
from agent_memory.models.kinds.experience import FeedbackPayload
from agent_memory.models.kinds.kind import joined_key
from agent_memory.models.learned import Learned
from agent_memory.models.model import new_id
from agent_memory.models.moment import from_micros
from agent_memory.models.record import Link, Record, Scope
from agent_memory.ports.abandon import abandoned
from agent_memory.ports.changes import DERIVED_FROM, Author, Expect
from agent_memory.ports.feed import Work
from agent_memory.ports.records import Filter, View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

JOB = "learn"
ACTOR = "upkeep"
SECONDS = 20.0  # for looking at recalls; those that are left are older
MOST_EXAMPLES = 300  # recalls, the newest first
MOST_TEXTS = 1500  # memories that they showed
SHOWN = 20  # of a recall that is asked again
FEWEST, FEWEST_HELD = 20, 5  # below these nothing can be told
FRESH = 10  # recalls that something was said of since, before the job tries again
HELD = 4  # one of so many is held back
IMPLIED = 0.3  # what a citation counts, or that a memory was not called useless
REHEARSED, LONG_ENOUGH = 100, 8  # memories without feedback, and the words that one needs
SPREAD = 0.6  # between the farthest and the nearest memory of a recall, about


class Replayed(NamedTuple):
    """A recall that something was said of: its question, what of it was wanted, and the memories that it showed."""

    feedback: str
    question: Question
    wanted: dict[str, float]
    weight: float
    hits: list[Hit]

    @property
    def held(self) -> bool:
        """Whether it is one of those that an adapter is judged by. A question never is on both sides."""
        return _digest(self.question.text) % HELD == 0


class Proposed(NamedTuple):
    """A new adapter, what speaks for it, and the records that it was made from."""

    told: Learned
    adapter: Adapter | None = None
    seen: Sequence[str] = ()


class Learner:
    """Learns for one scope, once."""

    def __init__(self, keeping: Keeping, recalling: Recalling, scope: Scope, now: int) -> None:
        self._keeping, self._recalling, self._scope, self._now = keeping, recalling, scope, now
        self._records = keeping.store.records
        self._view = View(scope, now)
        self._until = time.monotonic() + SECONDS
        self._texts: dict[int, NDArray[np.float32]] = {}
        self.space = recalling.embedding.space

    def present(self) -> Record | None:
        return self._records.head(self._scope, ADAPTER, key=joined_key(self.space.fingerprint))

    def feedback(self) -> list[Record]:
        """The newest."""
        found = self._records.find(self._view, Filter(kinds=("feedback",)), limit=MOST_EXAMPLES)
        return [one for one in found if one.scope == self._scope]

    def learn(self, said: Sequence[Record], work: Work | None = None) -> Learned:
        old = self.present()
        told, made, seen = self.propose(said, old)
        if made is None or not told.accepted:
            return told
        written = self._write(made, told, max(one.seq for one in said), old, seen, work)
        return told.model_copy(update=_named(written))

    def propose(self, said: Sequence[Record], old: Record | None) -> Proposed:
        """A new adapter, and how it stands beside the present one."""
        found = list(self.replayed(said))
        held, taught = ([one for one in found if one.held == held] for held in (True, False))
        told = Learned(accepted=False, why="", examples=len(found), held_back=len(held), **_named(old))
        if len(found) < FEWEST:
            told.why = f"feedback on {len(found)} recalls can be replayed; it takes {FEWEST}"
            return Proposed(told)
        if len(held) < FEWEST_HELD:
            told.why = f"{len(held)} of {len(found)} recalls are held back to judge by; it takes {FEWEST_HELD}"
            return Proposed(told)
        queries, texts, sample = self._sample({hit.id for one in found for hit in one.hits})
        made = stored(fit([self.example(one) for one in taught], queries))
        present = Adapter() if old is None else decoded(old, self.space)
        before, after = ([self._gain(one, adapter) for one in held] for adapter in (present, made))
        kept = [round(remembered(adapter, queries, texts), 4) for adapter in (present, made)]
        told.before, told.after, told.rehearsed = _mean(before), _mean(after), len(sample)
        told.rehearsed_before, told.rehearsed_after = kept
        told.accepted = better(before, after) and kept[1] >= kept[0] - LOSS
        told.why = "it answers better what was held back"
        if not told.accepted:
            told.why = (
                "it finds less of what nobody asked about" if better(before, after) else f"not sure that {told.why}"
            )
        seen = {one.feedback for one in found} | {hit.id for one in found for hit in one.hits} | {*sample}
        return Proposed(told, made, sorted(seen))

    def _write(
        self, made: Adapter, told: Learned, upto: int, old: Record | None, seen: Sequence[str], work: Work | None
    ) -> Record | None:
        payload = AdapterPayload(
            **encoded(made)._asdict(),
            space=self.space.fingerprint,
            user=self._scope.user,
            agent=self._scope.agent,
            rank=RANK,
            upto=upto,
            **told.model_dump(include={*AdapterPayload.model_fields} & {*Learned.model_fields}),
        )
        text = f"what feedback taught recall in {self.space.fingerprint}"
        id = new_id() if old is None else old.id
        draft = Draft(kind=ADAPTER, id=id, text=text, payload=payload.model_dump(mode="json"), source="inferred")
        changes = [connect(Link(source_id=id, target_id=one, type=DERIVED_FROM, weight=0)) for one in seen]
        expect = Expect(old.version, id=old.id) if old else Expect(0, kind=ADAPTER, key=joined_key(payload.space))
        how = How(expect=(expect,), changes=changes, work=work, decides=True)
        commit(self._keeping.writing, [draft], Author(self._scope, ACTOR, JOB), self._now, how)
        return self.present()

    def replayed(self, said: Sequence[Record]) -> Iterator[Replayed]:
        """As far as the bounds go. A recall in another space, or with a vector of its caller's own, teaches nothing."""
        texts = set[str]()
        for one in said:
            if abandoned() or time.monotonic() > self._until:
                return
            feedback = FeedbackPayload(**one.payload)
            text = self._keeping.store.receipts.receipt(self._view, feedback.receipt_id)
            body = None if text is None else spelled_out(json.loads(text))
            question = None if body is None else self._question(body)
            if body is None or question is None:
                continue
            shown = {hit["id"] for hit in body["hits"]}
            hits = [hit for hit in self._asked(question) if hit.id in shown]
            wanted, weight = judged(feedback, [hit.id for hit in hits])
            if not 0 < sum(map(bool, wanted.values())) < len(hits):
                continue
            texts |= wanted.keys()
            if len(texts) > MOST_TEXTS:
                return
            yield Replayed(one.id, question, wanted, weight, hits)

    def _question(self, body: dict[str, Any]) -> Question | None:
        usable = body["query"] and body.get("space") == self.space.fingerprint and body["meaning"] is None
        if not usable or len(body.get("groups") or ()) > 1:
            return None
        question = questions_of(body, self._scope, self._now, same_space=True)[0]
        return question._replace(k=SHOWN, adapts=False) if question.recipe.formula == "fused" else None

    def _asked(self, question: Question) -> list[Hit]:
        return list(answer(self._recalling, question)[0])

    def _gain(self, one: Replayed, adapter: Adapter) -> float:
        hits = self._asked(one.question._replace(adapter=adapter))
        return gain([one.wanted.get(hit.id, 0.0) for hit in hits if hit.id in one.wanted])

    def example(self, one: Replayed) -> Example:
        import numpy as np

        question = one.question
        asked = read(question.text, from_micros(self._now))
        embedding = self._recalling.embedding
        query = embedding.embed(spoken(asked.text, question.speakers or frozenset())).mean(axis=0).astype(np.float64)
        return Example(
            query,
            np.stack([self._nearest(hit.record, query) for hit in one.hits]),
            np.array([hit.score for hit in one.hits]),
            np.array([one.wanted[hit.id] for hit in one.hits]),
            question.recipe.vectors / SPREAD,
            one.weight,
        )

    def _nearest(self, record: Record, query: NDArray[np.float64]) -> NDArray[np.float64]:
        """The vector of its passage that fits best."""
        if record.seq not in self._texts:
            self._texts[record.seq] = self._embedded(record.text)
        rows = self._texts[record.seq]
        nearest: NDArray[np.float64] = rows[(rows @ query).argmax()]
        return nearest

    def _embedded(self, text: str) -> NDArray[np.float32]:
        embedder = self._recalling.embedding.embedder
        return embedder.embed_many([text[one.start : one.end] for one in embedder.passages(text)[:AT_ONCE]])

    def _sample(self, seen: set[str]) -> tuple[NDArray[np.float64], NDArray[np.float64], list[str]]:
        """Memories without feedback: the second half of the words of each asks for it."""

        kinds = tuple(name for name, kind in self._keeping.writing.kinds.items() if kind.searchable)
        found = self._records.find(self._view, Filter(kinds=kinds), limit=REHEARSED * 10)
        fitting = [one for one in found if one.id not in seen and len(one.text.split()) >= LONG_ENOUGH]
        chosen = sorted(fitting, key=lambda one: (_digest(one.id), one.id))[:REHEARSED]
        halves = [" ".join((words := one.text.split())[len(words) // 2 :]) for one in chosen]
        return self._stacked(halves), self._stacked([one.text for one in chosen]), [one.id for one in chosen]

    def _stacked(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """The first vector of each."""
        import numpy as np

        rows = [self._embedded(text)[0] for text in texts]
        return np.array(rows, np.float64).reshape(len(rows), self.space.dimension)


def judged(said: FeedbackPayload, shown: Sequence[str]) -> tuple[dict[str, float], float]:
    """What of the memories shown was wanted, and how much that counts: most where somebody named it."""
    wanted = {*said.useful} or {*said.cited} or {*shown} - {*said.useless}
    return {id: float(id in wanted) for id in shown}, 1.0 if said.useful else IMPLIED


def learn(keeping: Keeping, turn: JobTurn, recalling: Recalling) -> Did:
    """For every scope in which enough was said since the last time, or something was forgotten. It asks no service:
    that would cost money."""
    did = {"tried": 0, "adapters": 0}
    service = getattr(recalling.embedding.embedder, "service", None)
    for lines in followed(keeping, turn, JOB):
        said = (one for one in lines if (one.kind == "feedback" and one.operation == PUT) or one.operation == ERASE)
        for scope in dict.fromkeys(one.scope for one in said) if service is None else ():
            learner = Learner(keeping, recalling, scope, turn.now)
            found, old = learner.feedback(), learner.present()
            since = 0 if old is None else int(old.payload["upto"])
            if len(found) >= FEWEST and sum(one.seq > since for one in found) >= FRESH:
                did["tried"] += 1
                did["adapters"] += learner.learn(found, Work(turn.lease)).accepted
    return {**did, "behind": keeping.store.feed.behind(JOB)}


def _named(record: Record | None) -> dict[str, Any]:
    return {} if record is None else {"adapter": record.id, "version": record.version}


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4)


def _digest(id: str) -> int:
    return int.from_bytes(hashlib.blake2b(id.encode(), digest_size=8).digest())
