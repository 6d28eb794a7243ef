"""What a web page can make a browser send to this machine, and what is too large or too slow: none of it gets in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from agent_memory.app.service import Service
from agent_memory.interfaces.loopback import is_local
from agent_memory.interfaces.rest.answers import Answers
from agent_memory.interfaces.rest.app import create_app
from agent_memory.interfaces.rest.limits import RequestLimits

BODY = b'{"text": "planted"}'
PATHS = ("/v1/records", "/v1/call/records.add", "/memory/store", "/v1/import", "/nowhere")


@pytest.fixture
def rest(home: object) -> Iterator[TestClient]:
    with TestClient(create_app(Service()), base_url="http://localhost:8005", client=("127.0.0.1", 50000)) as client:
        yield client
        assert client.get("/v1/stats").json()["records"] == 0, "something was planted"


@pytest.mark.requirement("P23")
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "application/jsonx"],
)
def test_what_a_page_can_send_unasked_is_no_json(rest: TestClient, path: str, kind: str) -> None:
    """These need no preflight: the browser sends them from any page."""
    answer = rest.post(path, content=BODY, headers={"content-type": kind})
    assert answer.status_code == 415 and answer.json()["code"] == "only_json"


@pytest.mark.requirement("P23")
@pytest.mark.parametrize("path", [*PATHS, "/v1/export", "/metrics", "/openapi.json", "/docs"])
@pytest.mark.parametrize(
    "origin",
    [
        *("https://evil.example", "http://localhost.evil.example", "null", "", "http://[", "file://", "localhost"),
        *("chrome-extension://localhost", "http://evil@localhost", "http://localhost/evil"),
    ],
)
def test_a_page_of_another_origin_is_refused(rest: TestClient, path: str, origin: str) -> None:
    for method in ("GET", "POST"):
        headers = {"origin": origin, "content-type": "application/json"}
        answer = rest.request(method, path, content=BODY if method == "POST" else None, headers=headers)
        assert answer.status_code == 403 and answer.json()["code"] == "wrong_origin"
        assert not any(name.startswith("access-control") for name in answer.headers)


@pytest.mark.requirement("P23")
@pytest.mark.parametrize("site", ["cross-site", "same-site", "Cross-Site"])
@pytest.mark.parametrize("path", [*PATHS, "/v1/export", "/v1/stats", "/metrics", "/openapi.json", "/docs", "/healthz"])
def test_a_page_of_another_site_is_refused_also_where_it_names_no_origin(
    rest: TestClient, path: str, site: str
) -> None:
    """An image, a script, a form, a frame: a GET of these has no Origin."""
    for more in (
        {"sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"},
        {"sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
        {},
    ):
        answer = rest.get(path, headers={"sec-fetch-site": site, **more})
        assert answer.status_code == 403 and answer.json()["code"] == "wrong_origin"


def test_a_link_may_lead_to_the_page_for_people(rest: TestClient) -> None:
    followed = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert rest.get("/docs", headers=followed).status_code == 200
    for method, path in (("POST", "/docs"), ("GET", "/v1/export"), ("GET", "/memory/retrieve?q=x")):
        assert rest.request(method, path, headers=followed).status_code == 403
    for own in ("same-origin", "none"):
        assert rest.get("/v1/stats", headers={"sec-fetch-site": own}).status_code == 200


@pytest.mark.requirement("P23")
@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8005", "localhost.evil.example", "", "127.0.0.1.evil.example", "[", "0.0.0.0"),
        *("evil@localhost", "localhost/evil", "localhost:evil"),
    ],
)
def test_a_name_that_was_made_to_point_here_is_refused(rest: TestClient, host: str) -> None:
    """DNS rebinding: the page's own name leads to this machine, and its requests are of the same origin."""
    for path in ("/v1/records", "/healthz", "/docs"):
        assert rest.get(path, headers={"host": host}).status_code == 421


def test_a_preflight_is_never_granted(rest: TestClient) -> None:
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    answer = rest.options("/v1/records", headers={"origin": "https://evil.example", **asked})
    assert answer.status_code == 403 and not any(name.startswith("access-control") for name in answer.headers)


def test_what_is_here_may_call(rest: TestClient) -> None:
    for host in ("localhost", "127.0.0.1:8005", "[::1]:8005", "LOCALHOST", "localhost."):
        assert rest.get("/v1/records", headers={"host": host}).status_code == 200
    assert rest.get("/v1/records", headers={"origin": "http://localhost:3000"}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.9.9.9", "::1", "localhost", "!0.0.0.0", "!::", "!192.168.1.5", "!localhost.evil.example", "!"],
)
def test_what_counts_as_this_machine(host: str) -> None:
    assert is_local(host.removeprefix("!")) is not host.startswith("!")


# -- limits


def answered(
    limits: RequestLimits, *messages: dict[str, Any], path: str = "/x", wait: float = 0.0
) -> list[dict[str, Any]]:
    """What the middleware sends back when these messages come, and then nothing more."""
    coming = list(messages)
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if coming:
            return coming.pop(0)
        await asyncio.sleep(30)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "headers": []}
    asyncio.run(Answers(limits)(scope, receive, send))
    return sent


async def reads_all(scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def part(size: int, more: bool = True) -> dict[str, Any]:
    return {"type": "http.request", "body": b"x" * size, "more_body": more}


@pytest.mark.parametrize(
    ("parts", "path", "status"),
    [
        ([part(10, False)], "/x", 200),
        ([part(60), part(60, False)], "/x", 413),
        ([part(10)], "/x", 408),
        ([part(60), part(60, False)], "/v1/import", 200),
        ([part(10)], "/v1/import", 408),
    ],
)
def test_a_body_is_bounded_in_size_and_time(parts: list[Any], path: str, status: int) -> None:
    limits = RequestLimits(reads_all, most_bytes=100, body_seconds=0.05)
    first = answered(limits, *parts, path=path)[0]
    assert first["status"] == status


def test_an_answer_that_has_begun_goes_on() -> None:
    async def slowly(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.sleep(0.1)
        await send({"type": "http.response.body", "body": b"done"})

    assert answered(RequestLimits(slowly, answer_seconds=0.01), part(1, False))[-1]["body"] == b"done"
