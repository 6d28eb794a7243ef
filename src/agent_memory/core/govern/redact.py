"""Secrets are taken out of what callers say, before anything else is done with it. Pure: the shapes are a table.

What stands in a text is found by its shape. Inside a mapping the name counts as well: the value of `api_key` only has
to look random. A secret whose parts stand in different values is not found.

In a text the mark tells the kind: `[redacted:github-token]`. In what identifies something (`IDENTIFYING`, and every
name in a mapping) it is signed, `[redacted:github-token 1f3a9c02]`: what had different names still has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import NoneType
from typing import Any, NamedTuple

from pydantic import BaseModel

from agent_memory.core.govern.shapes import (
    MARK,
    NAMED_PASSWORD,
    NAMED_SECRET,
    SecretShape,
    compiled,
    password,
    random_word,
    strong,
)

NAMES, VALUES = ("key", "name"), ("value", "new", "old")
"""Where something is told as two values, its name and what it is: `{"key": "db_password", "value": …}`."""
IDENTIFYING = frozenset(
    """
    action after_id agent agent_id aliases blocked_by branch category changed_by claim conversation_id cycle_id
    decided_by depends_on document domain entity_id entity_ids entity_name entity_names entity_type exact file filename
    from_conversation_id glob goal_id id idempotency_key ids key key_id label name names namespace namespaces
    near_repository of_run parent_goal_id parent_id path paths place predicate prefix receipt_id rel_type relation_type
    repository run_id section services source source_id source_turn_id speaker strategy_id subject target target_id
    task_type tool tool_name topic trace_id trigger turn_id type user user_id worker
    """.split()
)
"""Arguments, fields of models and names in mappings whose value says which thing is meant: whatever a natural key is
made of belongs here."""
HINTS_BYTES = 1 << 26  # as much as looking for all hints at once may take: without it nothing would be found
MOST_REPEATED = 100  # secrets of a text that are looked for in all of it
LONGEST_VALUE = 512  # characters of what a name alone makes a secret

_PASSWORD, _SECRET = (rf"[\w. -]{{0,80}}?{named}" for named in (NAMED_PASSWORD, NAMED_SECRET))
_NUMBERS = frozenset([int, float, bool, NoneType])
_PLAIN = _NUMBERS | {str}


class SecretSpan(NamedTuple):
    """`text[start:end]` is a secret of this kind."""

    start: int
    end: int
    kind: str


class LocatedSecret(NamedTuple):
    """`where` are the names that lead to it, with dots between."""

    where: str
    kind: str
    secret: str


Allowed = Callable[[str], bool]
"""Whether what looks like a secret is known not to be one. It is asked only about what was found."""

Signed = Callable[[str], str | None]
"""What is the same for the same secret, differs between two, and tells nothing of either. None: nobody can tell."""


def none(secret: str) -> bool:
    return False


def unsigned(secret: str) -> str | None:
    return None


class KnownSecrets(NamedTuple):
    """What a tenant knows of secrets."""

    allowed: Allowed = none
    signed: Signed = unsigned


NOTHING = KnownSecrets()


class Redactor:
    def __init__(self, shapes: Sequence[SecretShape]) -> None:
        self._shapes = shapes
        self._names = any(shape.kind == "password" for shape in shapes)

    @cached_property
    def _hints(self) -> Any:
        import re2  # takes longer than many a command does

        options = re2.Options()
        options.max_mem = HINTS_BYTES
        made = re2.Set.SearchSet(options)
        for shape in self._shapes:
            made.Add(shape.hint)
        made.Compile()
        return made

    def hinted(self, text: str) -> bool:
        """Whether there may be a secret in a text: a quick no."""
        return self._hints.Match(text.encode(errors="replace")) is not None

    def is_clean(self, named: Mapping[str, Any]) -> bool:
        """Whether there is certainly no secret in plain texts and numbers: a quick yes, for calls that say little."""
        texts = [one for one in named.values() if type(one) is str]
        if any(name in named for name in NAMES) or not all(type(one) in _PLAIN for one in named.values()):
            return False
        return not texts or not self.hinted("\n".join(texts))

    def spans(self, text: str, allowed: Allowed = none) -> list[SecretSpan]:
        """Every secret in a text, in order; where two overlap, the one that begins first, or else the longer."""
        hinted = self._hints.Match(text.encode(errors="replace"))
        found = [one for number in hinted or () for one in _matches(self._shapes[number], text)]
        return _repeated(text, list(_apart(text, found, allowed))) if found else []

    def text(self, text: str, known: KnownSecrets = NOTHING, *, identifying: bool = False) -> str:
        """With a mark in the place of each secret, signed where the text identifies something; the very same where
        there is none."""
        while spans := self.spans(text, known.allowed):  # what is taken out may uncover what stood beside it
            pieces, last = list[str](), 0
            for one in spans:
                signed = known.signed(text[one.start : one.end]) if identifying else None
                pieces += (text[last : one.start], mark(one.kind, signed))
                last = one.end
            text = "".join((*pieces, text[last:]))
        return text

    def value(
        self, value: Any, known: KnownSecrets = NOTHING, ours: Collection[str] = (), *, identifying: bool = False
    ) -> Any:
        """The same of plain values and models, as deep as they go: names, too. What holds no secret is the same object
        afterwards. The names of models' fields, and at the top `ours`, tell nothing of their values."""
        match value:
            case str():
                return self.text(value, known, identifying=identifying)
            case dict():
                items = self.items(value, known, ours, identifying=identifying)
                made = {self.text(name, known, identifying=True): one for name, one in items}
                return value if _same(made, value) else made
            case list() | tuple() if not _NUMBERS.issuperset(map(type, value)):  # vectors are long
                each = [self.value(one, known, identifying=identifying) for one in value]
                return value if all(map(_is, each, value)) else type(value)(each)
            case BaseModel():
                fields = {name: getattr(value, name) for name in type(value).model_fields}
                made = dict(self.items(fields, known, fields.keys()))
                changed = {name: one for name, one in made.items() if one is not fields[name]}
                return value.model_copy(update=changed) if changed else value
        return value

    def items(
        self,
        named: Mapping[str, Any],
        known: KnownSecrets = NOTHING,
        ours: Collection[str] = (),
        *,
        identifying: bool = False,
    ) -> Iterator[tuple[str, Any]]:
        """Names, as they were, and values of a mapping."""
        about = _about(named)
        for name, value in named.items():
            kind = self.kind(_teller(name, about, ours), value)
            if kind and not known.allowed(value):
                yield name, mark(kind)
            else:
                yield name, self.value(value, known, identifying=identifying or name in IDENTIFYING)

    def located(self, value: Any, allowed: Allowed = none, ours: Collection[str] = ()) -> Iterator[LocatedSecret]:
        """Every secret in plain values, with the names that lead to it."""
        match value:
            case str():
                yield from (
                    LocatedSecret("", one.kind, value[one.start : one.end]) for one in self.spans(value, allowed)
                )
            case dict():
                about = _about(value)
                for name, one in value.items():
                    kind = self.kind(_teller(name, about, ours), one)
                    told = [LocatedSecret("", kind, one)] if kind and not allowed(one) else self.located(one, allowed)
                    place = self.text(name, KnownSecrets(allowed))
                    yield from (part._replace(where=f"{place}.{part.where}".rstrip(".")) for part in told)
                    yield from (part._replace(where=place) for part in self.located(name, allowed))
            case list():
                for number, one in enumerate(value):
                    found = self.located(one, allowed)
                    yield from (part._replace(where=f"{number}.{part.where}".rstrip(".")) for part in found)

    def kind(self, name: str, value: Any) -> str | None:
        """Which sort of secret a value is because of its name alone."""
        if (
            not self._names
            or not name
            or not isinstance(value, str)
            or not 6 <= len(value) <= LONGEST_VALUE
            or MARK in value
        ):
            return None
        if compiled(_PASSWORD).fullmatch(name) and password(value):
            return "password"
        return "secret" if compiled(_SECRET).fullmatch(name) and random_word(value) else None


def same_but_for_secrets(said: str, kept: str) -> bool:
    """Whether what is kept may be what was said, with marks where there were secrets."""
    first, *rest = re.split(r"\[redacted:[^\]\n]{1,60}\]", kept)
    if not rest:
        return said == kept
    *between, last = rest
    place = len(first)
    if not said.startswith(first) or not said.endswith(last):
        return False
    for part in between:
        place = said.find(part, place + 1)
        if place < 0:
            return False
        place += len(part)
    return place < len(said) - len(last)


def _about(named: Mapping[str, Any]) -> str:
    """What something is called that is told as two values."""
    return next((one for name in NAMES if isinstance(one := named.get(name), str)), "")


def _teller(name: str, about: str, ours: Collection[str]) -> str:
    """What tells the sort of a value: its name, the value beside it, or nothing."""
    if about and name in VALUES:
        return about
    return "" if name in ours else name


def _matches(shape: SecretShape, text: str) -> Iterator[tuple[SecretSpan, SecretShape]]:
    expression = compiled(shape.expression)
    group = "secret" if "secret" in expression.groupindex else 0
    return ((SecretSpan(*match.span(group), shape.kind), shape) for match in expression.finditer(text))


def _apart(text: str, found: Iterable[tuple[SecretSpan, SecretShape]], allowed: Allowed) -> Iterator[SecretSpan]:
    end = 0
    for one, shape in sorted(found, key=lambda one: (one[0].start, -one[0].end)):
        secret = text[one.start : one.end]
        if one.start >= end and MARK not in secret and shape.check(secret) and not allowed(secret):
            end = one.end
            yield one


def _repeated(text: str, found: list[SecretSpan]) -> list[SecretSpan]:
    """And the same secrets elsewhere in the text, also where nothing around them gives them away. What may as well be a
    word stays: the password of `postgres://app:app@db/app` is all over the place."""
    secrets = {secret: one.kind for one in found[:MOST_REPEATED] if strong(secret := text[one.start : one.end])}
    again = (SecretSpan(*match.span(), kind) for secret, kind in secrets.items() for match in _each(secret, text))
    apart, end = list[SecretSpan](), 0
    for one in sorted({*found, *again}, key=lambda one: (one.start, -one.end)):
        if one.start >= end:
            apart.append(one)
            end = one.end
    return apart


def _each(secret: str, text: str) -> Iterator[re.Match[str]]:
    """Not inside a longer word."""
    return re.finditer(rf"(?<!\w)(?:{re.escape(secret)})(?!\w)", text)


def mark(kind: str, signed: str | None = None) -> str:
    """What stands in the place of a secret."""
    return f"{MARK}{kind} {signed}]" if signed else f"{MARK}{kind}]"


def _is(one: object, other: object) -> bool:
    return one is other


def _same(made: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    return made.keys() == before.keys() and all(map(_is, made.values(), before.values()))
