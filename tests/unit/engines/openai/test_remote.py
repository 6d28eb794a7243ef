"""The patience and the discretion that the remote engines share."""

from __future__ import annotations

import gc
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from agent_memory.models.errors import InvalidInput, PartMissing
from agent_memory.ports.remote import LONGEST_PAUSE, Remote, pause
from agent_memory.testing.wire import FakeOllama


def test_pauses_double_and_are_bounded() -> None:
    assert [pause(attempt, None) for attempt in (1, 2, 3, 4)] == [0.5, 1, 2, 4]
    assert pause(100, None) == LONGEST_PAUSE


@pytest.mark.parametrize(("asked", "wait"), [("7", 7), ("0", 0), ("-3", 0), ("1.5", 1.5), ("soon", 0.5), ("", 0.5)])
def test_a_service_may_ask_for_a_pause(asked: str, wait: float) -> None:
    assert pause(1, asked) == wait


def test_a_service_may_name_a_moment() -> None:
    now = datetime.now(UTC)
    assert 8 < pause(1, format_datetime(now + timedelta(seconds=10), usegmt=True)) <= 10
    assert pause(1, format_datetime(now - timedelta(seconds=10), usegmt=True)) == 0
    assert pause(1, "Wed, 21 Oct 2015 07:28:00 -0000") == 0.5  # a moment without a zone says nothing


@pytest.mark.parametrize("url", ["", "localhost:11434", "ftp://host/", "http://", "http://host:port", "http://a\nb"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Remote("Thing", url, None, 1, 1)
    assert caught.value.field == "base_url"


def test_a_password_in_an_address_is_not_shown() -> None:
    with FakeOllama() as gone:
        address = gone.url.replace("http://", "http://user:secret@") + "/?token=secret"
    remote = Remote("Thing", address, None, 1, 1)
    with pytest.raises(PartMissing) as caught:
        remote.post("/api/embed", {}, hint="")
    assert "secret" not in f"{remote!r} {caught.value!r} {caught.value}"


def test_loopback_is_never_reached_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with FakeOllama() as service:
        remote = Remote("Thing", service.url, None, 5, 1)
        assert remote.post("/api/embed", {"model": "nomic-embed-text", "input": "x"}, hint="")["embeddings"]


def test_a_dropped_remote_closes_its_connections() -> None:
    with FakeOllama() as service:
        remote = Remote("Thing", service.url, None, 5, 1)
        remote.post("/api/embed", {"model": "nomic-embed-text", "input": "x"}, hint="")
        client = remote._client
        assert client is not None
        del remote
        gc.collect()
        assert client.is_closed
