"""An answer within a number of tokens: lists lose their end, texts their tail, and the answer says so."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from agent_memory.core.context.tokens import estimate

MARK = "…"
_SAYING = 60  # tokens of the sentence that tells what was cut
_MOST_CHARACTERS = 6  # of one token, blanks apart
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


def fits(value: Any, tokens: int) -> bool:
    """What is far too long is not counted."""
    text = written(value)
    return len(text) <= max(tokens, 0) * _MOST_CHARACTERS and estimate(text) <= tokens


def within(answer: dict[str, Any], tokens: int) -> dict[str, Any]:
    """The same answer, or as much of it as fits and a field `cut` that tells how much does not."""
    if fits(answer, tokens):
        return answer
    left = Left()
    fitted = _narrower(answer, tokens - _SAYING, left)
    parts = [f"{left.items} items"] if left.items else []
    parts += [f"{left.characters} characters"] if left.characters else []
    if not parts:
        return fitted
    fitted["cut"] = f"{' and '.join(parts)} left out to stay within {tokens} tokens: ask for less, or raise max_tokens"
    return fitted


def _fit(value: Any, tokens: int, left: Left) -> Any:
    if fits(value, tokens):
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
    low, high = 0, min(len(text), max(tokens, 0) * _MOST_CHARACTERS)
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
        if not fits(item, room - 1):
            if not kept and room > 0:
                kept.append(_fit(item, room, left))
                place += 1
            left.items += len(items) - place
            break
        kept.append(item)
        room -= size(item) + 1
    return kept


def _narrower(fields: dict[str, Any], tokens: int, left: Left) -> dict[str, Any]:
    """Small fields whole; the rest share what is left. A field without room goes."""
    costs = {name: size(name) + 2 for name in fields}
    room, fitted = tokens - 2, {}
    by_size = sorted(fields, key=lambda name: len(written(fields[name])))
    for place, name in enumerate(by_size):
        share = room // (len(by_size) - place) - costs[name]
        if share < _LEAST_SHARE and not fits(fields[name], share):
            left.items += 1
            continue
        fitted[name] = _fit(fields[name], share, left)
        room -= size(fitted[name]) + costs[name]
    return {name: fitted[name] for name in fields if name in fitted}
