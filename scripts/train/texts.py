"""Prepared collections, as batches of word pieces."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

START, END = 101, 102


class Collection:
    """`genre` is what a batch is made of; `told` is what figures are told of."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.name, self.part = given["name"], given["part"]
        self.genre = self.name.rstrip("0123456789").rstrip("-")
        own = self.part in ("dev", "test")
        self.told = f"{self.part} {self.genre}" if own else self.name if self.part == "operations" else self.part
        self.items, self.questions = given["items"], given["questions"]

    def text(self, place: int, led: bool = False) -> list[int]:
        """The pieces of one text, or with who said it in front."""
        item = self.items[place]
        if not led or not item["speaker"]:
            return item["text"]
        return [START, item["lead"][0], 1024, *item["text"][1:]]  # 1024 is the colon

    def before(self, place: int) -> list[int]:
        """The pieces of the turn before, without the marks that frame a text."""
        if place == 0:
            return []
        item, other = self.items[place], self.items[place - 1]
        return other["text"][1:-1] if item["session"] and item["session"] == other["session"] else []


Pair = tuple[list[int], list[int]]  # pieces, and the part of the pair that each belongs to
MOST = {"question": 64, "text": 128, "before": 32}


def pair(one: Collection, question: dict[str, Any], place: int) -> Pair:
    """What a ranker reads: the question; who said it, when, and the text; the end of the turn before."""
    asked = [START, *question["forms"][0][1:-1][: MOST["question"]], END]
    lead = one.items[place]["lead"]
    told = [*lead, *([1024] if lead else []), *one.text(place)[1:-1][: MOST["text"]], END]  # 1024 is the colon
    before = one.before(place)[-MOST["before"] :]
    before = [*before, END] if before else []
    return asked + told + before, [0] * len(asked) + [1] * len(told) + [2] * len(before)


def read(file: Path) -> list[Collection]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [Collection(one) for one in json.load(lines)["collections"]]


def texts(one: Collection) -> list[list[int]]:
    return [item["text"] for item in one.items]


Asked = tuple[Collection, dict[str, Any]]


def batches(collections: Sequence[Collection], size: int, draw: random.Random, having: str) -> Iterator[list[Asked]]:
    """One epoch: batches of one genre each, whose texts are about as long, in a random order. `having`: of questions
    that have this."""
    made = []
    for genre in sorted({one.genre for one in collections}):
        own = [one for one in collections if one.genre == genre]
        asked = [(one, question) for one in own for question in one.questions if question[having]]
        draw.shuffle(asked)
        made += [asked[start : start + size] for start in range(0, len(asked) - size // 2, size)]
    draw.shuffle(made)
    yield from made


def found(order: Sequence[int], gold: Sequence[int]) -> list[float]:
    """How much of the evidence is among the first 5, and the first 10."""
    return [sum(place in order[:k] for place in gold) / len(gold) for k in (5, 10)]


def percent(rows: Sequence[Sequence[float]]) -> list[float]:
    return [round(100 * sum(column) / len(rows), 1) for column in zip(*rows, strict=True)]
