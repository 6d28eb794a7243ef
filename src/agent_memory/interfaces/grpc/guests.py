"""Health and reflection are services of others, and nobody is asked for a key there. What strangers send to them has an
inbox of its own, so that it can neither take memory without bound nor a place from whoever has a key."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from agent_memory.interfaces.grpc.inbox import SMALL_BYTES, Inbox
from agent_memory.interfaces.grpc.schema import PACKAGE
from agent_memory.interfaces.grpc.status import telling
from agent_memory.models.errors import InvalidInput

PLACES = 4
TURN_SECONDS = 0.2  # their messages are short


class Guests(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """As in our own methods, a message is asked for only when there is a place for it."""

    def __init__(self) -> None:
        self._inbox = Inbox(places=PLACES, turn=TURN_SECONDS)

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        theirs = await continuation(details)
        if theirs is None or details.method.startswith(f"/{PACKAGE}."):
            return theirs
        takes = theirs.request_deserializer
        kept = {"response_serializer": theirs.response_serializer}

        async def only(messages: AsyncIterator[bytes], context: Any) -> Any:
            async with telling(context), self._inbox.message(messages) as raw:
                return _read(takes, raw)

        async def each(messages: AsyncIterator[bytes], context: Any) -> AsyncIterator[Any]:
            async with telling(context):
                while (raw := await self._inbox.arrived(messages)) is not None:
                    yield _read(takes, raw)

        async def answer(messages: AsyncIterator[bytes], context: Any) -> Any:
            return await theirs.unary_unary(await only(messages, context), context)

        async def watch(messages: AsyncIterator[bytes], context: Any) -> None:
            await theirs.unary_stream(await only(messages, context), context)

        async def talk(messages: AsyncIterator[bytes], context: Any) -> AsyncIterator[Any]:
            async for one in theirs.stream_stream(each(messages, context), context):
                yield one

        if theirs.unary_unary:
            return grpc.stream_unary_rpc_method_handler(answer, **kept)
        return grpc.stream_stream_rpc_method_handler(watch if theirs.unary_stream else talk, **kept)


def _read(takes: Callable[[bytes], Any], raw: bytes) -> Any:
    if len(raw) > SMALL_BYTES:  # whoever reads much holds everybody up
        raise InvalidInput(f"the request is longer than {SMALL_BYTES} bytes")
    try:
        return takes(raw)
    except DecodeError as error:
        raise InvalidInput(f"the request cannot be read: {error}") from None
