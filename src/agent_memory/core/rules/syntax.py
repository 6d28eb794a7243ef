"""From an item of a list to a rule: its id, severity and text, and the keys below it. Reading is generous, and what
could not be understood is said, with its place: a rule that is not understood must not look like one that is."""

from __future__ import annotations

import difflib
import re
import unicodedata
from dataclasses import dataclass, field
from types import MappingProxyType

from agent_memory.core.rules import keys, markdown
from agent_memory.core.rules.codes import Notes
from agent_memory.core.rules.markdown import LONGEST_PARAGRAPH, Block, MarkdownSource
from agent_memory.core.rules.values import Values
from agent_memory.models.rules import Check, Severity, Subject

ID = re.compile(r"[a-z0-9][a-z0-9-]*")
LONGEST_ID = 64
ID_WORDS = 6  # of a text that become its id
LONGEST_KEY = 40
SEVERITIES = tuple(severity.value for severity in Severity)
MEANT = MappingProxyType(
    {
        **dict.fromkeys(("block", "error", "forbid", "forbidden", "never", "no", "prohibit", "refuse", "stop"), "deny"),
        **dict.fromkeys(("caution", "note", "warning"), "warn"),
        **dict.fromkeys(("always", "enforce", "must", "need", "required"), "require"),
        **dict.fromkeys(("advice", "hint", "info", "may", "prefer", "should", "tip"), "advise"),
    }
)
"""What people write for a severity, for saying what they may have meant."""


@dataclass(frozen=True)
class ItemHead:
    """The beginning of an item, as it was written."""

    id: str | None
    severity: str | None
    text: str


@dataclass
class RuleDraft:
    """A rule that has no id yet, and what is wrong with its check."""

    item: Block
    head: ItemHead
    place: tuple[int, int]
    severity: Severity = Severity.ADVISE
    text: str = ""
    subject: Subject | None = None
    values: Values = field(default_factory=Values)
    keys: list[str] = field(default_factory=list)
    formed: bool = True
    broken: list[str] = field(default_factory=list)

    @property
    def check(self) -> Check | None:
        if self.subject is None:
            return None
        return Check(subject=self.subject, patterns=self.values.patterns.get(self.subject, ()), **self.values.fields())


def draft(source: MarkdownSource, item: Block, notes: Notes, *, foreign: bool = False) -> RuleDraft | None:
    """One item of a section; None if it says nothing. `foreign` pages were not written for us: only what has an id and
    a severity is read as more than text."""
    opening = item.blocks[0] if item.blocks and item.blocks[0].kind == "paragraph" else None
    head = ItemHead(None, None, "") if opening is None else head_of(opening.content)
    place = markdown.within(source, opening, 0) if opening else (item.first, 0)
    made = RuleDraft(item, head, place)
    below = [(one, keyed(one)) for block in item.lists() for one in block.blocks]
    if foreign:
        formed = head.id is not None and head.severity is not None
    else:
        formed = head.id is not None or head.severity is not None or any(known_key(key) for _, key in below)
    if foreign and not formed:
        made.head = head = ItemHead(None, None, opening.content if opening else "")
    made.formed = formed
    made.text = _text(source, item, head, {one.first for one, key in below if formed and key is not None})
    if opening and len(opening.content) > LONGEST_PARAGRAPH:
        made.broken.append(notes.say("too-long", place, f"is longer than {LONGEST_PARAGRAPH} characters: cut it"))
    for one, key in sorted(below, key=lambda pair: not _names_subject(pair[1])):  # what an exception is, they decide
        if formed and key is not None:
            _understand(source, made, one, key, notes)
    if not made.text and head.id is None and not made.keys:
        notes.say("empty-rule", place, "the item is empty: write the rule, or remove it")
        return None
    if not made.text:
        notes.say("empty-rule", place, "the rule has no text: say in a sentence what it asks for")
    _weigh(made, notes)
    return made


def head_of(content: str) -> ItemHead:
    """`**id** (severity) text`, as far as it is there."""
    bold, rest = _bold(content)
    word, after = _bracketed(rest)
    if bold is not None and word is not None and (like_severity(word) or (ID.fullmatch(bold) and " " not in word)):
        return ItemHead(bold, word, after)
    if bold is not None and ID.fullmatch(bold):
        return ItemHead(bold, None, _after(rest))
    word, after = _bracketed(content)
    if bold is None and word is not None and like_severity(word):
        return ItemHead(None, word, after)
    return ItemHead(None, None, _flat(content))


def like_severity(word: str) -> bool:
    plain = word.strip().lower()
    return plain in MEANT or plain in SEVERITIES or bool(difflib.get_close_matches(plain, SEVERITIES, 1, 0.75))


def keyed(item: Block) -> str | None:
    """The key that an item below a rule begins with, as it was written; with no colon, if it is a key of ours."""
    if not item.blocks or item.blocks[0].kind != "paragraph":
        return None
    content = item.blocks[0].content
    before, colon, _ = content[:LONGEST_PARAGRAPH].partition(":")
    said = before.strip().strip("*_").strip()
    if colon and 0 < len(said) <= LONGEST_KEY and re.fullmatch(r"[A-Za-z]+([ _-][A-Za-z]+){0,2}", said):
        return f"{said}:"
    words = re.match(r"[A-Za-z]+(?: [A-Za-z]+)?(?= *`)", content)  # `command` and then a value, at once
    return words[0] if words and keys.known(words[0])[0] else None


def known_key(key: str | None) -> bool:
    return key is not None and keys.known(key.rstrip(":"))[0] is not None


def _names_subject(key: str | None) -> bool:
    return key is not None and keys.known(key.rstrip(":"))[0] in keys.SUBJECTS


def slug(text: str, words: int = ID_WORDS) -> str:
    """An id made of the first words of a text; of its letters' numbers where it has none that an id can have."""
    plain = unicodedata.normalize("NFKD", text[:1000]).encode("ascii", "ignore").decode().lower()
    found = re.findall(r"[a-z0-9]+", plain.replace("'", ""))
    made = "-".join(found[:words])[:LONGEST_ID].strip("-")
    return made or "-".join(["rule", *(f"{ord(char):x}" for char in text.strip()[:4])])


def _bold(content: str) -> tuple[str | None, str]:
    """The bold beginning of a paragraph, and what follows it."""
    if not content.startswith(("**", "__")):
        return None, content
    found = [one for one in markdown.spans(content[: LONGEST_ID * 8]) if one.text or one.kind != "text"]
    if len(found) < 3 or [one.kind for one in found[:3]] != ["strong", "text", "end"]:
        return None, content
    mark, inner = found[0].text, found[1].text
    if not content.startswith(mark + inner + mark):
        return None, content
    return inner.strip().removesuffix(":"), content[len(mark + inner + mark) :]


def _bracketed(text: str) -> tuple[str | None, str]:
    """A word in brackets, and what follows it and a colon."""
    text = text.lstrip()
    word, closed, after = text[1:].partition(")")
    if not text.startswith("(") or not closed or len(word) > LONGEST_KEY or "\n" in word:
        return None, text
    return word, _after(after)


def _after(text: str) -> str:
    return _flat(text.lstrip().removeprefix(":").lstrip())


def _flat(content: str) -> str:
    """Wrapped lines become one; the rows of a table stay."""
    lines = [line.strip() for line in content.split("\n")]
    return "\n".join(lines) if len(lines) > 1 and all("|" in line for line in lines) else " ".join(lines).strip()


def _text(source: MarkdownSource, item: Block, head: ItemHead, keyed: set[int]) -> str:
    """What the rule says: its paragraphs and all that stands below it but its keys."""
    parts = [head.text]
    for block in item.blocks[1 if item.blocks and item.blocks[0].kind == "paragraph" else 0 :]:
        if block.kind == "list":
            kept = [one for one in block.blocks if one.first not in keyed]
            parts.append("\n".join(source.between(one.first, one.end) for one in kept))
        elif block.kind == "paragraph":
            parts.append(_flat(block.content))
        else:
            parts.append(source.between(block.first, block.end))
    return "\n\n".join(part for part in parts if part.strip())


def _understand(source: MarkdownSource, made: RuleDraft, item: Block, key: str, notes: Notes) -> None:
    """One key and its values."""
    said, paragraph = key.rstrip(":"), item.blocks[0]
    place = markdown.within(source, paragraph, 0)
    name, spelled = keys.known(said)
    if name is None:
        near = difflib.get_close_matches(said.lower(), [*keys.KEYS, *keys.OTHERS], 1, 0.6)
        meant = keys.known(near[0])[0] if near else None
        hint = f"did you mean `{meant}`?" if meant else f"the keys are {', '.join(keys.KEYS)}"
        made.broken.append(notes.say("unknown-key", place, f"there is no key `{said}`: {hint}"))
        made.subject = made.subject or keys.SUBJECTS.get(meant or "")
        return
    if not key.endswith(":"):
        made.broken.append(notes.say("missing-colon", place, f"`{said}` wants a colon after it: `{name}: …`"))
        made.subject = made.subject or keys.SUBJECTS.get(name)
        return
    if not spelled:
        notes.say("key-spelling", place, f"write `{name}` for `{said}`")
    made.keys.append(name)
    if name in keys.SUBJECTS:
        subject = keys.SUBJECTS[name]
        if made.subject not in (None, subject):
            said = f"is about a {made.subject} and a {name}: make two rules of it"
            made.broken.append(notes.say("two-subjects", place, said))
            return
        made.subject = subject
    made.broken += made.values.take(source, name, item, notes, made.subject)


def _weigh(made: RuleDraft, notes: Notes) -> None:
    """Whether severity and check go together."""
    place, subject = made.place, made.subject
    for name in [
        one for one in dict.fromkeys(made.keys) if subject and subject not in keys.CONDITIONS.get(one, tuple(Subject))
    ]:
        fits = ", ".join(keys.CONDITIONS[name])
        made.broken.append(
            notes.say("wrong-condition", place, f"`{name}` cannot be asked of a {subject}, but of: {fits}")
        )
    conditions = [name for name in made.keys if name in keys.CONDITIONS]
    loose = [*conditions, *(name for name in made.keys if name == "unless")]
    if loose and subject is None and not made.broken:
        said = f"`{loose[0]}` says nothing without one of: {', '.join(keys.SUBJECTS)}"
        made.broken.append(notes.say("no-subject", place, said))
    _severity(made, notes)
    if made.severity is Severity.ADVISE:
        if subject is not None and made.head.severity is None:
            notes.say("unused-check", place, "has a check and no severity: write (deny), (warn) or (require) before it")
        elif subject is not None:
            notes.say("unused-check", place, "is advice: its check is never asked")
    elif subject is None and not made.broken:
        notes.say("no-check", place, f"nothing can be checked: name one of {', '.join(keys.SUBJECTS)} below it")
    elif subject is not None and not made.broken:
        patterns = made.values.patterns.get(subject)
        if made.severity is Severity.REQUIRE and not conditions and not (subject is Subject.COMMIT and patterns):
            said = f"does not say what it requires: add one of {', '.join(_conditions(subject))}"
            made.broken.append(notes.say("no-condition", place, said))
        elif not patterns and not conditions:
            said = f"`{subject}:` says nothing: name a pattern in a code span, or a condition"
            made.broken.append(notes.say("no-value", place, said))


def _conditions(subject: Subject) -> list[str]:
    return [name for name, subjects in keys.CONDITIONS.items() if subject in subjects]


def _severity(made: RuleDraft, notes: Notes) -> None:
    said = made.head.severity
    if said is None:
        return
    plain = said.strip().lower()
    if plain in SEVERITIES:
        made.severity = Severity(plain)
        if said != plain:
            notes.say("severity-case", made.place, f"write ({plain}) for ({said})")
        return
    near = MEANT.get(plain) or next(iter(difflib.get_close_matches(plain, SEVERITIES, 1, 0.6)), None)
    hint = f"did you mean ({near})?" if near else f"it is one of {', '.join(SEVERITIES)}"
    message = notes.say("bad-severity", made.place, f"there is no severity ({said}): {hint}")
    if made.keys or made.broken:  # it was to be enforced, and nobody knows how
        made.severity = Severity.DENY
        made.broken.append(message)
