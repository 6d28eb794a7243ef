"""Numbers for ever. A field has the number and the type that it once got; what is removed stays reserved; what is new
gets the next one. `fields.lock.json` beside this file is append-only, and kept by scripts/proto.py."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib import resources
from typing import Any

from agent_memory.interfaces.grpc.shapes import Enum, Message

NAME = "fields.lock.json"
Lock = dict[str, dict[str, dict[str, Any]]]
"""`messages`: name → field → [number, type]; `enums`: name → constant → number."""


class Breaking(Exception):
    """A change that clients in the field would trip over."""


def shipped() -> Lock:
    text = resources.files(__package__).joinpath(NAME).read_text("utf-8")
    known: Lock = json.loads(text)
    return known


def extended(lock: Lock, messages: Iterable[Message], enums: Iterable[Enum]) -> Lock:
    """The lock with what is new at the end of each message; `Breaking` if a field has another type than it had.
    Enums are told their numbers."""
    made: Lock = {part: {name: dict(known) for name, known in lock[part].items()} for part in ("messages", "enums")}
    for message in messages:
        known = made["messages"].setdefault(message.name, {})
        for field in message.fields:
            kind = f"{field.type} in {field.oneof}" if field.oneof else field.type
            if field.name not in known:
                known[field.name] = [max((number for number, _ in known.values()), default=0) + 1, kind]
            elif known[field.name][1] != kind:
                raise Breaking(
                    f"{message.name}.{field.name} was `{known[field.name][1]}` and is `{kind}`: give it another name"
                )
    for enum in enums:
        values = made["enums"].setdefault(enum.name, {})
        for value in enum.values:
            values.setdefault(enum.constant(value), max(values.values(), default=0) + 1)
        enum.pin(values)
    return made


def written(lock: Lock) -> str:
    """As it is kept: one line a field, so that a change of it reads well."""
    parts = []
    for part, names in sorted(lock.items()):
        groups = []
        for name, known in sorted(names.items()):
            lines = [f"      {json.dumps(field)}: {json.dumps(pinned)}" for field, pinned in known.items()]
            groups.append(f"    {json.dumps(name)}: {{" + ("\n" + ",\n".join(lines) + "\n    " if lines else "") + "}")
        parts.append(f"  {json.dumps(part)}: {{" + ("\n" + ",\n".join(groups) + "\n  " if groups else "") + "}")
    return "{\n" + ",\n".join(parts) + "\n}\n"
