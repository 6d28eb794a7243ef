"""What a model says, as what an operation takes: other names for an argument, one value for a list, other words for a
kind, days as people name them, and the fields of an object side by side."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from agent_memory.app.operations import Operation
from agent_memory.app.registry import installed_kinds
from agent_memory.interfaces.mcp import schemas
from agent_memory.interfaces.mcp.places import whole
from agent_memory.interfaces.moments import FORMS, Ambiguous, moment
from agent_memory.models.errors import InvalidInput

NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "query": ("q", "question", "search", "search_query", "text", "topic", "prompt"),
        "text": ("content", "memory", "note", "observation", "message", "body"),
        "claim": ("text", "fact", "statement"),
        "description": ("text", "goal"),
        "task_description": ("task", "query", "description", "goal", "topic", "prompt"),
        "task": ("task_description", "query", "description", "topic"),
        "k": ("limit", "top_k", "n", "count", "max_results", "num_results", "n_results"),
        "limit": ("k", "top_k", "n", "count", "max_results", "num_results", "n_results"),
        "kinds": ("kind", "type", "types", "category"),
        "kind": ("type", "memory_type", "category", "kinds"),
        "ids": ("id", "memory_id", "memory_ids", "record_id", "record_ids"),
        "id": ("memory_id", "record_id", "ids", "key"),
        "after": ("since", "from", "start", "start_date", "from_date", "newer_than"),
        "before": ("until", "to", "end", "end_date", "to_date", "older_than"),
        "valid_at": ("at", "on", "when", "date", "at_time"),
        "as_of": ("known_at", "as_of_date"),
        "valid_from": ("when", "date", "since", "at", "timestamp"),
        "valid_to": ("until", "end", "expires"),
        "created_at": ("when", "date", "since", "at", "valid_from", "timestamp"),
        "deadline": ("due", "due_date", "until"),
        "repository": ("repo", "project"),
        "conversation_id": ("conversation", "session_id", "session", "thread_id"),
        "payload": ("metadata", "data", "properties"),
        "max_tokens": ("budget", "token_budget", "max_length"),
        "min_relevance": ("threshold", "min_score"),
        "history": ("versions", "with_history"),
        "subject": ("entity", "about", "domain"),
        "predicate": ("name", "relation", "attribute"),
        "value": ("text", "preference"),
        "command": ("cmd", "shell", "action_command"),
        "commit_message": ("message", "commit"),
        "path": ("file", "file_path", "filename"),
        "rule": ("rule_text", "markdown"),
        "folder": ("directory", "cwd", "dir"),
    }
)
"""Our name for an argument, and what models call it before they have read ours."""
KINDS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("note", "memory", "event", "insight", "lesson", "learning", "info"), "observation"),
        **dict.fromkeys(("todo", "action_item"), "task"),
        **dict.fromkeys(("message", "conversation", "chat"), "turn"),
        **dict.fromkeys(("person", "people", "organization", "thing"), "entity"),
        **dict.fromkeys(("knowledge", "claim"), "fact"),
        **dict.fromkeys(("wish", "setting"), "preference"),
        **dict.fromkeys(("objective", "milestone"), "goal"),
        "outcome": "result",
        "rule": "procedure",
    }
)
UNTIL = frozenset({"until", "to", "end", "end_date", "to_date"})


@dataclass
class ReadCall:
    """How a call was understood. `names`: what the model called an argument of ours. `moments`: what its words for a
    day were taken for."""

    now: datetime
    names: dict[str, str] = field(default_factory=dict)
    moments: dict[str, str] = field(default_factory=dict)


def spoken(given: Mapping[str, Any], needed: Collection[str] = ()) -> dict[str, Any]:
    """Without what is null or empty: models fill in arguments that they do not need."""
    return {name: value for name, value in given.items() if name in needed or (value is not None and value != "")}


def named(given: Mapping[str, Any], known: Collection[str], heard: ReadCall) -> dict[str, Any]:
    """By our names, as far as they are meant."""
    found = {name: value for name, value in given.items() if name in known}
    for name, value in given.items():
        if name not in known:
            ours = next((one for one in known if name in NAMES.get(one, ()) and one not in found), name)
            found[ours] = value
            if ours != name:
                heard.names[ours] = heard.names.get(name, name)
    return found


def understood(operation: Operation, given: Mapping[str, Any], heard: ReadCall) -> dict[str, Any]:
    """The arguments of an operation. What is still strange, the operation refuses by name."""
    part = whole(operation)
    own = [name for name in operation.signature if part is None or name != part.name]
    if part is not None and isinstance(given.get(part.name), dict):
        return dict(given)
    needed = schemas.needed(operation)
    found = named(spoken(given, needed), [*own, *(part.fields if part else ())], heard)
    for name, value in found.items():
        if name in schemas.moments(operation) and isinstance(value, str):
            found[name] = _moment(name, value, heard)
        elif name in schemas.lists(operation) and isinstance(value, str):
            found[name] = [one.strip() for one in value.split(",")] if name == "kinds" else [value]
        elif name == "id" and isinstance(value, list) and len(value) == 1:
            found[name] = value[0]
        if name in ("kind", "kinds"):
            found[name] = _kinds(found[name])
    if part is None:
        return found
    inside = {name: value for name, value in found.items() if name in part.fields}
    return {**{name: value for name, value in found.items() if name not in inside}, part.name: inside}


def kind(said: object) -> object:
    """A kind by its own name, its plural, or another word for it."""
    if not isinstance(said, str):
        return said
    word = said.strip().casefold().replace(" ", "_")
    plurals = {one.plural: name for name, one in installed_kinds().items()}
    return plurals.get(word) or KINDS.get(word) or KINDS.get(word.removesuffix("s")) or word


def _kinds(said: object) -> object:
    return [kind(one) for one in said] if isinstance(said, list) else kind(said)


def _moment(name: str, text: str, heard: ReadCall) -> str:
    """ISO 8601 of what was said. What is asked `until` a day takes that day along."""
    try:
        taken = moment(name, text, heard.now, closing=heard.names.get(name) in UNTIL).isoformat()
    except Ambiguous as error:
        raise InvalidInput(f"{name}: {error}", field=name) from None
    except (ValueError, OverflowError, OSError):
        raise InvalidInput(f"{name}: {text[:80]!r} is not a time", hint=f"use {FORMS}", field=name) from None
    if taken != text:
        heard.moments[name] = taken
    return taken
