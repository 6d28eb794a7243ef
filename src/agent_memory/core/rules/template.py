"""The two pages that `rules init` writes: short, and every rule in them works."""

from __future__ import annotations

from types import MappingProxyType

from agent_memory.ports.pages import NOTES

PROCEDURAL = """\
# Procedures

What everybody who works here does, people and agents alike. `agent-memory rules lint` checks this page.

## Rules

- **no-force-push** (deny) Never force-push: others may have built on what is there.
  - command: `@force-push`
  - unless: `git push --force-with-lease`
  - fix: `git push --force-with-lease`

- **no-conflict-marks** (deny) Nothing with marks of a merge conflict is written.
  - path: `**`
  - contains: `/(?m)^<{7} /`, `/(?m)^>{7} /`

- **short-subject** (require) The first line of a commit message has at most 72 characters.
  - commit message: `/\\A.{1,72}(\\n|\\z)/`

- **small-changes** (advise) Make one change at a time, and say why in its message.

## Skills

### Check everything

Write here how to run the tests, in a form that can be copied:

```sh
make test
```

## Examples

- A commit message: "Keep drafts for a week", and in its body why.
"""

WORKING = """\
# Working memory

Notes of now: what is being done, and what comes next. Nothing in here is a rule.

- Now:
- Next:
"""

PAGES = MappingProxyType({"procedural.md": PROCEDURAL, NOTES: WORKING})
"""By their names in `.memory`."""
