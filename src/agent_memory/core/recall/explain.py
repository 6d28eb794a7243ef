"""Why a hit was found: what each channel added, the words, dates and entities that it shares with the question."""

from __future__ import annotations

from agent_memory.core.recall.chosen import Chosen
from agent_memory.core.recall.question import AskedQuestion
from agent_memory.core.recall.receipt import RELEVANCE_DIGITS, SCORE_DIGITS, Question
from agent_memory.core.recall.score import Ranking, bounds
from agent_memory.models.answer import FromPage, Hit, When, Why
from agent_memory.models.moment import from_micros
from agent_memory.models.recipe import Recipe
from agent_memory.ports.index import Pool


def explained(chosen: Chosen, pool: Pool, ranking: Ranking, question: Question, entities: list[str]) -> Hit:
    """The hit with its reasons; `entities` are the ways over links that led to it."""
    row, asked, ended = chosen.row, ranking.evidence.asked, chosen.record.valid_to
    similarity = float(pool.similarity[row])
    added = {name: float(values[row]) for name, values in ranking.channels.items()} | dict(chosen.moves)
    why = Why.trusted(
        channels={name: part for name, value in added.items() if (part := round(value, 4))},
        words=[word for word, count in zip(asked.terms.values(), pool.counts[row].tolist(), strict=False) if count],
        dates=_dates(int(pool.valid_from[row]), asked, question.recipe) if asked.periods else [],
        entities=entities,
        similarity=None if similarity != similarity else min(round(similarity, 4), 1.0),  # int8 vectors can overshoot
        exact_key=bool(pool.exact[row]),
        read_as=asked.read_as,
    )
    return Hit.trusted(
        record=chosen.record,
        score=round(chosen.score, SCORE_DIGITS),
        relevance=round(chosen.relevance, RELEVANCE_DIGITS),
        why=why,
        repeats=[other.record.id for other in chosen.repeats if other.record.id != chosen.record.id],
        page=FromPage.of(chosen.record),
        archived=pool.aside is not None and bool(pool.aside[row]),
        held_until=ended if ended is not None and ended <= from_micros(question.view.now) else None,
    )


def _dates(begins: int, asked: AskedQuestion, recipe: Recipe) -> list[When]:
    """The periods of the question that what begins then falls into, where the recipe counts them."""
    named = asked.periods if recipe.formula == "fused" and recipe.date else ()
    within = ((one, *bounds(one, recipe)) for one in named)
    return [
        When.trusted(words=one.text, start=one.start, end=one.end) for one, low, high in within if low <= begins < high
    ]
