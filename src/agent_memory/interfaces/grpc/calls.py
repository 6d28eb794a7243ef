"""What happens to a call: message to arguments, the operation, its answer to a message. One function for all."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from agent_memory.app.operations import TABLE
from agent_memory.app.service import Caller, Service
from agent_memory.interfaces.grpc.schema import RESULT, Method
from agent_memory.interfaces.grpc.status import abort
from agent_memory.interfaces.grpc.streams import Session
from agent_memory.models.errors import AgentMemoryError, InvalidInput, StoreError

Identify = Callable[[Mapping[str, str], str], Caller]
"""Who calls: from the metadata of a call (names in lower case) and the operation that is wanted."""
MOST_STREAMS = 16

log = logging.getLogger("agent_memory.grpc")


@dataclass(frozen=True)
class Desk:
    """What all calls of one server share."""

    service: Service
    identify: Identify
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
            raise _Busy(f"{MOST_STREAMS} streams are open", hint="end one, or try again later")
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


class _Busy(AgentMemoryError):
    code = "too_many"


@dataclass(frozen=True)
class _Route:
    desk: Desk
    method: Method
    takes: Any
    gives: Any

    def answer(self, raw: bytes, context: Any) -> bytes:
        assert self.method.operation is not None
        with _telling(context):
            said = self._read(raw)
            caller = self.desk.identify(metadata(context), self.method.operation.name)
            if not context.is_active():  # it waited for a thread longer than its caller did
                return b""
            return self._written(self.desk.service.call(self.method.operation, caller, said))

    def stream(self, raw: bytes, context: Any) -> Iterator[bytes]:
        assert self.method.stream is not None
        with _telling(context), self.desk.slot():
            said = self._read(raw)
            for one in self.method.stream.run(self._session(context), said):
                yield self._written(one)

    def take_in(self, messages: Iterator[bytes], context: Any) -> bytes:
        assert self.method.stream is not None
        with _telling(context), self.desk.slot():
            said = (self._read(raw) for raw in messages)
            return self._written(self.method.stream.run(self._session(context), said))

    def _session(self, context: Any) -> Session:
        desk, name = self.desk, f"stream.{self.method.name.lower()}"
        caller = desk.identify(metadata(context), name)

        def pause(seconds: float) -> None:
            if desk.stopping.wait(seconds):
                raise StoreError("the server is stopping", hint="connect again, after the last line that you have")

        return Session(lambda name, said: desk.service.call(TABLE[name], caller, said), context.is_active, pause)

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


def metadata(context: Any) -> dict[str, str]:
    """By name. Text beyond ASCII travels as bytes, under the same name with `-bin`."""
    found: dict[str, str] = {}
    for name, value in context.invocation_metadata():
        try:
            found[name.removesuffix("-bin")] = value.decode() if isinstance(value, bytes) else value
        except UnicodeDecodeError:
            if name.startswith("x-memory-"):
                raise InvalidInput(f"{name}: is no UTF-8", field=name) from None
    return found


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
