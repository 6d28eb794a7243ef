"""What a code span of a rule matches, and what is said of one that can match nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.core.rules.text import matcher
from patience import growth

pytestmark = pytest.mark.requirement("P4")


@pytest.mark.parametrize(
    ("span", "path", "fits"),
    [
        ("logs/audit*.log", "logs/audit-1.log", True),
        ("logs/audit*.log", "logs/audit/x/y.log", False),
        ("logs/audit*.log", "old/logs/audit.log", False),
        ("logs/**/*.log", "logs/a/b/c.log", True),
        ("logs/**/*.log", "logs/c.log", True),
        ("**/secret.txt", "secret.txt", True),
        ("**/secret.txt", "a/b/secret.txt", True),
        ("**/secret.txt", "a/b/notsecret.txt", False),
        ("src/**", "src/a/b.py", True),
        ("src/**", "src", False),
        ("*.pem", "deep/down/key.pem", True),
        ("/*.pem", "deep/down/key.pem", False),
        ("/*.pem", "key.pem", True),
        ("secrets", "a/secrets/key", True),
        ("secrets/", "a/secrets", False),
        ("secrets/", "secrets/key", True),
        ("migrations/00?_*.sql", "migrations/001_init.sql", True),
        ("migrations/00?_*.sql", "migrations/0012_init.sql", False),
        ("[!a-c].txt", "d.txt", True),
        ("[!a-c].txt", "b.txt", False),
        ("[]].txt", "].txt", True),
        ("a[", "a[", True),
        ("a.b+c(d)$", "a.b+c(d)$", True),
        ("a.b", "aXb", False),
        ("/^src/.*_pb2\\.py$/", "src/x_pb2.py", True),
        ("caf\u00e9.txt", "cafe\u0301.txt", True),
    ],
)
def test_a_path_reads_as_a_line_of_gitignore(span: str, path: str, fits: bool) -> None:
    assert matcher(span, "path")(path) is fits


def test_letters_may_be_the_same_big_and_small_where_the_file_system_says_so() -> None:
    assert not matcher("*.PEM", "path")("key.pem")
    assert matcher("*.PEM", "path", fold=True)("key.pem")


@pytest.mark.parametrize("what", ["tool", "where", "branch", "text"])
def test_a_name_is_a_glob_of_the_whole(what: str) -> None:
    assert matcher("prod*", what)("prod-eu/db")
    assert not matcher("prod*", what)("my-prod")
    assert not matcher("prod", what)("prod2")
    assert matcher("/(?i)PROD/", what)("my-prod")


@pytest.mark.parametrize("what", ["contains", "every line", "commit message"])
def test_a_piece_of_text_is_taken_word_for_word(what: str) -> None:
    assert matcher("a.*b", what)("xx a.*b yy")
    assert not matcher("a.*b", what)("a--b")
    assert matcher(r"/\bTODO\b/", what)("a TODO here")


@pytest.mark.parametrize(
    ("span", "said"),
    [
        ("/(?=a)/", "`(?=`: look-around"),
        ("/(?<!a)b/", "`(?<!`: look-around"),
        (r"/(a)\1/", "`\\1`: there is no such escape"),
        ("/(/", "a bracket is not closed"),
        ("/[z-a]/", "z-a"),
        ("/a{5000}/", "1000 is the most"),
        ("/((a{100}){100}){100}/", "cannot be used"),
        ("", "is empty"),
        ("  ", "is empty"),
        ("x" * 3000, "the limit is 2000"),
    ],
)
def test_what_cannot_be_a_pattern_says_which_part_is_wrong(span: str, said: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        matcher(span, "contains")
    assert said in str(caught.value)


@pytest.mark.parametrize("span", ["!docs/**", "../x", "a/./b"])
def test_a_path_that_leads_nowhere_is_refused(span: str) -> None:
    with pytest.raises(ValueError, match="the path"):
        matcher(span, "path")


def test_a_command_has_no_pattern_of_text() -> None:
    with pytest.raises(ValueError, match="takes no pattern"):
        matcher("git merge", "command")


@pytest.mark.parametrize("span", [r"/(a+)+$/", r"/(a|a)*$/", r"/(\w+\s?)*$/", r"/(.*a){20}$/"])
def test_no_pattern_can_hang(span: str) -> None:
    """Each of these takes Python's own engine for ever."""
    assert growth(matcher(span, "contains"), "a" * 200_000 + "!") < 10


@given(st.text(max_size=40), st.sampled_from(["path", "tool", "where", "branch", "contains"]))
def test_any_span_is_a_matcher_or_says_why_not(span: str, what: str) -> None:
    try:
        matcher(span, what)("some/text")
    except ValueError as error:
        assert str(error)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="*?[/\\"), min_size=1, max_size=20))
def test_a_glob_without_a_star_matches_itself(name: str) -> None:
    if name.strip():
        assert matcher(name, "tool")(name)
        assert not matcher(name, "tool")(f"{name}x")
