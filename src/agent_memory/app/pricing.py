"""What models cost, and within which limits they are asked: as the settings say it."""

from __future__ import annotations

import re

from agent_memory.app.config import Settings
from agent_memory.core.govern.days import zone_named
from agent_memory.core.govern.metering import SpendingTerms, TokenPrice
from agent_memory.models.errors import InvalidInput
from agent_memory.ports.spending import SpendingLimit

OWN_MACHINES = frozenset(["ollama"])
"""Services whose models run on one's own machines, and cost nothing unless the settings say otherwise."""


def terms(settings: Settings) -> SpendingTerms:
    """The limits of chat models are the store's, whoever asks."""
    limits = SpendingLimit("day", calls=settings.chat_calls_a_day, tokens=settings.chat_tokens_a_day, kind="chat")
    unpriced = settings.unpriced == "allow"
    named = settings.budget_zone
    zone = zone_named(named or "UTC")
    return SpendingTerms([limits], zone, prices(settings), unpriced, settings.chat_timeout, named)


def prices(settings: Settings) -> dict[str, TokenPrice]:
    """By model: `gpt-4o-mini=0.15/0.60 text-embedding-3-small=0.02`. One price is that of prompts and answers alike."""
    found: dict[str, TokenPrice] = {}
    for said in (settings.prices or "").split():
        told = re.fullmatch(r"(?P<model>.+)=(?P<prompt>\d+(?:\.\d+)?)(?:/(?P<completion>\d+(?:\.\d+)?))?", said)
        if told is None:
            raise InvalidInput(
                f"AGENT_MEMORY_PRICES: {said!r} is not MODEL=IN/OUT",
                hint="for example gpt-4o-mini=0.15/0.60: what a million tokens of prompts and of answers cost; "
                "separate several with spaces",
                field="prices",
            )
        found[told["model"]] = TokenPrice(float(told["prompt"]), float(told["completion"] or told["prompt"]))
    return found


def known(part: object) -> TokenPrice | None:
    """What a model says that it costs, or nothing where it runs on a machine of one's own."""
    price: float | None = getattr(part, "price", None)
    if price is None and getattr(part, "service", None) in OWN_MACHINES:
        price = 0.0
    return None if price is None else TokenPrice(price)
