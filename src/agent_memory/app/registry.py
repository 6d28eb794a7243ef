"""What can be plugged in, ours and other packages': kinds, stores by URL scheme, embedders and chat
models by name, rerankers. P20."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from agent_memory.app import plugins
from agent_memory.app.config import Settings
from agent_memory.app.variables import PREFIX
from agent_memory.core.context.tokens import Counter, checked, estimate
from agent_memory.core.govern.gate import Gate
from agent_memory.models.context import Counting
from agent_memory.models.errors import InvalidInput, PartMissing, StoreError
from agent_memory.models.kinds.kind import Kind
from agent_memory.ports.chat import ChatModel
from agent_memory.ports.embedder import Embedder
from agent_memory.ports.reranker import Reranker
from agent_memory.ports.store import Store

C = TypeVar("C", bound=ChatModel)
POSTGRES = ("postgresql", "postgres")
WHOLE = ("store", "source", "target")
"""What asks for a store itself, and not for a part of one, which has a variable of its own."""
_EMBEDDER = (
    "embedding_provider",
    "local_embedding_model",
    "embedding_model",
    "embedding_dimensions",
    "embedding_url",
    "embedding_price",
    "openai_api_key",
    "openai_base_url",
)
_RERANKER = ("rerank_url", "rerank_model", "rerank_api_key")
_CHAT = (
    "chat_provider",
    "chat_model",
    "chat_url",
    "chat_max_tokens",
    "chat_timeout",
    "chat_silence",
    "chat_calls_a_day",
    "chat_tokens_a_day",
    "prices",
    "unpriced",
    "budget_zone",
    "openai_api_key",
    "openai_base_url",
)


@cache
def installed_kinds() -> Mapping[str, Kind]:
    """Built-in kinds and those of other packages. A plug-in may add, never replace."""
    from agent_memory.models.kinds.built_in import BUILT_IN

    kinds = {kind.name: kind for kind in BUILT_IN}
    for one in plugins.installed(plugins.KINDS):
        kind = one.load()
        if not isinstance(kind, Kind):
            raise InvalidInput(f"{one} is not a Kind", hint="point it at a Kind value")
        if kind.name in kinds:
            raise InvalidInput(f"two kinds are called {kind.name!r}", hint=f"rename that of the {one}")
        kinds[kind.name] = kind
    return kinds


def open_gates() -> list[tuple[str, Gate]]:
    """Those of other packages, by name: whoever installs one wants it asked."""
    return [(one.entry.name, one.make(shape=Gate)) for one in plugins.installed(plugins.GATES)]


def locate(store: str, field: str = "store") -> str:
    """The URL of a store, or of a part of one: what has no scheme is the path of a SQLite file. A path is made
    absolute, here and now."""
    scheme, separator, _ = store.partition("://")
    if re.fullmatch(r"(?:[\w-]+(?:\.[\w-]+)*|\[[\da-fA-F:]+\]):\d{1,5}/?", store):
        raise _unusable(store, "is neither a URL nor a path", f"is it a server? http://{store}", field)
    if not separator and re.match(r"(?:postgres|postgresql|sqlite|https?|unix)(?::|//)", store):
        raise _unusable(store, "is neither a URL nor a path", "a URL has :// after its first word", field)
    if not separator or scheme == "sqlite":
        return f"sqlite:///{sqlite_path(store, field)}"
    if not re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme):
        raise _unusable(store, "is neither a URL nor a path", field=field)
    return store


def is_there(url: str) -> bool:
    """Whether a located store can be read without creating it first. What other engines do is their own affair."""
    return not url.startswith("sqlite://") or sqlite_path(url).exists()


def check_there(url: str) -> None:
    """`StoreError` if it is not."""
    if not is_there(url):
        raise StoreError(
            f"there is no store at {sqlite_path(url)}",
            hint="`agent-memory add` creates one; if you expected one, check --store, AGENT_MEMORY_STORE and "
            "AGENT_MEMORY_HOME",
        )


def open_store(
    url: str,
    field: str = "store",
    settings: Settings | None = None,
    *,
    create: bool = True,
    filling: bool = False,
) -> Store:
    """`sqlite:///path`, `postgresql://…`, `memory://` (gone with the process), or a scheme that another package
    registers. `field` is the setting that asks for it; `settings` say how it is used, and whether it may be meant for
    another program. Without `create`, a database that has no tables of ours is an error; of a file, `check_there`
    knows. `filling`: also one that a `migrate` has begun to fill."""
    scheme, _, _ = url.partition("://")
    if scheme == "sqlite":
        from agent_memory.engines.sqlite import open_store as open_sqlite

        return open_sqlite(sqlite_path(url), None if field in WHOLE else variable(field), filling=filling)
    if scheme.partition("+")[0] in POSTGRES and "+" in scheme:
        raise InvalidInput(
            f"{field}: {scheme}:// names a driver", hint="write postgresql:// alone: we have our own", field=field
        )
    if scheme in POSTGRES:
        engine = postgres(field)
        if settings is None:
            made: Store = engine.open_store(url, engine.Opening(create=create, filling=filling))
        else:
            how = engine.Opening(settings.maybe_others, create, filling)
            parts = {"replica": settings.postgres_replica_uri, "shelf_lines": settings.shelf_lines}
            made = engine.open_store(url, how, **parts)
        return made
    if scheme == "memory":
        from agent_memory.testing.memory import open_store as open_memory

        return open_memory()
    if (found := plugins.find(plugins.STORES, scheme)) is not None:
        opened: Store = found.make(url, shape=Store)
        return opened
    if scheme in ("http", "https", "unix"):
        instead = f"connect an agent to {url.rstrip('/')}/mcp instead; " if scheme != "unix" else ""
        raise InvalidInput(
            f"{field}: {url} is a server, and this needs a store on this machine",
            hint=f"{instead}a store here is the path of a file",
            field=field,
        )
    groups = plugins.STORES if field == "store" else f"agent_memory.{field} or {plugins.STORES}"
    raise PartMissing(
        f"{field}: no engine for {scheme}://: no installed package has an entry point {scheme!r} in {groups}",
        hint="use the path of a file, or install the engine's package",
        field=field,
    )


def postgres(field: str = "store") -> ModuleType:
    """The PostgreSQL engine, where its driver is installed."""
    try:
        import_module("agent_memory.engines.postgres.connection")  # with the driver
    except ImportError as error:
        raise PartMissing(
            f"{field}: PostgreSQL needs the package {error.name!r}",
            hint="pip install 'agent-memory[postgres]'",
            field=field,
        ) from error
    return import_module("agent_memory.engines.postgres")


def variable(field: str) -> str:
    """What sets a setting, for errors."""
    return f"{PREFIX}{field.upper()}"


def open_embedder(settings: Settings) -> Embedder:
    """The embedder that the settings name; nothing is loaded before it is used."""
    if settings.embedding_provider == "local":
        from agent_memory.engines.onnx.embedder import EARLIER, SPACE, OnnxEmbedder

        if (name := settings.local_embedding_model) not in {SPACE.model, *(one.model for one in EARLIER)}:
            raise PartMissing(
                f"there is no local model {name!r}: only {SPACE.model} comes with the package",
                hint=f"others run in Ollama: `ollama pull {name}`, then set {variable('embedding_provider')}=ollama, "
                f"{variable('embedding_model')}={name} and {variable('embedding_dimensions')} to what it has",
                field="local_embedding_model",
            )
        return OnnxEmbedder()
    given = {
        "model": settings.embedding_model,
        "dimensions": settings.embedding_dimensions,
        "base_url": settings.embedding_url,
    }
    if (found := plugins.find(plugins.EMBEDDERS, settings.embedding_provider)) is not None:
        known = {"model": settings.embedding_model, "dimensions": settings.embedding_dimensions}
        made: Embedder = found.make(**known, url=settings.embedding_url, shape=Embedder)
        return made
    if settings.embedding_provider not in plugins.OURS[plugins.EMBEDDERS]:
        raise PartMissing(
            f"embedding_provider: there is no {settings.embedding_provider!r}: no installed package has an entry point "
            f"of that name in {plugins.EMBEDDERS}",
            hint="use local, openai or ollama, or install the provider's package",
            field="embedding_provider",
        )
    if settings.embedding_provider == "ollama":
        from agent_memory.engines.ollama.embedder import OllamaEmbedder

        return OllamaEmbedder(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    from agent_memory.engines.openai.embedder import OpenAIEmbedder

    given["base_url"] = settings.embedding_url or settings.openai_base_url
    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else None
    chosen = {name: value for name, value in {**given, "api_key": key}.items() if value is not None}
    return OpenAIEmbedder(**chosen)  # type: ignore[arg-type]


def open_embedders(settings: Settings) -> dict[str, Embedder]:
    """By the namespace of vectors that each is for: `nomic=ollama:nomic-embed-text large=openai:name/1024`."""
    made: dict[str, Embedder] = {}
    for said in (settings.embedders or "").split():
        found = re.fullmatch(r"(?P<name>[^=]+)=(?P<provider>[^:]+)(?::(?P<model>.+?)(?:/(?P<dimensions>\d+))?)?", said)
        if found is None or found["name"] in made:
            raise InvalidInput(
                f"embedders: {said!r} is not NAMESPACE=PROVIDER:MODEL/DIMENSIONS, or names one again",
                hint="for example nomic=ollama:nomic-embed-text/768; blanks part several",
                field="embedders",
            )
        model, dimensions = found["model"], found["dimensions"]
        chosen = {
            "embedding_provider": found["provider"],
            "embedding_model": model,
            "embedding_dimensions": None if dimensions is None else int(dimensions),
            "local_embedding_model": model or settings.local_embedding_model,
        }
        made[found["name"]] = open_embedder(settings.model_copy(update=chosen))
    return made


def token_counter(name: str) -> Counter:
    """`estimate`, or `wordpiece`: the tokenizer that comes with the local embedder."""
    if name == "estimate":
        return estimate
    if name == "wordpiece":
        from agent_memory.engines.onnx import vocabulary
        from agent_memory.engines.onnx.wordpiece import WordPiece

        return WordPiece(vocabulary.load()).count
    raise InvalidInput(
        f"counter: {name!r}", hint="use estimate, wordpiece, or a function from text to a number", field="counter"
    )


def counting(counter: Counting) -> Counter:
    """Whoever counts tokens, by name or as the caller's own function."""
    return token_counter(counter) if isinstance(counter, str) else checked(counter)


def open_reranker(settings: Settings) -> Reranker:
    """The reranker that the settings name, or the one that ships; nothing is loaded or asked before it is used."""
    if settings.rerank_url is None:
        from agent_memory.engines.onnx.ranker import OnnxRanker

        return OnnxRanker()
    key = settings.rerank_api_key.get_secret_value() if settings.rerank_api_key else None
    if (found := plugins.find(plugins.RERANKERS, settings.rerank_url.partition("://")[0])) is not None:
        made: Reranker = found.make(settings.rerank_url, model=settings.rerank_model, api_key=key, shape=Reranker)
        return made
    from agent_memory.engines.http.reranker import HttpReranker

    return HttpReranker(settings.rerank_url, model=settings.rerank_model, api_key=key)


def open_chat_model(settings: Settings, own: Any = None) -> ChatModel | None:
    """The chat model that the settings name, if they name one; nothing is asked before it is used. `own` is what the
    caller brought along instead: a `ChatModel`, or a client with `chat.completions.create`."""
    if own is not None:
        return _own_chat_model(settings, own)
    if (provider := settings.chat_provider) is None:
        return None
    if (found := plugins.find(plugins.CHAT_MODELS, provider)) is not None:
        made: ChatModel = found.make(model=settings.chat_model, url=settings.chat_url, shape=ChatModel)
        return made
    if provider not in plugins.OURS[plugins.CHAT_MODELS]:
        raise PartMissing(
            f"chat_provider: there is no {provider!r}: no installed package has an entry point of that name in "
            f"{plugins.CHAT_MODELS}",
            hint="use openai or ollama, or install the provider's package",
            field="chat_provider",
        )
    if settings.chat_model is None:
        raise InvalidInput(
            f"chat_model: the provider {provider!r} needs the name of a model",
            hint=f"set {variable('chat_model')}",
            field="chat_model",
        )
    model, timeout, silence = settings.chat_model, settings.chat_timeout, settings.chat_silence
    if provider == "ollama":
        from agent_memory.engines.ollama import chat as ollama

        url = settings.chat_url or ollama.URL
        return ollama.OllamaChat(model=model, base_url=url, timeout=timeout, silence=silence)
    from agent_memory.engines.openai import chat as openai

    url = settings.chat_url or settings.openai_base_url or openai.URL
    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else None
    return openai.OpenAIChat(model=model, api_key=key, base_url=url, timeout=timeout, silence=silence)


def require_chat(found: C | None) -> C:
    """For what cannot do without one."""
    if found is None:
        raise PartMissing(
            "there is no chat model",
            hint="set AGENT_MEMORY_CHAT_PROVIDER (ollama or openai) and AGENT_MEMORY_CHAT_MODEL, or pass "
            "AgentMemory(…, chat=…)",
            field="chat_provider",
        )
    return found


def _own_chat_model(settings: Settings, own: Any) -> ChatModel:
    if all(hasattr(own, name) for name in ("model", "complete", "stream")):
        model: ChatModel = own
        return model
    if not callable(getattr(getattr(getattr(own, "chat", None), "completions", None), "create", None)):
        raise InvalidInput(
            f"chat: {type(own).__name__} is neither a ChatModel nor a client with chat.completions.create",
            hint="pass OpenAI's client, or an object with model, complete and stream",
            field="chat",
        )
    if settings.chat_model is None:
        raise InvalidInput(
            "chat: which model the client is to ask is not known",
            hint=f"set {variable('chat_model')}, or pass ClientChat(client, model) of agent_memory.engines.openai.chat",
            field="chat",
        )
    from agent_memory.engines.openai.chat import ClientChat

    return ClientChat(own, settings.chat_model)


def chat_settings(settings: Settings) -> tuple[object, ...]:
    """What decides which chat model `open_chat_model` gives, and how much it may be asked."""
    return tuple(getattr(settings, name) for name in _CHAT)


def embedder_settings(settings: Settings) -> tuple[object, ...]:
    """What decides which embedder `open_embedder` gives, and what it costs."""
    return tuple(getattr(settings, name) for name in _EMBEDDER)


def reranker_settings(settings: Settings) -> tuple[object, ...]:
    """What decides which reranker `open_reranker` gives."""
    return tuple(getattr(settings, name) for name in _RERANKER)


def sqlite_path(store: str, field: str = "store") -> Path:
    """The file behind `sqlite:///path`, or behind a path alone: absolute, symbolic links followed."""
    path = store
    if store.startswith("sqlite://"):
        rest = store.removeprefix("sqlite://")
        path = rest.removeprefix("/") if rest.startswith("/") else ""
    if not path.strip() or "\0" in path:
        raise _unusable(store, "does not name a file", field=field)
    if path == ":memory:":
        raise _unusable(store, "is not a file", "use memory:// for a store that is gone with the process", field)
    try:
        os.fsencode(path)
        return Path(path).expanduser().resolve()
    except (OSError, RuntimeError, UnicodeEncodeError) as error:  # no such user, links in a circle, no such name
        raise _unusable(store, f"does not name a file: {error}", field=field) from error


def _unusable(store: str, why: str, hint: str = "for example /path/to/memory.db", field: str = "store") -> InvalidInput:
    return InvalidInput(f"{field}: {store!r} {why}", hint=hint, field=field)
