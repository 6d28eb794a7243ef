"""What happens to a call: message to arguments, the operation, its answer to a message. One function for all.

Calls wait in one event loop, and work in a few threads: whoever is slow to send, to read or to leave holds no thread.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar
from urllib.parse import unquote

import grpc
from google.protobuf.message import DecodeError
from pydantic_core import to_json

from agent_memory.app.news import Follower
from agent_memory.app.service import Caller, CallerClaim, Service
from agent_memory.app.transfer import PAGE, Import
from agent_memory.interfaces.grpc.inbox import Inbox
from agent_memory.interfaces.grpc.schema import RESULT, Method
from agent_memory.interfaces.grpc.status import telling
from agent_memory.interfaces.grpc.streams import RESTORE, StreamCaller, StreamsImported
from agent_memory.interfaces.grpc.weight import MOST_FIELDS, too_heavy
from agent_memory.interfaces.loopback import is_local
from agent_memory.models.errors import AgentMemoryError, InvalidInput, StoreError, TooMany
from agent_memory.ports import spans
from agent_memory.ports.abandon import AbandonableCall

SAID = ("tenant", "user", "agent", "conversation", "why")
MOST_STREAMS = 16
HELD_OF_IMPORT = 8 * 1024 * 1024  # bytes of one import, before they are written
FOLLOWED = "Journal"
T = TypeVar("T")


@dataclass(frozen=True)
class CallDesk:
    """What all calls of one server share."""

    service: Service
    threads: Executor
    stopping: threading.Event
    slots: threading.BoundedSemaphore  # for streams
    inbox: Inbox = field(default_factory=lambda: Inbox())

    def handler(self, method: Method, takes: Any, gives: Any) -> Any:
        """Messages are read and written in here: what cannot be read is the caller's mistake, not an inner error. To
        gRPC every request is a stream, so that a message is asked for only once its sender's key is good."""
        route = _Route(self, method, takes, gives)
        if method.stream is None:
            return grpc.stream_unary_rpc_method_handler(route.answer)
        if method.stream.takes_many:
            return grpc.stream_unary_rpc_method_handler(route.take_in)
        return grpc.stream_stream_rpc_method_handler(route.stream)

    async def run(self, work: Callable[..., T], *given: Any) -> T:
        """In a thread. A caller who hangs up before it began keeps it from beginning; of what began, a read is stopped
        and a write is finished."""
        call = AbandonableCall()
        work = functools.partial(work, *given)
        return await call.awaited(asyncio.get_running_loop().run_in_executor(self.threads, call.run, work))

    @contextmanager
    def slot(self) -> Iterator[None]:
        if not self.slots.acquire(blocking=False):
            raise TooMany(f"{MOST_STREAMS} streams are open", hint="end one, or try again later")
        try:
            yield
        finally:
            self.slots.release()


@dataclass(frozen=True)
class _Route:
    desk: CallDesk
    method: Method
    takes: Any
    gives: Any

    async def answer(self, messages: AsyncIterator[bytes], context: Any) -> bytes:
        async with telling(context):
            claim = claimed(context)
            caller = await self.desk.run(self._identified, claim)
            async with self.desk.inbox.message(messages) as raw:
                return await self.desk.run(self._answered, caller, raw, carried(context))
        raise AssertionError("a call that failed was aborted")

    def _identified(self, claim: CallerClaim) -> Caller:
        operation = self.method.operation
        return self.desk.service.identify(claim, operation.name if operation else f"stream.{self.method.name.lower()}")

    def _answered(self, caller: Caller, raw: bytes, trace: dict[str, str]) -> bytes:
        operation = self.method.operation
        assert operation is not None
        with self._served(trace):
            return self._written(self.desk.service.call(operation, caller, self._read(raw)))

    def _served(self, trace: dict[str, str]) -> AbstractContextManager[object]:
        """In a stream, each page has a span: a stream may last for days. Who follows the journal looks all the time."""
        if self.method.name == FOLLOWED:
            return spans.untold()
        return spans.served(self.method.path.removeprefix("/"), trace, **{"rpc.system": "grpc"})

    async def stream(self, messages: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        """A page at a time; after an empty one there is nothing new for a while."""
        assert self.method.stream is not None
        async with telling(context):
            with self.desk.slot():
                claim = claimed(context)
                session = await self.desk.run(self._session, claim, carried(context))
                async with self.desk.inbox.message(messages) as raw:
                    pages = await self.desk.run(self._begun, session, raw)
                news, follows = self.desk.service.news, self.method.name == FOLLOWED
                with news.followed(session.tenant) if follows else nullcontext() as follower:
                    while (page := await self.desk.run(self._page, pages)) is not None:
                        for one in page:
                            yield one
                        if not page:
                            await self._wait(follower)

    def _begun(self, session: StreamCaller, raw: bytes) -> Iterator[list[Any]]:
        assert self.method.stream is not None
        pages: Iterator[list[Any]] = self.method.stream.run(session, self._read(raw))
        return pages

    def _page(self, pages: Iterator[list[Any]]) -> list[bytes] | None:
        page = next(pages, None)
        return None if page is None else [self._written(one) for one in page]

    async def _wait(self, follower: Follower | None) -> None:
        if follower is not None:
            await follower.wait(self.desk.stopping)
        if self.desk.stopping.is_set():
            raise StoreError("the server is stopping", hint="connect again, after the last line that you have")

    async def take_in(self, messages: AsyncIterator[bytes], context: Any) -> bytes:
        assert self.method.stream is not None
        async with telling(context):
            with self.desk.slot():
                session = await self.desk.run(self._session, claimed(context), carried(context))
                taken = self.method.stream.run(session)
                page: list[bytes] = []
                async for raw in messages:
                    page.append(raw)
                    if len(page) == PAGE or sum(map(len, page)) >= HELD_OF_IMPORT:
                        await self.desk.run(self._take, taken, page)
                        page = []
                await self.desk.run(self._take, taken, page)
                return self._written(StreamsImported(received=taken.lines, **taken.effects))
        raise AssertionError("a call that failed was aborted")

    def _take(self, taken: Import, page: list[bytes]) -> None:
        try:
            said = [(one.pop(RESTORE, False), to_json(one)) for one in map(self._read, page)]
            for restore, some in groupby(said, itemgetter(0)):
                taken.take([line for _, line in some], restore_forgotten=restore)
        except AgentMemoryError as error:
            kept = f"the first {taken.lines} records are stored"
            error.hint = f"{error.hint}; {kept}" if error.hint else kept
            raise

    def _session(self, claim: CallerClaim, trace: dict[str, str]) -> StreamCaller:
        caller = self._identified(claim)
        lasting = self.desk.service.lasting(caller, lambda: self._identified(claim))

        def call(name: str, said: dict[str, Any]) -> Any:
            with self._served(trace):
                return lasting(name, said)

        return StreamCaller(caller.scope.tenant, caller.scope.user, call)

    def _read(self, raw: bytes) -> dict[str, Any]:
        """Only ever in a thread."""
        try:
            if too_heavy(raw, self.takes.DESCRIPTOR):
                raise InvalidInput(f"the request has more than {MOST_FIELDS} fields", hint="send it in several parts")
            message = self.takes.FromString(raw)
        except DecodeError as error:
            raise InvalidInput(f"the request is no {self.method.request.name}: {error}") from None
        return self.method.request.read(message)

    def _written(self, value: Any) -> bytes:
        message = self.gives()
        self.method.response.fill(message, {RESULT: value})
        return bytes(message.SerializeToString())


def claimed(context: Any) -> CallerClaim:
    """Who the metadata say is calling. Text beyond ASCII travels as bytes, under the same name with `-bin`."""
    told: dict[str, str] = {}
    for name, value in context.invocation_metadata():
        if name.startswith(("x-memory-", "authorization")):
            try:
                told[name.removesuffix("-bin")] = value.decode() if isinstance(value, bytes) else value
            except UnicodeDecodeError:
                raise InvalidInput(f"{name}: is not UTF-8", field=name) from None
    scheme, _, token = told.get("authorization", "").partition(" ")
    said = {name: told.get(f"x-memory-{name}") or None for name in SAID}
    peer = _host(context.peer())
    return CallerClaim(
        token=token.strip() if scheme.lower() == "bearer" else None,
        **said,
        local=is_local(peer),
        peer=peer,
        door="grpc",
    )


def carried(context: Any) -> dict[str, str]:
    """Of which trace the metadata say that the call is a part."""
    return {name: value for name, value in context.invocation_metadata() if name in ("traceparent", "tracestate")}


def _host(peer: str) -> str:
    """Of `ipv4:127.0.0.1:40312`, `ipv6:%5B::1%5D:40312`"""
    return unquote(peer).partition(":")[2].rpartition(":")[0].strip("[]")
