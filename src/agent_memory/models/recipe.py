"""A recipe: which channels a recall uses and how much each counts. A value with a name and a hash."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from agent_memory.models.errors import InvalidInput
from agent_memory.models.model import Model, Name

Share = Annotated[float, Field(ge=0, le=10)]


class Recipe(Model):
    """How evidence becomes a score.

    `fused`: each channel is brought to 0..1 within one recall, weighted and added.

    | channel | what it adds |
    |---|---|
    | vectors | nearness in meaning; neighbours in the conversation count a little (`near_vectors`) |
    | words | BM25; neighbours' words count by their distance (`near_words`), long neighbours less (`long_turn`) |
    | speaker | said by whom the question names first, others `also_named` of it; or by its side ("I", "you") |
    | date | inside a period that the question names; beside it, half as much every `slack_days` |
    | answer | holds what the question asks for: a time for "when", a number for "how many" |
    | question | taken off a text that is a question itself: it asks, and seldom answers |
    | entities | linked with what the question names, within `depth` links; relations of more than `fan` count less |
    | conversation | a share of the best score in the same conversation |
    | repository | a little more for what belongs to the repository that the caller works in |
    | recency | fades by half every `half_life_days` |
    | key | the question is the natural key of the record |

    `reads`: whether a query is a question to a memory of conversations, or prose (a pasted alert, a claim); `auto`
    tells by its text. In prose speaker, date, answer, question and recency add nothing, and words count `prose_words`
    times as much. For `fused` only.

    `decay`: similarity, recency (e^(-time_weight x days)) and importance (x 0.95 a day), added as they are. E4.

    `per_conversation` and `min_relevance` bound what is shown; 0 bounds nothing. `pool` bounds the candidates that
    similarity and recency bring, whatever `k` is, so that the first five of ten are the five.

    `collapse`: records that say the same become one hit, the fullest of them (of equals the newest), at the place of
    the best; the others are named in its `repeats`. `diversity`: hits that differ come before those that are alike,
    0 to 0.9 (maximal marginal relevance). For these the ranking is read, `head` candidates at a time.

    `rerank`: so many of the head are put in order by the reranker; 0 is none. It has `rerank_seconds` for them: what
    does not fit keeps its order. Where it tells odds, as the one that ships does, they count `rerank_weight` times as
    much as the score, each in standard deviations.
    """

    model_config = ConfigDict(frozen=True)

    name: Name = "default"
    formula: Literal["fused", "decay"] = "fused"
    vectors: float = Field(default=0.6, ge=0, le=10)
    words: float = Field(default=0.4, ge=0, le=10)
    speaker: float = Field(default=0.3, ge=0, le=10)
    date: float = Field(default=0.4, ge=0, le=10)
    answer: float = Field(default=0.1, ge=0, le=10)
    question: float = Field(default=0.1, ge=0, le=10)
    entities: float = Field(default=0.4, ge=0, le=10)
    conversation: float = Field(default=0.3, ge=0, le=10)
    repository: float = Field(default=0.05, ge=0, le=10)
    recency: float = Field(default=0.01, ge=0, le=10)
    importance: float = Field(default=0.0, ge=0, le=10)
    key: float = Field(default=1.0, ge=0, le=10)
    reads: Literal["auto", "question", "prose"] = "auto"
    prose_words: float = Field(default=1.5, ge=0, le=10)
    near_vectors: tuple[Share, ...] = (0.25,)
    near_words: tuple[Share, ...] = (0.5, 0.25)
    also_named: float = Field(default=0.6, ge=0, le=1)
    long_turn: int = Field(default=30, ge=1)
    depth: int = Field(default=3, ge=0, le=6)
    fan: int = Field(default=10, ge=1)
    slack_days: float = Field(default=2.0, ge=0, le=36_500)
    half_life_days: float = Field(default=30.0, gt=0, allow_inf_nan=False)
    time_weight: float = Field(default=0.1, ge=0, allow_inf_nan=False)
    per_conversation: int = Field(default=0, ge=0)
    min_relevance: float = Field(default=0.0, ge=0, le=1)
    pool: int = Field(default=100_000, ge=1)
    collapse: bool = False
    diversity: float = Field(default=0.0, ge=0, le=0.9)
    rerank: int = Field(default=0, ge=0, le=1000)
    rerank_seconds: float = Field(default=1.0, gt=0, le=60)
    rerank_weight: float = Field(default=0.5, ge=0, le=100)
    head: int = Field(default=50, ge=1, le=1000)

    @property
    def reads_head(self) -> bool:
        """Whether hits are selected by their texts, too."""
        return self.collapse or self.diversity > 0 or self.rerank > 0

    def for_prose(self) -> Recipe:
        """The same for a query that is no question: between documents, the newer one is not the likelier."""
        if self.formula != "fused":
            return self
        return self.model_copy(update={"words": self.words * self.prose_words, "recency": 0.0})

    def in_fused_order(self) -> Recipe:
        """The same without a word about which of the ranked are shown in which order."""
        return self.model_copy(update={"collapse": False, "diversity": 0.0, "rerank": 0, "per_conversation": 0})

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]


# Not checked here, since that builds what checks them: a test does.
DEFAULT = Recipe.model_construct()
DECAY = Recipe.model_construct(name="decay", formula="decay", vectors=0.5, recency=0.3, importance=0.2)
_NONE: dict[str, Any] = dict.fromkeys(
    ("words", "speaker", "date", "answer", "question", "entities", "conversation", "repository", "recency", "key"), 0.0
)
MEANING = Recipe.model_construct(name="meaning", vectors=1.0, **_NONE, near_vectors=(), near_words=())
BUNDLE = DEFAULT.model_copy(update={"name": "bundle", "recency": 0.0, "per_conversation": 3, "collapse": True})
CONTEXT = DEFAULT.model_copy(update={"name": "context", "collapse": True, "head": 60})
BEST = DEFAULT.model_copy(update={"name": "best", "rerank": 20})
RECIPES = {recipe.name: recipe for recipe in (DEFAULT, BEST, DECAY, MEANING, BUNDLE, CONTEXT)}


class Listed(Model):
    """A recipe that can be named: `differs` is what it has other than the default."""

    model_config = ConfigDict(frozen=True)

    name: str
    hash: str
    built_in: bool
    differs: dict[str, Any]

    @classmethod
    def of(cls, recipe: Recipe) -> Listed:
        differs = recipe.model_dump(mode="json", exclude_defaults=True, exclude={"name"})
        return cls(name=recipe.name, hash=recipe.hash, built_in=recipe.name in RECIPES, differs=differs)


def with_sections(sections: Mapping[str, Any]) -> dict[str, Recipe]:
    """The built-in recipes and those of a file: `[recipes.NAME]` with fields, and `extends` (default: "default")."""
    given = sections.get("recipes", {})
    if strange := sections.keys() - {"recipes"}:
        raise InvalidInput(f"{sorted(strange)[0]}: is not a section of recipes", hint="write [recipes.NAME]")
    if not isinstance(given, Mapping) or not all(isinstance(fields, Mapping) for fields in given.values()):
        raise InvalidInput("recipes: holds something other than sections", hint="write [recipes.NAME]")
    known = dict(RECIPES)
    for name in given:
        _resolve(name, given, known, ())
    return known


def _resolve(name: str, given: Mapping[str, Any], known: dict[str, Recipe], on_the_way: tuple[str, ...]) -> Recipe:
    """A recipe after the one that it extends, wherever that stands in the file."""
    where = f"[recipes.{name}]"
    if name in RECIPES and name in given:
        raise InvalidInput(f"{where}: is built in", hint="give yours another name")
    if name in known:
        return known[name]
    if name not in given:
        raise InvalidInput(
            f"[recipes.{on_the_way[-1]}] extends: there is no {name!r}", hint=f"one of {', '.join([*known, *given])}"
        )
    if name in on_the_way:
        raise InvalidInput(f"{where} extends: it extends itself, through {' and '.join(on_the_way)}")
    fields = dict(given[name])
    extends = fields.pop("extends", DEFAULT.name)
    if not isinstance(extends, str):
        raise InvalidInput(f"{where} extends: is not the name of a recipe")
    if "name" in fields:
        raise InvalidInput(f"{where} name: its name is that of its section", hint="remove it")
    above = _resolve(extends, given, known, (*on_the_way, name))
    try:
        known[name] = Recipe(**{**above.model_dump(), **fields, "name": name})
    except InvalidInput as error:
        raise InvalidInput(f"{where} {error.message.removeprefix('Recipe.')}", hint=error.hint) from None
    return known[name]
