"""A rule that we write is read back as the same rule."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent_memory.core.rules.page import read
from agent_memory.core.rules.written import markdown, span
from agent_memory.models.rules import Rule

PAGE = """
## Rules

- **never-merge** (deny) Always rebase, never merge.
  - command: `git merge`, `git pull`
  - unless: `git pull --rebase`, `git merge --abort`
  - branch: `main`
  - because: a linear history can be bisected
  - fix: `git rebase main`
  - git config: `pull.rebase=true`
- **conventional-commits** (require) Commit messages follow Conventional Commits.
  - commit message: conventional
- **audit-request-id** (require) Audit logs must include the request id.
  - path: `logs/audit*.log`
  - every line: `request_id=`, ``a `tick` ``
- **prod-db** (deny) No tool deletes in the production database.
  - tool: `sql`, `mcp__db__*`
  - where: `database` = `prod*`, `query` = `/(?i)\\b(drop|delete)\\b/`
- **plan-first** (require) Plan before you apply.
  - command: `terraform apply`
  - with: `-auto-approve=false`
- **kind** Be kind.
- **release** (deny) Release from main.

  Why that matters:

  ```sh
  git tag v1

  git push
  ```

  - first this
  - then that

  | a | b |
  |---|---|

  - command: `git tag`
- **protected** (warn) Nobody commits on main.
  - commit message:
  - branch: `main`
"""


def bare(rule: Rule) -> Rule:
    return rule.model_copy(update={"at": None})


def test_every_sort_of_rule_is_read_back_the_same() -> None:
    page = read("procedural.md", PAGE)
    assert len(page.rules) == 8 and not [one for one in page.rules if one.broken]
    again = read("procedural.md", "## Rules\n\n" + "".join(markdown(rule) for rule in page.rules))
    assert [bare(rule) for rule in again.rules] == [bare(rule) for rule in page.rules]


@given(st.text(alphabet="`ab /\\*|", min_size=1, max_size=12).filter(lambda text: text.strip() == text))
def test_a_code_span_holds_exactly_its_text(text: str) -> None:
    page = read("procedural.md", f"## Rules\n\n- **a** (deny) A.\n  - text:\n  - contains: {span(text)}\n")
    (rule,) = page.rules
    assert rule.check is not None and rule.check.contains == (text,)
