"""`MemoryAugmentedAgent`: a chat that remembers. Recall → a prompt with what is remembered → the model → both turns
stored. C16.

The question is stored before the model is asked, and the answer when it is whole: whatever fails in between, nothing is
lost and nothing is half-written. Works on a store here and at a server; the model is asked from this process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import cache, partial
from types import TracebackType
from typing import Any, NamedTuple, Self, TypedDict, Unpack

from agent_memory.app import config, pricing, registry, wiring
from agent_memory.app.client import spender_of
from agent_memory.app.memory import AgentMemory
from agent_memory.app.threads import Threads
from agent_memory.core.context.tokens import estimate
from agent_memory.core.govern.metering import CHAT, ModelMeter
from agent_memory.core.govern.redact import same_but_for_secrets
from agent_memory.core.talk.request import INSTRUCTIONS, messages, room
from agent_memory.core.talk.session import Limit, with_blocks
from agent_memory.models.answer import Recalled
from agent_memory.models.context import Context
from agent_memory.models.errors import InvalidInput, Unfinished
from agent_memory.models.kinds.conversation import Turn
from agent_memory.models.limits import LONGEST_QUERY
from agent_memory.models.model import new_id
from agent_memory.ports.chat import ChatAnswer, ChatModel, ChatRequest
from agent_memory.ports.clock import SystemClock
from agent_memory.ports.spending import SpendingAs, SpendingStore

RECENT = 40  # turns that are looked at for the prompt
RULES_SHARE = 4  # of what is left for what is remembered: rules of this folder may take one part in so many


class TalkOptions(TypedDict, total=False):
    """`instructions` say who the model is. `prompt_tokens` bound all that is sent (as `assemble_context` counts), and
    `answer_tokens` the answer (otherwise, the setting `chat_max_tokens` does). `memory` is an open one to use instead
    of a new one for the user; otherwise `store`, `tenant`, `agent` and `api_key` are `AgentMemory`'s."""

    instructions: str
    prompt_tokens: int
    answer_tokens: int
    memory: AgentMemory
    store: str
    tenant: str
    agent: str
    api_key: str


class Exchange(NamedTuple):
    """A question, what was remembered for it, and the answer, once there is one."""

    asked: Turn
    context: Context
    answered: Turn | None = None


class MemoryAugmentedAgent:
    """A chat with a model that remembers: `start_conversation`, then `chat` or `stream`.

    The model is the one of the settings, or `client`: any object with `chat.completions.create`, as OpenAI's, with the
    name of a `model`; or a `ChatModel`.
    """

    def __init__(
        self,
        user_id: str,
        *,
        client: Any = None,
        model: str | None = None,
        **options: Unpack[TalkOptions],
    ) -> None:
        given: dict[str, Any] = dict(options)
        self.instructions: str = given.pop("instructions", INSTRUCTIONS)
        self.prompt_tokens: int = given.pop("prompt_tokens", 6000)
        self.answer_tokens: int | None = given.pop("answer_tokens", None)
        room(self.instructions, [], "", self.prompt_tokens, estimate)  # says now if there is none
        known: AgentMemory | None = given.pop("memory", None)
        if known is not None and (known.user_id != user_id or given or client is not None):
            raise InvalidInput(
                "memory: has a user, a store and a chat model of its own",
                hint=f"name its user, {known.user_id!r}, and leave {', '.join(given) or 'client'} out",
                field="memory",
            )
        own = _own(client, model)
        away = own is not None and config.load(store=given.get("store")).is_remote
        parts = {} if own is None or away else {"chat": own}
        self._owns = known is None
        self.memory = AgentMemory(user_id, **given, **parts) if known is None else known
        try:
            self._chat = _chat(self.memory, own)
        except BaseException:
            self.close()
            raise
        self.last: Exchange | None = None

    @property
    def model(self) -> str:
        """The name of the model."""
        return self._chat.model

    @property
    def conversation_id(self) -> str | None:
        return self.memory.conversation_id

    def start_conversation(self, conversation_id: str | None = None) -> str:
        """Begin a conversation, or go on with one; gives its id."""
        self.memory.conversation_id = new_id() if conversation_id is None else conversation_id
        self.last = None
        return str(self.memory.conversation_id)

    def chat(self, user_message: str) -> str:
        """The whole answer. If the model fails, the question is kept; the same question again goes on with it."""
        request, exchange = self._begin(user_message)
        with SpendingAs(spender_of(self.memory._client, CHAT)):
            answer = self._chat.complete(request)
        return self._finish(answer, exchange)

    def stream(self, user_message: str) -> Iterator[str]:
        """The answer piece by piece. It is stored when it is whole: who stops reading keeps the question only."""
        return self._pieces(*self._begin(user_message))

    def why(self) -> Recalled | None:
        """What the last prompt had of memory, each with why it was found; None before the first question."""
        if self.last is None:
            return None
        found = self.memory.receipts.replay(self.last.context.receipt_id).recalled
        shown = {chunk.id for chunk in self.last.context.chunks}
        return found.model_copy(update={"hits": [hit for hit in found if hit.id in shown]})

    def close(self) -> None:
        """Let go of the memory, unless it was brought along."""
        if self._owns:
            self.memory.close()

    def _begin(self, user_message: str) -> tuple[ChatRequest, Exchange]:
        """Recall, and store the question. What is wrong with the question is said before anything is stored."""
        said: object = user_message
        if not (isinstance(said, str) and said.strip()):
            raise InvalidInput("user_message: is empty", hint="say something", field="user_message")
        talk = self.conversation_id or self.start_conversation()
        turns = self._turns(talk)
        again = bool(turns) and turns[-1].role == "user" and same_but_for_secrets(user_message, turns[-1].content)
        asked = turns.pop() if again else None
        fits = room(self.instructions, turns, user_message, self.prompt_tokens, estimate)
        first = [self._blocks(fits.left), self._rules(user_message, fits.left // RULES_SHARE)]
        context = self.memory.assemble_context(
            user_message[:LONGEST_QUERY],
            fits.left - sum(map(estimate, first)),
            per_conversation=0,
            ids=False,
            without=[turn.id for turn in (*fits.turns, *([asked] if asked else []))],
        )
        asked = asked or self.memory.episodic.append(talk, "user", user_message)
        self.last = exchange = Exchange(asked, context)
        sent = messages(self.instructions, [*first, context.text], fits.turns, user_message)
        return ChatRequest(sent, max_tokens=self.answer_tokens), exchange

    def _pieces(self, request: ChatRequest, exchange: Exchange) -> Iterator[str]:
        for piece in self._listened(request):
            if isinstance(piece, ChatAnswer):
                self._finish(piece, exchange)
                return
            yield piece
        raise Unfinished("the model's answer has no end", hint="ask again: the question is kept")

    def _listened(self, request: ChatRequest) -> Iterator[str | ChatAnswer]:
        """The model is asked with the first piece; whoever reads on may be another thread."""
        pieces = self._chat.stream(request)
        with SpendingAs(spender_of(self.memory._client, CHAT)):
            first = next(pieces, None)
        if first is not None:
            yield first
            yield from pieces

    def _finish(self, answer: ChatAnswer, exchange: Exchange) -> str:
        """Store the answer."""
        if not answer.text.strip():
            raise Unfinished(
                f"the model answered nothing (it stopped for: {answer.finish})", hint="ask again: the question is kept"
            )
        about = {"model": self._chat.model, "receipt_id": exchange.context.receipt_id}
        told = about if answer.finish == "stop" else {**about, "finish": answer.finish}
        talk, spent = exchange.asked.conversation_id, answer.usage.completion
        stored = self.memory.episodic.append(talk, "assistant", answer.text, told, spent)
        self.last = exchange._replace(answered=stored)
        return answer.text

    def _turns(self, conversation_id: str) -> list[Turn]:
        """The newest ones, in their order."""
        found = self.memory.records.find(kind="turn", limit=RECENT, conversation_id=conversation_id)
        return sorted(map(Turn.of, found), key=lambda turn: turn.index)

    def _blocks(self, limit: int) -> str:
        """Core blocks, whole, as long as they leave half of the room."""
        head = with_blocks(self.memory.blocks.list(), Limit(limit, estimate))._replace(left_out=())
        return "".join(message["content"] for message in head.messages())

    def _rules(self, task: str, limit: int) -> str:
        """Those of the folder that this process works in: a context has them, but for one that a server makes."""
        if not self.memory._client.settings.is_remote:
            return ""
        return self.memory.rules.prompt(task=task[:LONGEST_QUERY], max_tokens=max(limit, 1)).text

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _own(client: Any, model: str | None) -> Any:
    if model is None:
        return client
    if client is None:
        raise InvalidInput(
            "model: is for a client", hint="pass a client, too, or set AGENT_MEMORY_CHAT_MODEL", field="model"
        )
    from agent_memory.engines.openai.chat import ClientChat

    return ClientChat(client, model)


def _chat(memory: AgentMemory, own: Any) -> ChatModel:
    """The one of the memory's runtime, which counts what is asked of it. Where the store is a server's, one is opened
    and counted here."""
    client = memory._client
    if not client.settings.is_remote:
        return client.runtime.require_chat()
    found = registry.require_chat(registry.open_chat_model(client.settings, own))
    meter = ModelMeter(_counted(client.settings.store_url), SystemClock, estimate, pricing.terms(client.settings))
    return wiring.metered(found, client.settings, meter)


@cache
def _counted(store_url: str) -> SpendingStore | None:
    """What this process asked of models, for one store that is elsewhere."""
    return registry.open_store("memory://").spending


class AsyncMemoryAugmentedAgent:
    """The same, awaited; `stream` is read with `async for`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._sync = MemoryAugmentedAgent(*args, **kwargs)
        self._threads = Threads(self._sync.memory._client.transport.threads)

    @property
    def conversation_id(self) -> str | None:
        return self._sync.conversation_id

    def start_conversation(self, conversation_id: str | None = None) -> str:
        return self._sync.start_conversation(conversation_id)

    async def chat(self, user_message: str) -> str:
        answer: str = await self._threads.run(partial(self._sync.chat, user_message))
        return answer

    async def stream(self, user_message: str) -> AsyncIterator[str]:
        pieces = await self._threads.run(partial(self._sync.stream, user_message))
        while (piece := await self._threads.run(partial(next, pieces, None))) is not None:
            yield piece

    async def why(self) -> Recalled | None:
        found: Recalled | None = await self._threads.run(self._sync.why)
        return found

    async def close(self) -> None:
        try:
            await self._threads.settle()
            await self._threads.run(self._sync.close)
        finally:
            self._threads.end()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
