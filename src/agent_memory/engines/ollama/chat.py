"""Chat models that Ollama runs (`/api/chat`), on this machine or the next one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agent_memory.ports.chat import ChatAnswer, ChatMessage, ChatRequest, ToolRequest, Usage
from agent_memory.ports.remote import Remote, told

URL = "http://127.0.0.1:11434"
PATH = "/api/chat"


class OllamaChat:
    """`timeout` is for a whole answer, `silence` for what may pass without a piece of a streamed one: also until Ollama
    has loaded the model."""

    service = "ollama"

    def __init__(
        self,
        *,
        model: str,
        base_url: str = URL,
        timeout: float = 300.0,
        silence: float = 60.0,
        attempts: int = 3,
    ) -> None:
        self._model = model
        self._silence = silence
        self._remote = Remote("Ollama", base_url, None, timeout, attempts)
        self._hint = f"start it with `ollama serve` and fetch the model with `ollama pull {model}`"

    @property
    def model(self) -> str:
        return self._model

    def complete(self, request: ChatRequest) -> ChatAnswer:
        body = {**_asked(request, self._model), "stream": False}
        said = self._remote.post(PATH, body, self._hint, charged=True)
        return self._whole(said, self._text(said), self._calls(said))

    def stream(self, request: ChatRequest) -> Iterator[str | ChatAnswer]:
        text, calls = "", list[ToolRequest]()
        lines = self._remote.lines(PATH, {**_asked(request, self._model), "stream": True}, self._hint, self._silence)
        try:
            for line in filter(None, lines):
                said = self._read(line)
                piece = self._text(said)
                calls += self._calls(said, len(calls))
                if piece:
                    text += piece
                    yield piece
                if said.get("done") is True:
                    yield self._whole(said, text, calls)
                    return
        finally:
            lines.close()
        raise self._remote.broken_off()

    def _read(self, line: str) -> dict[str, Any]:
        try:
            said = json.loads(line)
        except ValueError as error:
            raise self._remote.unreadable("a piece of it is not JSON") from error
        if not isinstance(said, dict):
            raise self._remote.unreadable("a piece of it is not an object")
        if "error" in said:
            raise self._remote.unreadable(str(said["error"])[:200])
        return said

    def _text(self, said: Any) -> str:
        message = said.get("message") if isinstance(said, dict) else None
        text = message.get("content") if isinstance(message, dict) else None
        if not isinstance(text, str):
            raise self._remote.unreadable("it holds no message")
        return text

    def _calls(self, said: Any, before: int = 0) -> list[ToolRequest]:
        made = []
        for number, one in enumerate(said["message"].get("tool_calls") or (), before + 1):
            function = one.get("function") if isinstance(one, dict) else None
            name, arguments = (function or {}).get("name"), (function or {}).get("arguments") or {}
            if not isinstance(name, str) or not isinstance(arguments, dict):
                raise self._remote.unreadable("a call of a tool has no name, or its arguments are not an object")
            made.append(ToolRequest(str(one.get("id") or f"call_{number}"), name, arguments))
        return made

    def _whole(self, said: dict[str, Any], text: str, calls: list[ToolRequest]) -> ChatAnswer:
        if said.get("done") is not True:
            raise self._remote.broken_off()
        usage = Usage(told(said, "prompt_eval_count"), told(said, "eval_count"))
        return ChatAnswer(text, tuple(calls), usage, "tools" if calls else str(said.get("done_reason") or "stop"))


def _asked(request: ChatRequest, model: str) -> dict[str, Any]:
    options = {"num_predict": request.max_tokens, "temperature": request.temperature, "seed": request.seed}
    names = {call.id: call.name for one in request.messages for call in one.calls}
    body: dict[str, Any] = {
        "model": model,
        "messages": [_message(one, names) for one in request.messages],
        "options": {name: value for name, value in options.items() if value is not None},
    }
    if request.tools:
        body["tools"] = [
            {"type": "function", "function": {"name": name, "description": description, "parameters": dict(schema)}}
            for name, description, schema in request.tools
        ]
    if request.schema is not None:
        body["format"] = dict(request.schema)
    return body


def _message(one: ChatMessage, names: dict[str, str]) -> dict[str, Any]:
    made: dict[str, Any] = {"role": one.role, "content": one.content}
    if one.calls:
        made["tool_calls"] = [{"function": {"name": call.name, "arguments": call.arguments}} for call in one.calls]
    if one.call_id is not None:
        made["tool_name"] = names.get(one.call_id, one.call_id)
    return made
