"""Spans: of which parts a call is made and how long each took, told to whoever runs this and asks for it.

By default nobody is told, and a span costs a function call. What is told of a part are counts, names and ids of ours:
never a text, a question, a name that somebody chose, or a secret.

The spans of one call have one trace id. It stands in log lines, receipts and errors, so that one leads to the other.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from enum import Enum
from typing import Any, Protocol

Value = str | int | float | bool | None
"""None is not told."""
Note = Callable[[str, float], None]
"""Is told the name of a part and how many seconds it took."""


class Side(Enum):
    """Where the other end is: in this process, who asks us, or whom we ask."""

    INSIDE = "inside"
    SERVER = "server"
    CLIENT = "client"


class Tracer(Protocol):
    """Where spans go. Safe to use from several threads, and after a fork."""

    def span(
        self, name: str, side: Side, attributes: Mapping[str, Value], caller: Mapping[str, str] | None
    ) -> AbstractContextManager[object]:
        """A part of whatever is open in this thread or task, or of what the headers of a caller say (W3C). An error
        that leaves it gets the trace id; of the error only its code is told."""
        ...

    def untold(self) -> AbstractContextManager[object]:
        """While this is open, nothing is told."""
        ...

    def tell(self, attributes: Mapping[str, Value]) -> None:
        """More about the innermost span that is open."""
        ...

    def rename(self, name: str) -> None:
        """Another name for it."""
        ...

    def trace_id(self) -> str | None:
        """Of what is open, if anything is: 32 hexadecimal digits."""
        ...

    def headers(self) -> dict[str, str]:
        """What tells another service of which trace a request is a part."""
        ...


class _Nothing:
    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, where: object) -> None:
        return None


_NOTHING = _Nothing()
_tracer: Tracer | None = None
_note: ContextVar[Note | None] = ContextVar("note", default=None)


def use(tracer: Tracer | None) -> None:
    """From now on spans of this process go there; None: nowhere."""
    global _tracer
    _tracer = tracer


def tracing() -> bool:
    return _tracer is not None


def span(name: str, /, side: Side = Side.INSIDE, **attributes: Value) -> AbstractContextManager[object]:
    """While this is open, a part of a call is done."""
    note, tracer = _note.get(), _tracer  # which another thread may end
    if tracer is None:
        return _NOTHING if note is None else _Timed(name, note)
    opened = tracer.span(name, side, attributes, None)
    return opened if note is None else _both(opened, _Timed(name, note))


def served(name: str, headers: Mapping[str, str], /, **attributes: Value) -> AbstractContextManager[object]:
    """A request of somebody else, as a part of the trace that its headers name."""
    return _NOTHING if (tracer := _tracer) is None else tracer.span(name, Side.SERVER, attributes, headers)


def untold() -> AbstractContextManager[object]:
    """While this is open, nothing is told: somebody only looks, again and again, whether there is something new."""
    return _NOTHING if (tracer := _tracer) is None else tracer.untold()


def asked_of_model(what: str, model: str, service: str | None, **attributes: Value) -> AbstractContextManager[object]:
    """A model is asked, in OpenTelemetry's words for it; `service` is who runs it, unless it runs in this process."""
    told: dict[str, Value] = {
        "gen_ai.operation.name": what,
        "gen_ai.request.model": model,
        "gen_ai.provider.name": service or "local",
    }
    return span(f"{what} {model}", Side.CLIENT if service else Side.INSIDE, **told, **attributes)


def tell(**attributes: Value) -> None:
    if (tracer := _tracer) is not None:
        tracer.tell(attributes)


def rename(name: str) -> None:
    if (tracer := _tracer) is not None:
        tracer.rename(name)


def trace_id(error: BaseException | None = None) -> str | None:
    """Of the span that an error left, else of what is open."""
    found: str | None = getattr(error, "trace_id", None)
    return found if found or (tracer := _tracer) is None else tracer.trace_id()


def headers() -> dict[str, str]:
    return {} if (tracer := _tracer) is None else tracer.headers()


@contextmanager
def noted(note: Note | None) -> Iterator[None]:
    """While this is open, `note` is told of every part that is done here."""
    token = _note.set(note)
    try:
        yield
    finally:
        _note.reset(token)


class _Timed:
    __slots__ = ("_begun", "_name", "_note")

    def __init__(self, name: str, note: Note) -> None:
        self._name = name
        self._note = note

    def __enter__(self) -> None:
        self._begun = time.perf_counter()

    def __exit__(self, kind: object, error: object, where: object) -> None:
        self._note(self._name, time.perf_counter() - self._begun)


@contextmanager
def _both(one: AbstractContextManager[object], other: AbstractContextManager[object]) -> Iterator[None]:
    with one, other:
        yield


class Log(logging.LoggerAdapter[logging.Logger]):
    """A log whose lines tell the trace id, where there is one: at their end, and as the field `trace_id`."""

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        found = trace_id(sys.exc_info()[1])
        if found is None:
            return msg, kwargs
        return f"{msg} (trace_id {found})", {**kwargs, "extra": {**(kwargs.get("extra") or {}), "trace_id": found}}


def log(name: str) -> Log:
    return Log(logging.getLogger(name), {})
