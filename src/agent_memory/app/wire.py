"""Requests to a server: connections, patience, and what may be sent twice.

Promises: a request that was not sent is tried again for a moment; one whose answer was lost only if it may be done
twice; a server that is gone is a `StoreError` that says so. Each process has connections of its own, so that a fork is
safe, and threads share them. Redirections are not followed: a key stays with the host it was meant for. A loopback
address or a Unix socket is never reached through a proxy.
"""

from __future__ import annotations

import os
import socket
import time
import weakref
from collections import deque
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from agent_memory.models.errors import InvalidInput, PartMissing, StoreError
from agent_memory.ports.abandon import stoppable
from agent_memory.ports.forks import CALLS
from agent_memory.ports.remote import checked_key, is_loopback, shown_address

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

    import httpx

CONNECT_SECONDS = 5.0
PAUSES = (0.1, 0.4)  # seconds before the second and the third attempt
LONGEST_WAIT = 5.0  # a server that asks for more is reported as busy
MOST_IDLE = 16  # connections that are kept for later
IDLE_SECONDS = 4.0  # less than servers wait before they close a connection that nobody uses
BUSY = 429
ANSWER = "http11.receive_response_headers"
UNIX = "unix://"
CONNECTED = tuple(f"connection.{how}.complete" for how in ("connect_tcp", "connect_unix_socket", "start_tls"))


class WireRequest(NamedTuple):
    """`twice`: it does no harm if the server gets it two times. `reads`: it may be given up when nobody waits for it.
    `patience` is how many times as long as usual the answer may take."""

    path: str
    body: bytes
    headers: Mapping[str, str]
    twice: bool = False
    reads: bool = False
    patience: float = 1.0


class WireLine:
    """One connection, for one request at a time; `cut` ends it from another thread."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self._stream: Any = None
        self._inside = 0

    def send(self, url: str, request: WireRequest, timeout: httpx.Timeout) -> httpx.Response:
        with stoppable(self.cut) if request.reads else nullcontext():
            return self._client.post(
                url, content=request.body, headers=request.headers, timeout=timeout, extensions={"trace": self._note}
            )

    def cut(self) -> None:
        if self._stream is not None:
            with suppress(OSError):  # it is closed already
                self._stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._client.close()

    def _note(self, event: str, about: dict[str, Any]) -> None:
        """A fork does not wait for a server: one that is slow would hold up this process, and one in this process
        could not answer."""
        if event in CONNECTED:
            self._stream = about["return_value"]
        elif event == f"{ANSWER}.started":
            self._inside = CALLS.step_out()
        elif event in (f"{ANSWER}.complete", f"{ANSWER}.failed"):
            CALLS.enter(self._inside)


class Wire:
    """One server. `address` is how messages call it."""

    def __init__(self, url: str, key: str | None, seconds: float, authorities: Path | None = None) -> None:
        self._socket = _socket(url)
        self.address = _address(url) if self._socket is None else UNIX + self._socket
        self._url = url.rstrip("/") if self._socket is None else "http://localhost"
        key = checked_key(key)
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        self._seconds = seconds
        self._idle: dict[int, deque[WireLine]] = {}  # by process; no lock, which a fork could catch
        self._closed = False
        self._trust = _trust(self._url, authorities)

    def __repr__(self) -> str:
        return f"Wire({self.address!r})"

    def post(self, request: WireRequest) -> httpx.Response:
        """The answer, whatever its status."""
        import httpx

        seconds = self._seconds * request.patience
        timeout = httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, self._seconds))
        for pause in (*PAUSES, None):
            line = self._take()
            try:
                answer = line.send(self._url + request.path, request, timeout)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:  # nothing was sent
                if pause is None or isinstance(error, httpx.ConnectTimeout):
                    raise self._gone(error) from error
                wait = pause
            except httpx.TimeoutException as error:
                raise self._lost(f"no answer within {seconds:g} seconds", request) from error
            except httpx.TransportError as error:
                if pause is None or not request.twice:
                    raise self._lost(f"the answer was lost ({type(error).__name__})", request) from error
                wait = pause
            else:
                asked = _asked_to_wait(answer)
                if pause is None or asked is None:
                    return answer
                wait = asked
            finally:
                self._give_back(line)
            time.sleep(wait)
        raise AssertionError("unreachable")  # the last attempt returns or raises

    def close(self) -> None:
        self._closed = True
        _hang_up(self._idle.get(os.getpid(), deque()))

    def _take(self) -> WireLine:
        idle = self._idle.get(os.getpid())
        if idle is None:
            idle = self._idle.setdefault(os.getpid(), deque())
            weakref.finalize(self, _hang_up, idle)
        try:
            return idle.pop()
        except IndexError:
            import httpx

            limits = httpx.Limits(max_connections=1, keepalive_expiry=IDLE_SECONDS)
            if self._socket is not None:
                way = httpx.HTTPTransport(uds=self._socket, limits=limits)
                return WireLine(httpx.Client(headers=self._headers, trust_env=False, transport=way))
            direct = is_loopback(self._url)
            client = httpx.Client(headers=self._headers, trust_env=not direct, verify=self._trust, limits=limits)
            return WireLine(client)

    def _give_back(self, line: WireLine) -> None:
        idle = self._idle[os.getpid()]
        if self._closed or len(idle) >= MOST_IDLE:
            line.close()
        else:
            idle.append(line)

    def _gone(self, error: Exception) -> StoreError:
        said = str(error) or type(error).__name__
        hint = "start it with `agent-memory serve`, or check the address"
        if self._socket is not None:
            hint = f"start it with `agent-memory serve --socket {self._socket}`, or check the path"
        if "CERTIFICATE_VERIFY_FAILED" in said:
            hint = "if the certificate is your own, AGENT_MEMORY_CA_FILE names the file of who vouches for it"
        return StoreError(f"store: no server can be reached at {self.address} ({said})", hint=hint)

    def _lost(self, why: str, request: WireRequest) -> StoreError:
        done = "" if request.reads else "it may or may not have been done: look before you do it again"
        if "RemoteProtocolError" in why and self.address.startswith("http://"):
            done = "; ".join(filter(None, ["if the server speaks TLS, its address begins with https://", done]))
        return StoreError(f"store: {self.address}: {why}", hint=done)


def _hang_up(idle: deque[WireLine]) -> None:
    while idle:
        idle.pop().close()


def _socket(url: str) -> str | None:
    """The path in `unix:///path/to.sock`: whatever follows the two slashes, made absolute. Links are not followed: a
    server that starts anew makes a new socket."""
    if not url.lower().startswith(UNIX):
        return None
    path = url[len(UNIX) :]
    if not path.strip() or "\0" in path:
        raise _unusable(f"{url!r} does not name a socket", "for example unix:///run/user/1000/memory.sock")
    try:
        return str(Path(path).expanduser().absolute())
    except RuntimeError as error:  # no such user
        raise _unusable(f"{url!r} does not name a socket: {error}", "write out the path") from None


def _address(url: str) -> str:
    try:
        shown = shown_address(url).rstrip("/")
        parts = urlsplit(url)
        if any(char.isspace() for char in url):
            raise ValueError(url)
    except (InvalidInput, ValueError):
        raise _unusable(f"{url!r} is not an address", "for example http://127.0.0.1:8005") from None
    if parts.username is not None or parts.password is not None:
        raise _unusable(f"{shown}: a password does not belong in an address", "use api_key=, AGENT_MEMORY_API_KEY")
    if parts.query or parts.fragment:
        raise _unusable(f"{shown}: there is something after the host and port", "for example http://127.0.0.1:8005")
    return shown


def _unusable(why: str, hint: str) -> InvalidInput:
    return InvalidInput(f"store: {why}", hint=hint, field="store")


def _trust(url: str, authorities: Path | None) -> ssl.SSLContext | bool:
    """Whose certificates are believed: read once, as it takes a while. One's own authorities stand for all others."""
    try:
        import httpx
    except ImportError as error:
        raise PartMissing("a store at a server needs httpx", hint="pip install 'agent-memory[client]'") from error
    if not url.lower().startswith("https:"):
        return False
    if authorities is None:
        return httpx.create_ssl_context()
    import ssl

    try:
        return ssl.create_default_context(cafile=authorities.expanduser())
    except OSError as error:  # an SSLError is one
        why = f"ca_file: {authorities} cannot be used: {error.strerror or error}"
        raise InvalidInput(why, hint="name a file of certificates as PEM", field="ca_file") from None


def _asked_to_wait(answer: httpx.Response) -> float | None:
    """The seconds after which a busy server wants to be asked again, if it is busy and they are few."""
    if answer.status_code != BUSY:
        return None
    try:
        seconds = float(answer.headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds <= LONGEST_WAIT else None
