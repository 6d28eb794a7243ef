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
from urllib.parse import unquote

from agent_memory.app.checking import content
from agent_memory.models.rules import Action

COMMANDS = ("command", "cmd", "commandLine", "CommandLine", "shell_command")
WORDS = ("args", "argv", "arguments")  # of a command that is named apart from them
PATHS = frozenset(
    "file_path filePath path paths file filename notebook_path target_file absolute_path new_path newPath destination"
    " uri".split()
)
SOURCES = ("source", "source_path", "old_path", "oldPath")  # of what is moved or copied
FOLDERS = re.compile(r"director(?:y|ies)|folder|mkdir", re.I)  # tools that make what has no content
DEEPEST = 8  # of values in values in which paths are looked for
TEXTS = ("content", "contents", "file_text", "text", "code_edit")
READERS = re.compile(r"(?:.*__)?(?:read|get|list|ls|view|search|grep|glob|find|fetch|stat)(?![a-z])", re.I)
WRITERS = re.compile(r"write|edit|replace|create|delete|remove|update|insert|append|move|rename|patch|save", re.I)
OLD = ("old_string", "old_str", "oldText")
NEW = ("new_string", "new_str", "newText", "new_source", "insert_text")
SHOWN = "view"  # a command of editors that only shows
PATCHES = re.compile(r"patch", re.I)  # tools whose command is a patch, and no line for a shell
BEGIN = "*** Begin Patch"
PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.M)
SHELLS = MappingProxyType({"cursor": "Shell"})
CURSOR = ("preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile")


@dataclass(frozen=True)
class PlannedToolUse:
    """A tool that an agent is about to use, and where: `others` are further folders that it works in."""

    tool: str
    arguments: dict[str, Any]
    folder: Path
    others: tuple[Path, ...] = ()


def parsed(text: str | bytes, what: str) -> Any:
    """What JSON says. Halves of characters, as in a text that was cut, become what the agent will write for them."""
    try:
        found = json.loads(text)
        said = json.dumps(found, ensure_ascii=False)
        whole = said.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return found if said == whole else json.loads(whole)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{what} not JSON ({error})") from None


def form_of(told: Mapping[str, Any]) -> str:
    """Which agent tells it so."""
    event = told.get("hook_event_name")
    if "toolName" in told:
        return "copilot"
    if event in CURSOR or "cursor_version" in told:
        return "cursor"
    return "gemini" if event == "BeforeTool" else "claude"


def read(told: Mapping[str, Any]) -> PlannedToolUse:
    """The call; ValueError says why it is none."""
    tool = next((told[name] for name in ("tool_name", "toolName", "tool") if told.get(name)), None)
    given: Any = next((told[name] for name in ("tool_input", "toolArgs", "arguments") if name in told), None)
    if tool is None and isinstance(told.get("command"), str):
        tool, given = SHELLS["cursor"], {"command": told["command"]}
    elif tool is None and isinstance(told.get("file_path"), str):
        tool, given = "Read", {"file_path": told["file_path"]}
    if isinstance(given, str):
        given = parsed(given, "the arguments of the tool are") if given.strip() else {}
    if not isinstance(tool, str) or not isinstance(given if given is not None else {}, dict):
        raise ValueError("it names no tool with arguments: tool_name and tool_input, or tool and arguments")
    first, *others = _folders(told)
    return PlannedToolUse(tool, given or {}, first, tuple(others))


def _folders(told: Mapping[str, Any]) -> list[Path]:
    """Where it is: of several roots, it may be any of them."""
    roots = told.get("workspace_roots") or []
    if not isinstance(roots, list):
        raise ValueError("workspace_roots: is not a list of folders")
    named = [told["cwd"]] if told.get("cwd") else roots or ["."]
    for folder in named:
        if not isinstance(folder, str) or not Path(folder).is_dir():
            raise ValueError(f"cwd: {str(folder)[:200]!r} is not a folder")
    return [Path(folder) for folder in named]


def actions(call: PlannedToolUse) -> Iterator[Action]:
    """The call itself, the command that it runs, and each path that it writes."""
    yield Action(tool=call.tool, arguments=call.arguments)
    for name in COMMANDS:
        yield from _command(call, call.arguments.get(name))
    for text in _texts(call.arguments):
        if BEGIN in text:
            yield from _patched(call, text)
    if not _only_reads(call):
        for path, beside in _paths(call.arguments):
            yield _path(path, _written(call, beside, path))


def _command(call: PlannedToolUse, said: object) -> Iterator[Action]:
    words = next((call.arguments[name] for name in WORDS if isinstance(call.arguments.get(name), list | str)), None)
    if isinstance(said, list) and said:
        yield Action(argv=tuple(str(word) for word in said))
    elif isinstance(said, str) and said.strip():
        if PATCHES.search(call.tool) and said.lstrip().startswith(BEGIN):
            return
        yield Action(command=said)
        if words and isinstance(words, str):
            yield Action(command=f"{said} {words}")
        elif words:
            yield Action(argv=(said, *(str(word) for word in words)))


def _texts(value: object, deep: int = 0) -> Iterator[str]:
    """Every text of the arguments, also in lists: a shell may be given a patch as one of its words."""
    if isinstance(value, str):
        yield value
    elif deep < DEEPEST:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        for one in inner:
            yield from _texts(one, deep + 1)


def _paths(value: object, deep: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every path of the arguments, with the values that stand beside it."""
    if deep > DEEPEST:
        raise ValueError("its arguments are nested too deeply to be looked through")
    if isinstance(value, list):
        for one in value:
            yield from _paths(one, deep + 1)
    elif isinstance(value, dict):
        for name, said in value.items():
            for one in (said if isinstance(said, list) else [said]) if name in PATHS else ():
                if isinstance(one, str) and one and (name != "uri" or one.startswith("file://")):
                    yield (unquote(one.removeprefix("file://")) if one.startswith("file://") else one), value
            yield from _paths(said, deep + 1)


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


def _only_reads(call: PlannedToolUse) -> bool:
    """By its name, since nothing else tells: what is not plainly a reader is taken for a writer."""
    reads = READERS.match(call.tool) is not None and WRITERS.search(call.tool) is None
    return reads or call.arguments.get("command") == SHOWN


def _path(path: str, text: str | None) -> Action:
    if "\0" in path:
        raise ValueError(f"it names {path[:200]!r}, which is not a path")
    return Action(path=path) if text is None else Action(path=path, text=text)


def _written(call: PlannedToolUse, given: Mapping[str, Any], path: str) -> str | None:
    """What will stand there, as far as the call says; None where it says nothing."""
    whole = [str(given[name]) for name in TEXTS if isinstance(given.get(name), str)]
    if whole:
        return "\n".join(whole)
    if FOLDERS.search(call.tool):
        return ""
    for name in SOURCES:
        if isinstance(given.get(name), str):
            return content(call.folder / given[name])
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


def _patched(call: PlannedToolUse, patch: str) -> Iterator[Action]:
    """The files of a patch in the form of Codex, each with what is there and what is added."""
    parts = re.split(r"(?m)^(?=\*\*\* (?:Add|Update|Delete) File: )", patch)
    for part in parts:
        added = "\n".join(line[1:] for line in part.split("\n") if line.startswith("+"))
        for found in PATCHED.finditer(part):
            path = (found[1] or found[2]).strip()
            gone = found[0].startswith("*** Delete")
            yield _path(path, None if gone else "\n".join([content(call.folder / path) or "", added]).strip("\n"))
