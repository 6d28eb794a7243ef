"""Texts are cut by characters where word pieces cannot be counted."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from agent_memory.ports.embedder import Passage, split_text

texts = st.lists(st.sampled_from(["word ", "End. ", "\n", "x", "中。", "\ud800", "long" * 40]), max_size=400).map(
    "".join
)


@given(texts, st.integers(30, 300), st.integers(0, 14))
def test_passages_cover_the_text_in_order(text: str, size: int, overlap: int) -> None:
    passages = split_text(text, size, overlap)
    assert passages[0].start == 0
    assert passages[-1].end == len(text)
    assert all(p.end - p.start <= size for p in passages)
    for one, next_one in pairwise(passages):
        assert one.start < next_one.start <= one.end < next_one.end
        assert one.end - next_one.start <= overlap


def test_a_short_text_is_one_passage() -> None:
    assert split_text("") == [Passage(0, 0)]
    assert split_text("x" * 2000) == [Passage(0, 2000)]


def test_a_cut_falls_on_the_end_of_a_sentence() -> None:
    text = "All of this is one sentence. " * 500
    for passage in split_text(text)[:-1]:
        assert text[: passage.end].endswith("sentence. ")


def test_words_stay_whole_if_they_can() -> None:
    text = "alphabet " * 2000
    for passage in split_text(text):
        assert set(text[passage.start : passage.end].split()) == {"alphabet"}


def test_a_very_long_text_is_cut_only_so_far() -> None:
    passages = split_text("x" * 10_000_000)
    assert len(passages) == 512
    assert passages[-1].end < 1_000_000
