"""What happens to a call: message to arguments, the operation, its answer to a message. One function for all."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import grpc
from google.protobuf.message import DecodeError

from agent_memory.app.operations import TABLE
from agent_memory.app.service import Claim, Service
from agent_memory.interfaces.grpc.schema import RESULT, Method
from agent_memory.interfaces.grpc.status import abort
from agent_memory.interfaces.grpc.streams import Session
from agent_memory.interfaces.loopback import is_local
from agent_memory.models.errors import AgentMemoryError, InvalidInput, StoreError, TooMany

SAID = ("tenant", "user", "agent", "conversation")
MOST_STREAMS = 16
RENEW_SECONDS = 10.0  # how long a stream goes on with a key before it is looked at again

log = logging.getLogger("agent_memory.grpc")


@dataclass(frozen=True)
class Desk:
    """What all calls of one server share."""

    service: Service
    stopping: threading.Event
    slots: threading.BoundedSemaphore  # for streams, so that those who stay leave threads for those who do not

    def handler(self, method: Method, takes: Any, gives: Any) -> Any:
        """Messages are read and written in here: what cannot be read is the caller's mistake, not an inner error."""
        route = _Route(self, method, takes, gives)
        if method.stream is None:
            return grpc.unary_unary_rpc_method_handler(route.answer)
        if method.stream.takes_many:
            return grpc.stream_unary_rpc_method_handler(route.take_in)
        return grpc.unary_stream_rpc_method_handler(route.stream)

    @contextmanager
    def slot(self) -> Iterator[None]:
        if not self.slots.acquire(blocking=False):
            raise TooMany(f"{MOST_STREAMS} streams are open", hint="end one, or try again later")
        try:
            yield
        finally:
            self.slots.release()


class Talks(grpc.ServerInterceptor):  # type: ignore[misc]
    """Whoever asks for reflection holds a thread for as long as they like: they take a slot as other streams do."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        found = continuation(details)
        if found is None or not (found.request_streaming and found.response_streaming):
            return found

        def talk(messages: Iterator[Any], context: Any) -> Iterator[Any]:
            with _telling(context), self._desk.slot():
                yield from found.stream_stream(messages, context)

        return grpc.stream_stream_rpc_method_handler(talk, found.request_deserializer, found.response_serializer)


@dataclass(frozen=True)
class _Route:
    desk: Desk
    method: Method
    takes: Any
    gives: Any

    def answer(self, raw: bytes, context: Any) -> bytes:
        assert self.method.operation is not None
        with _telling(context):
            caller = self.desk.service.identify(claimed(context), self.method.operation.name)
            return self._written(self.desk.service.call(self.method.operation, caller, self._read(raw)))

    def stream(self, raw: bytes, context: Any) -> Iterator[bytes]:
        assert self.method.stream is not None
        with _telling(context), self.desk.slot():
            session = self._session(context)
            for one in self.method.stream.run(session, self._read(raw)):
                yield self._written(one)

    def take_in(self, messages: Iterator[bytes], context: Any) -> bytes:
        assert self.method.stream is not None
        with _telling(context), self.desk.slot():
            said = (self._read(raw) for raw in messages)
            return self._written(self.method.stream.run(self._session(context), said))

    def _session(self, context: Any) -> Session:
        desk, stream = self.desk, f"stream.{self.method.name.lower()}"
        claim = claimed(context)
        caller, known = desk.service.identify(claim, stream), time.monotonic()

        def call(name: str, said: dict[str, Any]) -> Any:
            nonlocal caller, known
            if time.monotonic() - known > RENEW_SECONDS:
                caller, known = desk.service.identify(claim, stream), time.monotonic()
            return desk.service.call(TABLE[name], caller, said)

        def pause(seconds: float) -> None:
            if desk.stopping.wait(seconds):
                raise StoreError("the server is stopping", hint="connect again, after the last line that you have")

        return Session(caller.scope.user, call, context.is_active, pause)

    def _read(self, raw: bytes) -> dict[str, Any]:
        try:
            message = self.takes.FromString(raw)
        except DecodeError as error:
            raise InvalidInput(f"the request is no {self.method.request.name}: {error}") from None
        return self.method.request.read(message)

    def _written(self, value: Any) -> bytes:
        message = self.gives()
        self.method.response.fill(message, {RESULT: value})
        return bytes(message.SerializeToString())


def claimed(context: Any) -> Claim:
    """Who the metadata say is calling. Text beyond ASCII travels as bytes, under the same name with `-bin`."""
    told: dict[str, str] = {}
    for name, value in context.invocation_metadata():
        if name.startswith(("x-memory-", "authorization")):
            try:
                told[name.removesuffix("-bin")] = value.decode() if isinstance(value, bytes) else value
            except UnicodeDecodeError:
                raise InvalidInput(f"{name}: is no UTF-8", field=name) from None
    scheme, _, token = told.get("authorization", "").partition(" ")
    said = {name: told.get(f"x-memory-{name}") or None for name in SAID}
    return Claim(token=token.strip() if scheme.lower() == "bearer" else None, **said, local=_near(context.peer()))


def _near(peer: str) -> bool:
    """`ipv4:127.0.0.1:40312`, `ipv6:%5B::1%5D:40312`"""
    return is_local(unquote(peer).partition(":")[2].rpartition(":")[0].strip("[]"))


@contextmanager
def _telling(context: Any) -> Iterator[None]:
    """Whatever goes wrong inside is told in one form. What nobody foresaw is logged, and not shown."""
    told: AgentMemoryError | None = None
    try:
        yield
    except AgentMemoryError as error:
        told = error
    except (grpc.RpcError, GeneratorExit):  # the caller hung up
        raise
    except Exception:
        log.exception("a call failed")
        told = AgentMemoryError("something broke", hint="the log of the server has more")
    if told is not None:
        abort(context, told)
