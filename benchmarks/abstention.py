"""Does `relevance` tell what memory answers from what it does not, and what does a floor cost?

    .venv/bin/python benchmarks/abstention.py            # the tables of benchmarks/README.md: six minutes
    .venv/bin/python benchmarks/abstention.py --learn    # the weights of core/recall/relevance.py

Questions that nothing answers: LoCoMo's category 5 (the topic is there, but for the other speaker), those of operations
(by what is absent: the topic, the entity, the attribute), and, as a larger set that nobody wrote for this purpose,
"elsewhere": the answerable questions of the next collection of the same half. A question is judged by the best
relevance among its first five hits (AUC), a floor by the first 60.

The weights are learned on the dev half of operations and nothing else: evidence (each question counts 1) against the
other candidates among the first 60, and the first five for a question that nothing answers, at one half each.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ablation import HERE, sets
from agent_memory.core.recall import relevance as weights
from agent_memory.core.recall import score
from retrieval import Adapter, _moment
from small import at_most

FIRST, CANDIDATES, RESAMPLES = 5, 60, at_most(1000, 10)
FLOORS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
ANSWERED, ELSEWHERE, ADVERSARIAL = "answered", "elsewhere", "adversarial"
ABSENT = ("topic", "entity", "attribute")
LEARNED = {
    "near": weights.NEAR,
    "words": weights.WORDS,
    "names": weights.NAMES,
    "unseen": weights.UNSEEN,
    "speaker": weights.OTHER_SPEAKER,
    "date": weights.OTHER_DATE,
    "question": weights.ASKS,
}


@dataclass
class Answer:
    """What one question got: relevance of the first hits, which of them are evidence, and why."""

    kind: str
    relevance: np.ndarray
    evidence: np.ndarray
    reasons: np.ndarray = field(repr=False)

    @property
    def best(self) -> float:
        return float(self.relevance[:FIRST].max(initial=0.0))


class Watch:
    """Stands in for `relevance`, and keeps the reasons of the last recall by handle."""

    def __init__(self) -> None:
        self.rows: dict[int, np.ndarray] = {}

    def __call__(self, evidence: score.PoolEvidence) -> np.ndarray:
        found = weights.reasons(evidence)
        table = np.stack([found[name] / weight for name, weight in LEARNED.items()], axis=1)
        self.rows = dict(zip(evidence.pool.handles.tolist(), table, strict=True))
        return weights.relevance(evidence)


def answers(collections: list[Any], absent: dict[str, str], watch: Watch) -> Iterator[Answer]:
    for number, collection in enumerate(collections):
        adapter = Adapter()
        adapter.reset()
        adapter.add(collection.items)
        following = collections[(number + 1) % len(collections)]
        asked = [(query, ELSEWHERE if query.gold and not query.apart else "") for query in following.queries]
        asked += [
            (query, absent.get(query.id, ADVERSARIAL) if query.apart else ANSWERED) for query in collection.queries
        ]
        for query, kind in asked:
            if not kind or (kind == ANSWERED and not query.gold):
                continue
            adapter._clock.at = _moment(query.now) if query.now else adapter._clock.at
            hits = adapter._memory.recall(query.text, CANDIDATES).hits
            yield Answer(
                kind,
                np.array([hit.relevance for hit in hits]),
                np.array([kind == ANSWERED and hit.id in query.gold for hit in hits]),
                np.array([watch.rows[hit.record.seq] for hit in hits]),
            )


def auc(above: np.ndarray, below: np.ndarray) -> float:
    """How often one of the first is above one of the second; ties count half."""
    ordered = np.sort(above)
    sides = np.searchsorted(ordered, below, "left") + np.searchsorted(ordered, below, "right")
    return float(1 - sides.mean() / 2 / len(ordered))


def with_interval(above: np.ndarray, below: np.ndarray) -> str:
    chance = np.random.default_rng(0)
    resampled = [auc(chance.choice(above, len(above)), chance.choice(below, len(below))) for _ in range(RESAMPLES)]
    low, high = np.quantile(resampled, [0.025, 0.975])
    return f"**{auc(above, below):.2f}** ({low:.2f}–{high:.2f})"


def bests(found: list[Answer], *kinds: str) -> np.ndarray:
    return np.array([answer.best for answer in found if answer.kind in kinds])


def separation(name: str, halves: dict[str, list[Answer]], rows: dict[str, tuple[str, ...]]) -> None:
    halves = {**halves, "all": [answer for half in halves.values() for answer in half]}
    print(f"\n| {name}: answered against | n | {' | '.join(halves)} |\n|---|---|{'---|' * len(halves)}")
    for label, kinds in rows.items():
        columns = [with_interval(bests(half, ANSWERED), bests(half, *kinds)) for half in halves.values()]
        print(f"| {label} | {len(bests(halves['all'], *kinds))} | {' | '.join(columns)} |")


def floors(name: str, found: list[Answer], unanswered: tuple[str, ...]) -> None:
    answered = [answer for answer in found if answer.kind == ANSWERED]
    relevance = np.concatenate([answer.relevance for answer in answered])
    evidence = np.concatenate([answer.evidence for answer in answered])
    print(
        f"\n| {name}, floor | evidence lost | others removed | answered, silenced | unanswered, silenced | elsewhere |"
    )
    print("|---|---|---|---|---|---|")
    kinds = [(ANSWERED,), unanswered, (ELSEWHERE,)]
    groups = [[answer.relevance.max(initial=0.0) for answer in found if answer.kind in one] for one in kinds]
    for floor in FLOORS:
        shares = [(relevance[evidence] < floor).mean(), (relevance[~evidence] < floor).mean()]
        shares += [(np.array(group) < floor).mean() for group in groups]
        print(f"| {floor} | " + " | ".join(f"{100 * share:.1f} %" for share in shares) + " |")


def learn(found: list[Answer], ridge: float = 1e-3) -> np.ndarray:
    """Logistic regression by Newton's method; the last weight is the constant."""
    rows, labels, counts = [], [], []
    answered = [answer for answer in found if answer.kind == ANSWERED and answer.evidence.any()]
    unanswered = [answer for answer in found if answer.kind in ABSENT]
    for answer in answered:
        for chosen, share in ((answer.evidence, 1.0), (~answer.evidence, 0.5)):
            rows.append(answer.reasons[chosen])
            labels.append(np.full(chosen.sum(), float(share == 1.0)))
            counts.append(np.full(chosen.sum(), share / len(answered) / max(chosen.sum(), 1)))
    for answer in unanswered:
        rows.append(answer.reasons[:FIRST])
        labels.append(np.zeros(len(rows[-1])))
        counts.append(np.full(len(rows[-1]), 0.5 / len(unanswered) / max(len(rows[-1]), 1)))
    x, y, w = np.concatenate(rows), np.concatenate(labels), np.concatenate(counts)
    x, w = np.hstack([x, np.ones((len(x), 1))]), w / w.sum()
    penalty = np.append(np.full(x.shape[1] - 1, ridge), 1e-9)
    found_weights = np.zeros(x.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-x @ found_weights))
        slope = x.T @ (w * (chance - y)) + penalty * found_weights
        curve = (x * (w * chance * (1 - chance))[:, None]).T @ x + np.diag(penalty)
        found_weights -= np.linalg.solve(curve, slope)
    return found_weights


def main() -> None:
    watch = Watch()
    score.relevance = watch  # type: ignore[assignment]
    found = sets()
    lines = (HERE / "operations" / "operations.jsonl").read_text("utf-8").splitlines()
    absent = {query["id"]: query.get("absent", "") for line in lines for query in json.loads(line)["queries"]}
    dev = list(answers(found["operations"][0], absent, watch))
    if "--learn" in sys.argv:
        print(dict(zip([*LEARNED, "constant"], learn(dev).round(2).tolist(), strict=True)))
        return
    test = list(answers(found["operations"][1], absent, watch))
    first, second = (list(answers(half, {}, watch)) for half in found["LoCoMo"])
    kinds = {"nothing answers it": ABSENT, **{f"the {kind} is absent": (kind,) for kind in ABSENT}}
    separation("operations", {"dev": dev, "test": test}, {**kinds, "asked elsewhere": (ELSEWHERE,)})
    halves = {"conversations 1–5": first, "6–10": second}
    separation("LoCoMo", halves, {"adversarial": (ADVERSARIAL,), "asked elsewhere": (ELSEWHERE,)})
    floors("operations, test", test, ABSENT)
    floors("LoCoMo 6–10", second, (ADVERSARIAL,))


if __name__ == "__main__":
    main()
