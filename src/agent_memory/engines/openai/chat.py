"""Chat models behind OpenAI's `/chat/completions`: at any address, or through a client that the caller has already."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from agent_memory.engines.openai.completions import BrokenOff, UnusableAnswer, answer, asked, pieces, streamed
from agent_memory.models.errors import AgentMemoryError, PartMissing, Unfinished
from agent_memory.ports.chat import ChatAnswer, ChatRequest
from agent_memory.ports.remote import Remote

URL = "https://api.openai.com/v1"
PATH = "/chat/completions"
_LOST = {"ReadError", "RemoteProtocolError"}  # what httpx calls an answer that did not come
HINT = "check base_url, the model's name and the network"


class ClientChat:
    """Any object with `chat.completions.create`, such as OpenAI's own client, as a `ChatModel`. How often it asks again
    and how long it waits is the client's own affair."""

    def __init__(self, client: Any, model: str) -> None:
        self._client = client
        self._model = model
        self._limit = limit_name(str(getattr(client, "base_url", "")))

    @property
    def model(self) -> str:
        return self._model

    def complete(self, request: ChatRequest) -> ChatAnswer:
        with _foreign():
            return answer(self._client.chat.completions.create(**asked(request, self._model, self._limit)))

    def stream(self, request: ChatRequest) -> Iterator[str | ChatAnswer]:
        body = streamed(asked(request, self._model, self._limit))
        with _foreign():
            yield from pieces(self._client.chat.completions.create(**body))


class OpenAIChat:
    """OpenAI, and every server that speaks its `/chat/completions`; `base_url` is as OpenAI's own client wants it, with
    the `/v1`. `timeout` is for a whole answer, `silence` for what may pass without a piece of a streamed one."""

    service = "openai"

    def __init__(
        self,
        *,
        model: str,
        api_key: str | None = None,
        base_url: str = URL,
        timeout: float = 300.0,
        silence: float = 60.0,
        attempts: int = 4,
    ) -> None:
        self._model = model
        self._silence = silence
        self._limit = limit_name(base_url)
        self._remote = Remote("OpenAI", base_url, api_key, timeout, attempts)

    @property
    def model(self) -> str:
        return self._model

    def complete(self, request: ChatRequest) -> ChatAnswer:
        said = self._remote.post(PATH, asked(request, self._model, self._limit), HINT, charged=True)
        try:
            return answer(said)
        except UnusableAnswer as error:
            raise self._remote.unreadable(str(error)) from None  # what the service said may hold the key

    def stream(self, request: ChatRequest) -> Iterator[str | ChatAnswer]:
        body = streamed(asked(request, self._model, self._limit))
        lines = self._remote.lines(PATH, body, HINT, self._silence)
        try:
            yield from pieces(_chunks(lines))
        except BrokenOff as error:
            raise self._remote.broken_off() from error
        except UnusableAnswer as error:
            raise self._remote.unreadable(str(error)) from None  # what the service said may hold the key
        finally:
            lines.close()


def _chunks(lines: Iterator[str]) -> Iterator[Any]:
    """Server-sent events; other lines keep a connection alive."""
    for line in lines:
        data = line.removeprefix("data:").strip()
        if data == "[DONE]":
            return
        if data and data != line:
            try:
                yield json.loads(data)
            except ValueError as error:
                raise UnusableAnswer("a piece of it is not JSON") from error


@contextmanager
def _foreign() -> Iterator[None]:
    """What a client raises may be of any class, and may quote a key: of the error only its name is shown."""
    try:
        yield
    except AgentMemoryError:
        raise
    except BrokenOff as error:
        raise Unfinished("the answer of the chat client broke off", hint="try again") from error
    except UnusableAnswer as error:
        raise Unfinished(f"the chat client gave an answer that cannot be used: {error}") from error
    except Exception as error:
        status = getattr(error, "status_code", None)
        name = type(error).__name__
        said = f"{name}, status {status}" if isinstance(status, int) else name
        lost = "Timeout" in name or {name, type(error.__cause__).__name__} & _LOST
        kind = Unfinished if lost else PartMissing
        raise kind(f"the chat client failed ({said})", hint="its own error is the cause of this one") from error


def limit_name(url: str) -> str:
    """OpenAI's newer models refuse the name that everybody else knows."""
    return "max_completion_tokens" if urlsplit(url).hostname == urlsplit(URL).hostname else "max_tokens"
