"""What is said about a page that is not as it should be, and what its rules are all the same. P1, P5."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent_memory.core.rules.codes import ERRORS, FIXABLE, WARNINGS
from agent_memory.core.rules.fix import fixed
from agent_memory.core.rules.lint import lint
from agent_memory.core.rules.merge import merged
from agent_memory.core.rules.page import read
from agent_memory.core.rules.template import PROCEDURAL, WORKING
from agent_memory.models.rules import Layer, Page, Rule, Version
from patience import growth

OWN = ".memory/procedural.md"


def rules(items: str, path: str = OWN) -> Page:
    return read(path, f"## Rules\n\n{items}")


def rule(items: str, path: str = OWN) -> Rule:
    (found,) = rules(items, path).rules
    return found


CASES = {
    "unknown-key": ("- **a** (deny) x\n  - comand: `git x`", "4:5", "did you mean `command`?"),
    "bad-severity": ("- **a** (dney) x\n  - command: `git x`", "3:3", "did you mean (deny)?"),
    "bad-id": ("- **Never merge** (deny) x\n  - command: `git x`", "3:3", "**never-merge**"),
    "duplicate-id": ("- **a** (advise) x\n- **a** (advise) y", "4:3", "line 3"),
    "bad-pattern": ("- **a** (deny) x\n  - text:\n  - contains: `ok`, `/(/`", "5:21", "/(/"),
    "no-check": ("- **a** (deny) x", "3:3", "nothing can be checked"),
    "no-condition": ("- **a** (require) x\n  - path: `a`", "3:3", "does not say what it requires"),
    "wrong-condition": ("- **a** (deny) x\n  - command: `a`\n  - where: `b` = `c`", "3:3", "but of: tool"),
    "no-subject": ("- **a** (deny) x\n  - unless: `a`", "3:3", "without one of"),
    "two-subjects": ("- **a** (deny) x\n  - command: `a`\n  - path: `b`", "5:5", "make two rules"),
    "empty-rule": ("- **a** (advise)\n", "3:3", "has no text"),
    "no-value": ("- **a** (deny) x\n  - command: git merge", "4:5", "between backticks"),
    "bad-value": ("- **a** (deny) x\n  - tool: `t`\n  - where: `b`", "5:12", "wants a value"),
    "missing-colon": ("- **a** (deny) x\n  - command `git x`", "4:5", "a colon"),
    "git-config": ("- **a** (advise) x\n  - git config: `core.pager=sh`", "4:17", "may not set 'core.pager'"),
    "too-long": (f"- **a** (deny) x\n  - command: {'`x`, ' * 10_000}", "4:5", "cut it"),
    "made-id": ("- Write short sentences.", "3:3", "**write-short-sentences**"),
    "severity-case": ("- **a** (ADVISE) x", "3:3", "(advise)"),
    "key-spelling": ("- **a** (deny) x\n  - Commands: `git x`", "4:5", "`command`"),
    "unused-check": ("- **a** x\n  - command: `git x`", "3:3", "no severity"),
    "stray-text": ("- **a** (deny) x\n  - command: `git x` anywhere", "4:5", "'anywhere'"),
    "stray-rule": ("- Git:\n  - **a** (deny) x", "4:5", "move it"),
    "section-name": ("\n## Exampels\n\n- x", "4:1", "'Examples'"),
    "nested-deeply": ("- " * 40 + "x", "3:1", "too deeply"),
    "control-characters": ("- **a** (advise) x\0", "3:19", "NUL"),
    "front-matter": (None, "2:5", "not YAML"),
    "skill-form": (None, "1:1", "no description"),
    "unreadable": (None, "1:1", "split it"),
}


def test_every_code_has_a_case() -> None:
    assert set(CASES) | {"loosened"} == set(ERRORS) | set(WARNINGS)  # that takes two pages


@pytest.mark.requirement("P1", "P5")
@pytest.mark.parametrize("code", CASES)
def test_a_finding_says_where_and_what_to_do(code: str) -> None:
    text, place, said = CASES[code]
    page = {
        "front-matter": read(OWN, "---\na: b: c\n---\n## Rules\n\n- **a** (advise) x"),
        "skill-form": read("skills/a/SKILL.md", "---\nname: a\n---\nDo it."),
        "unreadable": read(OWN, "x\n" * 30_000),
    }.get(code) or rules(text or "")
    found = [one for one in page.findings if one.code == code]
    assert [f"{one.line}:{one.column}" for one in found] == [place]
    assert said in found[0].message
    assert found[0].level == ("error" if code in ERRORS else "warning")
    assert str(found[0]).startswith(f"{page.path}:{place} {code} ")


BROKEN = sorted(
    {"bad-pattern", "bad-value", "missing-colon", "no-condition", "no-value", "too-long", "two-subjects"}
    | {"unknown-key", "wrong-condition", "bad-severity"}
)


@pytest.mark.requirement("P5")
@pytest.mark.parametrize("code", BROKEN)
def test_a_rule_whose_check_cannot_be_used_says_so_and_keeps_its_subject(code: str) -> None:
    found = rule(CASES[code][0] or "")
    assert found.broken and found.severity in ("deny", "require")
    assert found.check is not None


def test_other_words_for_keys_mean_the_same() -> None:
    plain = rule("- **a** (deny) x\n  - command: `git x`\n  - unless: `git x y`\n  - because: z")
    other = rule("- **a** (deny) x\n  - __Commands__: `git x`\n  - Except: `git x y`\n  - Reason: z")
    assert plain.model_dump(exclude={"at"}) == other.model_dump(exclude={"at"})


def test_values_may_stand_in_a_list_and_keys_in_any_order() -> None:
    found = rule("- **a** (deny): x\n  - unless:\n    - `git x y`\n  - command:\n    - `git x`\n    - `git z`")
    assert found.check and found.check.patterns == ("git x", "git z") and found.check.unless == ("git x y",)


def test_code_in_comments_and_code_blocks_is_no_value_and_no_rule() -> None:
    found = rules(
        "- **a** (deny) x\n  - command: `git x` <!-- not `git y` -->\n\n```\n- **b** (deny) y\n```\n<!--\n- c\n-->"
    )
    (only,) = found.rules
    assert only.check and only.check.patterns == ("git x",)
    assert found.findings == ()


def test_more_than_a_sentence_is_kept_with_the_rule() -> None:
    found = rule(
        "- **a** (advise) One\n  two.\n\n  Three.\n\n  ```sh\n  run   it\n  ```\n\n  - four\n  - because: five"
    )
    assert found.text == "One two.\n\nThree.\n\n```sh\nrun   it\n```\n\n- four" and found.because == "five"


def test_only_harmless_settings_of_git_may_be_asked_for() -> None:
    found = rules(
        "- **a** (advise) x\n  - git config: `PULL.Rebase = true`, `core.hooksPath=/x`, `alias.x=!sh`, `user.name`"
    )
    assert found.rules[0].git_config == {"pull.rebase": "true"}
    assert [one.code for one in found.findings] == ["git-config", "git-config", "bad-value"]


@pytest.mark.requirement("P1")
@pytest.mark.parametrize("path", ["AGENTS.md", "sub/CLAUDE.md"])
def test_pages_for_any_agent_are_taken_as_they_stand(path: str) -> None:
    text = """\
Intro.

# Setup
- Run `make`.
  - note: twice

## Rules
- Be kind
- **Important**: note: this
  - Why: because
- **Never Merge** (deny) Never.
  - command: `git merge`
- **bad** (deny) Broken.
  - comand: `git x`

# More
1. First
   - **nested** (deny) Found here, too.
     - command: `git y`
"""
    page = read(path, text)
    assert [(one.id, one.severity, one.broken is None) for one in page.rules] == [
        ("be-kind", "advise", True),
        ("important-note-this-why-because", "advise", True),
        ("never-merge", "deny", True),
        ("bad", "deny", False),
        ("nested", "deny", True),
    ]
    assert [(one.code, one.line) for one in page.findings] == [("unknown-key", 14)]
    assert [(one.section, one.title, one.at.line) for one in page.entries] == [
        ("guidance", path.rpartition("/")[2], 1),
        ("guidance", "Setup", 3),
        ("guidance", "More", 16),
    ]
    assert fixed(path, text) == text


@pytest.mark.requirement("P1")
def test_a_skill_has_a_name_a_description_and_a_body() -> None:
    page = read(
        "skills/deploy/SKILL.md",
        "---\nname: deploy-it\ndescription: Ship to prod\n---\n\n# Steps\n\n- **x** (deny) y\n",
    )
    (skill,) = page.entries
    assert (skill.id, skill.title, skill.text, skill.at.line) == (
        "deploy-it",
        "Ship to prod",
        "# Steps\n\n- **x** (deny) y",
        6,
    )
    assert page.rules == () and page.findings == ()


BOMB = "a: &a [x]\n" + "\n".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join([f'*{chr(97 + i)}'] * 9)}]" for i in range(9)
)


@pytest.mark.requirement("P1")
@pytest.mark.parametrize(
    "front",
    [
        BOMB,
        "[" * 8000,
        "a: [",
        "a: 2026-99-99",
        f"a: {'9' * 5000}",
        "- x",
        "x" * 20_000,
        "a: !!python/object:os.system x",
        "a: \x07",
    ],
    ids=["bomb", "deep", "open", "date", "number", "list", "long", "object", "bell"],
)
def test_broken_front_matter_is_a_finding_and_the_page_works(front: str) -> None:
    page = read(OWN, f"---\n{front}\n---\n## Rules\n\n- **a** (advise) x\n")
    assert [(one.code, one.line <= front.count("\n") + 2) for one in page.findings] == [("front-matter", True)]
    assert [(one.id, one.at.line) for one in page.rules] == [("a", front.count("\n") + 6)]


@pytest.mark.requirement("P1")
@pytest.mark.parametrize(
    "text",
    [
        "x" * 10_000_000,
        "#\n" * 500_000,
        "- " * 100_000,
        "".join(f"{'  ' * depth}- x\n" for depth in range(600)),
        "#",
        "# Rules\n" + "- **a** (deny) x\n" * 5_000,
        "# Rules\n" + "- x\n" * 5_000,
        "# Skills\n" + "- x\n" * 5_000,
        "# Rules\n\n- " + "*_" * 200_000,
        "# Rules\n\n- " + "`" * 200_000 + "\n- " + "[" * 200_000,
        "# Rules\n\n- **a** (deny) x\n  - command: " + "`a` " * 4_000,
        "\0" * 100_000,
        "> " * 100_000,
    ],
    ids=[
        "long",
        "lines",
        "nested",
        "stairs",
        "hash",
        "many",
        "alike",
        "skills",
        "stars",
        "ticks",
        "spans",
        "nuls",
        "quotes",
    ],
)
def test_a_hostile_page_is_read_in_bounded_time(text: str) -> None:
    page = read(OWN, text)
    assert len(page.findings) <= 13_500
    assert growth(lambda page: read(OWN, page), text) < 10


@pytest.mark.requirement("P1")
def test_the_template_is_clean() -> None:
    page = read(OWN, PROCEDURAL)
    assert page.findings == () and read(".memory/working.md", WORKING).findings == ()
    assert [one.id for one in page.rules] == ["no-force-push", "no-conflict-marks", "short-subject", "small-changes"]
    assert [one.section for one in page.entries] == ["skill", "example"]


def test_repairs_leave_every_other_byte() -> None:
    text = (
        "\ufeff# Rules\r\n\r\n*   (DENY)  No id  \r\n\t- Commands:   `git x`\r\n"
        "* **Bad Id** (warn) y\r\n  - path: `a`\r\n"
    )
    assert fixed(OWN, text) == (
        "\ufeff# Rules\r\n\r\n*   **no-id** (deny)  No id  \r\n\t- command:   `git x`\r\n"
        "* **bad-id** (warn) y\r\n  - path: `a`\r\n"
    )
    assert not {one.code for one in read(OWN, fixed(OWN, text)).findings} & FIXABLE


def test_a_repair_that_would_change_what_is_said_is_left_out() -> None:
    assert fixed(OWN, "# Rules\n\n- : a\n- b\n") == "# Rules\n\n- : a\n- **b** (advise) b\n"


@pytest.mark.requirement("P5")
@pytest.mark.parametrize("key", ["command", "commit message", "path", "tool", "text"])
def test_a_rule_about_nothing_in_particular_is_no_rule_about_everything(key: str) -> None:
    page = rules(f"- **a** (deny) x\n  - {key}:\n")
    assert [one.code for one in page.findings] == ["no-value"] and page.rules[0].broken


def test_the_nearest_rule_with_an_id_holds_and_side_by_side_none_is_lost() -> None:
    def page(path: str, text: str, layer: Layer = Layer.REPOSITORY) -> Page:
        return read(path, f"# Rules\n\n- **a** (advise) {text}\n- **{text}** (advise) own\n").model_copy(
            update={"layer": layer}
        )

    user = page("/home/ada/a.md", "user", Layer.USER)
    root = [page(".memory/one.md", "one"), page("AGENTS.md", "two")]
    inner = page("sub/.memory/one.md", "inner")
    book = merged([user, *root], Version())
    assert [one.text for one in book.rules if one.id == "a"] == ["one", "two"]
    assert [str(one) for one in book.findings] == [
        "AGENTS.md:3:3 duplicate-id 'a' is also the id of a rule at .memory/one.md:3"
    ]
    assert [one.id for one in merged([user, *root, inner], Version()).rules] == ["user", "one", "two", "a", "inner"]
    assert lint([user, *root, inner]) == book.findings


def test_the_guide_lists_every_code_with_its_level() -> None:
    guide = (Path(__file__).parents[4] / "docs/guides/procedures.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (error|warning)", guide, re.M))
    assert rows == {**dict.fromkeys(ERRORS, "error"), **dict.fromkeys(WARNINGS, "warning")}


def test_a_rule_without_a_word_has_a_name_all_the_same() -> None:
    found = rule("- - because: so\n")
    assert (found.id, found.text) == ("rule", "rule")
