"""The core tools as a model meets them: few arguments, flat, and no action to choose. What is given decides which
operation it is; every other argument of that operation is understood, too, though it costs no words here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agent_memory.app.registry import installed_kinds
from agent_memory.interfaces.mcp.arguments import kind
from agent_memory.models.errors import InvalidInput
from agent_memory.models.rules import Action

Given = dict[str, Any]
Schema = dict[str, Any]
Chosen = tuple[str | None, Given]

LONGEST_ID = 6  # words
LONGEST_NAME = 200  # characters of a preference that has no name of its own
GENERAL = "general"  # the domain of a preference that names none
SOURCE = "extraction"  # of a fact that an agent took from a conversation
_ENDED = ("completed", "abandoned", "blocked")  # no set: a model may say anything, also what cannot be in one
_FLAG = TypeAdapter(bool)
_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_WHEN = "2026-03-01, yesterday, 2 days ago"


@dataclass(frozen=True)
class Face:
    """`says` when to use it, `takes` its arguments, of which it `needs` some; `leads` from them to an action."""

    says: str
    takes: Callable[[], Schema]
    needs: tuple[str, ...]
    leads: Callable[[Given], Chosen]

    def schema(self) -> Schema:
        needs = {"required": list(self.needs)} if self.needs else {}
        return {"type": "object", "properties": self.takes(), **needs}


def _said(text: str, **more: Any) -> Schema:
    return {**_TEXT, "description": text, **more}


def _kinds(only: Callable[[str], bool]) -> Schema:
    return {**_TEXT, "enum": [name for name in installed_kinds() if only(name)]}


def _plain(name: str) -> bool:
    """Whether a text is all that a record of this kind needs."""
    try:
        installed_kinds()[name].check({})
    except InvalidInput:
        return name == "preference"
    return True


def _recall(given: Given) -> Chosen:
    return ("search" if "query" in given else "list"), given


def _save(given: Given) -> Chosen:
    """With an id it corrects; otherwise the kind says which operation knows best."""
    if "id" in given:
        if not given.keys() & {"text", "payload", "when", "valid_from"}:
            return ("progress" if given.get("status") in _ENDED else "amend"), given
        return "edit", {name: value for name, value in given.items() if name != "kind"}
    sort = kind(given.get("kind", "fact" if given.keys() >= {"subject", "predicate"} else "observation"))
    rest = {name: value for name, value in given.items() if name != "kind"}
    if "tags" in rest and sort in ("preference", "fact", "goal"):
        hint = "say them in the text, or save an observation, which has tags"
        raise InvalidInput(f"tags: a {sort} has none", hint=hint, field="tags")
    if sort == "preference":
        return "preference", _preference(rest)
    if sort == "fact":
        return "fact", {"source": SOURCE, **rest}
    return ("goal", rest) if sort == "goal" else ("note", {**_note(rest, sort), "kind": sort})


def _note(given: Given, sort: object) -> Given:
    """What only facts have is said in the text; tags go beside it, or behind it where the kind has no room for them."""
    said = dict(given)
    words = [str(one) for name in ("subject", "predicate") if (one := said.pop(name, None))]
    text = said.get("text")
    if isinstance(text, str) and (words := [one for one in words if one.casefold() not in text.casefold()]):
        said["text"] = f"{' '.join(words)}: {text}"
    if "tags" in said and _has_tags(sort):
        payload = said.get("payload")
        said["payload"] = {**(payload if isinstance(payload, dict) else {}), "tags": said.pop("tags")}
    elif tags := said.pop("tags", None):
        named = ", ".join(map(str, tags)) if isinstance(tags, list) else str(tags)
        said |= {"text": f"{said['text']} (tags: {named})"} if isinstance(text, str) else {}
    return said


def _has_tags(sort: object) -> bool:
    known = installed_kinds().get(sort) if isinstance(sort, str) else None
    return known is not None and (
        "tags" in known.payload.model_fields or known.payload.model_config.get("extra") == "allow"
    )


def _preference(given: Given) -> Given:
    """Under a subject and a name, if it has them; a sentence alone is both name and value, so that it stands beside
    others and says what is wanted."""
    said = dict(given)
    domain = said.pop("domain", said.pop("subject", GENERAL))
    name, text = said.pop("name", said.pop("predicate", None)), said.pop("value", said.pop("text", None))
    if name is None and isinstance(text, str):
        name = " ".join(text.split())[:LONGEST_NAME]
    return {**said, "domain": domain, **({} if name is None else {"name": name, "value": text})}


def _get(given: Given) -> Chosen:
    asked = dict(given)
    if _flag("history", asked.pop("history", False)):
        return "history", {name: value for name, value in asked.items() if name == "id"}
    return "one", asked


def _flag(name: str, said: object) -> bool:
    """Also where a model quotes it."""
    try:
        return _FLAG.validate_python(said)
    except ValidationError:
        raise InvalidInput(f"{name}: {str(said)[:80]!r} is no flag", hint="true or false", field=name) from None


def _forget(given: Given) -> Chosen:
    """By id; or all of a conversation, a kind or a repository, which are only counted unless it is said otherwise."""
    many = given.keys() & {"conversation_id", "kinds", "repository"}
    if "ids" not in given and not many:
        hint = "`recall` what is meant, make sure with the user, then give the ids of the hits"
        raise InvalidInput("ids: nothing to forget was named", hint=hint, field="ids")
    if "ids" not in given:
        return "where", {"dry_run": True, **given}
    if many or _flag("dry_run", given.get("dry_run", False)):
        hint = "give the ids alone: they are erased at once; `get` shows what one is"
        raise InvalidInput(
            f"{min(many or {'dry_run'})}: cannot be beside ids", hint=hint, field=min(many or {"dry_run"})
        )
    return "ids", {name: value for name, value in given.items() if name != "dry_run"}


def _proposal(given: Given) -> Given:
    """A sentence as a page would have it: advice, or, beside what it is about, a rule that forbids that."""
    said = dict(given)
    about = {name.replace("_", " "): said.pop(name) for name in ("command", "path", "commit_message") if name in said}
    text = " ".join(said["rule"].split())
    if "**" not in text:
        id = "-".join(re.findall(r"[a-z0-9]+", text.casefold())[:LONGEST_ID])
        keys = "".join(f"\n  - {name}: `{value}`" for name, value in about.items())
        said["rule"] = f"**{id}** ({'deny' if about else 'advise'}) {text}{keys}"
    return said


def _rules(given: Given) -> Chosen:
    if isinstance(given.get("rule"), str):
        return "propose", _proposal(given)
    return ("check" if given.keys() & Action.model_fields.keys() else "prompt"), given


FACES: Mapping[str, Face] = MappingProxyType(
    {
        "recall": Face(
            "Search memory. Use it first, whenever earlier conversations, decisions, facts or wishes may matter. Gives "
            "short hits with ids, best first.",
            lambda: {
                "query": _said("a question in plain words; none lists the newest"),
                "kind": _kinds(lambda name: installed_kinds()[name].searchable),
                "at": _said("what was true then"),
                "after": _said(f"{_WHEN} …"),
                "before": _TEXT,
                "limit": {"type": "integer", "default": 10},
            },
            (),
            _recall,
        ),
        "context": Face(
            "Use it when a task begins: the rules of the repository, the user's preferences and goals, and what is "
            "known about the task, as one text.",
            lambda: {
                "task": _TEXT,
                "kinds": _TEXTS,
                "repository": _TEXT,
                "at": _said("as it was then"),
                "max_tokens": {"type": "integer", "default": 4000},
            },
            ("task",),
            lambda given: (None, given),
        ),
        "save": Face(
            "Save what will matter later, one thing at a time, in words that will be understood without this "
            "conversation. A fact or preference takes the place of the one with the same subject and predicate.",
            lambda: {
                "text": _said("who, what and why"),
                "kind": {**_kinds(_plain), "default": "observation"},
                "subject": _said("whom or what it is about, such as git"),
                "predicate": _said("what is said of it: works from, merge style"),
                "when": _said("since when it is true, if not now"),
                "id": _said("correct this record instead"),
            },
            ("text",),
            _save,
        ),
        "get": Face(
            "One record, whole.",
            lambda: {
                "id": _TEXT,
                "history": {"type": "boolean", "description": "all its versions"},
                "at": _said("as it was true then"),
                "max_tokens": {"type": "integer", "default": 2000},
            },
            ("id",),
            _get,
        ),
        "forget": Face(
            "Erase for good, with what was derived from it. Only when the user asks for it. By ids, or all that fits "
            "the rest: first counted, then erased with dry_run false.",
            lambda: {
                "ids": {**_TEXTS, "description": "what must go"},
                "conversation_id": _TEXT,
                "kinds": _TEXTS,
                "repository": _TEXT,
                "dry_run": {"type": "boolean", "default": True},
            },
            (),
            _forget,
        ),
        "rules": Face(
            "What the people of a repository forbid, require and advise. Check a command, a path or a commit message "
            "before you act; propose a rule that you learned, for a person to decide; otherwise it gives the "
            "rules for a task.",
            lambda: {
                "action": {**_TEXT, "enum": ["prompt", "check", "propose", "read"]},
                "task": _TEXT,
                "command": _said("a shell line"),
                "path": _TEXT,
                "commit_message": _TEXT,
                "rule": _said("a rule to propose, in a sentence; beside a command or path it forbids that"),
            },
            (),
            _rules,
        ),
    }
)
"""By the name of the tool, those that an agent needs most first."""
