"""Foreign services over real HTTP on loopback, for tests of the engines that speak to them.

    with FakeOpenAI(key="k") as service:
        embedder = OpenAIEmbedder(base_url=service.url, api_key="k")

They speak the wire protocol as the real services do (names, shapes, status codes, their quirks) and remember what
they were asked. Vectors are hashed bags of words: texts that share words are near. A chat model repeats what it was
told last, or says what `say` makes of a request. Trouble can be scheduled.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType
    from typing import Self


@dataclass(frozen=True)
class CannedAnswer:
    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CannedStream:
    """An answer in pieces. `hangs`: nothing comes after the last, and the connection stays open."""

    pieces: Sequence[bytes]
    hangs: bool = False


@dataclass(frozen=True)
class SeenRequest:
    path: str
    headers: Mapping[str, str]
    body: Any


class Listener:
    """A server on loopback that lives as long as the `with` block."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class ForeignService(Listener):
    """A foreign service. It remembers what it was asked."""

    prefix = ""  # what `url` ends with

    def __init__(self) -> None:
        self.requests: list[SeenRequest] = []
        self.troubles: deque[CannedAnswer | CannedStream] = deque()  # given first, one per request
        self.say: Callable[[Any], Mapping[str, Any]] = lambda body: {"content": body["messages"][-1]["content"]}
        self._over = threading.Event()
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                request = SeenRequest(self.path, dict(self.headers.items()), json.loads(raw))
                service.requests.append(request)
                answer = service.troubles.popleft() if service.troubles else service.answer(request)
                if isinstance(answer, CannedStream):
                    with suppress(ConnectionError):
                        self.stream(answer)
                    return
                content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                with suppress(ConnectionError):  # who asked may have given up
                    self.end_headers()
                    self.wfile.write(content)

            def stream(self, answer: CannedStream) -> None:
                self.send_response(200)
                self.end_headers()
                for piece in answer.pieces:
                    self.wfile.write(piece)
                    self.wfile.flush()
                if answer.hangs:
                    service._over.wait()

            def log_message(self, format: str, *args: object) -> None:
                """Tests read `requests` instead."""

        super().__init__(Handler)

    @property
    def url(self) -> str:
        return self.address + self.prefix

    def answer(self, request: SeenRequest) -> CannedAnswer | CannedStream:
        raise NotImplementedError

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        super().__exit__(kind, error, trace)


class FakeOpenAI(ForeignService):
    """`POST /v1/embeddings`, whose answers come last first, which the protocol allows: `index` tells; and
    `POST /v1/chat/completions` with any model."""

    prefix = "/v1"

    def __init__(self, *, key: str | None = None, models: Mapping[str, int] | None = None) -> None:
        super().__init__()
        self.key = key
        self.models = models or {"text-embedding-3-small": 1536}

    def answer(self, request: SeenRequest) -> CannedAnswer | CannedStream:
        sent = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.key is not None and sent != self.key:
            return _refusal(401, f"Incorrect API key provided: {sent}.", "invalid_api_key")
        body = request.body
        if request.path == "/v1/chat/completions":
            return _completion(body, self.say(body))
        if request.path != "/v1/embeddings":
            return _refusal(404, f"Invalid URL (POST {request.path})", None)
        size = self.models.get(body["model"])
        if size is None:
            return _refusal(404, f"The model `{body['model']}` does not exist", "model_not_found")
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        if not texts or len(texts) > 2048 or not all(texts):
            return _refusal(400, "'$.input' is invalid.", None)
        size = body.get("dimensions", size)
        data = [
            {"object": "embedding", "index": number, "embedding": vector(text, size)}
            for number, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        return CannedAnswer(200, {"object": "list", "data": data[::-1], "model": body["model"], "usage": usage})


class FakeOllama(ForeignService):
    """`POST /api/embed`, and `POST /api/chat` with any model. Errors are a bare string, and a missing model is a 404,
    as in Ollama."""

    def __init__(self, *, models: Mapping[str, int] | None = None) -> None:
        super().__init__()
        self.models = models or {"nomic-embed-text": 768}

    def answer(self, request: SeenRequest) -> CannedAnswer | CannedStream:
        body = request.body
        if request.path == "/api/chat":
            return _ollama_chat(body, self.say(body))
        if request.path != "/api/embed":
            return CannedAnswer(404, b"404 page not found")
        size = self.models.get(body["model"].removesuffix(":latest"))
        if size is None:
            return CannedAnswer(404, {"error": f'model "{body["model"]}" not found, try pulling it first'})
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        embeddings = [vector(text, size) for text in texts]
        return CannedAnswer(200, {"model": body["model"], "embeddings": embeddings, "prompt_eval_count": len(texts)})


class FakeReranker(ForeignService):
    """`POST /rerank`: the share of a text's words that the question has. Answers come best first. With `texts=True` it
    speaks as Text Embeddings Inference does: other names, a bare list, at most 32 texts, errors of its own."""

    def __init__(self, *, key: str | None = None, texts: bool = False, seconds: float = 0.0) -> None:
        super().__init__()
        self.key = key
        self.texts = texts
        self.seconds = seconds  # how long an answer takes

    def answer(self, request: SeenRequest) -> CannedAnswer | CannedStream:
        time.sleep(self.seconds)
        body = request.body
        sent = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.key is not None and sent != self.key:
            return _refusal(401, f"Incorrect API key provided: {sent}.", "invalid_api_key")
        if request.path != "/rerank":
            return _refusal(404, f"Invalid URL (POST {request.path})", None)
        field = "texts" if self.texts else "documents"
        if field not in body:
            problem = f"missing field `{field}`"
            return CannedAnswer(422, problem.encode()) if self.texts else CannedAnswer(400, {"message": problem})
        if self.texts and len(body[field]) > 32:
            return CannedAnswer(
                422, {"error": "batch size > maximum allowed batch size 32", "error_type": "Validation"}
            )
        name = "score" if self.texts else "relevance_score"
        rows = [{"index": number, name: overlap(body["query"], text)} for number, text in enumerate(body[field])]
        rows.sort(key=lambda row: -row[name])
        return CannedAnswer(200, rows if self.texts else {"id": "1", "results": rows})


def event(data: Any) -> bytes:
    """One server-sent event."""
    return b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n\n"


def _completion(body: Any, message: Mapping[str, Any]) -> CannedAnswer | CannedStream:
    said, calls = message.get("content"), message.get("tool_calls")
    prompt, answered = _words(*(one.get("content") for one in body["messages"])), _words(said)
    usage = {"prompt_tokens": prompt, "completion_tokens": answered, "total_tokens": prompt + answered}
    finish = "tool_calls" if calls else "stop"
    head = {"id": "chatcmpl-1", "created": 1, "model": body["model"]}
    if not body.get("stream"):
        choice = {"index": 0, "message": {"role": "assistant", "content": said, **message}, "finish_reason": finish}
        return CannedAnswer(200, {**head, "object": "chat.completion", "choices": [choice], "usage": usage})
    deltas: list[Any] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in _pieces(said)]
    for number, call in enumerate(calls or ()):
        name, text = call["function"]["name"], call["function"]["arguments"]
        first = {"index": number, "id": call["id"], "type": "function", "function": {"name": name, "arguments": ""}}
        rest = [{"index": number, "function": {"arguments": part}} for part in (text[:4], text[4:])]
        deltas += [{"tool_calls": [one]} for one in (first, *rest)]
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    head["object"] = "chat.completion.chunk"
    told = [event({**head, "choices": [], "usage": usage})] if body.get("stream_options") else []
    return CannedStream([*(event({**head, "choices": [one]}) for one in choices), *told, event(b"[DONE]")])


def _ollama_chat(body: Any, message: Mapping[str, Any]) -> CannedAnswer | CannedStream:
    said, calls = message.get("content") or "", message.get("tool_calls")
    head = {"model": body["model"], "created_at": "2026-03-02T09:00:00Z"}
    asked = _words(*(one.get("content") for one in body["messages"]))
    end = {"done": True, "done_reason": "stop", "prompt_eval_count": asked, "eval_count": _words(said)}
    called = {} if calls is None else {"tool_calls": calls}
    if body.get("stream") is False:
        return CannedAnswer(200, {**head, "message": {"role": "assistant", "content": said, **called}, **end})
    lines = [{**head, "message": {"role": "assistant", "content": piece}, "done": False} for piece in _pieces(said)]
    if called:
        lines.append({**head, "message": {"role": "assistant", "content": "", **called}, "done": False})
    lines.append({**head, "message": {"role": "assistant", "content": ""}, **end})
    return CannedStream([json.dumps(line).encode() + b"\n" for line in lines])


def _words(*texts: str | None) -> int:
    return sum(len((text or "").split()) for text in texts)


def _pieces(text: str | None) -> list[str]:
    return re.findall(r"\s*\S+\s*$|\s*\S+", text or "")


def overlap(query: str, text: str) -> float:
    """The share of a text's words that a question has."""
    asked, said = set(query.lower().split()), text.lower().split()
    return sum(word in asked for word in said) / max(len(said), 1)


def _refusal(status: int, message: str, code: str | None) -> CannedAnswer:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return CannedAnswer(status, {"error": error})


def vector(text: str, size: int) -> list[float]:
    """The same for the same words; not of length 1, as some servers' are not."""
    total = [0] * size
    for word in text.lower().split() or [""]:
        for number, byte in enumerate(hashlib.shake_256(word.encode()).digest(size)):
            total[number] += 2 * byte - 255  # odd, hence never 0
    return [value / 255 for value in total]
