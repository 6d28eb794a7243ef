"""What is longer than an answer: records out and in as NDJSON, and the journal as it is written."""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections.abc import AsyncIterator, Iterator
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from agent_memory.app.operations import TABLE
from agent_memory.app.service import Service
from agent_memory.app.transfer import LONGEST_LINE, PAGE, Call, Import, exported
from agent_memory.interfaces.rest.problems import STATUS, problem
from agent_memory.interfaces.rest.routes import ERRORS, Given, Identify, answered, arguments_of, shape_of
from agent_memory.models.errors import AgentMemoryError, InvalidInput
from agent_memory.models.model import Model
from agent_memory.models.record import Linked
from agent_memory.ports.spans import untold

NDJSON = "application/x-ndjson"
POLL_SECONDS = 0.25
QUIET_SECONDS = 15.0
PAGING = frozenset({"limit", "after_seq"})


class Imported(Model):
    """`lines` were read; what they came to. `forgotten` are those passed over because they were forgotten before."""

    lines: int
    created: int
    updated: int
    unchanged: int
    forgotten: int


def stream_router(service: Service, identify: Identify) -> APIRouter:
    made = APIRouter(prefix="/v1", tags=["streams"])
    listing = TABLE["records.versions"]
    chosen = shape_of(listing, [name for name in listing.signature if name not in PAGING], in_query=True)

    async def export_records(request: Request, given: Given) -> Response:
        """Every version of the user's own that is believed, with its links, one JSON object a line."""
        caller, call = await run_in_threadpool(service.lasting, lambda: identify(request))
        pages = exported(call, caller.scope.user, arguments_of(given))
        first: list[Linked] = await run_in_threadpool(
            next, pages, []
        )  # a question that is refused is refused before it streams
        return StreamingResponse(_lines(first, pages), media_type=NDJSON)

    export_records.__annotations__["given"] = Annotated[chosen, Query()]
    made.get("/export", response_model=None, responses={200: {"content": {NDJSON: {}}}, **ERRORS})(export_records)

    @made.post(
        "/import",
        response_model=None,
        responses={200: {"model": Imported}, **ERRORS},
        openapi_extra={"requestBody": {"content": {NDJSON: {"schema": {"type": "string"}}}}},
    )
    async def import_records(
        request: Request, restore_forgotten: Annotated[bool, Query(description="store what was forgotten, too")] = False
    ) -> Response:
        """Records, one JSON object a line: what `records.add` takes, or what an export gave.

        What was forgotten is passed over and counted: lines with its id, unless `restore_forgotten` is set.
        """
        _, call = await run_in_threadpool(service.lasting, lambda: identify(request))
        return await _import(call, request.stream(), restore_forgotten)

    @made.get("/journal/stream", response_model=None, responses={200: {"content": {"text/event-stream": {}}}, **ERRORS})
    async def journal_stream(
        request: Request,
        after: Annotated[int | None, Query(ge=0, le=2**62)] = None,
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> Response:
        """The journal as it is written, as server-sent events; `Last-Event-ID` or `after` goes on from a line."""
        _, call = await run_in_threadpool(service.lasting, lambda: identify(request))
        start = await run_in_threadpool(_start, call, last_event_id, after)
        events = _events(call, start, request)
        return StreamingResponse(events, media_type="text/event-stream", headers={"cache-control": "no-store"})

    return made


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
    return answered(Imported(lines=taken.lines, **taken.effects))


async def _pages(body: AsyncIterator[bytes]) -> AsyncIterator[list[bytes]]:
    """Whole lines, so many at a time; never more than a page and a line are held."""
    rest, lines = b"", []
    async for chunk in body:
        *whole, rest = (rest + chunk).split(b"\n")
        lines += whole
        if len(rest) > LONGEST_LINE:
            raise InvalidInput(f"longer than {LONGEST_LINE} bytes", hint="one JSON object a line")
        if len(lines) >= PAGE:
            yield lines
            lines = []
    if rest.strip():
        lines.append(rest)
    yield lines


def _start(call: Call, last_event_id: str | None, after: int | None) -> int:
    """The line to go on after: the client's last one, else the newest."""
    if last_event_id:
        if not re.fullmatch(r"\d{1,18}", last_event_id):
            raise InvalidInput("Last-Event-ID: is no line of the journal", field="Last-Event-ID")
        return int(last_event_id)
    if after is not None:
        return after
    newest: int = call("upkeep.stats", {})["seq"]
    return newest


async def _events(call: Call, after: int, request: Request) -> AsyncIterator[bytes]:
    """Until the client goes, or the server: then the client comes back with the last id that it saw."""
    yield b"retry: 1000\n\n"
    spoke = time.monotonic()
    while not request.app.state.stopping.is_set():
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
            await asyncio.sleep(POLL_SECONDS)
