"""What the guard sees in a command: a table of lines, and what runs in each."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_memory.core.rules.answer import Answer
from agent_memory.core.rules.shell import Argv, Word, having, matches, pattern, understand, understand_argv

MERGE = pattern("git merge")


def answer(text: str, line: str) -> Answer:
    return max((matches(pattern(text), argv) for argv in understand(line).commands), default=Answer.NO)


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


@pytest.mark.requirement("P3")
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
    aliases = {"m": "merge --no-ff", "Up": '!f() { git fetch && git merge "$@"; }; f', "a": "b", "b": "a"}
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
    [argv] = understand('git push "a $X b" $Y x$Z').commands
    assert argv.words[2:] == (Word(("a ", None, " b")), Word((None,), True), Word(("x", None)), Word((None,), True))


PATTERNS = [
    ("git merge", "git merge", Answer.YES),
    ("git", "git log", Answer.YES),
    ("git push origin main", "git push origin main", Answer.YES),
    ("git push origin main", "git push --force origin main", Answer.YES),
    ("git push origin main", "git push origin dev", Answer.NO),
    ("git push origin main", "git push origin", Answer.NO),
    ("git push * main", "git push upstream main", Answer.YES),
    ("git push --force", "git push origin main --force", Answer.YES),
    ("git push --force", "git push -f", Answer.YES),
    ("git push --force", "git push -uf origin", Answer.YES),
    ("git push -f", "git push --force", Answer.YES),
    ("git push --force", "git push --force-with-lease", Answer.NO),
    ("git push --force*", "git push --force-with-lease=x", Answer.YES),
    ("git push --force", "git push --forc", Answer.MAYBE),
    ("git push --force", "git push -- --force", Answer.NO),
    ("git push --force", "git push -o --force", Answer.NO),
    ("git push --force", "git push --force --no-force", Answer.MAYBE),
    ("git push --force", "git push $X", Answer.MAYBE),
    ("git push --force", 'git push "$@"', Answer.MAYBE),
    ("git push --force", 'git push "--$X"', Answer.MAYBE),
    ("git push --force", 'git push -u origin "$BRANCH"', Answer.NO),
    ("git push --force", 'git push origin "$(git branch --show-current)"', Answer.NO),
    ("rm -rf", 'rm -r "$X"', Answer.NO),
    ("rm -rf", "rm -r $X", Answer.MAYBE),
    ("rm -rf", "rm -r -- $X", Answer.NO),
    ("rm -rf", 'rm -rf "$X"', Answer.YES),
    ("git push --force", "git push origin $X", Answer.MAYBE),
    ("git push --force", 'git push "origin/$X"', Answer.NO),
    ("git push --force", 'git push "--f$X"', Answer.MAYBE),
    ("git add --force", "git add *", Answer.NO),
    ("git merge", 'git -C "$X" merge', Answer.YES),
    ("git merge", "git -C $X merge", Answer.MAYBE),
    ("git pull --rebase", "git -C $X pull --rebase", Answer.MAYBE),
    ("git pull --rebase", "git pull --rebase=false", Answer.MAYBE),
    ("git pull --rebase", "git pull --rebase=merges", Answer.YES),
    ("git pull --rebase", "git pull -r", Answer.YES),
    ("git pull --rebase", "git pull --quiet --rebase", Answer.YES),
    ("git pull --rebase", "git pull -X --rebase", Answer.NO),
    ("git pull --ff-only", "git pull --ff-o", Answer.MAYBE),
    ("git commit --no-verify", "git commit -nm x", Answer.YES),
    ("git commit --no-verify", "git commit -m -n", Answer.NO),
    ("git commit --no-verify", "git commit -mn", Answer.NO),
    ("git branch -D main", "git branch -D main", Answer.YES),
    ("rm -rf", "rm -rf x", Answer.YES),
    ("rm -rf", "rm -fr x", Answer.YES),
    ("rm -rf", "rm -r -v -f x", Answer.YES),
    ("rm -rf", "rm -rvf x", Answer.YES),
    ("rm -rf", "rm x --recursive --force", Answer.YES),
    ("rm -rf", "rm -Rf x", Answer.YES),
    ("rm -rf", "rm -r x", Answer.NO),
    ("rm -rf", "rm -r $X", Answer.MAYBE),
    ("rm -rf /*", "rm -rf /etc", Answer.YES),
    ("rm -rf /*", "rm -rf ./etc", Answer.NO),
    ("kubectl delete -n prod", "kubectl delete pod x -n prod", Answer.YES),
    ("kubectl delete -n prod", "kubectl -nprod delete pod x", Answer.YES),
    ("kubectl delete -n prod", "kubectl --namespace prod delete pod", Answer.YES),
    ("kubectl delete -n prod", "kubectl delete pod --namespace=prod", Answer.YES),
    ("kubectl delete -n prod", "kubectl delete pod -n dev", Answer.NO),
    ("kubectl delete -n prod", "kubectl delete prod", Answer.NO),
    ("kubectl delete -n prod", "kubectl delete pod -n $NS", Answer.MAYBE),
    ("kubectl delete -n prod", 'kubectl delete pod -n "$NS"', Answer.MAYBE),
    ("kubectl delete --context=prod*", "kubectl --context prod-eu delete pod x", Answer.YES),
    ("kubectl delete --context=prod*", "kubectl --context=prod-eu delete pod x", Answer.YES),
    ("kubectl delete --context=prod*", "kubectl --context=dev delete pod x", Answer.NO),
    ("kubectl delete --context=prod*", 'kubectl "--context=$X" delete pod x', Answer.MAYBE),
    ("kubectl delete --context=prod*", 'kubectl "--context=dev$X" delete pod x', Answer.NO),
    ("kubectl delete", "kubectl --new x delete pod", Answer.MAYBE),
    ("docker push", "docker --context x push y", Answer.YES),
    ("systemctl stop nginx", "systemctl --no-pager -H host stop nginx", Answer.YES),
    ("terraform apply -auto-approve", "terraform -chdir=x apply -auto-approve", Answer.YES),
    ("terraform apply -auto-approve", "terraform apply --auto-approve", Answer.YES),
    ("terraform destroy", "terraform plan -destroy", Answer.NO),
    ("find -delete", "find . -name x -delete", Answer.YES),
    ("find -delete", "find . -name x -print", Answer.NO),
    ("foo bar", "foo -x bar", Answer.MAYBE),
    ("foo bar", "foo --x=1 bar", Answer.YES),
    ("foo -x bar", "foo -x bar", Answer.YES),
    ("foo --x=bar", "foo --x bar", Answer.YES),
    ("foo --x=bar", "foo --x baz", Answer.NO),
    ("foo -rf", "foo -fr", Answer.YES),
    ("mkfs*", "mkfs.ext4 /dev/x", Answer.YES),
    ("*", "anything", Answer.YES),
    ("* --force", "deploy --force", Answer.YES),
    ("./deploy.sh prod", "scripts/deploy.sh prod", Answer.YES),
    ("git 'merge'", "git merge", Answer.YES),
    ("npm run [dt]*", "npm run deploy", Answer.YES),
    ("npm run ?eploy", 'npm run "d$X"', Answer.MAYBE),
    ("npm run ?eploy", 'npm run "xy$X"', Answer.NO),
]


@pytest.mark.requirement("P3")
@pytest.mark.parametrize(("text", "line", "expected"), PATTERNS, ids=lambda value: str(value))
def test_patterns(text: str, line: str, expected: Answer) -> None:
    assert answer(text, line) == expected


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("--dry-run", "git push --dry-run", Answer.YES),
        ("--dry-run", "git push -n", Answer.YES),
        ("--dry-run", "git push", Answer.NO),
        ("--dry-run", "git push $X", Answer.MAYBE),
        ("-n prod", "kubectl get pod -n prod", Answer.YES),
        ("-n prod", "kubectl get pod --namespace=dev", Answer.NO),
        ("main", "git push origin main", Answer.YES),
        ("main", "git push origin mainline", Answer.NO),
        ("prod-*", "deploy --to x prod-eu", Answer.YES),
        ("--context=prod*", "kubectl delete --context prod1 pod", Answer.YES),
    ],
)
def test_options_and_words_that_a_command_has(text: str, line: str, expected: Answer) -> None:
    [argv] = understand(line).commands
    assert matches(having(text), argv) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("git 'merge", "cannot be read"),
        ("git merge | cat", "one command"),
        ("a && b", "one command"),
        ("git $X", "one command"),
        ("--force", "names no program"),
        ("x" * 2_000, "1000 characters"),
        ("a\0b", "NUL"),
    ],
)
def test_what_is_no_pattern_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        pattern(text)


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


@pytest.mark.parametrize("char", ["é", "\U0001f600", "\U000e0001", "\U0010a110", "\U0010ffff"])
def test_no_character_ends_the_process(char: str) -> None:
    """Where the grammar looked past the end of a table, now and then."""
    for _ in range(20):
        for line in ("{@", "echo {@}", "echo ${@}", "@=1 git merge", "@() { git merge; }", "cat <<@\nx\n@\ngit merge"):
            understand(line.replace("@", char))
    for line in ("echo @; git merge", "@ && git merge", "cat <<@\nx\n@\ngit merge", "echo '@' \"@\"; git merge"):
        assert answer("git merge", line.replace("@", char)) == Answer.YES
    assert answer("git merge", f"{char}=1 git merge") == Answer.NO  # no name, so no assignment


@given(st.text(max_size=200))
@settings(max_examples=150, deadline=None)
def test_any_text_is_answered(text: str) -> None:
    found = understand(text)
    for argv in found.commands:
        assert argv.words
        assert matches(MERGE, argv) in Answer
        assert str(argv) is not None


@pytest.mark.parametrize(
    "char", [chr(point) for point in (0xFF, 0x100, 0x7FF, 0x4E2D, 0xFFFD, 0x1F389, 0x10A110, 0x10FFFF)]
)
def test_characters_that_the_grammar_has_no_table_for_are_parts_of_words(char: str) -> None:
    for _ in range(200):  # it read beyond its table, which is not the end each time
        understand(f"{{{char}")
    found = understand(f"echo {{{char} a{char}b '{char} c'; cat <<< {char} && git merge {char}")
    assert [[word.text for word in argv.words] for argv in found.commands] == [
        ["echo", f"{{{char}", f"a{char}b", f"{char} c"],
        ["cat"],
        ["git", "merge", char],
    ]
    assert understand(f"cat <<{char}\n'\n{char}\ngit merge\n'").doubt


@given(st.text(alphabet="git merge'\"\\$`(){}[]<>|&;#!~*?=,\n\t-+", max_size=60))
@settings(max_examples=200, deadline=None)
def test_any_shell_like_text_is_answered_and_no_word_has_more_than_was_written(text: str) -> None:
    for argv in understand(text).commands:
        for word in argv.words:
            assert word.text is None or len(word.text) <= len(text)


@given(
    st.text(alphabet="git -=*?[]!'\"ab/x", max_size=30), st.lists(st.text(alphabet="git-=abx", max_size=6), min_size=1)
)
@settings(max_examples=150, deadline=None)
def test_any_pattern_is_refused_or_answers(text: str, words: list[str]) -> None:
    try:
        made = pattern(text)
    except ValueError:
        return
    assert matches(made, Argv.of(words)) in Answer


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "$(" * 50_000,
        "`" * 99_999,
        '"$(' * 30_000,
        "{a,b}" * 10_000,
        "a;" * 100_000,
        "<<E " * 20_000,
        "${a:-" * 20_000,
        "if a; then " * 10_000,
        "a && " * 40_000 + "b",
        "a | " * 40_000 + "b",
        "'" * 99_999,
        "\\" * 99_999,
        "x" * 1_000_000,
        "[[ a && " * 10_000,
        "case a in " * 10_000,
        "a=(" * 20_000,
        "((" * 50_000,
        "$((" * 30_000,
        "bash -c '" * 10_000,
        "eval " * 20_000 + "x",
        "sudo " * 40_000 + "x",
        "X=a;" * 20_000,
        "git " + "-x " * 50_000,
    ],
    ids=lambda text: text[:8],
)
def test_long_and_deep_texts_end_soon(text: str) -> None:
    started = time.perf_counter()
    found = understand(text)
    for argv in found.commands[:5]:
        matches(pattern("git merge -x y -z"), argv)
    assert time.perf_counter() - started < 10
