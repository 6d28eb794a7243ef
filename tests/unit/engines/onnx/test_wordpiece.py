"""WordPiece gives the ids that BERT was trained on, for any string at all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_memory.engines.onnx import vocabulary
from agent_memory.engines.onnx.wordpiece import END, LONGEST_UNIT, START, UNKNOWN, WordPiece
from patience import growth

WORDS = WordPiece(vocabulary.load())

# Ids from the Rust package `tokenizers` 0.23.3 with the model's own tokenizer.json.
GOLDEN = {
    "Hello, World!": [7592, 1010, 2088, 999],
    "unaffable embeddings": [14477, 20961, 3468, 7861, 8270, 4667, 2015],
    "Crème Brûlée à la façon": [13675, 21382, 7987, 9307, 2063, 1037, 2474, 6904, 8663],
    "ΑΒΓΣ ΣΊΣΥΦΟΣ": [1155, 29720, 29721, 29733, 1173, 18199, 29733, 29735, 29736, 29730, 29733],
    "我爱北京": [1855, 100, 1781, 1755],
    "안녕하세요": [1463, 30006, 30021, 29992, 30010, 30025, 30005, 30006, 29997, 30009, 29999, 30013],
    "مرحبا بالعالم": [1295, 17149, 29820, 29816, 25573, 1271, 25573, 23673, 29830, 25573, 23673, 22192],
    "naïve—yes…no": [15743, 1517, 2748, 1529, 2053],
    "a\u200bb\x00c\x0bd": [5925, 2094],
    "e\u0301cole": [12431],
    "I\u0307stanbul İstanbul": [9960, 9960],
    "😀 smile": [100, 2868],
    "don't e-mail: foo_bar@x.io #1": [
        *(2123, 1005, 1056, 1041, 1011, 5653, 1024, 29379),
        *(1035, 3347, 1030, 1060, 1012, 22834, 1001, 1015),
    ],
    "≮ ½ ﬁ ß": [1026, 1092, 1984, 1096],
    "x" * 101: [UNKNOWN],
    "\t \n": [],
    "日本語テキスト": [1864, 1876, 1950, 1713, 30227, 30233, 30240],
    "Łódź": [17814],
    "\u2003wide\u3000space\xa0here": [2898, 2686, 2182],
}

anything = st.text(st.characters(), max_size=400)  # lone surrogates and controls included


@pytest.mark.parametrize(("text", "ids"), GOLDEN.items())
def test_golden_ids(text: str, ids: list[int]) -> None:
    assert WORDS.encode(text, 256) == [START, *ids, END]


def test_a_marker_in_a_text_is_only_characters() -> None:
    assert END not in WORDS.encode("one [SEP] two [CLS]", 256)[1:-1]


def test_what_does_not_fit_is_left_out() -> None:
    ids = WORDS.encode("hello " * 1000, 256)
    assert len(ids) == 256
    assert (ids[0], ids[-1]) == (START, END)


@given(anything)
def test_any_string_is_read(text: str) -> None:
    ids = WORDS.encode(text, 10_000)
    assert all(0 <= number < 30_522 for number in ids)
    assert ids[1:-1] == [number for unit in WORDS.units(text) for number in unit.ids]


@given(anything)
def test_units_follow_each_other_and_are_read_alone(text: str) -> None:
    at = 0
    for unit in WORDS.units(text):
        assert at <= unit.start < unit.end <= len(text)
        assert unit.end - unit.start <= LONGEST_UNIT
        assert not text[at : unit.start].strip()
        assert WORDS.encode(text[unit.start : unit.end], 10_000)[1:-1] == list(unit.ids)
        at = unit.end
    assert not text[at:].strip()


@given(anything, anything)
@settings(max_examples=50)
def test_a_space_separates(left: str, right: str) -> None:
    apart = WORDS.encode(left, 10_000)[:-1] + WORDS.encode(right, 10_000)[1:]
    assert WORDS.encode(f"{left} {right}", 10_000) == apart


@pytest.mark.parametrize("part", ["a", "a,", "\ud800", "\x00", "中", "…", "\u200b", "word "])
def test_ten_megabytes_cost_no_more_than_what_is_read(part: str) -> None:
    text = part * (10_000_000 // len(part))
    assert len(WORDS.encode(text, 256)) <= 256
    assert growth(lambda read: WORDS.encode(read, 256), text) < 10
