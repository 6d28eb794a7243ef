"""Does recall get better by feedback? Adapters, trained on one half of the questions and tried on others.

    python benchmarks/adapters.py        # the table of docs/decisions/0046-adapters.md: ten minutes on two cores

A conversation of LoCoMo is a user. Every second question is asked, and what of its evidence was shown is called useful:
all of it, that of 50 questions, or with one judgement in five about a memory that is no evidence. Tried are

- other questions of the same conversation, each with the adapter of its own user;
- conversations 6-10, and operations, with one adapter that was trained on conversations 1-5 together.

`any` is the adapter as it was trained, `accepted` what the product does: the same where it proved itself on the part
that was held back, and none elsewhere. Differences are of the share of evidence found, in points, with 95 % intervals
(bootstrap over questions).
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ablation import sets
from agent_memory.core.recall import recall as recalling
from agent_memory.core.recall.adapter import Adapter, stored
from agent_memory.core.upkeep import learn
from agent_memory.core.upkeep.fit import Example, fit
from agent_memory.core.upkeep.learn import Learner
from agent_memory.models.record import Record
from retrieval import Adapter as Reader
from small import at_most

os.environ["AGENT_MEMORY_ADAPTERS"] = "on"
PLACES = (5, 10)
learn.SECONDS = 3600.0  # so that a busy machine learns from as many
SPARSE, WRONG, RESAMPLES, SEED = 50, 0.2, at_most(2000, 10), 1


class Using:
    """Recalls go through this adapter, whoever asks."""

    def __init__(self) -> None:
        self.adapter: Adapter | None = None
        recalling.adapter_of = lambda *_: self.adapter


class Trained(NamedTuple):
    """What came of one kind of feedback in one conversation."""

    adapter: Adapter | None
    accepted: bool
    examples: list[Example]


def answered(reader: Reader, queries: Sequence[Any]) -> list[list[float]]:
    """The share of the evidence of each among the first hits."""
    found = [(query, reader.search(query.text, max(PLACES), query.now)) for query in queries]
    return [[sum(id in ids[:k] for id in query.gold) / len(query.gold) for k in PLACES] for query, ids in found]


def filled(collections: Sequence[Any]) -> Iterator[tuple[Reader, list[Any]]]:
    """Each in a store of its own, and its questions."""
    for one in collections:
        reader = Reader()
        reader.reset()
        reader.add(one.items)
        yield reader, [query for query in one.queries if query.gold and not query.apart]
        reader.close()


def judge(reader: Reader, queries: Sequence[Any]) -> None:
    for query in queries:
        found = reader.recall(query.text, 10, query.now)
        if useful := [hit.id for hit in found if hit.id in query.gold]:
            reader._memory.feedback(found.receipt_id, useful=useful)


def wrong(said: Record, reader: Reader, rng: random.Random) -> Record:
    """One judgement in five is about something else that was shown."""
    if rng.random() >= WRONG:
        return said
    shown = [hit["id"] for hit in reader._memory.receipts.get(said.payload["receipt_id"])["hits"]]
    others = [id for id in shown if id not in said.payload["useful"]]
    return said.model_copy(update={"payload": {**said.payload, "useful": [rng.choice(others)]}}) if others else said


def trained(reader: Reader, how: str, pooling: bool) -> Trained:
    client, rng = reader._memory._client, random.Random(SEED)
    runtime = client.runtime
    runtime.receipts.flush()
    learner = Learner(runtime.keeping(client.clock), runtime.recalling, client.scope, client.now())
    said = learner.feedback()
    if how == "sparse":
        said = said[:SPARSE]
    if how == "wrong":
        said = [wrong(one, reader, rng) for one in said]
    told, adapter, _ = learner.propose(said, None)
    return Trained(adapter, told.accepted, [learner.example(one) for one in learner.replayed(said)] if pooling else [])


def shown(name: str, before: list[list[float]], after: list[list[float]]) -> None:
    rng, old = np.random.default_rng(SEED), np.array(before)
    gains = np.array(after) - old
    means = gains[rng.integers(len(gains), size=(RESAMPLES, len(gains)))].mean(axis=1)
    low, high = np.percentile(means, (2.5, 97.5), axis=0)
    rows = zip(PLACES, *(100 * one for one in (old.mean(axis=0), gains.mean(axis=0), low, high)), strict=True)
    cells = [f"@{k} {was:.1f} {gain:+.2f} ({least:+.2f} to {most:+.2f})" for k, was, gain, least, most in rows]
    print(f"{name:<58}{'   '.join(cells)}   {len(gains)} questions", flush=True)


def main() -> None:
    using, halves = Using(), sets()
    dev, test = halves["LoCoMo"]
    ways = ("all", "sparse", "wrong")
    before: list[list[float]] = []
    after: dict[tuple[str, str], list[list[float]]] = {(how, use): [] for how in ways for use in ("any", "accepted")}
    taught: dict[str, list[Example]] = {how: [] for how in ways}
    accepted = dict.fromkeys(ways, 0)
    for number, (reader, queries) in enumerate(filled([*dev, *test])):
        using.adapter = None
        judge(reader, queries[::2])
        others = queries[1::2]
        plain = answered(reader, others)
        before += plain
        for how in ways:
            using.adapter = None
            made = trained(reader, how, number < len(dev))
            using.adapter = made.adapter
            turned = answered(reader, others) if made.adapter else plain
            after[how, "any"] += turned
            after[how, "accepted"] += turned if made.accepted else plain
            accepted[how] += made.accepted
            taught[how] += made.examples
    for how in ways:
        print(f"{how}: accepted in {accepted[how]} of {len(dev) + len(test)} conversations")
        for use in ("any", "accepted"):
            shown(f"{how}, {use}: other questions of the conversation", before, after[how, use])
    asked = np.concatenate([[one.query for one in taught[how]] for how in ways if taught[how]])
    pooled = {how: stored(fit(taught[how], asked[:100])) for how in ways if taught[how]}
    for name, collections in (
        ("other conversations", test),
        ("operations", [*halves["operations"][0], *halves["operations"][1]]),
    ):
        rows: dict[str, list[list[float]]] = {how: [] for how in ("", *pooled)}
        for reader, queries in filled(collections):
            for how, found in rows.items():
                using.adapter = pooled.get(how)
                found += answered(reader, queries)
        for how in pooled:
            shown(f"{how} of conversations 1-5, {len(taught[how])} examples: {name}", rows[""], rows[how])


if __name__ == "__main__":
    main()
