"""What a recall gives back: hits that say why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import ConfigDict, Field

from agent_memory.models.model import Model, Moment
from agent_memory.models.record import Record
from agent_memory.models.trace import Trace

POOR = 0.25  # chosen by benchmarks/floor.py
Shape = Literal["question", "prose"]


class When(Model):
    """A period that the question names: its words, and what they mean, half open."""

    model_config = ConfigDict(frozen=True)

    words: str
    start: Moment
    end: Moment


class Why(Model):
    """`channels` is what each one added to the score (`recency` is what time has left of it); `words` are those of the
    question that the text has, and `dates` the periods of the question that it falls into, give or take the slack;
    `entities` tell how it is related to what the question names. `read_as`: where a query was read as prose,
    speaker, date, answer, question and recency add nothing."""

    model_config = ConfigDict(frozen=True)

    channels: dict[str, float] = Field(default_factory=dict)
    words: list[str] = Field(default_factory=list)
    dates: list[When] = Field(default_factory=list)
    entities: list[str] = Field(default_factory=list)
    similarity: float | None = None
    exact_key: bool = False
    read_as: Shape = "question"


class FromPage(Model):
    """The page that a record follows: its file, and the repository it is in (`user`: one's own pages)."""

    model_config = ConfigDict(frozen=True)

    repository: str
    file: str

    @classmethod
    def of(cls, record: Record) -> FromPage | None:
        payload = record.payload
        if record.kind != "procedure" or not (payload.get("origin") and payload.get("page")):
            return None
        return cls.trusted(repository=payload["origin"], file=payload["page"])

    def __str__(self) -> str:
        return f"{self.repository}, {self.file}"


class Hit(Model):
    """`score` orders this recall; `relevance` is absolute, 0 to 1, and can be compared between recalls. `repeats` are
    the ids of other records that say the same, where the recipe collapses them. `page` is there where it comes from a
    page of procedures. `held_until` is there where it no longer holds: since then it is over. `archived`: its
    conversation is, so that lists leave it out."""

    model_config = ConfigDict(frozen=True)

    record: Record
    score: float
    relevance: float
    why: Why
    repeats: list[str] = Field(default_factory=list)
    page: FromPage | None = None
    held_until: Moment | None = None
    archived: bool = False

    @property
    def fits(self) -> bool:
        """Whether it is worth a look. Relevance knows nothing of links: what they lead to may fit all the same."""
        return self.relevance >= POOR or bool(self.why.entities)

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def text(self) -> str:
        return self.record.text

    @property
    def kind(self) -> str:
        return self.record.kind


class Difference(Model):
    """A record that is not where it was: (place, version, score) before and after; None where it is missing."""

    id: str
    before: tuple[int, int, float] | None
    after: tuple[int, int, float] | None


class Reranked(Model):
    """What a reranker said: `scores` by record id, for as many of the `candidates` as fitted into the time. `trouble`
    tells why there are fewer, or none; those without a score kept their order. `odds`: scores are logs of the odds that
    a text answers, and were added to what it had, instead of taking its place."""

    model_config = ConfigDict(frozen=True)

    by: str
    candidates: int
    scores: dict[str, float] = Field(default_factory=dict)
    odds: bool = False
    milliseconds: float = 0.0
    trouble: str | None = None


class Recalled(Model):
    """Hits, best first: iterate, index, or take `.hits`. `pending` texts had no vector yet and were found by
    their words only. `damaged` rows of the store could not be read and were left out: `verify` names them.
    `approximate`: this reader has more memories than are searched one by one; one may be missing, and there is no
    replay. `space` is the embedding space that meaning was compared in; None if it was not. `tokens` were read to
    embed the question, for so much `money`; None where that is not known. `valid_at` and `as_of` are the moments that
    were asked for, and `past` the times in the past that the question was understood to name. `reranked` is there where
    the recipe asks for a reranker, and `trace` if it was asked for. `lag` is there where a read replica answered: it
    was behind by so many seconds at most."""

    model_config = ConfigDict(frozen=True)

    query: str
    hits: list[Hit]
    receipt_id: str
    seq: int
    searched: int
    candidates: int = 0
    pending: int = 0
    space: str | None = None
    milliseconds: float = 0.0
    tokens: int | None = None
    money: float | None = None
    trace: Trace | None = None
    reranked: Reranked | None = None
    damaged: int = 0
    approximate: bool = False
    valid_at: Moment | None = None
    as_of: Moment | None = None
    past: list[When] = Field(default_factory=list)
    lag: float | None = None

    def __iter__(self) -> Iterator[Hit]:  # type: ignore[override]
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, place: int) -> Hit:
        return self.hits[place]

    def fits(self, place: int) -> bool:
        """Whether the hit at this place is worth a look. The version that a question about the past asks for may have
        none of its words ("what did we use before Buildkite?"): the first hit fits if it held then."""
        hit = self.hits[place]
        return hit.fits or (place == 0 and self._held_then(hit))

    def _held_then(self, hit: Hit) -> bool:
        ended, began = hit.held_until, hit.record.valid_from
        return ended is not None and any(began < one.end and one.start < ended for one in self.past)


class Replay(Model):
    """A recall, asked again. `identical`: the same records, versions, order and scores. `forgotten` records of this
    reader's scopes went since; meaning was compared in a `space` that is no longer there; words were those of other
    `vocabularies`; another `pipeline` may answer differently: these are the reasons for which a replay as of its own
    moment can differ. `pending` texts had no vector then, and have none in the replay."""

    receipt_id: str
    identical: bool
    differences: list[Difference]
    recalled: Recalled
    forgotten: int
    pending: int
    space: str | None
    same_space: bool
    pipeline: str
    same_pipeline: bool
    vocabularies: list[str] = Field(default_factory=list)
    same_vocabularies: bool = True
