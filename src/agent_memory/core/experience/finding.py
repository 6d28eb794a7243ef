"""What is nearest to a situation, by relevance: absolute, so that answers from several places can be merged."""

from __future__ import annotations

from agent_memory.core.recall.gather import Recalling
from agent_memory.core.recall.recall import recall
from agent_memory.core.recall.receipt import Question
from agent_memory.models.answer import Hit
from agent_memory.models.errors import InvalidInput
from agent_memory.models.kinds.kind import Kind
from agent_memory.models.recipe import DEFAULT, MEANING
from agent_memory.models.record import Record
from agent_memory.ports.records import Filter, View

CONSIDERED = 50  # at least, before relevance orders them
SUMMARY = 200  # characters


def nearest(recalling: Recalling, text: str, view: View, where: Filter, limit: int, field: str) -> list[Hit]:
    """The most relevant first. `field` is what the caller calls the text."""
    found = considered(recalling, text, view, where, limit, field)
    return sorted(found, key=lambda hit: -hit.relevance)[:limit]


def considered(recalling: Recalling, text: str, view: View, where: Filter, limit: int, field: str) -> list[Hit]:
    """As a recall orders them, and more than `limit` where there are more."""
    question = Question(_checked(text, field), view, where, max(limit, CONSIDERED), DEFAULT, past=())
    return recall(recalling, question).hits


def similar(recalling: Recalling, text: str, view: View, where: Filter, limit: int, field: str) -> list[Hit]:
    """Those that mean the same, in whatever words: situations are seldom described twice in the same ones."""
    return recall(recalling, Question(_checked(text, field), view, where, limit, MEANING, past=())).hits


def _checked(text: str, field: str) -> str:
    if not text.strip():
        raise InvalidInput(f"{field}: is empty", hint="describe the situation", field=field)
    return text


def summary(record: Record, kind: Kind) -> str:
    """A record in a line."""
    line = " ".join(kind.shown(record.text, record.payload).split())
    return line if len(line) <= SUMMARY else line[: SUMMARY - 1] + "…"
