"""What we ask of a chat model: messages in, one answer out, whole or piece by piece."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Role = Literal["system", "user", "assistant", "tool"]


class ToolRequest(NamedTuple):
    """A tool that the model wants to be run. `id` is the model's own, and goes back with the answer."""

    id: str
    name: str
    arguments: dict[str, Any]


class ChatMessage(NamedTuple):
    """One line of the talk. `calls` are the assistant's; a message of the role `tool` answers the call `call_id`."""

    role: Role
    content: str
    calls: tuple[ToolRequest, ...] = ()
    call_id: str | None = None


class ToolSpec(NamedTuple):
    """A tool as the model is told of it; `schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


class ChatRequest(NamedTuple):
    """`schema`: the answer's text must be JSON of this shape. `max_tokens` bounds the answer, and what it can cost.
    `must_call`: the answer is to be a call of one of the tools; a service that cannot promise that is only asked."""

    messages: Sequence[ChatMessage]
    tools: Sequence[ToolSpec] = ()
    schema: Mapping[str, Any] | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    seed: int | None = None
    must_call: bool = False


class Usage(NamedTuple):
    """Tokens as the service counted them; None where it did not tell."""

    prompt: int | None = None
    completion: int | None = None


class ChatAnswer(NamedTuple):
    """`finish` is why the model stopped: `stop`, `length`, `tools`, or the service's own word."""

    text: str
    calls: tuple[ToolRequest, ...] = ()
    usage: Usage = Usage()
    finish: str = "stop"


class ChatModel(Protocol):
    """Promises: an answer is whole or an error; a stream that breaks off is an error, never a short answer; a service
    that is busy is asked again, and what it used is counted once. Safe to share between threads."""

    @property
    def model(self) -> str:
        """Its name, as prices and usage are kept by it."""
        ...

    def complete(self, request: ChatRequest) -> ChatAnswer:
        """One answer."""
        ...

    def stream(self, request: ChatRequest) -> Iterator[str | ChatAnswer]:
        """The text piece by piece, and at the end the whole answer."""
        ...
