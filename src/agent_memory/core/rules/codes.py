"""What a linter can find in a page: each finding has a code that stays, and a level. The guide lists them."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from agent_memory.models.rules import Finding

ERRORS = MappingProxyType(
    {
        "bad-id": "an id is lower-case letters, digits and dashes",
        "bad-pattern": "a code span cannot be a pattern",
        "bad-severity": "a severity is deny, warn, require or advise",
        "bad-value": "a value is not in the form that its key wants",
        "duplicate-id": "two rules on a page, or on pages side by side, have the same id",
        "empty-rule": "a rule says nothing",
        "front-matter": "the front matter cannot be read",
        "git-config": "`git config` names a key that a page may not set",
        "missing-colon": "a key has no colon after it",
        "no-condition": "a rule with `require` does not say what it requires",
        "no-subject": "a condition or an exception without the thing it is about",
        "no-value": "a key has no value in a code span",
        "too-long": "a paragraph of a rule is too long to be read",
        "two-subjects": "a rule is about two things",
        "unknown-key": "there is no such key",
        "unreadable": "the page cannot be read",
        "wrong-condition": "a condition cannot be asked of the rule's subject",
    }
)
WARNINGS = MappingProxyType(
    {
        "control-characters": "the page has characters that do not belong in a text",
        "key-spelling": "a key is understood, but spelled differently",
        "loosened": "a rule replaces a stricter one from farther away",
        "made-id": "a rule has no id: one was made from its words",
        "no-check": "a rule with deny, warn or require that no machine can check",
        "nested-deeply": "a list is nested too deeply to be read",
        "section-name": "a heading is nearly one that means something",
        "severity-case": "a severity is not in lower case",
        "skill-form": "a skill has no name or no description",
        "stray-rule": "a rule is outside the section Rules, and is not read",
        "stray-text": "text beside the code spans of a value means nothing",
        "unused-check": "a check under `advise` is never used",
    }
)
FIXABLE = frozenset({"bad-id", "key-spelling", "made-id", "severity-case"})
"""What `--fix` repairs, where the place in the text is certain."""


@dataclass
class Notes:
    """Findings about one page, as they are made. Lines and columns are given from 0."""

    path: str
    findings: list[Finding] = field(default_factory=list)

    def say(self, code: str, place: tuple[int, int], message: str) -> str:
        level: Literal["error", "warning"] = "error" if code in ERRORS else "warning"
        assert code in ERRORS or code in WARNINGS
        line, column = place
        self.findings.append(
            Finding(
                path=self.path,
                line=line + 1,
                column=column + 1,
                code=code,
                level=level,
                message=message,
                fixable=code in FIXABLE,
            )
        )
        return message
