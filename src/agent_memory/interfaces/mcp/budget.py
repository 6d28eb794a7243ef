"""An answer within a number of tokens: lists lose their end, texts their tail, and the answer says so."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from agent_memory.core.context.tokens import estimate

MARK = "…"
_SAYING = 60  # tokens of the sentence that tells what was cut
_LEAST_SHARE = 4  # tokens below which a part of a field tells nothing


@dataclass
class Left:
    """What was left out."""

    items: int = 0
    characters: int = 0


def written(value: Any) -> str:
    """As JSON that can be sent: half a surrogate pair, which an error may quote, is spelled out."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="backslashreplace").decode()


def size(value: Any) -> int:
    return estimate(written(value))


def within(answer: dict[str, Any], tokens: int) -> dict[str, Any]:
    """The same answer, or as much of it as fits and a field `cut` that tells how much does not."""
    if size(answer) <= tokens:
        return answer
    left = Left()
    fitted = _narrower(answer, tokens - _SAYING, left)
    parts = [f"{left.items} items"] if left.items else []
    parts += [f"{left.characters} characters"] if left.characters else []
    fitted["cut"] = f"{' and '.join(parts)} left out to stay within {tokens} tokens: ask for less, or raise max_tokens"
    return fitted


def _fit(value: Any, tokens: int, left: Left) -> Any:
    if size(value) <= tokens:
        return value
    if isinstance(value, str):
        return _shorter(value, tokens, left)
    if isinstance(value, list):
        return _fewer(value, tokens, left)
    if isinstance(value, dict):
        return _narrower(value, tokens, left)
    return value


def _shorter(text: str, tokens: int, left: Left) -> str:
    """The longest beginning that fits, by halving."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if size(text[:middle] + MARK) <= tokens:
            low = middle
        else:
            high = middle - 1
    left.characters += len(text) - low
    return text[:low] + MARK


def _fewer(items: list[Any], tokens: int, left: Left) -> list[Any]:
    """As many from the beginning as fit; of a first one that is too large, a part."""
    kept: list[Any] = []
    room = tokens - 2
    for place, item in enumerate(items):
        cost = size(item) + 1
        if cost > room:
            if not kept and room > 0:
                kept.append(_fit(item, room, left))
                place += 1
            left.items += len(items) - place
            break
        kept.append(item)
        room -= cost
    return kept


def _narrower(fields: dict[str, Any], tokens: int, left: Left) -> dict[str, Any]:
    """Small fields whole; the rest share what is left. A field without room goes."""
    costs = {name: size(name) + 2 for name in fields}
    room, fitted = tokens - 2, {}
    by_size = sorted(fields, key=lambda name: size(fields[name]))
    for place, name in enumerate(by_size):
        share = room // (len(by_size) - place) - costs[name]
        whole = size(fields[name])
        if whole > share and share < _LEAST_SHARE:
            left.items += 1
            continue
        fitted[name] = fields[name] if whole <= share else _fit(fields[name], share, left)
        room -= size(fitted[name]) + costs[name]
    return {name: fitted[name] for name in fields if name in fitted}
