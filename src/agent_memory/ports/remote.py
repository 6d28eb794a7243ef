"""What the engines share that ask a model behind HTTP: patience, plain errors, and rows that keep a port's promise.

Promises: a busy or failing service (429, 5xx) is asked again a few times, as late as it wants and not all at once; a
service that is not there is reported at once; a `charged` answer that was lost on the way is not asked for again, since
it may have been paid for; an answer is whole and in time, or an error; a key appears in no message
and no repr; a loopback address is never reached through a proxy; redirections are not followed, so that a key stays
with the host it was meant for.
"""

from __future__ import annotations

import json
import math
import os
import random
import threading
import time
import weakref
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agent_memory.models.errors import InvalidInput, PartMissing, SpaceMismatch, Unfinished
from agent_memory.ports.abandon import abandoned
from agent_memory.ports.spending import asked_again

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    import httpx
    import numpy as np
    from numpy.typing import NDArray

    from agent_memory.ports.embedder import Space

    Send = Callable[[float], "tuple[int, bytes, str | None]"]
    """One attempt, for which there are so many seconds: a status, a content, and when the service wants to be asked
    again."""

FIRST_PAUSE = 0.5  # seconds; doubles with each attempt
LONGEST_PAUSE = 20.0  # a service that wants more is reported as busy
SPREAD = 1.25  # a pause is up to so many times as long
_REFUSED, _ABSENT, _REJECTED, _BUSY, _LATE = (401, 403), (404,), (400, 413, 422), 429, 504


class Remote:
    """One service at one address. Safe to share between threads; a forked child opens connections of its own."""

    def __init__(self, service: str, url: str, key: str | None, timeout: float, attempts: int) -> None:
        self.service = service
        self._url = url.rstrip("/")
        self._shown = shown_address(url)
        self._key = checked_key(key)
        self._timeout = timeout
        self._attempts = max(1, attempts)
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None
        self._owner = 0

    def __repr__(self) -> str:
        return f"Remote({self.service!r}, {self._shown!r})"

    def post(
        self, path: str, body: dict[str, Any], hint: str, seconds: float | None = None, *, charged: bool = False
    ) -> Any:
        """The decoded answer. `hint` tells people what to do when there is none. `seconds` is how long the caller has:
        a service that is silent for so long is gone, and one that is busy for longer is not asked again. `charged`: an
        answer that is lost is `Unfinished` at once."""
        client = self._connect()  # which takes its time, once
        deadline = math.inf if seconds is None else time.monotonic() + seconds

        def send(left: float) -> tuple[int, bytes, str | None]:
            until = time.monotonic() + left
            with client.stream("POST", self._url + path, json=body, timeout=left) as response:
                read = [b""]
                for chunk in response.iter_bytes():
                    read.append(chunk)
                    if time.monotonic() > until:
                        raise self._late(left)
                return response.status_code, b"".join(read), response.headers.get("retry-after")

        return self._answer(*self._patiently(send, hint, deadline, charged)[:2], hint)

    def lines(self, path: str, body: dict[str, Any], hint: str, silence: float) -> Generator[str]:
        """The answer line by line, as it comes; it is `charged`. A busy service is asked again until an answer begins.
        One that says nothing for `silence` seconds, breaks off, or goes on for longer than the whole time-out is
        `Unfinished`."""
        client = self._connect()
        import httpx

        deadline = time.monotonic() + self._timeout
        opened: list[httpx.Response] = []

        def send(left: float) -> tuple[int, bytes, str | None]:
            request = client.build_request("POST", self._url + path, json=body, timeout=min(silence, left))
            response = client.send(request, stream=True)
            good = response.status_code < 300
            if good:
                opened.append(response)
            return response.status_code, b"" if good else response.read(), response.headers.get("retry-after")

        status, data, _ = self._patiently(send, hint, deadline, charged=True)
        if not opened:
            self._answer(status, data, hint)
            raise AssertionError("unreachable")  # a status that is not good is an error
        try:
            rest = b""
            for chunk in opened[0].iter_bytes():
                if time.monotonic() > deadline:
                    raise self._late(self._timeout)
                *whole, rest = (rest + chunk).split(b"\n")
                yield from (one.decode("utf-8", "replace").strip() for one in whole)
            yield rest.decode("utf-8", "replace").strip()
        except httpx.TimeoutException as error:
            raise self._late(silence) from error
        except httpx.RequestError as error:
            raise self.broken_off(type(error).__name__) from error
        finally:
            opened[0].close()

    def _patiently(self, send: Send, hint: str, deadline: float, charged: bool) -> tuple[int, bytes, str | None]:
        """Status and content of an answer that is not worth waiting for a better one."""
        import httpx

        for attempt in range(1, self._attempts + 1):
            left = min(self._timeout, max(deadline - time.monotonic(), 0.001))
            try:
                status, data, asked = send(left)
            except httpx.InvalidURL as error:
                raise InvalidInput(f"base_url is not an address: {error}", field="base_url") from error
            except httpx.ReadTimeout as error:
                raise self._late(left) from error
            except httpx.RequestError as error:
                if charged and isinstance(error, httpx.ReadError | httpx.RemoteProtocolError):
                    raise self.broken_off(type(error).__name__) from error
                gone = isinstance(error, httpx.ConnectError | httpx.TimeoutException)
                wait = spread(pause(attempt, None))
                if gone or self._gives_up(attempt, wait, deadline):
                    reason = type(error).__name__
                    message = f"{self.service} cannot be reached at {self._shown} ({reason})"
                    raise PartMissing(message, hint=hint) from error
            else:
                if charged and status == _LATE:
                    raise self.broken_off(f"status {status}")
                wait = spread(pause(attempt, asked))
                passing = status == _BUSY or status >= 500
                if not passing or self._gives_up(attempt, wait, deadline):
                    return status, data, asked
            time.sleep(wait)
            asked_again()
        raise AssertionError("unreachable")  # the last attempt returns or raises

    def _gives_up(self, attempt: int, wait: float, deadline: float) -> bool:
        return (
            abandoned() or attempt == self._attempts or wait > min(LONGEST_PAUSE * SPREAD, deadline - time.monotonic())
        )

    def unreadable(self, reason: str) -> Unfinished:
        """The error for an answer of the wrong shape."""
        return Unfinished(f"{self.service} at {self._shown} gave an answer that cannot be used: {self._masked(reason)}")

    def broken_off(self, reason: str = "") -> Unfinished:
        """The error for a stream that ended before the answer did."""
        why = f" ({reason})" if reason else ""
        return Unfinished(f"the answer of {self.service} at {self._shown} broke off{why}", hint="try again")

    def _late(self, seconds: float) -> Unfinished:
        message = f"{self.service} at {self._shown} did not answer within {seconds:g} seconds"
        return Unfinished(message, hint="try again, or allow it more time")

    def _connect(self) -> httpx.Client:
        with self._lock:
            if self._client is None or self._owner != os.getpid():
                try:
                    import httpx
                except ImportError as error:
                    extra = self.service.lower()
                    raise PartMissing(
                        f"{self.service} needs httpx", hint=f"pip install 'agent-memory[{extra}]'"
                    ) from error
                headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
                direct = is_loopback(self._url)
                self._client = httpx.Client(headers=headers, timeout=self._timeout, trust_env=not direct)
                self._owner = os.getpid()
                weakref.finalize(self, self._client.close)
            return self._client

    def _answer(self, status: int, data: bytes, hint: str) -> Any:
        if status < 300:
            try:
                return json.loads(data)
            except ValueError as error:
                raise self.unreadable("it is not JSON") from error
        if status in _REFUSED:  # the answer may quote the key: it is not shown
            raise PartMissing(f"{self.service} at {self._shown} refused the key", hint="check the API key")
        if status in _REJECTED:
            raise InvalidInput(f"{self.service} rejected the request: {self._reason(status, data)}")
        if status in _ABSENT:
            raise PartMissing(f"{self.service} at {self._shown}: {self._reason(status, data)}", hint=hint)
        if status == _BUSY or status >= 500:
            raise PartMissing(f"{self.service} is busy or failing (status {status})", hint="try again later")
        raise PartMissing(f"{self.service} at {self._shown} answered with status {status}", hint=hint)

    def _reason(self, status: int, data: bytes) -> str:
        """What the service says is wrong, in the forms that are in use."""
        try:
            error = json.loads(data)["error"]
            text = str(error["message"] if isinstance(error, dict) else error)
        except (ValueError, LookupError, TypeError):
            text = f"status {status}"
        return self._masked(text)[:200]

    def _masked(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text


def pause(attempt: int, retry_after: str | None) -> float:
    """Seconds before the next attempt: what the service asks for (a number or a date), else twice as long each time."""
    if retry_after:
        try:
            return max(0.0, float(retry_after))
        except ValueError:
            pass
        try:
            return max(0.0, (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds())
        except (ValueError, TypeError):
            pass
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (attempt - 1))


def spread(wait: float) -> float:
    """Up to a quarter later, so that those who were turned away together do not come back together."""
    return wait * random.uniform(1, SPREAD)  # noqa: S311 - nothing secret


def sendable(text: str) -> str:
    """A text that JSON and every service accept: services reject an empty one, UTF-8 has no lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8") if text.strip() else "."


def unit_rows(rows: Any, count: int, space: Space, remote: Remote) -> NDArray[np.float32]:
    """The vectors of an answer as float32 of length 1, or an error if they are not what `space` promises."""
    import numpy as np

    if not isinstance(rows, list) or len(rows) != count:
        raise remote.unreadable(f"it does not hold {count} vectors")
    for row in rows:
        if not isinstance(row, list):
            raise remote.unreadable("a vector is not a list")
        if len(row) != space.dimension:
            raise SpaceMismatch(
                f"{space.model} gave {len(row)} dimensions, not {space.dimension}",
                hint="set the number of dimensions to what the model has",
            )
    try:
        values = np.array(rows, np.float64)
    except (ValueError, TypeError) as error:
        raise remote.unreadable("a vector holds something other than numbers") from error
    if values.ndim != 2:
        raise remote.unreadable("a vector holds something other than numbers")
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    if not np.all(np.isfinite(lengths)) or not np.all(lengths > 0):
        raise remote.unreadable("a vector has no direction")
    unit: NDArray[np.float32] = (values / lengths).astype(np.float32)
    return unit


def checked_key(key: str | None) -> str | None:
    """A key that can stand in a header: with any other, the HTTP library would quote it in its error."""
    key = (key or "").strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise InvalidInput("The API key holds characters that a key cannot have", field="api_key")
    return key or None


def shown_address(url: str) -> str:
    """The address for messages: without a user, a password or a query."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if host is None or not url.isprintable() or parts.scheme not in ("http", "https"):
        raise InvalidInput("base_url must be an http or https address", field="base_url")
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}"


def is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def in_batches(
    texts: Sequence[str],
    size: int,
    dimension: int,
    ask: Callable[[Sequence[str]], tuple[NDArray[np.float32], int | None]],
) -> tuple[NDArray[np.float32], int | None]:
    """One row per text, in order, asked for so many at a time; and the tokens of all, if each answer told them."""
    if isinstance(texts, str):
        raise InvalidInput("texts must be a list of texts", field="texts", hint="pass [text]")
    import numpy as np

    parts = [ask(texts[start : start + size]) for start in range(0, len(texts), size)]
    counts = [tokens for _, tokens in parts if tokens is not None]
    rows = np.concatenate([np.empty((0, dimension), np.float32), *(part for part, _ in parts)])
    return rows, sum(counts) if len(counts) == len(parts) else None


def told(answer: Any, *path: str) -> int | None:
    """The number of tokens at this place of an answer; None where there is no such number."""
    for name in path:
        answer = answer.get(name) if isinstance(answer, dict) else None
    return answer if type(answer) is int and answer >= 0 else None
