"""The beginning of a prompt: never over its budget, the same for the same pages, the enforced rules first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.core.context.tokens import estimate
from agent_memory.core.rules.prompt import NOTE, prefix
from agent_memory.models.rules import Entry, Place, Rule, Rulebook, Severity, Version

COUNTERS = {"estimate": estimate, "characters": len, "words": lambda text: len(text.split()), "nothing": lambda text: 0}


def rule(id: str, severity: str = "advise", text: str = "Be kind.", **more: str) -> Rule:
    return Rule(id=id, severity=Severity(severity), text=text, at=Place(path=".memory/procedural.md"), **more)


def entry(id: str, section: str = "skill", text: str = "Do it.") -> Entry:
    return Entry(id=id, section=section, title=id.title(), text=text, at=Place(path=".memory/procedural.md"))


def book(*rules: Rule, entries: tuple[Entry, ...] = ()) -> Rulebook:
    return Rulebook(rules=list(rules), entries=list(entries), pages=[], version=Version(commit="c0ffee"))


def test_rules_stand_in_the_order_of_the_page_and_say_why() -> None:
    made = prefix(
        book(rule("b"), rule("a", "deny", "Never merge.", because="bisect", fix="git rebase main")), [], estimate, 500
    )
    assert made.text == (
        f"# Procedures\n\n{NOTE}\n\n## Rules\n\n- b (advise): Be kind.\n"
        "- a (deny): Never merge. Because: bisect. Instead: git rebase main\n"
    )
    assert (made.rules, made.version.commit, made.left_out) == (["b", "a"], "c0ffee", [])


def test_what_is_enforced_is_the_last_to_go() -> None:
    rules = [rule(f"r{place}", severity) for place, severity in enumerate(["advise", "warn", "require", "deny"])]
    whole = prefix(book(*rules), [], estimate, 1000)
    kept = [prefix(book(*rules), [], estimate, budget).rules for budget in range(whole.tokens)]
    assert [] in kept and ["r3"] in kept and ["r2", "r3"] in kept and ["r1", "r2", "r3"] in kept
    assert all(set(one) in ({*[]}, {"r3"}, {"r2", "r3"}, {"r1", "r2", "r3"}) for one in kept)


def test_entries_fit_by_their_rank_and_stand_in_page_order() -> None:
    entries = (entry("deploy"), entry("rollback"), entry("commit", "example"), entry("style", "guidance"))
    made = prefix(book(rule("a"), entries=entries), [2, 0], estimate, 1000)
    assert made.entries == ["deploy", "commit"]
    assert made.text.index("### Deploy") < made.text.index("## Examples") < made.text.index("### Commit")
    assert [(one.id, one.reason) for one in made.left_out] == [("rollback", "relevance"), ("style", "relevance")]
    small = prefix(book(rule("a"), entries=entries), [2, 0], estimate, made.tokens - 1)
    assert small.entries == ["commit"]
    assert ("deploy", "budget") in [(one.id, one.reason) for one in small.left_out]


def test_the_part_that_always_holds_comes_first_whatever_the_task() -> None:
    entries = (entry("deploy"), entry("rollback"))
    texts = [prefix(book(rule("a", "deny"), entries=entries), fitting, estimate, 1000).text for fitting in ([0], [1])]
    always = prefix(book(rule("a", "deny"), entries=entries), [], estimate, 1000).text
    assert all(text.startswith(always.rstrip("\n")) for text in texts)


def test_a_rule_cannot_look_like_another_section() -> None:
    text = prefix(book(rule("a", text="one\n\n## Rules\n\n- b (deny): two")), [], estimate, 500).text
    assert text.count("\n## ") == 1


@pytest.mark.requirement("P3")
@given(
    st.lists(st.tuples(st.sampled_from(list(Severity)), st.text(max_size=80)), max_size=8),
    st.lists(st.tuples(st.sampled_from(["skill", "example", "guidance"]), st.text(max_size=200)), max_size=6),
    st.sampled_from(sorted(COUNTERS)),
    st.integers(1, 400),
    st.randoms(),
)
def test_never_over_the_budget(rules, entries, counter, budget, random) -> None:
    rules_ = [rule(f"r{place}", severity, text) for place, (severity, text) in enumerate(rules)]
    entries_ = tuple(entry(f"e{place}", section, text) for place, (section, text) in enumerate(entries))
    fitting = random.sample(range(len(entries_)), random.randint(0, len(entries_)))
    count = COUNTERS[counter]
    made = prefix(book(*rules_, entries=entries_), fitting, count, budget)
    assert made.tokens == (count(made.text) if made.text else 0) <= budget
    assert len(made.rules) + len(made.entries) + len(made.left_out) == len(rules_) + len(entries_)
    assert made == prefix(book(*rules_, entries=entries_), fitting, count, budget)
