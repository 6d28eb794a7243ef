"""A tool call as coding agents tell their hooks of it, as actions to be checked; and the answer that each understands.

Claude Code and Codex, Gemini CLI, Cursor and Copilot have a shape of their own; `{"tool": …, "arguments": …}` is ours.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agent_memory.app.checking import content
from agent_memory.models.rules import Action

COMMANDS = ("command", "cmd", "commandLine", "CommandLine")
PATHS = ("file_path", "filePath", "path", "notebook_path", "target_file", "filename", "absolute_path")
TEXTS = ("content", "contents", "file_text", "text", "code_edit")
READERS = re.compile(r"(?:.*__)?(?:read|get|list|ls|view|search|grep|glob|find|fetch|stat)(?![a-z])", re.I)
WRITERS = re.compile(r"write|edit|replace|create|delete|remove|update|insert|append|move|rename|patch|save", re.I)
OLD = ("old_string", "old_str", "oldText")
NEW = ("new_string", "new_str", "newText", "new_source", "insert_text")
SHOWN = "view"  # a command of editors that only shows
PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.M)
SHELLS = MappingProxyType({"cursor": "Shell"})
CURSOR = ("preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile")


@dataclass(frozen=True)
class Call:
    """A tool that an agent is about to use, and where."""

    tool: str
    arguments: dict[str, Any]
    folder: Path


def form_of(told: Mapping[str, Any]) -> str:
    """Which agent tells it so."""
    event = told.get("hook_event_name")
    if "toolName" in told:
        return "copilot"
    if event in CURSOR or "cursor_version" in told:
        return "cursor"
    return "gemini" if event == "BeforeTool" else "claude"


def read(told: Mapping[str, Any]) -> Call:
    """The call; ValueError says why it is none."""
    tool = next((told[name] for name in ("tool_name", "toolName", "tool") if told.get(name)), None)
    given: Any = next((told[name] for name in ("tool_input", "toolArgs", "arguments") if name in told), None)
    if tool is None and isinstance(told.get("command"), str):
        tool, given = SHELLS["cursor"], {"command": told["command"]}
    elif tool is None and isinstance(told.get("file_path"), str):
        tool, given = "Read", {"file_path": told["file_path"]}
    if isinstance(given, str):
        given = json.loads(given) if given.strip() else {}
    if not isinstance(tool, str) or not isinstance(given if given is not None else {}, dict):
        raise ValueError("it names no tool with arguments: tool_name and tool_input, or tool and arguments")
    folder = told.get("cwd") or next(iter(told.get("workspace_roots") or []), None) or "."
    if not isinstance(folder, str) or not Path(folder).is_dir():
        raise ValueError(f"cwd: {str(folder)[:200]!r} is no folder")
    return Call(tool, given or {}, Path(folder))


def actions(call: Call) -> Iterator[Action]:
    """The call itself, the command that it runs, and each path that it writes."""
    yield Action(tool=call.tool, arguments=call.arguments)
    patches = [text for text in call.arguments.values() if isinstance(text, str) and "*** Begin Patch" in text]
    for name in COMMANDS:
        line = call.arguments.get(name)
        if isinstance(line, str) and line.strip() and line not in patches:
            yield Action(command=line)
        elif isinstance(line, list) and line:
            yield Action(argv=tuple(str(word) for word in line))
    for patch in patches:
        yield from _patched(call, patch)
    if not _only_reads(call):
        for name in PATHS:
            path = call.arguments.get(name)
            if isinstance(path, str) and path:
                yield _path(path, _written(call, path))


def answer(form: str, denied: str | None, warned: str | None, *, asks: bool = False) -> dict[str, Any]:
    """What an agent is told. Nothing where there is nothing to say: an `allow` would skip the questions that it would
    otherwise ask its user. `asks`: let the user decide, where that can be said."""
    if denied is None:
        return {} if warned is None or form in ("cursor", "copilot") else {"systemMessage": warned}
    decision = "ask" if asks and form in ("claude", "cursor", "copilot") else "deny"
    if form == "gemini":
        return {"decision": "deny", "reason": denied}
    if form == "cursor":
        return {"permission": decision, "user_message": denied, "agent_message": denied}
    if form == "copilot":
        return {"permissionDecision": decision, "permissionDecisionReason": denied}
    said = {"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": denied}
    return {"hookSpecificOutput": said}


def _only_reads(call: Call) -> bool:
    """By its name, since nothing else tells: what is not plainly a reader is taken for a writer."""
    reads = READERS.match(call.tool) is not None and WRITERS.search(call.tool) is None
    return reads or call.arguments.get("command") == SHOWN


def _path(path: str, text: str | None) -> Action:
    return Action(path=path) if text is None else Action(path=path, text=text)


def _written(call: Call, path: str) -> str | None:
    """What will stand there, as far as the call says; None where it says nothing."""
    given = call.arguments
    for name in TEXTS:
        if isinstance(given.get(name), str):
            return str(given[name])
    edits = given["edits"] if isinstance(given.get("edits"), list) else [given]
    before = content(call.folder / path) or ""
    after, known = before, False
    for edit in edits:
        new = next((edit[name] for name in NEW if isinstance(edit.get(name), str)), None) if _is_dict(edit) else None
        if new is None:
            continue
        known = True
        old = next((edit[name] for name in OLD if isinstance(edit.get(name), str)), "")
        if old and old in after:
            after = after.replace(old, new) if edit.get("replace_all") else after.replace(old, new, 1)
        else:
            after = f"{after}{os.linesep}{new}"  # nobody knows where it goes
    return after if known else None


def _is_dict(value: object) -> bool:
    return isinstance(value, dict)


def _patched(call: Call, patch: str) -> Iterator[Action]:
    """The files of a patch in the form of Codex, each with what is there and what is added."""
    parts = re.split(r"(?m)^(?=\*\*\* (?:Add|Update|Delete) File: )", patch)
    for part in parts:
        added = "\n".join(line[1:] for line in part.split("\n") if line.startswith("+"))
        for found in PATCHED.finditer(part):
            path = (found[1] or found[2]).strip()
            if found[0].startswith("*** Delete"):
                yield Action(path=path)
            else:
                yield Action(path=path, text="\n".join([content(call.folder / path) or "", added]).strip("\n"))
