"""Calls of every operation of the table, with arguments that fit its schema: names, ids, receipts and pages are those
that somebody has, most often somebody else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cast import EVERYWHERE, KEY, SPACE, TALK, USERS, Cast
from hypothesis import strategies as some

from agent_memory.app.operations import TABLE, Operation
from agent_memory.models.record import Scope

Strategy = some.SearchStrategy[Any]
Schema = dict[str, Any]
Call = tuple[Operation, dict[str, Any]]

WORDS = ("checkout", "port", "which port?", "base", "*", "says", "")
MOMENTS = ("2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z")
FORGED = ({"user": "ada"}, {"tenant": "zeta"}, {"agent": "robot"}, {"scope": {"tenant": "zeta"}}, {"store": "x.db"})
WIDTHS = {"query_embedding": 384, "vector": 3}
OF = {"goals": "goal", "semantic": "entity", "procedural": "strategy", "receipts": "receipt", "keys": "key"}
"""Whose ids a namespace mostly takes; they are tried as often as all others."""
NAMED = {
    "kind": ("observation", "turn", "fact", "entity", "goal", "plan", "preference"),
    "kinds": ("observation", "turn", "fact", "entity", "goal", "plan"),
    "conversation_id": (TALK, "other"),
    "from_conversation_id": (TALK,),
    "user_id": USERS,
    "namespace": (SPACE, "other"),
    "namespaces": (SPACE, "other"),
    "key": (KEY, "checkout", EVERYWHERE, f"checkout\x1f{KEY}", f"{TALK}\x1f0"),
    "domain": ("checkout",),
    "name": ("checkout", KEY),
    "names": ("checkout", "base"),
    "source": ("checkout", "base", "extraction"),
    "target": ("checkout", "base"),
    "entity_name": ("checkout", "base"),
    "entity_names": ("checkout", "base"),
    "type": ("USES", "CAUSED", "uses", "Service"),
    "idempotency_key": ("once",),
    "recipe": ("default", "decay", "meaning"),
    "counter": ("estimate",),
    "role": ("user",),
}


def calls(cast: Cast, near: list[Scope]) -> Strategy:
    """One of every operation, with ids of everybody, and most of what those `near` share. Most calls are as they should
    be, some claim in their arguments to be somebody else's."""
    return some.tuples(*(_calling(operation, cast, near) for operation in TABLE.values()))


def _calling(operation: Operation, cast: Cast, near: list[Scope]) -> Strategy:
    schema = operation.arguments.model_json_schema()
    kind = OF.get(operation.name.partition(".")[0], "plan")
    ids = [found for found in (cast.of_kind(kind, near), cast.of_kind(kind), [*cast.everyones(), "none"]) if found]
    fitting = _Fitting(schema.get("$defs", {}), some.one_of(*map(some.sampled_from, ids)))
    forged = some.sampled_from([{}] * 9 + [{name: value} for one in FORGED for name, value in one.items()])
    arguments = fitting.object(schema)
    return some.builds(lambda given, more: (operation, {**given, **more}), arguments, forged)


class _Fitting:
    def __init__(self, shapes: dict[str, Schema], ids: Strategy) -> None:
        self._shapes = shapes
        self._ids = ids

    def object(self, schema: Schema) -> Strategy:
        fields = {name: self.value(one, name) for name, one in schema.get("properties", {}).items()}
        needed = {name: fields.pop(name) for name in schema.get("required", ())}
        few = some.sets(some.sampled_from(sorted(fields)), max_size=3) if fields else some.just(set())
        return few.flatmap(lambda names: some.fixed_dictionaries({**needed, **{name: fields[name] for name in names}}))

    def value(self, schema: Schema, name: str) -> Strategy:
        if "$ref" in schema:
            schema = self._shapes[schema["$ref"].rpartition("/")[2]]
        if "enum" in schema:
            return some.sampled_from(schema["enum"])
        if "anyOf" in schema:
            choices = [one for one in schema["anyOf"] if one.get("type") != "null"]
            plain = [one for one in choices if one.get("type") == "string"]
            return some.one_of(*(self.value(one, name) for one in plain or choices))
        by_type: dict[str, Callable[[Schema, str], Strategy]] = {
            "object": self._map,
            "array": self._list,
            "string": self._text,
            "integer": self._whole,
            "number": self._number,
        }
        kind = schema.get("type", "")
        return by_type[kind](schema, name) if kind in by_type else some.booleans()

    def _map(self, schema: Schema, name: str) -> Strategy:
        if "properties" in schema:
            return self.object(schema)
        if name == "records":
            return some.fixed_dictionaries({"text": some.sampled_from(WORDS[:4]), "id": self._ids})
        if name == "weights":
            return some.just({"vector": 0.5})
        return some.dictionaries(some.sampled_from(("said", "name", "type")), some.sampled_from(WORDS), max_size=2)

    def _list(self, schema: Schema, name: str) -> Strategy:
        if name in WIDTHS:
            return some.just([1.0] + [0.0] * (WIDTHS[name] - 1))
        return some.lists(self.value(schema.get("items", {}), name), min_size=1, max_size=3)

    def _text(self, schema: Schema, name: str) -> Strategy:
        if schema.get("format") == "date-time":
            return some.sampled_from(MOMENTS)
        if name in NAMED:
            return some.sampled_from(NAMED[name])
        if name in ("id", "ids") or name.endswith(("_id", "_ids")):
            return self._ids
        return some.sampled_from(WORDS)

    def _whole(self, schema: Schema, name: str) -> Strategy:
        least = max(schema.get("minimum", 0), 0)
        return some.integers(least, min(schema.get("maximum", least + 50), least + 50))

    def _number(self, schema: Schema, name: str) -> Strategy:
        return some.sampled_from((0.0, 0.5, 1.0))
