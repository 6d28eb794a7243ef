"""A long text is cut into passages that the encoder reads whole, without a gap, at sensible places."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_memory.engines.onnx import vocabulary
from agent_memory.engines.onnx.passages import LIMIT, PASSAGE, READABLE, split
from agent_memory.engines.onnx.wordpiece import WordPiece
from agent_memory.ports.embedder import Passage
from patience import growth

WORDS = WordPiece(vocabulary.load())

scripts = st.sampled_from(
    ["word ", "Sentence. ", "中", "中。", "a,b,", "\n", "x" * 300, "…", "😀", "é\u0301 ", "\u200b"]
)
long_texts = st.lists(st.tuples(scripts, st.integers(1, 200)), min_size=1, max_size=8).map(
    lambda parts: "".join(part * times for part, times in parts)
)


@pytest.mark.parametrize("text", ["", " ", "short", "hello " * 254, "中" * 254])
def test_what_can_be_read_whole_is_one_passage(text: str) -> None:
    assert split(text, WORDS) == [Passage(0, len(text))]


@pytest.mark.parametrize("text", ["hello " * 255, "中" * 255])
def test_one_piece_more_is_two(text: str) -> None:
    assert len(split(text, WORDS)) == 2


@given(long_texts)
@settings(max_examples=150, deadline=None)
def test_passages_cover_the_text_and_can_be_read(text: str) -> None:
    passages = split(text, WORDS)
    assert passages[0].start == 0
    assert passages[-1].end == len(text)
    for one, next_one in pairwise(passages):
        assert one.start < next_one.start <= one.end < next_one.end
    read = [len(WORDS.encode(text[p.start : p.end], 100_000)) - 2 for p in passages]
    if "…" not in text:  # a run of these is not cut
        assert max(read) <= (PASSAGE if len(passages) > 1 else READABLE - 2)


def test_neighbours_share_some_words() -> None:
    text = " ".join(f"number {count} of many" for count in range(400))
    passages = split(text, WORDS)
    assert len(passages) > 5
    for one, next_one in pairwise(passages):
        shared = text[next_one.start : one.end].split()
        assert 15 <= len(shared) <= 30
        assert text[next_one.start - 1] == " "


def test_a_cut_falls_on_the_end_of_a_sentence() -> None:
    text = "The quick brown fox jumps over the very lazy old dog. " * 60  # 12 pieces: 200 is no multiple
    for passage in split(text, WORDS)[:-1]:
        assert text[: passage.end].endswith("dog. ")


def test_a_cut_falls_between_words_if_there_are_no_sentences() -> None:
    text = "a-well-known-dish, soup " * 150
    for passage in split(text, WORDS)[:-1]:
        assert text[passage.end - 1] == " "


def test_a_line_is_a_sentence() -> None:
    text = "one item of a rather long list\n" * 200
    for passage in split(text, WORDS)[:-1]:
        assert text[passage.end - 1] == "\n"


@pytest.mark.parametrize("part", ["plain words, and more of them. ", "中文。", "a,", "x" * 5000 + " "])
def test_ten_megabytes_are_bounded(part: str) -> None:
    text = part * (10_000_000 // len(part))
    passages = split(text, WORDS)
    assert growth(lambda read: split(read, WORDS), text) < 10
    assert len(passages) <= LIMIT
    assert passages[0].start == 0
