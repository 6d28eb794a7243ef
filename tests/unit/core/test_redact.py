"""What the redactor promises of any text."""

from __future__ import annotations

import random
import string
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.core.govern.redact import Redactor
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


def test_a_name_beside_a_value() -> None:
    told = {"key": "db_password", "value": "Marble!482q", "other": "Marble"}
    assert REDACTOR.value(told) == {**told, "value": f"{MARK}password]"}
    assert REDACTOR.value(told)["key"] is told["key"]
