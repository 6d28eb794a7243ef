"""The parent of all models: validation whose errors name the field and the fix."""

from __future__ import annotations

import functools
import os
import re
import time
import types
import typing
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError, PydanticSerializationError, to_jsonable_python

from agent_memory.models.errors import InvalidInput

ID_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u
LONGEST_NAME = 512
MOST_ERRORS = 100  # pydantic takes ten microseconds to tell each, and tells all or none
MOST_NAMED = 10
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DIGITS = re.compile(r"\s*[-+]?[\d_]+(?:\.\d*)?\s*")  # with one way to read each: no long text takes long
_PAIRS = [first + second for first in ID_ALPHABET for second in ID_ALPHABET]

FIXES = {
    "missing": "give it a value",
    "extra_forbidden": "remove it, or check its spelling",
    "timezone_aware": "give it a time zone, such as 2026-01-31T12:00:00Z",
}

PLAINER = (
    (r"should be greater than or equal to (\S+)", r"should be \1 or more"),
    (r"should be less than or equal to (\S+)", r"should be at most \1"),
    (r"should be greater than (\S+)", r"should be more than \1"),
    (r"^(?:String|List|Dictionary) should have (.*?)(?: after validation)?(?=,|$)", r"should have \1"),
    (r"should be a valid string.*", "should be text"),
    (r"should be a valid integer.*", "should be a whole number"),
    (r"should be a valid number.*", "should be a number"),
    (r"should be a valid boolean.*", "should be true or false"),
    (r"should be a valid (?:dictionary|mapping).*|should be an object.*", "should be an object"),
    (r"should be a valid (list|tuple|array).*", "should be a list"),
    (r"should be a valid (datetime|date).*", "should be a date, such as 2026-01-31T12:00:00Z"),
    (r"^Field required$", "is missing"),
    (r"^Extra inputs are not permitted$", "is not a field that exists here"),
)
"""What pydantic says, as people say it."""


def new_id() -> str:
    """26 characters: 48 bits of milliseconds, then 80 random bits; later ids sort later."""
    number = (int(time.time() * 1000) & (1 << 48) - 1) << 80 | int.from_bytes(os.urandom(10))
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)])


def no_number(value: Any) -> Any:
    """Pydantic takes a number for the seconds or milliseconds since 1970: which of them, it guesses by its size."""
    if isinstance(value, int | float) or (isinstance(value, str) and _DIGITS.fullmatch(value)):
        raise ValueError("is a number, and should be a date: write it out, such as 2026-01-31T12:00:00Z")
    return value


def aware_utc(moment: datetime) -> datetime:
    """The same moment in UTC; a naive datetime is refused, since nobody knows when it is."""
    if moment.tzinfo is None:
        raise ValueError(f"has no time zone: give it one, such as {moment.isoformat()}Z for UTC")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("is outside the years 1 to 9999 in UTC") from None


def clean_text(text: str) -> str:
    """Text is kept verbatim; only what is no Unicode text at all (lone surrogates) is refused."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"holds a lone surrogate at position {error.start}: decode the bytes with errors='replace' first"
        ) from None
    return text


def clean_name(name: str) -> str:
    """Ids, users, conversations and keys: some visible text, of bounded length, without control characters."""
    clean_text(name)
    if not name.strip():
        raise ValueError("is empty: give it a name")
    if len(name) > LONGEST_NAME:
        raise ValueError(f"has {len(name)} characters: the limit is {LONGEST_NAME}")
    if _CONTROL.search(name):
        raise ValueError("holds a control character: remove it")
    return name


def of_length(least: int, most: int) -> WithJsonSchema:
    """What the description of a text says; whoever enforces it has more to say."""
    return WithJsonSchema({"type": "string", "minLength": least, "maxLength": most})


Moment = Annotated[datetime, BeforeValidator(no_number), AfterValidator(aware_utc)]
Text = Annotated[str, AfterValidator(clean_text)]
Name = Annotated[str, AfterValidator(clean_name), of_length(1, LONGEST_NAME)]
Unit = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False), AfterValidator(lambda number: number + 0.0)]


def jsonable(value: Any, field: str) -> Any:
    """A value as JSON would give it back: tuples are lists, moments are text."""
    try:
        return to_jsonable_python(value)
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{field}: cannot be stored as JSON: {error}",
            hint="use strings, finite numbers, booleans, lists and dicts with string keys",
            field=field,
        ) from None


class Model(BaseModel):
    """Wrong arguments raise `InvalidInput`, with the field and what to do about it."""

    model_config = ConfigDict(extra="forbid", use_enum_values=True, ser_json_inf_nan="constants", defer_build=True)

    if not TYPE_CHECKING:

        def __init__(self, /, **data: Any) -> None:
            try:
                super().__init__(**data)
            except ValidationError as error:
                raise invalid(type(self).__name__, error) from None
            except RecursionError:
                raise InvalidInput(
                    f"{type(self).__name__}: a value is nested too deeply", hint="nest it less deeply"
                ) from None

        # Inside another model pydantic builds this one by itself, and reports the whole way to a wrong field.
        __init__.__pydantic_base_init__ = True

    @model_validator(mode="before")
    @classmethod
    def _bounded(cls, said: Any) -> Any:
        if type(said) is not dict:
            return said
        if flags := [name for name in numbers(cls) if type(said.get(name)) is bool]:
            raise ValidationError.from_exception_data(
                cls.__name__, [InitErrorDetails(type=_NO_FLAG, loc=(name,), input=said[name]) for name in flags]
            )
        return said if cls.model_config.get("extra") != "forbid" else bounded(said, cls.model_fields)

    def dumped(self, **how: Any) -> dict[str, Any]:
        """As plain JSON values; `InvalidInput` names the field that JSON cannot hold."""
        try:
            return self.model_dump(mode="json", **how)
        except (PydanticSerializationError, ValueError, RecursionError):
            for name in type(self).model_fields:
                jsonable(getattr(self, name), name)
            raise

    @classmethod
    def trusted(cls, **values: Any) -> Self:
        """Every field from values that were checked before, when they were stored: nothing is checked again."""
        made = cls.__new__(cls)
        for name, value in (
            ("__dict__", values),
            ("__pydantic_fields_set__", set(values)),
            ("__pydantic_extra__", None),
            ("__pydantic_private__", None),
        ):
            object.__setattr__(made, name, value)
        return made


class Stored(Model):
    """A model with an id of its own, made when absent, and optionally a vector that the caller computed.
    Fields may be assigned; they are checked again when it is stored."""

    model_config = ConfigDict(revalidate_instances="always")

    id: Name = Field(default_factory=new_id)
    embedding: list[float] | None = None

    def part(self, shape: type[Model]) -> dict[str, Any]:
        """The fields of this model that `shape` has too, as plain JSON values."""
        return self.dumped(include=set(shape.model_fields))

    def vector(self) -> tuple[float, ...] | None:
        return None if self.embedding is None else tuple(self.embedding)


_NO_FLAG = PydanticCustomError("number_type", "is true or false, and should be a number")


@functools.cache
def numbers(shape: type[Model]) -> tuple[str, ...]:
    """The fields that take a number and no flag: to pydantic true is 1."""
    taken = {name: _types(field.annotation) for name, field in shape.model_fields.items()}
    return tuple(name for name, kinds in taken.items() if kinds & {int, float} and not kinds & {bool, Any})


def _types(annotation: Any) -> frozenset[Any]:
    """What a value may be, of a union any of its members."""
    kind, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if kind is Annotated:
        return _types(parts[0])
    if kind in (typing.Union, types.UnionType):
        return frozenset().union(*map(_types, parts))
    return frozenset({annotation})


def bounded(said: dict[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """With more fields than there are, at least one is unknown: the first is kept, to be told, and the others, which
    may be millions, are not even looked at."""
    if len(said) <= len(fields):
        return said
    unknown = next(name for name in said if name not in fields)
    return {unknown: said[unknown]} | {name: said[name] for name in fields if name in said}


def invalid(what: str, error: ValidationError) -> InvalidInput:
    """Translate pydantic's report."""
    if (count := error.error_count()) > MOST_ERRORS:
        return InvalidInput(f"{what}: {count} values are wrong", hint="check its shape", field=what)
    field, said, fix = wrong([(one["loc"], one["msg"], one["type"]) for one in error.errors(include_url=False)])
    return InvalidInput(f"{what}.{field or what}: {said}", hint=fix, field=field or what)


def wrong(report: list[tuple[tuple[int | str, ...], str, str]]) -> tuple[str, str, str]:
    """Of what pydantic found (where, what, which sort): the first wrong field, what is wrong with it, and how to fix
    it; the others are named there. Where one is missing and one is unknown, the name was probably a slip."""
    (where, said, sort), *others = [(_fields(where), said, sort) for where, said, sort in report]
    fix = FIXES.get(sort, "")
    if sort == "missing" and [sort for _, _, sort in others] == ["extra_forbidden"]:
        (unknown, _, _), *others = others
        fix = f"there is no {'.'.join(map(str, unknown))}: did you mean {'.'.join(map(str, where))}?"
    named = [".".join(map(str, other)) for other, _, _ in others if other != where[: len(other)]]
    shown = [*named[:MOST_NAMED], "…"] if len(named) > MOST_NAMED else named
    fixes = [fix, f"{len(named)} more: {', '.join(shown)}" if named else ""]
    said = said.removeprefix("Value error, ").removeprefix("Input ")
    for theirs, ours in PLAINER:
        said = re.sub(theirs, ours, said)
    return ".".join(map(str, where)), said, "; ".join(filter(None, fixes))


def _fields(where: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Without what pydantic calls the members of a union: `Recipe`, `function-after[…]`."""
    return tuple(part for part in where if not (isinstance(part, str) and (part[:1].isupper() or "[" in part)))


def now_utc() -> datetime:
    """The default of a model's own times. Everything that is computed takes `now` from the clock port."""
    return datetime.now(UTC)
