"""Which texts say the same: only what differs in nothing that could matter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.core.recall.repeats import Saying

SAME = {
    "case and spacing": ("Staging  listens on port 5433", "staging listens on\tport 5433"),
    "punctuation": ("Restart the runner, then deploy!", "restart the runner; then deploy"),
    "quotes": ("Ann said “it’s fine”.", 'Ann said "it\'s fine"'),
    "articles": ("The port is 5433", "port is 5433"),
    "one adds a sentence": ("The deploy of checkout failed.", "The deploy of checkout failed. Ann restarted it."),
    "another order of sentences": ("It rained. We stayed in.", "We stayed in. It rained."),
    "lines": ("disk is full\nhost web-01", "Disk is full. Host web-01."),
    "no spaces": ("部署失败了。安重启了它。", "部署失败了。"),
}
OTHER = {
    "a number": ("staging listens on port 5432", "staging listens on port 5433"),
    "a sign": ("it was -5 degrees", "it was 5 degrees"),
    "a power": ("that makes 10²", "that makes 102"),
    "a comparison": ("latency < 5 ms", "latency > 5 ms"),
    "a unit": ("5% of the requests failed", "5 of the requests failed"),
    "a decimal": ("use version 1.2", "use version 12"),
    "a leading dot": ("commit the .env file", "commit the env file"),
    "brackets alone": ("it returns []", "it returns {}"),
    "a star": ("rm *", "rm"),
    "a name": ("Ann owns checkout", "Bob owns checkout"),
    "an identifier": ("restart web-01", "restart web-02"),
    "a negation": ("the deploy did fail", "the deploy did not fail"),
    "a short negation": ("we do like it", "we don't like it"),
    "a foreign negation": ("Der Dienst läuft", "Der Dienst läuft nicht"),
    "who does what": ("Ann called Bob", "Bob called Ann"),
    "from and to": ("she moved to Berlin", "she moved from Berlin"),
    "a tense": ("the deploy fails", "the deploy failed"),
    "a doubt": ("the pool is exhausted", "maybe the pool is exhausted"),
    "asked and told": ("checkout is down?", "checkout is down."),
    "an addition inside a sentence": ("we deploy on Friday", "we deploy on Friday only if Ann agrees"),
    "a part of much more": ("It rained.", "It rained. We stayed in and played cards. Ann won twice."),
    "nothing": ("", ""),
}


@pytest.mark.parametrize("name", SAME)
def test_what_says_the_same(name: str) -> None:
    first, second = map(Saying.of, SAME[name])
    assert first.same(second) and second.same(first)


@pytest.mark.parametrize("name", OTHER)
def test_what_does_not(name: str) -> None:
    first, second = map(Saying.of, OTHER[name])
    assert not (first.sentences and (first.same(second) or second.same(first)))


@given(st.text(), st.text())
def test_same_does_not_depend_on_who_asks(first: str, second: str) -> None:
    assert Saying.of(first).same(Saying.of(second)) == Saying.of(second).same(Saying.of(first))
    assert Saying.of(first).same(Saying.of(first))
