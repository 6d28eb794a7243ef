"""What a command runs in turn, in ways that are seen less often."""

from __future__ import annotations

import pytest
from saying import answer

from agent_memory.core.rules.answer import Answer
from agent_memory.core.rules.shell import understand


@pytest.mark.parametrize(
    "line",
    [
        "git-merge x",
        "/usr/lib/git-core/git-merge x",
        "git.cmd merge",
        "cmd //c git merge",
        "powershell.exe -NoProfile -c git merge",
        "pwsh -Command 'git merge x'",
        "winpty git merge",
        "wsl -e git merge",
        "valgrind --tool=x git merge",
        "perf record -- git merge",
        "xvfb-run git merge",
        "script -q /dev/null git merge",
        "runuser -u x git merge",
        "sg group 'git merge'",
        "mise x -- git merge",
        "nix-shell -p git --run 'git merge x'",
        "nix develop -c git merge",
        "npx -c 'git merge'",
        "op run -- git merge",
        "aws-vault exec prod -- git merge",
        "docker-compose -f a.yml run --rm web git merge",
        "kubectl run x --image=y -- git merge",
        "vagrant ssh -c 'git merge'",
        "fish --command='git merge'",
        "tcsh -c 'git merge'",
        "bash -eoc pipefail 'git merge'",
        "bash /dev/fd/0 <<< 'git merge'",
        ". /dev/fd/0 <<< 'git merge'",
        "git for-each-repo --config=x merge",
        "git difftool --extcmd='git merge' a b",
        "git -c alias.m.command=merge m",
        "git config --global alias.m merge; git m x",
        "git config set alias.m merge && git m",
        "fd x --exec=git merge",
        "hyperfine -p 'git merge' ls",
        "ls | entr -s 'git merge'",
        "mapfile -C 'git merge' -c 1",
    ],
)
def test_less_usual_ways_to_run_something_are_seen(line: str) -> None:
    assert answer("git merge", line) > Answer.NO


@pytest.mark.parametrize(
    "line",
    [
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.m GIT_CONFIG_VALUE_0=merge git m",
        "env GIT_CONFIG_COUNT=1 git m",
        "export GIT_CONFIG_PARAMETERS=x; git m",
        "git --config-env alias.m=X m",
        "pwsh -EncodedCommand abcd",
    ],
)
def test_settings_that_come_from_elsewhere_are_a_doubt(line: str) -> None:
    assert understand(line).doubt is not None


@pytest.mark.parametrize(
    "line", ["npm test -- --watch", "pytest -- x", "echo -- git merge", 'ls -- "$F"', "rg -- git merge"]
)
def test_a_double_dash_is_no_command_by_itself(line: str) -> None:
    assert answer("git merge", line) == Answer.NO
    assert understand(line).doubt is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("python -m deploy prod", Answer.YES),
        ("python3.12 -Im deploy prod", Answer.YES),
        ("python -W ignore -mdeploy prod", Answer.YES),
        ("sudo /usr/bin/python3 -m deploy prod", Answer.YES),
        ("bash ./deploy prod", Answer.YES),
        ("bash -x -o pipefail tools/deploy prod", Answer.YES),
        ("source tools/deploy prod", Answer.YES),
        ("node tools/deploy prod", Answer.YES),
        ("bash deploy prod", Answer.MAYBE),
        ("sh -e -- deploy prod", Answer.MAYBE),
        (". deploy prod", Answer.MAYBE),
        ("python -u deploy prod", Answer.MAYBE),
        ('python "$HERE/deploy" prod', Answer.YES),
        ('python "$HERE" deploy prod', Answer.NO),
        ("node --env-file=.env ./deploy prod", Answer.YES),
        ("node --inspect ./deploy prod", Answer.MAYBE),
        ("ruby -I lib ./deploy prod", Answer.MAYBE),
        ("php -d x=1 ./deploy prod", Answer.MAYBE),
        ("node -e x ./deploy prod", Answer.NO),
        ("perl -pi -e x ./deploy prod", Answer.NO),
        ("php -r x ./deploy prod", Answer.NO),
        ("uv run -m deploy prod", Answer.YES),
        ("uv run --script ./deploy prod", Answer.YES),
        ("pipx run deploy prod", Answer.YES),
        ("pipx install deploy prod", Answer.NO),
        ("python -c deploy prod", Answer.NO),
        ("node -e deploy prod", Answer.NO),
        ("bash -s deploy prod", Answer.NO),
        ("python x.py deploy prod", Answer.NO),
    ],
)
def test_the_file_that_an_interpreter_runs_is_a_command(line: str, expected: Answer) -> None:
    """Without a slash bash may look for it as a program, and other shells do not: a maybe."""
    assert answer("deploy prod", line) == expected
