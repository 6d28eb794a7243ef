"""When two texts state the same fact, and all the ways in which they only seem to. E3."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from agent_memory.core.upkeep.agreement import LONGEST, form

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
pytestmark = pytest.mark.requirement("E3")

SAME = """
The staging database listens on port 5433 | Staging database is listening on port 5433.
Note that the API is down | the API is down
I don't eat meat | I do not eat meat
Bob's allergic to nuts | Bob is allergic to nuts
The owner of the billing service is Carol | The billing service's owner is Carol
On Monday the office is closed | The office is closed on Monday
The lease ends on 31 August 2026 | The lease ends on August 31, 2026
The budget is 40,000 EUR | The budget is 40000 EUR
It needs 2 GB | It needs 2GB
Tests have to pass | Tests must pass
Never force-push to main | Never force push to main
"""
DIFFERENT = """
A few customers pay by card | Few customers pay by card
Only admins can delete | Just admins, they can delete
Just admins can delete | Admins can delete
The field is userId | The field is userid
The password is Hunter2 | The password is hunter2
Choose plan a | Choose a plan
Choose option a | Choose the option
The contract of the customer ends in December 2027 | The customer ends the contract in December 2027
One of the owners is Ada | The owner is Ada
He prefers still water | He prefers water
The value is 1.5 | The value is 15
The value is 1,5 | The value is 15
The value is +5 | The value is -5
The rate is 5% | The rate is 5
Is it on? | It is on.
a -> b | b -> a
x < y | x > y
Give it to US | Give it to us
A file of 2 MB | A file of 2 Mb
It starts on Monday and ends on Tuesday | It starts on Tuesday and ends on Monday
Port 5433 is open, port 5434 is closed | Port 5434 is open, port 5433 is closed
Ada met Bob on Monday | Bob met Ada on Monday
The manager of Ada is Bob | The manager of Bob is Ada
The lock is held by workers | The lock is held by worker
Orders are shipped | Orders were shipped
It does not work | It works
他喜欢茶 | 他不喜欢茶
Er mag Tee | Er mag keinen Tee
It runs in staging. It fails. | It runs in staging. It passes.
The car is red | The care is red
"""


def pairs(text: str) -> list[tuple[str, ...]]:
    return [tuple(line.split(" | ")) for line in text.strip().splitlines()]


@pytest.mark.parametrize(("one", "other"), pairs(SAME))
def test_these_agree(one: str, other: str) -> None:
    assert form(one, MONDAY) == form(other, MONDAY)


@pytest.mark.parametrize(("one", "other"), pairs(DIFFERENT))
def test_these_do_not(one: str, other: str) -> None:
    assert form(one, MONDAY) != form(other, MONDAY)


@pytest.mark.parametrize(
    "text",
    ["The deadline is tomorrow", "It is due in two days", "We met last week", "He called yesterday", "Until Friday"],
)
def test_what_is_relative_to_a_day_is_another_thing_on_another_day(text: str) -> None:
    assert form(text, MONDAY) == form(text, MONDAY + timedelta(hours=2))
    assert form(text, MONDAY) != form(text, MONDAY + timedelta(days=7))


def test_a_date_with_its_year_is_the_same_whenever_it_is_told() -> None:
    text = "The lease ends on 31 August 2026"
    assert form(text, MONDAY) == form(text, MONDAY + timedelta(days=30))


def test_a_very_long_text_agrees_with_itself_alone() -> None:
    text = "word " * LONGEST
    assert form(text, MONDAY) == form(text, MONDAY) != form(text.upper(), MONDAY)


WORDS = some.sampled_from(
    "The the a A is was not of on Monday 5433 5,000 Ada's it US don't, staging? 2GB -5 , \ue000 ’ ß".split()
)


@given(some.lists(WORDS, max_size=12).map(" ".join) | some.text(max_size=40))
def test_every_text_has_a_form(text: str) -> None:
    assert form(text, MONDAY) == form(text, MONDAY)
    assert form(f"  {text}\n", MONDAY) == form(text, MONDAY)


@given(
    some.lists(some.sampled_from("5433 5434 not never Ada Bob before after all some".split()), min_size=1, max_size=6)
)
def test_every_word_that_decides_stands_in_the_form(words: list[str]) -> None:
    told = form(f"it says {' '.join(words)}", MONDAY)
    for place in range(len(words)):
        less = [*words[:place], *words[place + 1 :]]
        assert form(f"it says {' '.join(less)}", MONDAY) != told
