"""A chat model that says what a test tells it to, and remembers what it was asked.

model = ScriptedChat(["The port is 5433.", ChatAnswer("", calls=(ToolRequest("1", "recall", {"query": "port"}),))])
memory = AgentMemory("ada", chat=model)
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator

from agent_memory.ports.chat import ChatAnswer, ChatRequest, Usage

Line = str | ChatAnswer | Exception
"""A text, a whole answer, or an error to raise."""


class ScriptedChat:
    """`script`: one line for each request, in their order, or a function that makes one of a request. What is asked
    beyond the script is an `AssertionError`. Where an answer tells no usage, words are counted as tokens."""

    def __init__(self, script: Iterable[Line] | Callable[[ChatRequest], Line], model: str = "scripted") -> None:
        self.requests: list[ChatRequest] = []
        self._model = model
        self._say = script if callable(script) else self._next
        self._lines: list[Line] = [] if callable(script) else list(script)
        self._lock = threading.Lock()

    @property
    def model(self) -> str:
        return self._model

    def complete(self, request: ChatRequest) -> ChatAnswer:
        with self._lock:
            self.requests.append(request)
            said = self._say(request)
        if isinstance(said, Exception):
            raise said
        answer = ChatAnswer(said) if isinstance(said, str) else said
        if answer.usage != Usage():
            return answer
        asked = sum(_words(one.content) for one in request.messages)
        return answer._replace(usage=Usage(asked, _words(answer.text)))

    def stream(self, request: ChatRequest) -> Iterator[str | ChatAnswer]:
        """Word by word."""
        answer = self.complete(request)
        yield from re.findall(r"\s*\S+\s*$|\s*\S+|\s+$", answer.text)
        yield answer

    def _next(self, request: ChatRequest) -> Line:
        number = len(self.requests)
        assert number <= len(self._lines), f"the script has {len(self._lines)} lines, and this is request {number}"
        return self._lines[number - 1]


def _words(text: str) -> int:
    return len(text.split())
