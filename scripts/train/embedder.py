"""Tune the embedder: questions come near their evidence, and everything else stays where it was.

    python scripts/train/embedder.py .train/prepared.json.gz .train/start.safetensors OUT [--epochs 2] [--rate 3e-5] …

Contrastive: a question (as a recall embeds it: the mean of its forms) against one piece of its evidence, some of the
first twenty that a recall finds today, and the texts of the other questions of the batch, unless they are evidence for
it, too. Anchor: the distance of every text to where the published weights put it is part of the loss, and at last the
weights go only `--share` of the way from the old ones to the tuned. The word table is not trained.
"""

from __future__ import annotations

import argparse
import random
from typing import Any, NamedTuple

import numpy
import torch
from bert import Params, Steps, vectors
from texts import Asked, Collection, batches, found, percent, texts
from torch import Tensor
from weights import save

from run import Log, options, prepared_for, start_of

TEMPERATURE, AMONG = 0.05, 20


class Batch(NamedTuple):
    """`gold` and `other`: [questions, texts]; `other` marks what is neither right nor wrong for a question."""

    forms: list[list[list[int]]]
    texts: list[list[int]]
    old: Tensor
    gold: Tensor
    other: Tensor


def loss(params: Params, table: Tensor, batch: Batch, anchor: float, half: bool) -> Tensor:
    told = vectors(params, table, batch.texts, half)
    scores = asked_vectors(params, table, batch.forms, half) @ told.T / TEMPERATURE
    scores = scores.masked_fill(batch.other.to(scores.device), -1e9)
    near = torch.logsumexp(scores, 1) - torch.logsumexp(scores.masked_fill(~batch.gold.to(scores.device), -1e9), 1)
    return near.mean() + anchor * (1 - (told * batch.old).sum(1).mean())


def asked_vectors(params: Params, table: Tensor, forms: list[list[list[int]]], half: bool = False) -> Tensor:
    """Of each question the mean of its forms."""
    each = vectors(params, table, [form for several in forms for form in several], half)
    means = torch.stack([part.mean(0) for part in each.split([len(several) for several in forms])])
    return torch.nn.functional.normalize(means, dim=1)


def batch_of(chosen: list[Asked], old: dict[str, Tensor], draw: random.Random, given: Any) -> Batch:
    places: dict[tuple[str, int], int] = {}
    told: list[list[int]] = []
    before: list[Tensor] = []
    drawn = []
    for one, question in chosen:
        gold = question["gold"]
        wrong = [place for place in question["candidates"][:AMONG] if place not in gold]
        row = [draw.choice(gold), *draw.sample(wrong, min(given.negatives, len(wrong)))]
        for place in row:
            if (one.name, place) not in places:
                places[one.name, place] = len(told)
                told.append(one.text(place, draw.random() < given.led)[: given.longest])
                before.append(old[one.name][place])
        drawn.append(row[0])
    gold_mask, other = (torch.zeros(len(chosen), len(told), dtype=torch.bool) for _ in range(2))
    for number, ((one, question), right) in enumerate(zip(chosen, drawn, strict=True)):
        gold_mask[number, places[one.name, right]] = True
        for place in question["gold"]:  # its other evidence is neither right nor wrong here
            if (one.name, place) in places and place != right:
                other[number, places[one.name, place]] = True
    return Batch([question["forms"] for _, question in chosen], told, torch.stack(before), gold_mask, other)


@torch.no_grad()
def measured(params: Params, table: Tensor, collections: list[Collection]) -> dict[str, list[float]]:
    """By vectors alone: recall@5 and @10 of every part."""
    rows: dict[str, list[list[float]]] = {}
    for one in collections:
        told = vectors(params, table, texts(one), half=True)
        asked = [question for question in one.questions if question["gold"] and not question["apart"]]
        near = asked_vectors(params, table, [question["forms"] for question in asked], half=True) @ told.T
        for question, row in zip(asked, near.cpu().numpy(), strict=True):
            order = numpy.argsort(-row, kind="stable")[:10].tolist()
            rows.setdefault(one.told, []).append(found(order, question["gold"]))
    return {part: percent(several) for part, several in rows.items()}


def tuned(params: Params, table: Tensor, collections: list[Collection], given: Any, log: Log) -> Params:
    draw = random.Random(given.seed)
    with torch.no_grad():
        old = {one.name: vectors(params, table, texts(one), half=True) for one in collections}
    log("the old vectors are there")
    params = {name: value.clone() for name, value in params.items()}
    steps = given.epochs * sum(1 for _ in batches(collections, given.batch, random.Random(0), "gold"))
    taking = Steps(params, given.rate, steps)
    for epoch in range(given.epochs):
        for chosen in batches(collections, given.batch, draw, "gold"):
            batch = batch_of(chosen, old, draw, given)
            log.step(taking.take(loss(params, table, batch, given.anchor, given.half)), steps)
        save(given.out.with_suffix(f".{epoch + 1}.safetensors"), params)
    return {name: value.detach() for name, value in params.items()}


def between(start: Params, end: Params, share: float) -> Params:
    return {name: torch.lerp(start[name], end[name], share) for name in start}


def main() -> None:
    parser = options(argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter))
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rate", type=float, default=3e-5)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--negatives", type=int, default=5)
    parser.add_argument("--longest", type=int, default=96, help="word pieces of a text that are read in training")
    parser.add_argument("--anchor", type=float, default=1.0)
    parser.add_argument("--led", type=float, default=0.2, help="how often a text has its speaker in front")
    parser.add_argument("--share", type=float, default=1.0, help="how far from the old weights to the tuned ones")
    given = parser.parse_args()
    log = Log(given)
    collections = prepared_for(given)
    start, table = start_of(given)
    asked = [one for one in collections if one.part in given.judge]
    log({"before": measured(start, table, asked)})
    end = tuned(start, table, [one for one in collections if one.part in given.parts], given, log)
    params = between(start, end, given.share)
    save(given.out, params)
    log({"after": measured(params, table, asked)})


if __name__ == "__main__":
    main()
