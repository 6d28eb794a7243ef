"""What a page of procedures is read as. P1."""

from __future__ import annotations

import pytest

from agent_memory.core.rules.page import Facts, read
from agent_memory.models.rules import Layer, Page

OWN = ".memory/procedural.md"
EXAMPLE = """\
## Rules

- **never-merge** (deny) Always rebase, never merge.
  - command: `git merge`, `git pull`
  - unless: `git pull --rebase`, `git pull --ff-only`, `git merge --abort`
  - because: a linear history can be bisected
  - fix: `git rebase main`
  - git config: `pull.rebase=true`

- **conventional-commits** (require) Commit messages follow Conventional Commits.
  - commit message: conventional

- **audit-request-id** (require) Audit logs must include the request id.
  - path: `logs/audit*.log`
  - every line: `request_id=`

- **no-prod-delete** (deny) Never `kubectl delete` in prod.
  - command: `kubectl delete --context=prod*`, `kubectl delete -n prod`

- **prod-db** (deny) No tool deletes in the production database.
  - tool: `sql`, `mcp__db__*`
  - where: `database` = `prod*`, `query` = `/(?i)\\b(drop|delete)\\b/`

- **main-is-protected** (deny) Nobody commits on main.
  - commit message:
  - branch: `main`

- Write short sentences.

## Skills

### Deploy

1. Build it.

   ```sh
   make build
   ```
2. Ship it.

### Roll back

- Ask first.

## Examples

- A commit: "Make writes cheaper".
"""


def page(text: str, path: str = OWN) -> Page:
    return read(path, text)


def codes(text: str, path: str = OWN) -> list[str]:
    return [finding.code for finding in page(text, path).findings]


@pytest.mark.requirement("P1")
def test_the_rules_of_a_page() -> None:
    found = read(OWN, EXAMPLE, Facts(Layer.USER, "c0ffee", True))
    shown = {rule.id: rule.model_dump(exclude_defaults=True, exclude={"id", "text", "at"}) for rule in found.rules}
    assert shown == {
        "never-merge": {
            "severity": "deny",
            "check": {
                "subject": "command",
                "patterns": ("git merge", "git pull"),
                "unless": ("git pull --rebase", "git pull --ff-only", "git merge --abort"),
            },
            "because": "a linear history can be bisected",
            "fix": "git rebase main",
            "git_config": {"pull.rebase": "true"},
        },
        "conventional-commits": {
            "severity": "require",
            "check": {"subject": "commit message", "patterns": ("conventional",)},
        },
        "audit-request-id": {
            "severity": "require",
            "check": {"subject": "path", "patterns": ("logs/audit*.log",), "every_line": ("request_id=",)},
        },
        "no-prod-delete": {
            "severity": "deny",
            "check": {
                "subject": "command",
                "patterns": ("kubectl delete --context=prod*", "kubectl delete -n prod"),
            },
        },
        "prod-db": {
            "severity": "deny",
            "check": {
                "subject": "tool",
                "patterns": ("sql", "mcp__db__*"),
                "where": (
                    {"name": "database", "pattern": "prod*"},
                    {"name": "query", "pattern": r"/(?i)\b(drop|delete)\b/"},
                ),
            },
        },
        "main-is-protected": {"severity": "deny", "check": {"subject": "commit message", "branches": ("main",)}},
        "write-short-sentences": {},
    }
    first = found.rules[0]
    assert first.text == "Always rebase, never merge."
    assert str(first.at) == f"{OWN}:3 (c0ffee, changed since)" and first.at.layer == Layer.USER
    assert [(one.code, one.line, one.level) for one in found.findings] == [("made-id", 28, "warning")]


@pytest.mark.requirement("P1")
def test_the_skills_and_examples_of_a_page_keep_their_markdown() -> None:
    shown = [(one.section, one.id, one.at.line, one.text) for one in page(EXAMPLE).entries]
    assert shown == [
        (
            "skill",
            "deploy",
            32,
            "### Deploy\n\n1. Build it.\n\n   ```sh\n   make build\n   ```\n2. Ship it.",
        ),
        ("skill", "roll-back", 41, "### Roll back\n\n- Ask first."),
        ("example", "a-commit-make-writes-cheaper", 47, '- A commit: "Make writes cheaper".'),
    ]
