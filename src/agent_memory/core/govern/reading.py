"""What an answer gave away: the ids of its records, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import BaseModel

from agent_memory.models.answer import Recalled
from agent_memory.models.errors import InvalidInput
from agent_memory.models.merged import Merged
from agent_memory.models.record import Record

LONGEST_WHY = 200


class ReadCost(NamedTuple):
    tokens: int | None = None
    money: float | None = None
    receipt: str | None = None


_FREE = ReadCost()


def reason(why: object, name: str = "why") -> str | None:
    """A reason as it may be kept, checked; `name` is what the caller calls it."""
    if why is None or why == "":
        return None
    if not isinstance(why, str) or len(why) > LONGEST_WHY or not why.isprintable():
        raise InvalidInput(
            f"{name}: must be one line of text, at most {LONGEST_WHY} characters",
            hint="say what the read is for, such as a ticket number",
            field="why",
        )
    return why


def named(answer: Any) -> tuple[str, ...]:
    """The ids of all records in an answer, in order."""
    return (answer.id,) if type(answer) is Record else tuple(_ids(answer))


def _ids(answer: Any) -> Iterator[str]:
    """A record that another holds is that one's; of what is merged, also those that it stands for."""
    match answer:
        case Merged():
            yield from (answer.id, *answer.sources)
            return
        case BaseModel():
            fields = answer.__dict__
        case dict():
            fields = answer
        case list() | tuple():
            if answer and isinstance(answer[0], BaseModel | dict | list | tuple):
                for one in answer:
                    yield from _ids(one)
            return
        case _:
            return
    if isinstance(id := fields.get("id"), str):
        yield id
    elif "record" in fields:
        yield from _ids(fields["record"])
    else:
        for one in fields.values():
            yield from _ids(one)


def cost(answer: Any) -> ReadCost:
    if type(answer) is Record or not isinstance(answer, Recalled):
        return _FREE
    return ReadCost(answer.tokens, answer.money, answer.receipt_id)
