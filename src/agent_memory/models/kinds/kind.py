"""What a kind of memory is: one small value. A new one needs no line anywhere else."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticSerializationError

from agent_memory.models.errors import InvalidInput
from agent_memory.models.model import Model, clean_name, invalid

LONGEST_PAYLOAD = 1_000_000


class Anything(Model):
    """The payload of a kind that promises nothing about it."""

    model_config = ConfigDict(extra="allow")


@dataclass(frozen=True)
class Holder:
    """What has the records of a kind: their conversation, or the user. Its record is made with the first of them, and a
    link of this type leads from it to each, with these fields of their payload as its properties."""

    kind: Literal["conversation", "user"]
    type: str
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kind:
    """A type of record.

    name, plural   how it is called; `plural` names its SQL view
    payload        the pydantic model that its payload must fit
    key            (text, payload) -> natural key, or None where each record stands alone
    succeeds       True: a new version of a key follows the old one in valid time (a preference, a fact);
                   False: it corrects the old one, which was never true (a turn, a tool call)
    indexed        payload fields that lists can filter by
    position       the payload field that orders a conversation, where there is one
    said_by        payload -> names of who said it
    called         payload -> names by which a question may call it; None: it has none
    needs_text     whether its text may not be empty
    sources        the sources it may have, the usual one first; any, where none are named
    searchable     whether recall looks at it when no kinds are named
    tier           where a context shows it: working, longterm or knowledge; `user` stands before all of them
    shown          (text, payload) -> what a context shows of it
    longest        payload -> how many characters its text may have; None: as many as any text
    retells        True: it retells what it was derived from, and goes when any of that is forgotten
    holder         what has it, where something does
    merges         whether records that state the same fact become one; only where each stands alone, with no key
    asserts        what it says is taken for true (a fact), or guides every answer (a directive): neither may come from
                   just anywhere
    """

    name: str
    plural: str
    payload: type[BaseModel] = Anything
    key: Callable[[str, dict[str, Any]], str | None] = lambda text, payload: None
    succeeds: bool = False
    indexed: tuple[str, ...] = ()
    position: str | None = None
    said_by: Callable[[dict[str, Any]], tuple[str, ...]] = lambda payload: ()
    called: Callable[[dict[str, Any]], tuple[str, ...]] | None = None
    needs_text: bool = True
    sources: tuple[str, ...] = ()
    searchable: bool = True
    tier: Literal["working", "longterm", "knowledge", "user"] = "longterm"
    shown: Callable[[str, dict[str, Any]], str] = lambda text, payload: text
    longest: Callable[[dict[str, Any]], int] | None = None
    retells: bool = False
    holder: Holder | None = None
    asserts: Literal["fact", "directive"] | None = None
    merges: bool = False

    def check(self, payload: dict[str, Any]) -> dict[str, Any]:
        """The payload as plain JSON values, validated; `InvalidInput` names the field that is wrong."""
        return self._checked(payload) if payload else dict(self._nothing)

    @cached_property
    def _nothing(self) -> dict[str, Any]:
        """What an empty payload comes to: the same every time."""
        return self._checked({})

    def _checked(self, payload: dict[str, Any]) -> dict[str, Any]:
        try:
            checked = self.payload.model_validate(payload)
        except ValidationError as error:
            raise invalid(self.name, error) from None
        try:
            plain: dict[str, Any] = checked.model_dump(mode="json")
        except (PydanticSerializationError, ValueError, RecursionError) as error:
            raise InvalidInput(f"payload: {error}", hint="use values that JSON can hold", field="payload") from None
        declared = self.payload.model_fields
        absent = {name for name, value in plain.items() if value is None and name in declared}
        return {
            name: value for name, value in plain.items() if name not in absent or declared[name].default is not None
        }


_spell = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def check_plain(value: Any) -> None:
    """Whether `canonical_json` could spell these plain values, without spelling them: that takes several times as long,
    and is done where they are stored. A ValueError says why not."""
    left, size = [value], 0
    while left:
        one = left.pop()
        if isinstance(one, str):
            size += len(one)
            if not one.isascii():
                one.encode()
        elif isinstance(one, dict):
            left += one
            left += one.values()
            size += len(one)
        elif isinstance(one, list):
            left += one
            size += len(one)
        elif isinstance(one, float) and not math.isfinite(one):
            raise ValueError(f"{one} is not a finite number")
    if size > LONGEST_PAYLOAD:
        raise ValueError(f"more than {LONGEST_PAYLOAD} characters of JSON")


def canonical_json(value: Any, field: str = "payload", most: int = LONGEST_PAYLOAD) -> str:
    """One spelling per value: sorted keys, no spaces, no NaN."""
    try:
        text = _spell(value)
        if not text.isascii():
            text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{field}: cannot be stored as JSON: {error}",
            hint="use strings, finite numbers, booleans, lists and dicts with string keys",
            field=field,
        ) from None
    if len(text) > most:
        raise InvalidInput(
            f"{field}: {len(text)} characters of JSON; the limit is {most}",
            hint="keep large data in a file and store its path and hash",
            field=field,
        )
    return text


def typed_value(text: str) -> Any:
    """What somebody meant who typed a value: JSON (true, 3, ["a"]), unless its spelling would be lost; otherwise the
    text itself. A number with a point is text: 3.10 is a version, and must not become 3.1."""
    try:
        value = json.loads(text, parse_float=_exact, parse_constant=_exact)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(value, float) else value


def _exact(spelling: str) -> float:
    number = float(spelling)
    if repr(number) != spelling:
        raise ValueError(spelling)
    return number


def fold(name: str) -> str:
    """How keys are compared: NFKC and case-folded, blanks trimmed. The text itself is kept verbatim."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).strip()


def joined_key(*parts: object) -> str:
    """A natural key of several parts; the unit separator cannot be typed by accident."""
    return "\x1f".join(fold(str(part)) for part in parts)


def checked_key(key: str) -> str:
    """A caller's own key, folded; `InvalidInput` when it is no name."""
    try:
        return fold(clean_name(key))
    except ValueError as error:
        raise InvalidInput(f"key: {error}", field="key") from None
