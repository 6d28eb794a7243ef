"""Which pattern fits a trigger: as it stands, then by an expression, then by meaning; of several, the one whose success
is best established. T7."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TypeVar

from agent_memory.core.recall.gather import Recalling
from agent_memory.core.recall.recall import recall
from agent_memory.core.recall.receipt import Question
from agent_memory.models.errors import InvalidInput
from agent_memory.models.expression import is_expression
from agent_memory.models.kinds.experience import Strategy
from agent_memory.models.kinds.patterns import Pattern, digest
from agent_memory.models.recipe import DEFAULT
from agent_memory.models.record import Record
from agent_memory.ports.records import Filter, RecordStore, View

T = TypeVar("T", Pattern, Strategy)
PAGE = 1000
NEAREST = 50  # by meaning, among which the statistics decide
FITS = 0.4  # relevance from which on a trigger means the same
ALIKE = 0.9  # of the best relevance: these mean the same just as well


def check_expression(text: str, field: str) -> None:
    """`InvalidInput` says what RE2 does not take. Plain text is always good."""
    if is_expression(text):
        from agent_memory.core.rules.text import expression  # only who has an expression pays for it

        try:
            expression(text)
        except ValueError as error:
            raise InvalidInput(f"{field}: {error}", field=field) from None


def matches(span: str, text: str) -> bool:
    """Whether an expression is found in a text. One that came in past the checks, and cannot be used, is not."""
    from agent_memory.core.rules.text import expression

    try:
        return expression(span)(text)
    except ValueError:
        return False


def find(recalling: Recalling, records: RecordStore, view: View, trigger: str) -> Pattern | None:
    if not trigger.strip():
        raise InvalidInput("trigger: is empty", hint="say what happened", field="trigger")
    expressions = (Pattern.of(one) for one in _all(records, view, "form", "expression"))
    return (
        best(map(Pattern.of, _all(records, view, "exact", digest(trigger))))
        or best(one for one in expressions if matches(one.trigger, trigger))
        or best(_by_meaning(recalling, view, trigger))
    )


def best(found: Iterable[Pattern]) -> Pattern | None:
    """By what its success rate is at least; of those that nobody knows to work, one that has not failed."""
    return max(found, key=lambda one: (one.bound, -one.failure_count, one.id), default=None)


def counted(tried: T, success: bool, now: datetime) -> T:
    """With one more try."""
    return tried.model_copy(
        update={
            "success_count": tried.success_count + success,
            "failure_count": tried.failure_count + (not success),
            "last_used": now,
        }
    )


def _all(records: RecordStore, view: View, field: str, value: str) -> Iterator[Record]:
    where = Filter(kinds=("pattern",), fields=((field, value),))
    last: str | None = None
    while page := records.find(view, where, limit=PAGE, after=last):
        yield from page
        last = page[-1].id


def _by_meaning(recalling: Recalling, view: View, trigger: str) -> list[Pattern]:
    where = Filter(kinds=("pattern",), fields=(("form", "text"),))
    hits = recall(recalling, Question(trigger, view, where, NEAREST, DEFAULT, past=())).hits
    enough = max(FITS, ALIKE * max((hit.relevance for hit in hits), default=0.0))
    return [Pattern.of(hit.record) for hit in hits if hit.relevance >= enough]
