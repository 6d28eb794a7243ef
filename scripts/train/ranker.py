"""Train the ranker: question and text are read together, with who said it, when, and the turn before.

    python scripts/train/ranker.py .train/prepared.json.gz .train/start.safetensors OUT [--layers 6] [--epochs 2] …

A list is a question, one piece of its evidence and others of the first fifty that a recall finds today. The loss is
listwise, so that the evidence comes first, and besides each pair is told right from wrong by itself, also for questions
that nothing answers: so that a score says whether a text answers at all. The word table is not trained.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import torch
from bert import WIDTH, Params, Steps, depth, judged
from texts import Asked, Collection, Pair, batches, found, pair, percent
from torch import Tensor
from torch.nn import functional
from weights import load, save

from run import Log, options, prepared_for, start_of

DEPTH, NEAR = 50, 20
WEIGHTS = (0.0, 0.5, 0.7, 1.0, 1.5)


class Batch(NamedTuple):
    """Pairs in rows of one question each; `right` and `there`: [questions, longest row]."""

    pairs: list[Pair]
    right: Tensor
    there: Tensor


def fresh(start: Params, layers: int, seed: int) -> Params:
    """The encoder as it was published, or some of its layers, with an end of its own."""
    drawn, last = torch.Generator().manual_seed(seed), depth(start) - 1
    kept = [round(number * last / max(1, layers - 1)) for number in range(layers)]
    params = {name: value for name, value in start.items() if not name.startswith("layers.")}
    for new, old in enumerate(kept):
        for name in [one for one in start if one.startswith(f"layers.{old}.")]:
            params[name.replace(f"layers.{old}.", f"layers.{new}.", 1)] = start[name].clone()
    return params | {
        "segments": torch.zeros(3, WIDTH),
        "pool.weight": torch.randn(WIDTH, WIDTH, generator=drawn) * 0.02,
        "pool.bias": torch.zeros(WIDTH),
        "score.weight": torch.randn(WIDTH, 1, generator=drawn) * 0.02,
        "score.bias": torch.zeros(1),
    }


def loss(params: Params, table: Tensor, batch: Batch, given: Any) -> Tensor:
    right, there = batch.right.to(table.device), batch.there.to(table.device)
    scores = torch.zeros(there.shape, device=table.device)
    scores[there] = judged(params, table, batch.pairs, given.drop, given.half)
    answered = right.any(1)
    best = torch.logsumexp(scores.masked_fill(~right, -1e9), 1)
    first = (torch.logsumexp(scores.masked_fill(~there, -1e9), 1) - best)[answered].sum() / max(1, int(answered.sum()))
    each = functional.softplus(torch.where(right, -scores, scores)) * torch.where(right, there.shape[1] / 4, 1.0)
    return first + given.alone * each[there].mean()


def batch_of(chosen: list[Asked], draw: random.Random, size: int) -> Batch:
    pairs: list[Pair] = []
    right, there = (torch.zeros(len(chosen), size, dtype=torch.bool) for _ in range(2))
    for number, (one, question) in enumerate(chosen):
        gold = question["gold"]
        wrong = [place for place in question["candidates"][:DEPTH] if place not in gold]
        near, far = wrong[:NEAR], wrong[NEAR:]
        others = draw.sample(far, min(len(far), size // 4))
        others += draw.sample(near, min(len(near), size - 1 - len(others)))
        row = ([draw.choice(gold)] if gold else []) + others
        right[number, : len(row)] = torch.tensor([place in gold for place in row], dtype=torch.bool)
        there[number, : len(row)] = True
        pairs += [pair(one, question, place) for place in row]
    return Batch(pairs, right, there)


def z(values: numpy.ndarray) -> numpy.ndarray:
    return (values - values.mean()) / (values.std() + 1e-9)


@torch.no_grad()
def measured(params: Params, table: Tensor, collections: list[Collection], depth: int = NEAR) -> dict[str, Any]:
    """recall@5 and @10 of every part, by how much the ranker counts; and how well the best score tells questions that
    something answers from those that nothing does (area under the curve)."""
    rows: dict[str, dict[str, list[list[float]]]] = {}
    best: dict[str, tuple[list[float], list[float]]] = {}
    for one in collections:
        asked = [question for question in one.questions if question["candidates"]]
        counts = [len(question["candidates"][:depth]) for question in asked]
        flat = [pair(one, question, place) for question in asked for place in question["candidates"][:depth]]
        for question, told in zip(asked, judged(params, table, flat, half=True).cpu().split(counts), strict=True):
            places, gold, odds = question["candidates"], question["gold"], told.numpy()
            best.setdefault(one.told, ([], []))[bool(gold)].append(float(odds.max()))
            if not gold or question["apart"]:
                continue
            fused = numpy.array(question["scores"][:depth])
            for weight in WEIGHTS:
                order = [
                    places[number] for number in numpy.argsort(-(z(fused) + weight * z(odds)), kind="stable")
                ] + places[depth:]
                rows.setdefault(one.told, {}).setdefault(str(weight), []).append(found(order, gold))
    return {
        part: {how: percent(several) for how, several in ways.items()} | {"auc": area(*best[part])}
        for part, ways in rows.items()
    }


def area(wrong: list[float], right: list[float]) -> float | None:
    if not wrong or not right:
        return None
    ranks = numpy.argsort(numpy.argsort(numpy.array(wrong + right)))
    return round(float((ranks[len(wrong) :].mean() - (len(right) - 1) / 2) / len(wrong)), 3)


def trained(params: Params, table: Tensor, collections: list[Collection], given: Any, log: Log) -> Params:
    draw = random.Random(given.seed)
    steps = given.epochs * sum(1 for _ in batches(collections, given.batch, random.Random(0), "candidates"))
    taking = Steps(params, given.rate, steps)
    for epoch in range(given.epochs):
        for chosen in batches(collections, given.batch, draw, "candidates"):
            log.step(taking.take(loss(params, table, batch_of(chosen, draw, given.list), given)), steps)
        save(given.out.with_suffix(f".{epoch + 1}.safetensors"), params)
    return {name: value.detach() for name, value in params.items()}


def main() -> None:
    parser = options(argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter))
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--go-on", type=Path, help="weights of an earlier run, to begin with")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rate", type=float, default=5e-5)
    parser.add_argument("--batch", type=int, default=16, help="questions, each with a list")
    parser.add_argument("--list", type=int, default=8, help="texts in a list")
    parser.add_argument("--drop", type=float, default=0.1)
    parser.add_argument("--alone", type=float, default=0.5, help="how much each pair by itself counts in the loss")
    given = parser.parse_args()
    log = Log(given)
    collections = prepared_for(given)
    start, table = start_of(given)
    begun = fresh(start, given.layers, given.seed) if given.go_on is None else load(given.go_on)[0]
    end = trained(
        begun,
        table,
        [one for one in collections if one.part in given.parts],
        given,
        log,
    )
    save(given.out, end)
    log({"after": measured(end, table, [one for one in collections if one.part in given.judge])})


if __name__ == "__main__":
    main()
