"""Resources: operations that are read by an address, such as `memory://records/{id}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import mcp_types as types
from pydantic_core import to_json

from agent_memory.app.operations import Operation
from agent_memory.app.service import Caller, Service
from agent_memory.interfaces.mcp import compat
from agent_memory.interfaces.mcp.places import COMPAT, toolsets_of
from agent_memory.models.errors import NotFound

Resources = Mapping[str, Operation]

JSON = "application/json"
_PART = re.compile(r"{(\w+)}")


def listed(resources: Resources) -> list[types.Resource]:
    """Those with one address."""
    return [
        types.Resource(uri=uri, name=_name(uri), title=_title(uri), description=one.summary, mime_type=JSON)
        for uri, one in resources.items()
        if not _PART.search(uri)
    ]


def templates(resources: Resources) -> list[types.ResourceTemplate]:
    """Those with a part to be filled in."""
    return [
        types.ResourceTemplate(
            uri_template=uri, name=_name(uri), title=_title(uri), description=one.summary, mime_type=JSON
        )
        for uri, one in resources.items()
        if _PART.search(uri)
    ]


def read(service: Service, resources: Resources, caller: Caller, uri: str) -> types.ReadResourceResult:
    """All of it: whoever reads an address wants what is there."""
    for known, operation in resources.items():
        arguments = _matched(known, uri)
        if arguments is not None:
            value: Any = service.call(operation, caller, arguments)
            if COMPAT in toolsets_of(operation):
                value = compat.answered(value)
            text = to_json(value, inf_nan_mode="constants", exclude={"embedding"}, indent=2).decode()
            return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=JSON, text=text)])
    raise NotFound(f"no resource {uri}", hint=f"there are {', '.join(resources)}", field="uri")


def _matched(template: str, uri: str) -> dict[str, str] | None:
    pattern = "".join(
        f"(?P<{part}>[^/]+)" if place % 2 else re.escape(part) for place, part in enumerate(_PART.split(template))
    )
    found = re.fullmatch(pattern, uri)
    return None if found is None else {name: unquote(value) for name, value in found.groupdict().items()}


def _name(uri: str) -> str:
    return uri.partition("://")[2].partition("/")[0]


def _title(uri: str) -> str:
    return _name(uri).replace("-", " ").capitalize()
