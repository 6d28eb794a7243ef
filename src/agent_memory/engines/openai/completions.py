"""OpenAI's `/chat/completions` as values: what is sent, and what comes back, whole or in pieces.

What comes back is JSON, or objects of OpenAI's own client or of one that is made like it: both are read in one way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agent_memory.ports.chat import ChatAnswer, ChatMessage, ChatRequest, ToolRequest, Usage

FINISH = {"tool_calls": "tools", "function_call": "tools"}


class UnusableAnswer(ValueError):
    """An answer that is not what the protocol promises."""


class BrokenOff(Exception):
    """A stream that ended before the answer did."""


def asked(request: ChatRequest, model: str, limit: str) -> dict[str, Any]:
    """What is sent; `limit` is what the service calls the most tokens of an answer."""
    chosen = {limit: request.max_tokens, "temperature": request.temperature, "seed": request.seed}
    body: dict[str, Any] = {"model": model, "messages": [_message(one) for one in request.messages]}
    body |= {name: value for name, value in chosen.items() if value is not None}
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": one.name, "description": one.description, "parameters": dict(one.schema)},
            }
            for one in request.tools
        ]
        if request.must_call:
            body["tool_choice"] = "required"
    if request.schema is not None:
        shape = {"name": "answer", "schema": dict(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    return body


def streamed(body: dict[str, Any]) -> dict[str, Any]:
    """The same, to be answered in pieces, with the usage at the end."""
    return {**body, "stream": True, "stream_options": {"include_usage": True}}


def answer(said: Any) -> ChatAnswer:
    """A whole answer; `UnusableAnswer` if it is none."""
    choice = _first(said)
    message = None if choice is None else _get(choice, "message")
    if message is None:
        raise UnusableAnswer("it holds no message")
    calls = [
        _call(_get(one, "id"), _get(_get(one, "function"), "name"), _get(_get(one, "function"), "arguments"))
        for one in _get(message, "tool_calls") or ()
    ]
    return ChatAnswer(_text(message), tuple(calls), _usage(said), _finish(choice))


def pieces(chunks: Iterable[Any]) -> Iterator[str | ChatAnswer]:
    """The text of a stream as it comes, then the whole answer; `BrokenOff` where it ends before the model did."""
    text: list[str] = []
    calls: dict[int, list[str]] = {}
    usage, finish = Usage(), ""
    for chunk in chunks:
        if (trouble := _get(chunk, "error")) is not None:
            raise UnusableAnswer(str(_get(trouble, "message") or trouble)[:200])
        usage = _usage(chunk) if _get(chunk, "usage") is not None else usage
        if (choice := _first(chunk)) is None:
            continue
        finish = _finish(choice) if _get(choice, "finish_reason") else finish
        delta = _get(choice, "delta")
        for one in _get(delta, "tool_calls") or ():
            parts = calls.setdefault(_get(one, "index") or 0, ["", "", ""])
            function = _get(one, "function")
            for place, part in enumerate((_get(one, "id"), _get(function, "name"), _get(function, "arguments"))):
                parts[place] += part or ""
        if piece := _text(delta):
            text.append(piece)
            yield piece
    if not finish:
        raise BrokenOff
    made = tuple(_call(*parts) for _, parts in sorted(calls.items()))
    yield ChatAnswer("".join(text), made, usage, finish)


def _message(one: ChatMessage) -> dict[str, Any]:
    made: dict[str, Any] = {"role": one.role, "content": one.content}
    if one.calls:
        made["tool_calls"] = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for id, name, arguments in one.calls
        ]
    if one.call_id is not None:
        made["tool_call_id"] = one.call_id
    return made


def _call(id: Any, name: Any, arguments: Any) -> ToolRequest:
    try:
        read = json.loads(arguments) if arguments else {}
    except (ValueError, TypeError):
        read = None
    if not isinstance(read, dict) or not isinstance(name, str) or not name:
        raise UnusableAnswer("a call of a tool has no name, or its arguments are not a JSON object")
    return ToolRequest(str(id or name), name, read)


def _first(said: Any) -> Any:
    choices = _get(said, "choices")
    return choices[0] if isinstance(choices, list | tuple) and choices else None


def _text(message: Any) -> str:
    content = _get(message, "content")
    if content is not None and not isinstance(content, str):
        raise UnusableAnswer("its text is not a text")
    return content or ""


def _finish(choice: Any) -> str:
    said = str(_get(choice, "finish_reason") or "stop")
    return FINISH.get(said, said)


def _usage(said: Any) -> Usage:
    told = _get(said, "usage")
    return Usage(*(_count(_get(told, name)) for name in ("prompt_tokens", "completion_tokens")))


def _count(number: Any) -> int | None:
    return number if type(number) is int and number >= 0 else None


def _get(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
