"""What is longer than an answer: records out and in as NDJSON, and the journal as it is written."""

from __future__ import annotations

import itertools
import re
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from agent_memory.app.news import Follower
from agent_memory.app.operations import TABLE
from agent_memory.app.service import Caller, Service
from agent_memory.app.transfer import LONGEST_LINE, PAGE, Call, Import, exported
from agent_memory.interfaces.rest.entrance import identified, known
from agent_memory.interfaces.rest.problems import STATUS, problem
from agent_memory.interfaces.rest.routes import ERRORS, RequestBody, answered, arguments_of, shape_of
from agent_memory.models.errors import AgentMemoryError, InvalidInput, TooMany
from agent_memory.models.model import Model
from agent_memory.models.record import Linked
from agent_memory.ports.spans import untold

NDJSON = "application/x-ndjson"
EVENTS = "text/event-stream"
LINES: dict[str, Any] = {"schema": {"type": "string"}}
STREAMED: dict[str, Any] = {kind: {200: {"content": {kind: LINES}}, **ERRORS} for kind in (NDJSON, EVENTS)}
QUIET_SECONDS = 15.0
STREAMS_OF_A_KEY = 16  # callers without a key count as one
MOST_STREAMS = 128
RETRY_SECONDS = 5.0
MOST_HELD = 2 * LONGEST_LINE  # of an import, before it is written
PAGING = frozenset({"limit", "after_seq"})


class ImportAnswer(Model):
    """`lines` were read; what they came to. `held` wait for review; `forgotten` are those passed over
    because they were forgotten before."""

    lines: int
    created: int
    updated: int
    unchanged: int
    held: int
    forgotten: int


class Followers:
    """How many follow the journal, for each key. Only the event loop counts."""

    def __init__(self) -> None:
        self._open: Counter[str | None] = Counter()

    @contextmanager
    def one_more(self, key: str | None) -> Iterator[None]:
        if self._open[key] >= STREAMS_OF_A_KEY or self._open.total() >= MOST_STREAMS:
            said = f"{self._open[key]} streams of this key are open, and {self._open.total()} in all"
            hint = f"end one, or try again later; a key has at most {STREAMS_OF_A_KEY}"
            raise TooMany(said, hint=hint, wait=RETRY_SECONDS)
        self._open[key] += 1
        try:
            yield
        finally:
            self._open[key] -= 1
            self._open += Counter()  # forgets those that have none


def stream_router(service: Service) -> APIRouter:
    made = APIRouter(prefix="/v1", tags=["streams"])
    followers = Followers()
    listing = TABLE["records.versions"]
    chosen = shape_of(listing, [name for name in listing.signature if name not in PAGING], in_query=True)

    async def export_records(request: Request, given: RequestBody) -> Response:
        """Every version of the user's own that is believed, with its links, one JSON object a line."""
        caller, call = _lasting(service, request)
        pages = exported(call, caller.scope.user, arguments_of(given))
        first: list[Linked] = await run_in_threadpool(
            next, pages, []
        )  # a question that is refused is refused before it streams
        return StreamingResponse(_lines(first, pages), media_type=NDJSON)

    export_records.__annotations__["given"] = Annotated[chosen, Query()]
    made.get("/export", operation_id="streams_export", response_model=None, responses=STREAMED[NDJSON])(export_records)

    @made.post(
        "/import",
        operation_id="streams_import",
        response_model=None,
        responses={200: {"model": ImportAnswer}, **ERRORS},
        openapi_extra={"requestBody": {"content": {NDJSON: LINES}}},
    )
    async def import_records(
        request: Request, restore_forgotten: Annotated[bool, Query(description="store what was forgotten, too")] = False
    ) -> Response:
        """Records, one JSON object a line: what `records.add` takes, or what an export gave.

        What was forgotten is passed over and counted: lines with its id, unless `restore_forgotten` is set.
        """
        _, call = _lasting(service, request)
        return await _import(call, request.stream(), restore_forgotten)

    @made.get("/journal/stream", operation_id="streams_journal", response_model=None, responses=STREAMED[EVENTS])
    async def journal_stream(
        request: Request,
        after: Annotated[int | None, Query(ge=0, le=2**62)] = None,
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> Response:
        """The journal as it is written, as server-sent events; `Last-Event-ID` or `after` goes on from a line."""
        caller, call = _lasting(service, request)
        slot = ExitStack()
        slot.enter_context(followers.one_more(caller.key))
        try:
            start = await run_in_threadpool(_start, call, last_event_id, after)
            follower = service.news.followed(caller.scope.tenant)
            events = _events(call, start, follower, request.app.state.stopping)
            return _Following(events, slot)
        except BaseException:
            slot.close()
            raise

    return made


class _Following(StreamingResponse):
    """Server-sent events, and the slot that they take until they end: also if they never begin."""

    def __init__(self, events: AsyncIterator[bytes], slot: ExitStack) -> None:
        super().__init__(events, media_type=EVENTS, headers={"cache-control": "no-store"})
        self._slot = slot

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._slot:
            await super().__call__(scope, receive, send)


def _lasting(service: Service, request: Request) -> tuple[Caller, Call]:
    caller = known(request)
    return caller, service.lasting(caller, lambda: identified(service, request))


def _lines(first: list[Linked], pages: Iterator[list[Linked]]) -> Iterator[bytes]:
    for page in itertools.chain([first], pages):
        yield b"".join(to_json(record) + b"\n" for record in page)


async def _import(call: Call, body: AsyncIterator[bytes], restore_forgotten: bool) -> Response:
    taken = Import(call)
    try:
        async for lines in _pages(body):
            await run_in_threadpool(taken.take, lines, restore_forgotten=restore_forgotten)
    except AgentMemoryError as error:
        status = STATUS.get(error.code, 500)
        line = taken.lines + 1
        said = f"line {line}: {error.message}"
        more = {"hint": error.hint, "field": error.field, "line": line, "imported": taken.lines}
        return problem(status, said, error.code, **more)
    return answered(ImportAnswer(lines=taken.lines, **taken.effects))


async def _pages(body: AsyncIterator[bytes]) -> AsyncIterator[list[bytes]]:
    """Whole lines, so many at a time; never more is held than `MOST_HELD` and one part of the body. A line that comes
    in small parts is looked through once."""
    rest, lines, held = bytearray(), [], 0
    async for part in body:
        head, newline, tail = part.rpartition(b"\n")
        rest += head if newline else tail
        if newline:
            lines += bytes(rest).split(b"\n")
            held += len(rest)
            rest = bytearray(tail)
        if len(rest) > LONGEST_LINE:
            raise InvalidInput(f"longer than {LONGEST_LINE} bytes", hint="one JSON object a line")
        if len(lines) >= PAGE or held + len(rest) > MOST_HELD:
            yield lines
            lines, held = [], 0
    if rest.strip():
        lines.append(bytes(rest))
    yield lines


def _start(call: Call, last_event_id: str | None, after: int | None) -> int:
    """The line to go on after: the client's last one, else the newest."""
    if last_event_id:
        if not re.fullmatch(r"\d{1,18}", last_event_id):
            raise InvalidInput("Last-Event-ID: is not a line of the journal", field="Last-Event-ID")
        return int(last_event_id)
    if after is not None:
        return after
    newest: int = call("upkeep.stats", {})["seq"]
    return newest


async def _events(
    call: Call, after: int, followed: AbstractContextManager[Follower], stopping: threading.Event
) -> AsyncIterator[bytes]:
    """Until the client goes, or the server: then the client comes back with the last id that it saw."""
    yield b"retry: 1000\n\n"
    spoke = time.monotonic()
    with followed as follower:
        while not stopping.is_set():
            try:
                with untold():
                    lines = await run_in_threadpool(call, "records.journal", {"after": after, "limit": PAGE})
            except AgentMemoryError as error:  # a key that ended, a store that is gone
                yield b"event: problem\ndata: %s\n\n" % to_json(error.to_dict())
                return
            for line in lines:
                after = line.seq
                yield b"id: %d\nevent: journal\ndata: %s\n\n" % (line.seq, to_json(line))
                spoke = time.monotonic()
            if time.monotonic() - spoke > QUIET_SECONDS:
                yield b": still here\n\n"
                spoke = time.monotonic()
            if not lines:
                await follower.wait(stopping)
