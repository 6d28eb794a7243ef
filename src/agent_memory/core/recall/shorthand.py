"""How a receipt is spelled where it is kept: what is as usual is left out, and what hits have in common is said once.

A row then takes a third of a page instead of a whole one. `spelled_out` gives back what was said, name by name;
receipts of before, which say everything themselves, stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

# What stands in these two tables stays as it is: receipts that were kept are read by them.
USUAL: Mapping[str, Any] = MappingProxyType(
    {
        "recipe": {},
        "valid_at": None,
        "meaning": None,
        "speakers": [],
        "read_as": "question",
        "pending": 0,
        "money": 0.0,
        "reranked": None,
    }
)
KINDS = tuple(
    """turn entity fact document_chunk strategy learning reflection preference expertise interest goal task decision
    incident config_change event pattern tool observation plan result summary note working_note procedure run""".split()
)
ORDER = tuple(
    """pipeline query k recipe recipe_hash where now valid_at meaning speakers read_as seq head store searched
    candidates pending space vocabularies milliseconds tokens money reranked hits""".split()
)
"""How a receipt is told; other fields follow."""


def dumped(body: Mapping[str, Any]) -> str:
    """The text to keep of a receipt."""
    return json.dumps(shortened(body), ensure_ascii=False, separators=(",", ":"))


def read(text: str) -> dict[str, Any]:
    """A receipt from the text that was kept."""
    return spelled_out(json.loads(text))


def shortened(body: Mapping[str, Any]) -> dict[str, Any]:
    short = {name: value for name, value in body.items() if name not in USUAL or value != USUAL[name]}
    for name, other in (("head", "seq"), ("candidates", "searched")):
        if short[name] == short[other]:
            del short[name]
    short["where"] = _narrowed(body["where"])
    if "groups" in body:
        short["groups"] = [{**one, "where": _narrowed(one["where"])} for one in body["groups"]]
    return {**short, "hits": _columns(body["hits"])}


def spelled_out(body: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(body.get("hits"), dict):
        return dict(body)
    whole = {**USUAL, "head": body["seq"], "candidates": body["searched"], **body}
    whole["where"] = _widened(body["where"])
    if "groups" in body:
        whole["groups"] = [{**one, "where": _widened(one["where"])} for one in body["groups"]]
    whole["hits"] = _rows(body["hits"])
    return {name: whole[name] for name in dict.fromkeys((*ORDER, *whole))}


def _narrowed(where: Mapping[str, Any]) -> dict[str, Any]:
    """Kinds as what they differ in from `KINDS`, where that says less."""
    kinds = where.get("kinds")
    if kinds is None or len(kinds) < len(KINDS) // 2:
        return dict(where)
    signed = [*(f"+{one}" for one in kinds if one not in KINDS), *(f"-{one}" for one in KINDS if one not in kinds)]
    return {**where, "kinds": " ".join(signed)}


def _widened(where: Mapping[str, Any]) -> dict[str, Any]:
    kinds = where.get("kinds")
    if not isinstance(kinds, str):
        return dict(where)
    signed = kinds.split()
    left = [one for one in KINDS if f"-{one}" not in signed]
    return {**where, "kinds": [*left, *(one[1:] for one in signed if one.startswith("+"))]}


def _columns(hits: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Hits by what is said of all of them. A channel that a hit does not have is None."""
    channels = dict.fromkeys(name for hit in hits for name in hit["why"])
    columns = {
        "ids": [hit["id"] for hit in hits],
        "scores": [hit["score"] for hit in hits],
        "why": {name: [hit["why"].get(name) for hit in hits] for name in channels},
    }
    versions = [hit["version"] for hit in hits]
    return columns if set(versions) <= {1} else {**columns, "versions": versions}


def _rows(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    ids, scores, why = columns["ids"], columns["scores"], columns["why"]
    versions = columns.get("versions", [1] * len(ids))
    return [
        {
            "id": ids[place],
            "version": versions[place],
            "score": scores[place],
            "why": {name: added[place] for name, added in why.items() if added[place] is not None},
        }
        for place in range(len(ids))
    ]
