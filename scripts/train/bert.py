"""The encoder in PyTorch, as our graph in `agent_memory/engines/onnx` computes it: layers over rows of the word table.

Parameters are plain dictionaries of tensors, by the names that they have in files. The word table is never trained:
embedder and ranker share the one that is shipped. Texts are computed sorted by length, so that little is padding, and
in bfloat16 where that is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from texts import START
from torch import Tensor
from torch.nn import functional

Params = dict[str, Tensor]
HEADS, WIDTH, EPSILON, TOGETHER = 12, 384, 1e-12, 32


def normed(x: Tensor, params: Params, name: str) -> Tensor:
    return functional.layer_norm(x, (WIDTH,), params[f"{name}.weight"], params[f"{name}.bias"], EPSILON)


def linear(x: Tensor, params: Params, name: str) -> Tensor:
    return functional.linear(x, params[f"{name}.weight"].T, params[f"{name}.bias"])


def layer(x: Tensor, mask: Tensor, params: Params, name: str, drop: float) -> Tensor:
    texts, length, width = x.shape
    parts = linear(x, params, f"{name}.qkv").view(texts, length, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
    attended = (
        functional.scaled_dot_product_attention(*parts, attn_mask=mask).transpose(1, 2).reshape(texts, length, width)
    )
    x = normed(x + functional.dropout(linear(attended, params, f"{name}.out"), drop), params, f"{name}.out_norm")
    wide = functional.gelu(linear(x, params, f"{name}.widen"))
    return normed(x + functional.dropout(linear(wide, params, f"{name}.narrow"), drop), params, f"{name}.narrow_norm")


def depth(params: Params) -> int:
    return 1 + max(int(name.split(".")[1]) for name in params if name.startswith("layers."))


def summed(
    params: Params, table: Tensor, pieces: Sequence[Sequence[int]], parts: Sequence[Sequence[int]], drop: float
) -> Tensor:
    """The mean of the hidden states of each text. `parts` numbers the parts of pairs; lone texts have none."""
    longest = max(map(len, pieces))
    ids, segments = (torch.zeros(len(pieces), longest, dtype=torch.long) for _ in range(2))
    mask = torch.zeros(len(pieces), longest)
    for row, one in enumerate(pieces):
        ids[row, : len(one)], mask[row, : len(one)] = torch.tensor(one), 1
        if parts:
            segments[row, : len(one)] = torch.tensor(parts[row])
    x = table[ids.to(table.device)] + params["positions"][:longest]
    mask = mask.to(table.device)
    if parts:
        x = x + params["segments"][segments.to(table.device)]
    x = normed(x, params, "norm")
    seen = torch.zeros_like(mask).masked_fill(mask == 0, float("-inf"))[:, None, None, :]
    for number in range(depth(params)):
        x = layer(x, seen.to(x.dtype), params, f"layers.{number}", drop)
    return (x.float() * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)


def by_length(texts: Sequence[Sequence[int]], compute: Callable[[list[int]], Tensor]) -> Tensor:
    """What `compute` gives for the texts with these numbers, a few of a length at a time, put in order again."""
    order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    found = torch.cat([compute(order[start : start + TOGETHER]) for start in range(0, len(order), TOGETHER)])
    back = torch.empty(len(order), dtype=torch.long)
    back[torch.tensor(order)] = torch.arange(len(order))
    return found[back.to(found.device)]


def vectors(params: Params, table: Tensor, texts: Sequence[Sequence[int]], half: bool = False) -> Tensor:
    """A unit vector for each text: the mean over its pieces."""

    def compute(chosen: list[int]) -> Tensor:
        with torch.autocast(table.device.type, torch.bfloat16, enabled=half):
            return summed(params, table, [texts[number] or [START] for number in chosen], (), 0.0)

    return functional.normalize(by_length(texts, compute), dim=1)


def judged(
    params: Params, table: Tensor, pairs: Sequence[tuple[list[int], list[int]]], drop: float = 0.0, half: bool = False
) -> Tensor:
    """The log odds that the text of each pair answers its question: the mean over its pieces, layer, tanh, layer."""

    def compute(chosen: list[int]) -> Tensor:
        with torch.autocast(table.device.type, torch.bfloat16, enabled=half):
            mean = summed(
                params, table, [pairs[number][0] for number in chosen], [pairs[number][1] for number in chosen], drop
            )
        return linear(torch.tanh(linear(mean, params, "pool")), params, "score")[:, 0]

    return by_length([one for one, _ in pairs], compute)


class Steps:
    """AdamW over all parameters, gradients cut to a norm of 1; the rate goes up for a tenth of the steps, then down."""

    def __init__(self, params: Params, rate: float, steps: int) -> None:
        self._all = [value.requires_grad_() for value in params.values()]
        groups = [
            {"params": [one for one in self._all if one.ndim == 2], "weight_decay": 0.01},
            {"params": [one for one in self._all if one.ndim != 2], "weight_decay": 0.0},
        ]
        self._adam = torch.optim.AdamW(groups, lr=rate)
        up = max(1, steps // 10)
        slope = lambda step: (step + 1) / up if step < up else max(0.0, (steps - step) / max(1, steps - up))  # noqa: E731
        self._slope = torch.optim.lr_scheduler.LambdaLR(self._adam, slope)

    def take(self, loss: Tensor) -> float:
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._all, 1.0)
        self._adam.step()
        self._slope.step()
        self._adam.zero_grad()
        return float(loss.detach())
