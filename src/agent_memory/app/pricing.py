"""What models cost, and within which limits they are asked: as the settings say it."""

from __future__ import annotations

import re
from datetime import UTC, tzinfo

from agent_memory.app.config import Settings
from agent_memory.core.govern.metering import SpendingTerms, TokenPrice
from agent_memory.models.errors import InvalidInput
from agent_memory.ports.spending import SpendingLimit

OWN_MACHINES = frozenset(["ollama"])
"""Services whose models run on one's own machines, and cost nothing unless the settings say otherwise."""


def terms(settings: Settings) -> SpendingTerms:
    """The limits of chat models are the store's, whoever asks."""
    limits = SpendingLimit("day", calls=settings.chat_calls_a_day, tokens=settings.chat_tokens_a_day, kind="chat")
    return SpendingTerms([limits], zone(settings), prices(settings), settings.unpriced == "allow")


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


def zone(settings: Settings) -> tzinfo:
    """Where the days of budgets begin."""
    name = settings.budget_zone
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError) as error:
        raise InvalidInput(
            f"AGENT_MEMORY_BUDGET_ZONE: there is no time zone {name!r} here",
            hint="use UTC, or a name such as Europe/Berlin; where the system knows none, `pip install tzdata`",
            field="budget_zone",
        ) from error


def known(part: object) -> TokenPrice | None:
    """What a model says that it costs, or nothing where it runs on a machine of one's own."""
    price: float | None = getattr(part, "price", None)
    if price is None and getattr(part, "service", None) in OWN_MACHINES:
        price = 0.0
    return None if price is None else TokenPrice(price)
