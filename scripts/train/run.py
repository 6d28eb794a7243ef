"""What a training run is given, and what it writes down."""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path
from typing import Any

import torch
from texts import Collection, read
from torch import Tensor
from weights import load

EVERY = 20  # steps between two lines of the log


class Log:
    """Lines of JSON on the standard output, the first with every setting."""

    def __init__(self, given: argparse.Namespace) -> None:
        self._started, self._steps, self._losses = time.time(), 0, list[float]()
        torch.manual_seed(given.seed)
        if given.threads:
            torch.set_num_threads(given.threads)
        self({"settings": {key: str(value) for key, value in vars(given).items()}, "torch": torch.__version__})

    def __call__(self, line: dict[str, Any] | str) -> None:
        told = {"says": line} if isinstance(line, str) else line
        print(json.dumps(told | {"seconds": round(time.time() - self._started, 1)}), flush=True)

    def step(self, loss: float, of: int) -> None:
        self._steps += 1
        self._losses.append(loss)
        if self._steps % EVERY == 0 or self._steps == of:
            self({"step": self._steps, "of": of, "loss": round(sum(self._losses) / len(self._losses), 4)})
            self._losses.clear()


def options(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("prepared", type=Path)
    parser.add_argument("start", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--half", action="store_true", help="compute in bfloat16")
    parser.add_argument("--parts", nargs="*", default=["train"], help="what to train on")
    parser.add_argument("--judge", nargs="*", default=["dev"], help="what to measure on")
    parser.add_argument("--only", type=int, default=0, help="so many questions of each collection, for a try")
    return parser


def prepared_for(given: argparse.Namespace) -> list[Collection]:
    collections = [one for one in read(given.prepared) if one.part in (*given.parts, *given.judge)]
    if given.only:
        for one in collections:
            one.questions = random.Random(0).sample(one.questions, min(given.only, len(one.questions)))
    return collections


def start_of(given: argparse.Namespace) -> tuple[dict[str, Tensor], Tensor]:
    params, table = load(given.start)
    return {name: value.to(given.device) for name, value in params.items()}, table.to(given.device)
