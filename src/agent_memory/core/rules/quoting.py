"""What pages say in a repository that nobody here has trusted. Whoever wrote them may be anybody: their text is quoted,
with its source, and is never an instruction. Their rules may still forbid, since a no harms nobody; they can neither
permit what a rule of one's own forbids, nor tell what to do instead."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from agent_memory.models.rules import Entry, Finding, Layer, Page, Quoted, Rule, Rulebook, Version

LONGEST = 300  # characters of a rule that a verdict quotes
LONGEST_NAME = 200
UNTOLD = "on a page that is not trusted: `agent-memory rules lint` says more"
_TICKS = re.compile(r"`+")


def quoting(pages: Sequence[Page], version: Version, repository: str) -> Rulebook:
    """Only pages of one's own hold; what the others say is quoted."""
    own, theirs = _parted(pages, version)
    said = [_quoted(rule.id, "rule", rule.text, rule, repository) for rule in theirs.rules]
    said += [_quoted(entry.id, entry.section, entry.text, entry, repository) for entry in theirs.entries]
    return _together(own, theirs, {"is_trusted": False, "repository": repository, "quoted": said})


def restraining(pages: Sequence[Page], version: Version, repository: str) -> Rulebook:
    """For checks: rules of one's own as they are, and beside them those of the others, none in the place of another."""
    own, theirs = _parted(pages, version)
    known = {(rule.id, rule.severity, rule.check) for rule in own.rules}
    added = [_named(rule, repository) for rule in theirs.rules if (rule.id, rule.severity, rule.check) not in known]
    return _together(own, theirs, {"is_trusted": False, "repository": repository, "rules": [*own.rules, *added]})


def source(repository: str, page: str) -> str:
    """How a quoted text is named. Whoever wrote it chose these names, too: they are no room for prose."""
    named, file = ("%20".join(name.split())[:LONGEST_NAME] for name in (repository, page))
    return f"not trusted: {named}, {file}"


def quote(one: Quoted) -> str:
    """The text under its source; the lines after the first are set in, so that none looks like another quotation."""
    first, *others = one.text.strip().splitlines() or [""]
    named = source(one.repository, one.page).replace("]", ")")
    return "\n".join([f"[{named}] {first}", *(f"  {line}" for line in others)])


def fenced(items: Iterable[str]) -> str:
    """In a code block that no text in it can end."""
    listed = list(items)
    longest = max((len(run) for item in listed for run in _TICKS.findall(item)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([fence, *listed, fence])


def _parted(pages: Sequence[Page], version: Version) -> tuple[Rulebook, Rulebook]:
    from agent_memory.core.rules.merge import merged

    own = [page for page in pages if page.layer == Layer.USER]
    return merged(own, version), merged([page for page in pages if page.layer != Layer.USER], version)


def _together(own: Rulebook, theirs: Rulebook, changes: dict[str, object]) -> Rulebook:
    findings = [*own.findings, *(_untold(one) for one in theirs.findings)]
    return own.model_copy(update={"pages": [*own.pages, *theirs.pages], "findings": findings, **changes})


def _untold(finding: Finding) -> Finding:
    """A finding may repeat words of its page."""
    return finding.model_copy(update={"message": UNTOLD})


def _quoted(id: str, section: str, text: str, one: Rule | Entry, repository: str) -> Quoted:
    return Quoted(repository=repository, page=one.at.path, section=section, id=id, text=text)


def _named(rule: Rule, repository: str) -> Rule:
    said = json.dumps(" ".join(rule.text.split())[:LONGEST], ensure_ascii=False)
    named = f"{source(repository, rule.at.path)}: it says {said}"
    broken = "a rule of a page that is not trusted cannot be used" if rule.broken else None
    return rule.model_copy(update={"text": named, "because": None, "fix": None, "broken": broken})
