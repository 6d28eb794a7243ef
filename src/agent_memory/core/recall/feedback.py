"""What was said of the memories that a recall showed: which helped, and which did not. E4."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from agent_memory.models.errors import InvalidInput
from agent_memory.models.kinds.experience import FeedbackPayload

_NAME = re.compile(r"[\w.:@/-]+")


def check_judged(said: FeedbackPayload, shown: Sequence[str]) -> None:
    """`InvalidInput`, unless it is about memories that were shown, and says one thing of each."""
    for field, ids in (("useful", said.useful), ("useless", said.useless)):
        for id in ids:
            if id not in shown:
                hint = "`agent-memory receipt` lists the ids of the memories that it showed"
                raise InvalidInput(f"{field}: that recall did not show {id!r}", hint=hint, field=field)
    if both := set(said.useful) & set(said.useless):
        raise InvalidInput(f"useless: {min(both)!r} is useful, too", hint="name it once", field="useless")
    if not (said.useful or said.useless or said.cited):
        raise InvalidInput(
            "useful: nothing is said of any memory",
            hint="name ids as useful or useless, or give an answer that cites one",
            field="useful",
        )


def cited(answer: str, shown: Sequence[str]) -> list[str]:
    """The ids that stand in a text as words of their own."""
    words = {part for word in _NAME.findall(answer) for part in (word, word.strip(".:/-"))}
    return [id for id in shown if id in words]


def told_of(said: FeedbackPayload) -> list[str]:
    """The memories that it says something of. It is derived from them, so that forgetting one takes it along."""
    return [*dict.fromkeys((*said.useful, *said.useless, *said.cited))]


def merged(before: FeedbackPayload, said: FeedbackPayload) -> FeedbackPayload:
    """What is said now goes before what was said; a citation before nothing."""
    useless = _without([*before.useless, *said.useless], said.useful)
    useful = _without([*before.useful, *said.useful], said.useless)
    return FeedbackPayload(
        receipt_id=before.receipt_id,
        useful=useful,
        useless=useless,
        cited=_without([*before.cited, *said.cited], [*useful, *useless]),
    )


def _without(ids: Iterable[str], others: Iterable[str]) -> list[str]:
    gone = {*others}
    return [id for id in dict.fromkeys(ids) if id not in gone]
