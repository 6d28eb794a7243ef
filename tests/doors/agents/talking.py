"""What the tests of the MCP door say and hear."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable
from typing import Any

from mcp import Client, StdioServerParameters

from warm import PROGRAM

Talk = Callable[[Client], Awaitable[Any]]


def told(result: Any) -> Any:
    """The structured answer of a tool, which says the same as its text."""
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


def refused(result: Any) -> dict[str, str]:
    assert result.is_error
    error: dict[str, str] = json.loads(result.content[0].text)["error"]
    return error


def program(*words: str) -> StdioServerParameters:
    """`agent-memory mcp` with these options, as a process."""
    told = ("AGENT_MEMORY", "PYTHON", "LANG", "LC_")
    environment = {name: value for name, value in os.environ.items() if name.startswith(told)}
    return StdioServerParameters(command=PROGRAM[0], args=[*PROGRAM[1:], "mcp", *words], env=environment)


def actions(tool: Any) -> list[str | None]:
    """What a tool that is listed can be asked to do: None, where it does one thing."""
    found: list[str | None] = tool.input_schema["properties"].get("action", {}).get("enum", [None])
    return found
