"""What a command of git comes to: pulls and commits that merge, pushes by where they go, names for all spellings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_memory.core.rules.clone import CloneState
from agent_memory.core.rules.judge import judge
from agent_memory.core.rules.page import read
from agent_memory.core.rules.template import PROCEDURAL
from agent_memory.models.rules import Action, Rule, Verdict

pytestmark = pytest.mark.requirement("P4")
ROOT = Path(__file__).parents[3]


def rule(*lines: str, severity: str = "deny") -> Rule:
    page = read(
        ".memory/procedural.md",
        f"## Rules\n\n- **r** ({severity}) So it is.\n" + "".join(f"  - {one}\n" for one in lines),
    )
    (found,) = page.rules
    return found


def ask(one: Rule, command: str, branch: str | None = "feature", merging: bool = False, **settings: str) -> Verdict:
    known = {name.replace("__", "."): value for name, value in settings.items()}
    return judge([one], Action(command=command), clone=CloneState(known, branch, merging))


NEVER_MERGE = rule("command: `@merge`", "fix: `git rebase main`")
NO_FORCE = rule("command: @force-push")
MERGES = [
    "git merge x",
    "git merge --no-ff x",
    "git merge --squash x",
    "git merge --continue",
    "git pull",
    "git pull --no-rebase origin main",
    "git pull --rebase=false",
    "git pull --no-ff",
    "git -c pull.rebase=false pull",
    "git subtree merge --prefix=x y",
    "git subtree pull --prefix x y main",
    "git flow feature finish x",
    "gh pr merge 7 --squash",
    "gh -R o/r pr merge 7",
    "glab mr merge 7",
    "hub merge https://example.org/o/r/pull/7",
    "git checkout -B main feature",
    "git switch -C main feature",
    "git branch -f main feature",
    "sh -c 'git merge x'",
]
NO_MERGES = [
    "git merge --abort",
    "git merge --quit",
    "git merge --ff-only origin/main",
    "git pull --rebase",
    "git pull -r origin main",
    "git pull --ff-only",
    "git -c pull.rebase=true pull",
    "gh pr merge 7 --rebase",
    "git checkout -B main origin/main",
    "git checkout -B fix origin/main",
    "git branch -f feature HEAD~1",
    "git commit -m 'git merge'",
    "git mergetool",
    "git merge-base main HEAD",
]
FORCED = [
    "git push --force",
    "git push -f origin x",
    "git push -fu origin x",
    "git push --force-with-lease",
    "git push --force-with-lease=x origin x",
    "git push origin +feature",
    "git push origin +HEAD:main",
    "git push origin a +b",
    "git push --mirror backup",
    "git push origin :main",
    "git push --delete origin main",
    "git push -o ci.skip --force origin a:b",
]
UNFORCED = [
    "git push",
    "git push -u origin feature",
    "git push origin HEAD",
    "git push origin --delete old-branch",
    "git push --tags",
    "git push --dry-run --force",
]


@pytest.mark.parametrize("command", MERGES)
def test_a_merge_in_every_spelling(command: str) -> None:
    assert not ask(NEVER_MERGE, command).allowed


@pytest.mark.parametrize("command", NO_MERGES)
def test_what_only_looks_like_a_merge(command: str) -> None:
    assert ask(NEVER_MERGE, command).allowed


@pytest.mark.parametrize("command", FORCED)
def test_a_forced_push_in_every_spelling(command: str) -> None:
    assert not ask(NO_FORCE, command).allowed


@pytest.mark.parametrize("command", UNFORCED)
def test_what_forces_nothing(command: str) -> None:
    assert ask(NO_FORCE, command).allowed


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        ({}, False),
        ({"pull__rebase": "true"}, True),
        ({"pull__rebase": "merges"}, True),
        ({"pull__rebase": "false"}, False),
        ({"pull__ff": "only"}, True),
        ({"merge__ff": "only"}, True),
        ({"pull__ff": "true"}, False),
        ({"branch__feature__rebase": "true"}, True),
        ({"branch__feature__rebase": "false", "pull__rebase": "true"}, False),
        ({"branch__other__rebase": "true"}, False),
    ],
)
def test_settings_decide_whether_a_pull_merges(settings: dict[str, str], allowed: bool) -> None:
    merge = rule("command: `git merge`")
    assert ask(merge, "git pull", **settings).allowed is allowed
    assert not ask(merge, "git pull --no-rebase --no-ff", **settings).allowed
    named = rule("command: `git pull`", "unless: `git pull --rebase`, `git pull --ff-only`")
    assert ask(named, "git pull", **settings).allowed is allowed


def test_a_pull_that_merges_says_what_it_is() -> None:
    (violation,) = ask(rule("command: `git merge`"), "git pull --no-rebase origin main").violations
    assert violation.certain
    assert violation.matched == "git pull --no-rebase origin main, which is git merge --no-rebase main"
    (violation,) = ask(rule("command: `git merge`"), "git pull").violations
    assert not violation.certain and "say --rebase or --ff-only" in (violation.why or "")
    assert not ask(NEVER_MERGE, "git pull $HOW", pull__rebase="true").allowed
    assert ask(rule("command: `git merge`", "unless: `git pull origin`"), "git pull origin main").allowed
    assert ask(rule("command: `git merge`", "with: `--no-ff`", severity="require"), "git pull").allowed


def test_the_commit_of_a_merge_is_a_merge_and_says_how_to_end_it() -> None:
    for one in (NEVER_MERGE, rule("command: `git merge`", "fix: `git rebase main`")):
        assert ask(one, "git commit -m x").allowed
        (violation,) = ask(one, "git commit -m x", merging=True).violations
        assert violation.certain
        assert violation.matched == "git commit -m x, which is git merge --continue"
        assert violation.fix == "git merge --abort, then git rebase main"
    assert ask(rule("command: `@merge`"), "git commit", merging=True).violations[0].fix == "git merge --abort"
    assert ask(NEVER_MERGE, "git merge --abort", merging=True).allowed


MAIN = rule("command: `git push origin main`")


@pytest.mark.parametrize(
    "command",
    [
        "git push origin main",
        "git push origin +main",
        "git push origin feature:main",
        "git push origin +feature:refs/heads/main",
        "git push origin HEAD:main",
        "git push origin :main",
        "git push origin --delete main",
        "git push origin feature main",
        'git push origin "$BRANCH:main"',
        "git push origin feature:$TARGET",
        "git push origin --all",
        "git push origin 'refs/heads/*:refs/heads/*'",
        "git push -o x origin feature:main",
    ],
)
def test_a_push_is_judged_by_where_it_goes(command: str) -> None:
    assert not ask(MAIN, command).allowed


@pytest.mark.parametrize(
    "command", ["git push", "git push origin", "git push origin HEAD", "git push -u origin @", "git push --repo=origin"]
)
def test_a_push_goes_where_the_branch_does(command: str) -> None:
    assert ask(MAIN, command).allowed
    assert not ask(MAIN, command, branch="main").allowed


def test_settings_decide_where_a_push_goes() -> None:
    follows = {"branch__feature__merge": "refs/heads/main"}
    assert ask(MAIN, "git push", **follows).allowed
    assert not ask(MAIN, "git push", push__default="upstream", **follows).allowed
    assert not ask(MAIN, "git push", push__default="matching").allowed
    assert ask(MAIN, "git push", branch="main", push__default="nothing").allowed
    assert ask(MAIN, "git push", branch="main", remote__pushdefault="fork").allowed
    assert ask(MAIN, "git push origin main:feature", branch="main").allowed


@pytest.mark.parametrize("written", ["command: @mergee", "command: `@mergee`", "command: `git x`, @mergee"])
def test_an_unknown_name_is_a_finding_and_denies(written: str) -> None:
    page = read(".memory/procedural.md", f"## Rules\n\n- **r** (deny) No.\n  - {written}\n")
    (finding,) = page.findings
    assert (finding.level, finding.code) == ("error", "bad-pattern")
    assert "there is no effect `@mergee`: did you mean `@merge`?" in finding.message
    assert not judge(page.rules, Action(command="ls")).allowed


def test_names_are_listed_where_none_is_near_and_stand_only_where_commands_do() -> None:
    def said(written: str) -> str:
        return read("p.md", f"## Rules\n\n- **r** (deny) No.\n{written}").findings[0].message

    assert "the names are @merge, @force-push" in said("  - command: `@x`\n")
    assert "`@merge` is what a command does" in said("  - command: `git`\n  - with: `@merge`\n")
    both = rule("command: `git *`", "unless: @force-push, `git log`")
    assert ask(both, "git push -f").allowed and ask(both, "git log").allowed
    assert not ask(both, "git status").allowed


def test_who_may_force_with_a_lease() -> None:
    leased = rule("command: @force-push", "unless: `git push --force-with-lease`")
    assert ask(leased, "git push --force-with-lease origin x").allowed
    assert not ask(leased, "git push --force origin x").allowed


GOOD, BAD = "feat: read empty files", "read empty files"


@pytest.mark.parametrize("severity", ["deny", "warn", "require"])
def test_a_message_should_be_conventional_whatever_the_severity(severity: str) -> None:
    one = rule("commit message: conventional", severity=severity)
    good, bad = (judge([one], Action(commit_message=text)) for text in (GOOD, BAD))
    assert not good.violations and not good.warnings
    (found,) = bad.warnings if severity == "warn" else bad.violations
    assert "has no type" in (found.why or "")
    assert bad.allowed is (severity == "warn")
    only = rule("commit message: conventional", "branch: `main`", severity=severity)
    on = {"main": bool, "x": lambda found: not found}
    for branch, holds in on.items():
        found = judge([only], Action(commit_message=BAD, branch=branch))
        assert holds([*found.violations, *found.warnings])


EVERYDAY = """
git status
git add -A
git add -p src/app.py
git commit -m "feat: read empty files"
git commit --amend --no-edit
git commit -am 'fix: merge two lists'
git checkout -b feature
git switch main
git switch -c fix/login
git checkout -- src/app.py
git restore --staged .
git stash && git pull --rebase && git stash pop
git pull --rebase
git pull --rebase origin main
git pull --ff-only
git fetch --all --prune
git rebase main
git rebase -i HEAD~3
git rebase --continue
git rebase --abort
git merge --abort
git push
git push -u origin feature
git push origin HEAD
git push origin v1.2.0
git push --tags
git push origin --delete old-branch
git log --oneline --merges -5
git log main..HEAD
git diff --stat origin/main...HEAD
git show HEAD:README.md
git cherry-pick abc123
git revert HEAD
git reset --soft HEAD~1
git reset --hard origin/feature
git tag -a v1 -m "first"
git branch -d old
git branch --merged | grep -v main | xargs git branch -d
git blame src/app.py
git bisect run make test
git worktree add ../fix fix
git submodule update --init
git config user.name Ada
git clone https://example.org/o/r
gh pr create --fill
gh pr checkout 7
gh pr view --web
make test > /tmp/out.txt 2>&1
make -j4 | tee build/log.txt
echo "x" >> notes.txt
cat > src/new.py <<'EOF'
print("git merge")
EOF
python -m pytest -q 2>/dev/null
npm run build && cp -r dist /tmp/site
rm -rf build node_modules
mkdir -p out && mv a.txt out/
sed -i 's/a/b/' src/app.py
find . -name '*.pyc' -delete
grep -rn "git merge" docs | head
docker compose up -d
kubectl get pods -n prod
curl -fsSL https://example.org/x.tar.gz -o /tmp/x.tar.gz
for f in *.txt; do wc -l "$f"; done
if [ -f Makefile ]; then make; fi
cd app && npm test
"""


def lines() -> list[str]:
    heredoc = "cat > src/new.py <<'EOF'\nprint(\"git merge\")\nEOF"
    rest = EVERYDAY.replace(heredoc, "").strip().splitlines()
    return [heredoc, *(line for line in rest if line)]


def pages() -> dict[str, Any]:
    shown = (ROOT / "README.md").read_text("utf-8").split("```markdown\n")[1].split("```")[0]
    return {"README": shown, "template": PROCEDURAL}


@pytest.mark.parametrize("name", ["README", "template"])
def test_what_everybody_types_every_day_is_allowed(name: str) -> None:
    found = read(".memory/procedural.md", pages()[name])
    assert found.rules and not found.findings
    refused = [
        one for one in lines() if not judge(found.rules, Action(command=one), clone=CloneState({}, "feature")).allowed
    ]
    assert len(lines()) >= 60 and refused == []
