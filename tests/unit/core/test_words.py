"""Analysis: what becomes of a text's words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.core.write.words import STOP_WORDS, query_terms, terms, word_hash, words
from patience import growth


def hashes(text: str) -> set[bytes]:
    packed = terms(text).hashes
    return {packed[place : place + 8] for place in range(0, len(packed), 8)}


def test_words_are_folded_stemmed_and_stop_words_dropped() -> None:
    assert hashes("The SERVERS were restarting") == hashes("server restarts") == hashes("Server, restarted!")
    assert hashes("the of and to") == set()
    assert all(word_hash(word) == b"" for word in STOP_WORDS)


def test_compound_names_count_as_a_whole_too() -> None:
    assert "web-01.prod" in words("drain web-01.prod now")
    assert hashes("pg_stat_activity") > hashes("stat")
    assert word_hash("10.0.0.1") in hashes("host 10.0.0.1 is down")
    assert word_hash("web-02.prod") not in hashes("web-01.prod")


def test_scripts_without_spaces_are_found_by_parts() -> None:
    assert hashes("数据库升级") & hashes("我们的数据库很慢")
    assert hashes("データベース") & hashes("新しいデータベースを作る")
    assert hashes("猫") and not hashes("猫") & hashes("犬")


def test_equivalent_spellings_are_one() -> None:
    assert hashes("ｆｕｌｌ ｗｉｄｔｈ") == hashes("full width")
    assert hashes("cafe\u0301 re\u0301sume\u0301") == hashes("café résumé")
    assert hashes("STRASSE") == hashes("straße")


def test_counts_and_length() -> None:
    found = terms("error error error warning")
    assert found.length == 4 and sorted(found.counts) == [1, 3]
    many = terms("error " * 1000)
    assert many.length == 1000 and many.counts == b"\xff"


def test_a_query_remembers_its_own_words() -> None:
    assert list(query_terms("Which servers were restarted?").values()) == ["servers", "restarted"]
    assert len(query_terms(" ".join(f"word{number}" for number in range(500)))) == 64


@given(st.text(max_size=300))
def test_any_text_is_analysed(text: str) -> None:
    found = terms(text)
    assert len(found.hashes) == 8 * len(found.counts)
    assert found.length >= len(found.counts)
    assert terms(text) == found
    assert {value.to_bytes(8, "little") for value in query_terms(text, most=10_000)} == hashes(text)


@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=200))
def test_the_short_way_for_ascii_is_the_long_way(text: str) -> None:
    """A space that is no ASCII sends the same text the long way."""
    assert hashes(text) == hashes(text + "\u2003")


@pytest.mark.parametrize("text", ["x" * 900_000, "-" * 900_000, "a-" * 450_000, "a." * 400_000 + "!", "_" * 900_000])
def test_no_text_takes_quadratic_time(text: str) -> None:
    assert growth(terms, text) < 10
