"""What the redactor promises of any text."""

from __future__ import annotations

import hashlib
import random
import string
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.core.govern.redact import KnownSecrets, Redactor, same_but_for_secrets
from agent_memory.core.govern.shapes import MARK, PERSONAL, SECRETS

REDACTOR, EVERYTHING = Redactor(SECRETS), Redactor((*SECRETS, *PERSONAL))
TOKEN = "ghp_" + "k7Qz2Lw9Xc4V" * 3
PIECES = st.sampled_from(
    [
        *("password", "api_key", "token", "secret", " is ", "=", ": ", '"', "'", " ", "\n", "\\", "[", "]", "@", "/"),
        *("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", "Authorization: Bearer ", "AKIA", "eyJ"),
        *(TOKEN, "postgres://ada:", "Marble!482q", "f3a91c7be5d042886a1f", "[redacted:password]", "ada@example.com"),
        *("🙂", "ß", "-"),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=12), max_size=30).map("".join)


@given(TEXTS)
def test_twice_is_once(text: str) -> None:
    for redactor in (REDACTOR, EVERYTHING):
        once = redactor.text(text)
        assert redactor.text(once) == once and redactor.spans(once) == []


@given(TEXTS)
def test_what_holds_none_stays_as_it_is_and_the_rest_grows_little(text: str) -> None:
    spans = REDACTOR.spans(text)
    after = REDACTOR.text(text)
    assert (after == text) == (not spans)
    assert len(after) <= len(text) + len("[redacted:digitalocean-token]") * (len(text) // 3)
    assert all(one.start < one.end for one in spans)
    assert all(one.end <= other.start for one, other in pairwise(spans))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(PIECES, inner, max_size=4),
    max_leaves=8,
)


@given(JSON)
def test_values_as_deep_as_they_go(value: Any) -> None:
    after = REDACTOR.value(value)
    assert REDACTOR.value(after) == after
    assert bool([*REDACTOR.located(value)]) == (after != value)


@pytest.mark.parametrize("character", [*string.printable[:95], "\n"])
def test_no_expression_tries_a_long_text_again_and_again(character: str) -> None:
    """What shapes begin with, over and over, then one character over and over: an expression whose steps grow with the
    square of that would take hours."""
    dice = random.Random(1)
    starts = ["password=", "://a:", "-----BEGIN PRIVATE KEY-----", "eyJ", "curl -u ", "sk-", "glpat-", "a@", "basic "]
    for start in starts:
        EVERYTHING.text(start * 2000 + character * 20_000 + dice.choice(starts))


def test_the_same_secret_without_what_gave_it_away() -> None:
    assert REDACTOR.text("password: Marble!482q (not marble, Marble!482q)") == (
        "password: [redacted:password] (not marble, [redacted:password])"
    )


@pytest.mark.parametrize("weak", ["app", "postgres", "guest", "admin1"])
def test_a_weak_password_is_no_reason_to_lose_words(weak: str) -> None:
    said = f"postgres://{weak}:{weak}@db/{weak}: the {weak} user owns it, and {weak}s like it"
    assert REDACTOR.text(said) == said.replace(f":{weak}@", ":[redacted:url-password]@")


def test_nothing_is_taken_out_of_a_longer_word() -> None:
    assert REDACTOR.text("password: Marble!482q, notMarble!482qthis").endswith("], notMarble!482qthis")


LINES = ("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEA7VJTUt9Us8cKjMzEfYyjiWA4", "R4M2bS1GB4t7NXp98C3SC6dVMvDuictG")


@pytest.mark.parametrize(
    "said",
    [
        "look for a line -----BEGIN PRIVATE KEY----- in the file, then restart the service and tell everybody about it",
        "-----BEGIN RSA PRIVATE KEY-----\n(it goes on for internationalization reasons, and then ends)\n",
        "a file that has -----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY----- in it",
    ],
)
def test_a_key_that_is_only_spoken_of(said: str) -> None:
    assert REDACTOR.text(said) == said


@pytest.mark.parametrize(
    "said",
    [
        "-----BEGIN PRIVATE KEY-----\n{}\n{}\nq1w2==\n-----END PRIVATE KEY-----\nis the old one",
        "-----BEGIN PRIVATE KEY-----\n{}\n{}\nis the old one",
        '"-----BEGIN PRIVATE KEY-----\\n{}\\n{}\\n-----END PRIVATE KEY-----\\n", is the old one',
        '"-----BEGIN PRIVATE KEY-----\\n" +\n  "{}\\n" +\n  "{}\\n", is the old one',
        "> -----BEGIN PRIVATE KEY-----\n> {}\n> {}\n> -----END PRIVATE KEY-----\nis the old one",
        "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,2A\n\n{}\n{}\n\nis the old one",
        "-----BEGIN PRIVATE KEY----- {} {} -----END PRIVATE KEY----- is the old one",
    ],
)
def test_the_lines_of_a_key_and_no_more(said: str) -> None:
    after = REDACTOR.text(said.format(*LINES))
    assert not any(line in after for line in LINES)
    assert "[redacted:private-key]" in after and after.endswith("is the old one")


@pytest.mark.parametrize(
    ("said", "secret"),
    [
        ('password = "{}"', "hunter2, and more!"),
        ('{{"password": "{}", "port": 1}}', 'hun\\"ter2, and'),
        ("password: '{}'", "hunter2''s, or more"),
        ("export DB_PASSWORD='{}' # old", 'two "words" 7x!'),
        ("mysql -u root -p'{}' shop", "hunter 2 & more!x"),
        ("mysqldump --password='{}' shop", "a b!c 9d"),
        (r"{{\"password\": \"{}\"}}", "hunter2, and more!"),
        ('the password is "{}".', "hunter2, and more!"),
        ("password: |\n  {}\nport: 1", "hunter2more"),
        ('api_key="{}"', "abC1,def2;gh3!jk4lm"),
    ],
)
def test_a_quoted_value_goes_whole(said: str, secret: str) -> None:
    after = REDACTOR.text(said.format(secret))
    kind = "secret" if "api_key" in said else "command-password" if "mysql" in said else "password"
    assert after == said.format(f"{MARK}{kind}]")


@given(TEXTS)
def test_what_is_kept_is_known_by_what_was_said(text: str) -> None:
    assert same_but_for_secrets(text, REDACTOR.text(text))


def test_what_is_kept_is_not_taken_for_something_else() -> None:
    kept = "use [redacted:github-token] for a, [redacted:password] for b"
    assert same_but_for_secrets("use x for a, y for b", kept)
    for other in ("use x for a", "use x for b, y for a", "use x for a, for b", "now use x for a, y for b", ""):
        assert not same_but_for_secrets(other, kept)


@given(TEXTS, TEXTS)
def test_a_mark_is_not_redacted_again_and_names_stay_apart(one: str, other: str) -> None:
    known = KnownSecrets(signed=lambda secret: hashlib.sha256(secret.encode()).hexdigest()[:8])
    once = REDACTOR.text(one, known, identifying=True)
    assert REDACTOR.text(once, known, identifying=True) == once == REDACTOR.text(once)
    for mark in ("[redacted:github-token]", "[redacted:github-token 1f3a9c02]", "[redacted:password 48213377]"):
        told = {"key": mark, "password": mark, "token": f"token={mark} password: {mark}"}
        assert EVERYTHING.value(told, known) == told
    names = {f"{TOKEN}{one}": 1, f"{TOKEN[:-1]}x{one}": 2, other: 3}
    assert len(REDACTOR.value(names, known)) == len(names)


def test_a_name_beside_a_value() -> None:
    told = {"key": "db_password", "value": "Marble!482q", "other": "Marble"}
    assert REDACTOR.value(told) == {**told, "value": f"{MARK}password]"}
    assert REDACTOR.value(told)["key"] is told["key"]
