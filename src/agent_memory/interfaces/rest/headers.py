"""What the headers of a request and an answer say about an operation: idempotency keys, versions, pages."""

from __future__ import annotations

import re
import typing
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from starlette.datastructures import URL

from agent_memory.app.operations import Operation, Permission
from agent_memory.interfaces.rest.description import IDEMPOTENCY_KEY, IF_MATCH, reference
from agent_memory.models.errors import Changed, InvalidInput
from agent_memory.models.record import Record

_HEADERS: Mapping[str, str] = MappingProxyType({"idempotency_key": "Idempotency-Key", "if_version": "If-Match"})
_TAG = re.compile(r'"(\d{1,18})"')
CURSORS: Mapping[str, str] = MappingProxyType({"after_id": "id", "after_seq": "seq", "after": "seq"})
"""Arguments that continue a page, and what of its last item they take."""
ARGUMENTS: Mapping[str, str] = MappingProxyType({"idempotency_key": IDEMPOTENCY_KEY, "if_version": IF_MATCH})
"""Arguments that a header can give."""


def takes(operation: Operation) -> list[dict[str, str]]:
    """The headers that are arguments of an operation, as its description names them."""
    if operation.permission is Permission.READ:
        return []
    return [reference("parameters", part) for name, part in ARGUMENTS.items() if name in operation.signature]


def gives(operation: Operation) -> dict[str, dict[str, str]]:
    """The headers of its answer."""
    gave = typing.get_type_hints(operation.function).get("return")
    if Record in (gave, *typing.get_args(gave)) and typing.get_origin(gave) is not list:
        return {"ETag": reference("headers", "ETag")}
    pages = typing.get_origin(gave) is list and "limit" in operation.signature and CURSORS.keys() & operation.signature
    return {"Link": reference("headers", "Link")} if pages else {}


class HeaderArguments:
    """The headers of a request, as far as they are arguments."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self.idempotency_key = headers.get("idempotency-key")
        self.if_match = headers.get("if-match")

    def arguments(self, operation: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
        """By name; `InvalidInput` where the operation cannot keep what a header asks for, or where what is `given`
        beside it says otherwise."""
        found: dict[str, Any] = {}
        if operation.permission is Permission.READ:
            return found
        if self.idempotency_key is not None:
            _takes(operation, "idempotency_key")
            found["idempotency_key"] = self.idempotency_key
        if self.if_match is not None and self.if_match.strip() != "*":
            _takes(operation, "if_version")
            found["if_version"] = _version(self.if_match)
        for name in found.keys() & given.keys():
            if found[name] != given[name]:
                hint = "leave one of them out"
                raise InvalidInput(f"{name}: the header {_HEADERS[name]} says something else", hint=hint, field=name)
        return found


def told(operation: Operation, answer: Any, limit: int | None, url: URL) -> dict[str, str]:
    """Headers of an answer: the version of a single record, and where a list goes on."""
    if isinstance(answer, Record):
        return {"etag": f'"{answer.version}"'}
    cursor = next((name for name in CURSORS if name in operation.signature), None)
    if cursor is None or "limit" not in operation.signature or not isinstance(answer, list) or not answer:
        return {}
    most = operation.signature["limit"].default if limit is None else limit
    last = getattr(answer[-1], CURSORS[cursor], None)
    if last is None or len(answer) < most:
        return {}
    following = url.include_query_params(**{cursor: last})
    return {"link": f'<{following.path}?{following.query}>; rel="next"'}


def _takes(operation: Operation, argument: str) -> None:
    if argument not in operation.signature:
        header = _HEADERS[argument]
        raise InvalidInput(f"{header}: {operation.name} does not take it", hint="leave it out", field=header)


def _version(tag: str) -> int:
    found = _TAG.fullmatch(tag.strip())
    if found is None:
        raise Changed(
            f"If-Match: {tag[:100]} is not a version", hint='send the ETag of a GET, such as "3"', field="If-Match"
        )
    return int(found[1])
