"""What our models are trained on: as large and as varied as its card says, and nothing of it is measured on."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CARD = (ROOT / "models/data/README.md").read_text("utf-8")


@pytest.fixture(scope="module", autouse=True)
def scripts() -> None:
    sys.path += [str(ROOT / "scripts/train"), str(ROOT / "benchmarks/operations")]


def halves() -> dict[str, frozenset[str]]:
    from corpus import parted
    from leaks import DATA, together, written

    told: dict[str, list[str]] = {}
    for file, part in parted(DATA).items():
        told.setdefault(part, []).append(written(file))
    return {part: together(texts) for part, texts in told.items()}


@pytest.mark.requirement("E6")
def test_no_sentence_is_in_two_halves_or_in_what_is_measured() -> None:
    from leaks import hashed, locomo_hashes, texts, together

    ours, locomo = halves(), locomo_hashes()
    assert len(locomo) > 10_000 and all(len(one) > 2_000 for one in ours.values())
    assert not ours["train"] & ours["dev"] and not ours["train"] & ours["test"] and not ours["dev"] & ours["test"]
    lines = (ROOT / "benchmarks/operations/operations.jsonl").read_text("utf-8").splitlines()
    operations = together(texts([json.loads(line) for line in lines]))
    assert len(operations) > 2_000
    for sentences in ours.values():
        assert not sentences & operations
        assert not [one for one in sentences if hashed(one) in locomo]


def test_a_sentence_is_known_again_whatever_its_marks() -> None:
    from leaks import together

    told = together(["I've never been to Lisbon in the winter!", "Short. never been to lisbon in THE winter"])
    assert told == {"i've never been to lisbon in the winter", "never been to lisbon in the winter"}


@pytest.mark.requirement("E6")
def test_the_card_tells_what_there_is() -> None:
    from corpus import ours
    from leaks import DATA

    found = ours(DATA)
    kinds = Counter(question["category"] for one in found for question in one.questions)
    parts = Counter(one.part for one in found for _ in one.questions)
    assert sum(kinds.values()) >= 6000
    for count in (sum(kinds.values()), sum(len(one.items) for one in found), *parts.values()):
        assert f"{count:,}" in CARD
    told = {name: int(count.replace(",", "")) for name, count in re.findall(r"\| `(\w+)` \| ([\d,]+) \|\n", CARD)}
    assert told == kinds
