"""What the guard sees in a command: a table of lines, and what runs in each."""

from __future__ import annotations

import pytest
from saying import answer

from agent_memory.core.rules.answer import Answer
from agent_memory.core.rules.clone import CloneState
from agent_memory.core.rules.shell import Argv, Word, matches, pattern, understand, understand_argv

MERGE = pattern("git merge")


SURE = [
    "git merge",
    "git merge main",
    "  git\tmerge  ",
    "git merge # never",
    "a | git merge",
    "a && git merge",
    "a || git merge",
    "a; git merge",
    "a & git merge &",
    "a\ngit merge",
    "a\r\ngit merge\r\n",
    "(git merge)",
    "{ git merge; }",
    "! git merge",
    "if a; then git merge; fi",
    "if git merge; then a; fi",
    "if a; then b; elif git merge; then c; fi",
    "if a; then b; else git merge; fi",
    "for x in a b; do git merge $x; done",
    "for ((i=0; i<3; i++)); do git merge; done",
    "while git merge; do a; done",
    "until a; do git merge; done",
    "case $x in a) b ;; *) git merge ;; esac",
    "select x in a; do git merge; done",
    "echo $(git merge)",
    "echo `git merge`",
    'echo "x $(git merge) y"',
    'echo "x `git merge` y"',
    "echo `echo \\`git merge\\``",
    "echo ${X:-$(git merge)}",
    "X=$(git merge)",
    "export X=$(git merge)",
    "A=(x $(git merge))",
    "echo $((1 + $(git merge)))",
    "diff <(git merge) x",
    "tee >(git merge)",
    "[[ -n $(git merge) ]]",
    '[ "$(git merge)" = x ]',
    "cat <<EOF\n$(git merge)\nEOF",
    "cat <<EOF\n`git merge`\nEOF",
    "cat <<-EOF | tee x\n\ta $(git merge)\n\tEOF",
    "cat <<'EOF'\nx\nEOF\ngit merge",
    "cat <<EOF && git merge\nx\nEOF",
    "a > $(git merge)",
    "FOO=1 git merge",
    "FOO=1 BAR='a b' git merge",
    "> out git merge",
    "git > out merge",
    "git 2>&1 merge > x",
    "a && git >out merge",
    "'git' \"merge\"",
    "g\"it\" mer'ge'",
    "\\git m\\erge",
    "$'git' $'\\x6derge'",
    "git mer\\\nge",
    "git \\\n  merge",
    "git m{erge,ove}",
    "X=merge; git $X",
    "X=merge && git ${X}",
    'X="git merge"; $X',
    'export X=merge; git "$X"',
    "/usr/bin/git merge",
    "./git merge",
    "~/bin/git merge",
    "git.exe merge",
    "C:\\\\bin\\\\GIT.EXE merge",
    "GIT merge",
    "git -C x merge",
    "git -c a.b=c --git-dir=x --work-tree y --no-pager merge",
    "env git merge",
    "env -i A=1 -u B git merge",
    "env -S 'git merge'",
    "env -S'git merge'",
    "env --split-string='git merge' x",
    "env -iS 'A=1 git merge'",
    "sudo git merge",
    "sudo -u me -E A=1 git merge",
    "sudo --user=me -- git merge",
    "sudo -nu me git merge",
    "doas -u me git merge",
    "su -c 'git merge'",
    "su - me -c 'git merge'",
    "su me --command='git merge'",
    "runuser -u me -- git merge",
    "sh -c 'git merge'",
    "bash -lc 'git merge'",
    "zsh -euxc 'git merge'",
    "dash -c -- 'git merge'",
    "ksh -o errexit -c 'git merge' name arg",
    "bash --login -c 'git merge'",
    "bash -c \"bash -c 'git merge'\"",
    "sh -c 'cd x && FOO=1 git merge'",
    "eval git merge",
    "eval 'git merge'",
    "eval \"git\" 'merge'",
    "exec git merge",
    "exec -a x git merge",
    "command git merge",
    "command -p git merge",
    "builtin command git merge",
    "nohup git merge &",
    "nice git merge",
    "nice -n 5 git merge",
    "nice -5 git merge",
    "ionice -c 3 git merge",
    "time git merge",
    "time -p A=1 git merge",
    "timeout 5 git merge",
    "timeout -s KILL --kill-after=3 5s git merge",
    "stdbuf -oL git merge",
    "setsid -w git merge",
    "chroot --userspec=a / git merge",
    "strace -f -o log git merge",
    "flock /tmp/x git merge",
    "flock /tmp/x -c 'git merge'",
    "busybox sh -c 'git merge'",
    "xargs git merge",
    "ls | xargs -0 -n 1 -P 4 git merge",
    "xargs -I{} git merge {}",
    "xargs sh -c 'git merge \"$@\"'",
    "find . -name x -exec git merge {} \\;",
    "find . -execdir git merge {} +",
    "find . -ok git merge \\; -print",
    "fd x -x git merge",
    "watch git merge",
    "watch -n 5 'git merge'",
    "ssh host git merge",
    "ssh -p 22 -i key me@host 'cd x; git merge'",
    "docker exec -it box git merge",
    "docker exec -u me box sh -c 'git merge'",
    "docker run --rm -v a:b image git merge",
    "docker run --rm --entrypoint git image merge",
    "podman exec box git merge",
    "docker compose exec web git merge",
    "kubectl -n x exec -it pod -- git merge",
    "uv run git merge",
    "poetry run git merge",
    "agent-memory guard -- git merge",
    "trap 'git merge' EXIT",
    "bash <<< 'git merge'",
    "bash <<EOF\ngit merge\nEOF",
    "source /dev/stdin <<< 'git merge'",
    "sudo -s <<< 'git merge'",
    "ssh host <<'EOF'\ngit merge\nEOF",
    "noglob git merge",
    "bash -s - <<EOF\ngit merge\nEOF",
    "git - <<EOF merge\nx\nEOF\ngit merge",
    "sudo bash -s <<'EOF'\ngit merge\nEOF",
    "{ bash; } <<'EOF'\ngit merge\nEOF",
    "git -c alias.m=merge m",
    "git -c alias.m='merge --no-ff' m x",
    "git -c alias.m='!git merge' m",
    "git -c alias.A=b -c alias.b=merge a",
    "git submodule foreach 'git merge'",
    "git submodule foreach --recursive git merge",
    "git rebase -x 'git merge' main",
    "git rebase -i --exec='git merge' main",
    "git bisect run git merge",
    "g() { git merge; }; g",
    "function g { git merge; }",
    "coproc git merge",
    "time (git merge)",
]


@pytest.mark.requirement("P4")
@pytest.mark.parametrize("line", SURE)
def test_a_merge_is_seen(line: str) -> None:
    assert answer("git merge", line) >= Answer.MAYBE
    uncertain = ("fd ", "docker compose", "g() {", "function", "runuser", "docker run --rm --entry")
    assert answer("git merge", line) == Answer.YES or line.startswith(uncertain)


@pytest.mark.parametrize(
    "line",
    [
        "echo git merge",
        "echo 'git merge'",
        "# git merge",
        "git log merge",
        "git commit -m 'git merge'",
        "git commit -m merge",
        "git -C merge status",
        "git -c merge status",
        "git --git-dir merge status",
        "git mergetool",
        "cat <<'EOF'\n$(git merge)\nEOF",
        "cat > x <<'EOF'\ngit merge\nEOF",
        "command -v git merge",
        "grep -r 'git merge' .",
        "echo '$(git merge)'",
        'echo "\\$(git merge)"',
        "echo \\$\\(git merge\\)",
        "merge git",
        "legit merge",
        "kubectl exec pod -- ls",
        "X='git merge'; echo \"$X\"",
        "",
        "   ",
        "\n",
        ":",
    ],
)
def test_what_is_no_merge_is_let_alone(line: str) -> None:
    assert answer("git merge", line) == Answer.NO
    assert understand(line).doubt is None


@pytest.mark.parametrize(
    "line",
    [
        "git $X",
        "git $(cat x)",
        'git "$X" main',
        "git m*",
        "git m$X",
        "git me[r]ge",
        "X=log; X=merge; git $X",
        "if a; then X=log; fi; git $X",
        "X=log & git $X",
        "for x in log merge; do git $x; done",
        'g() { git "$@"; }; g merge',
        "alias g=git; g merge",
        "alias g='git merge'\ng main",
        "xargs git",
        "xargs -I{} git {} x",
        "git --new-option value merge",
        "sudo --new-option value git merge",
        "${GIT:-git} merge",
    ],
)
def test_what_may_be_a_merge_is_a_maybe(line: str) -> None:
    assert answer("git merge", line) == Answer.MAYBE


@pytest.mark.parametrize(
    "line",
    [
        "$X",
        '"$EDITOR" file',
        "$(cat x) y",
        'bash -c "$X"',
        'bash -c "ls $X"',
        'eval "$X"',
        "echo git merge | sh",
        "curl x | sudo bash -s",
        "cat x | { bash; }",
        "bash <(echo git merge)",
        "bash < <(echo git merge)",
        'ssh host "$X"',
        "cat x | ssh host",
        ". <(echo git merge)",
        "echo \"${X:-'$(git merge)'}\"",
        "sudo $X git log",
        'env -S "$X"',
        'git -c "alias.m=$X" m',
        "git --config-env=alias.m=X m",
        'alias "$X"',
        'g() { "$@"; }; g git merge',
        "echo 'unfinished",
        'echo "unfinished',
        "echo $(unfinished",
        "if a; then",
        "a |",
        "(a",
        "a )",
        "cat <<EOF\nno end",
        "a; ; b",
        "echo \0",
        "echo \ud800",
        "a\rb",
        "f*",
        "x" * 300_000,
        "(" * 200 + "a" + ")" * 200,
        "sudo " * 50 + "x",
        "{1..100000}",
    ],
)
def test_what_is_unclear_is_a_doubt(line: str) -> None:
    assert understand(line).doubt


def test_aliases_of_git_from_its_configuration_are_followed() -> None:
    up = '!f() { git fetch && git merge "$@"; }; f'
    aliases = CloneState({"alias.m": "merge --no-ff", "alias.Up": up, "alias.a": "b", "alias.b": "a"})
    for line in ("git m x", "git -C y m", "git up", "sudo git m"):
        found = understand(line, aliases)
        assert max(matches(MERGE, argv) for argv in found.commands) >= Answer.MAYBE, line
    assert understand("git a", aliases).doubt  # in a circle
    assert all(matches(MERGE, argv) == Answer.NO for argv in understand("git log m", aliases).commands)


def test_a_list_of_words_is_unwrapped_too() -> None:
    found = understand_argv(["sudo", "sh", "-c", "git merge"])
    assert [str(argv) for argv in found.commands] == ["sudo sh -c 'git merge'", "sh -c 'git merge'", "git merge"]
    assert understand_argv(["echo", "$(git merge)"]).commands == (Argv.of(["echo", "$(git merge)"]),)


def test_no_word_is_lost_before_a_here_document() -> None:
    [argv] = understand("python3 - x <<EOF\nprint(1)\nEOF").commands
    assert argv == Argv.of(["python3", "-", "x"])
    [argv] = understand("python3 - <<EOF\nprint(1)\nEOF").commands
    assert argv == Argv.of(["python3", "-"])


def test_the_words_are_those_that_a_program_gets() -> None:
    line = 'git commit -m "it\'s \\"x\\" \\$A" $\'a\\tb\' \'c d\'\\ e {1..3}x "" é'
    [argv] = understand(line).commands
    expected = ["git", "commit", "-m", 'it\'s "x" $A', "a\tb", "c d e", "1x", "2x", "3x", "", "é"]
    assert [word.text for word in argv.words] == expected
    [argv] = understand('git fetch "a $X b" $Y x$Z').commands
    assert argv.words[2:] == (Word(("a ", None, " b")), Word((None,), True), Word(("x", None)), Word((None,), True))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("git ' ' \\\t < f1", ["git", " ", "\t"]),
        ("git \\ < f1", ["git", " "]),
        ("git \\\n < f1", ["git"]),
        ("git -c", ["git", "-c"]),
        ("git -C", ["git", "-C"]),
    ],
)
def test_words_that_only_a_long_search_found(line: str, words: list[str]) -> None:
    """An escaped blank before a redirection, which the grammar drops; an option of git's whose value is missing."""
    (argv,) = understand(line).commands
    assert [word.text for word in argv.words] == words
