"""What `understand` says against what bash and sh really do: random commands run in a folder whose programs only write
down their words. What ran must have been foreseen, word for word where a claim has no holes."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from agent_memory.core.rules.shell import Argv, Word, understand

BASH, SH = shutil.which("bash"), shutil.which("sh")
pytestmark = pytest.mark.skipif(not BASH or not SH or os.name != "posix", reason="needs bash and sh")

RECORDED = ("git", "kubectl", "deploy")
REAL = ("env", "nohup", "nice", "timeout", "stdbuf", "setsid", "xargs", "find", "cat", "true", "sh", "bash", "printf")
RECORDER = """#!/bin/sh
printf '%s\\0' "$#" {name} "$@" >> '{folder}'/"$CASE"
"""
DRIVER = """
ulimit -t 2
for case in "$CASES"/*; do
  CASE=$RUN-${case##*/}; export CASE
  "$SHELL_ASKED" "$case" </dev/null >/dev/null 2>&1
  wait
done
"""


class Oracle:
    """A folder with recording programs, and the shell that runs commands there."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.number = folder, 0
        self.programs = folder / "bin"
        self.programs.mkdir()
        self.logs = folder / "logs"  # of all runs: a command in the background may still write after its own
        self.logs.mkdir()
        for name in RECORDED:
            program = self.programs / name
            program.write_text(RECORDER.format(folder=self.logs, name=name))
            program.chmod(0o755)
        for name in REAL:
            (self.programs / name).symlink_to(shutil.which(name) or "/bin/false")

    def ran(self, commands: Sequence[str], shell: str) -> list[list[tuple[str, ...]]]:
        """The argv lists that each command really ran."""
        self.number += 1
        cases, here = self.folder / f"cases{self.number}", self.folder / f"here{self.number}"
        cases.mkdir()
        here.mkdir()
        (here / "f1").write_text("")
        (here / "f2").write_text("")
        for number, command in enumerate(commands):
            (cases / f"{number:05}").write_text(command, encoding="utf-8", newline="")
        places = {"PATH": str(self.programs), "CASES": str(cases), "SHELL_ASKED": shell, "HOME": str(here)}
        env = {**places, "LC_ALL": "C.UTF-8", "RUN": str(self.number)}
        driver = subprocess.Popen([BASH or "bash", "-c", DRIVER], cwd=here, env=env, start_new_session=True)
        try:
            assert driver.wait(timeout=120) == 0
        finally:
            with suppress(ProcessLookupError):
                os.killpg(driver.pid, signal.SIGKILL)  # what still runs in the background
        return [self._log(f"{self.number}-{number:05}") for number in range(len(commands))]

    def _log(self, name: str) -> list[tuple[str, ...]]:
        path = self.logs / name
        if not path.exists():
            return []
        fields = path.read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1]
        found, at = [], 0
        while at < len(fields):
            count = int(fields[at])
            found.append(tuple(fields[at + 1 : at + 2 + count]))
            at += count + 2
        return found


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Oracle:
    return Oracle(tmp_path_factory.mktemp("oracle"))


def fits(word: Word, text: str) -> bool:
    """Whether a text is a filling of a word."""
    if word.parts == (None,):
        return True
    first, last = word.parts[0] or "", word.parts[-1] or ""
    if len(word.parts) == 1:
        return text == first
    return text.startswith(first) and text.endswith(last) and len(text) >= len(first) + len(last)


def covers(argv: Argv, ran: Sequence[str]) -> bool:
    """Whether what ran is one of the things that a claim allows."""
    reached = {0}
    for word in argv.words:
        following: set[int] = set()
        for at in reached:
            if word.spreads:
                following.add(at)
                while at < len(ran) and fits(word, ran[at]):
                    at += 1
                    following.add(at)
            elif at < len(ran) and fits(word, ran[at]):
                following.add(at + 1)
        reached = following
    return len(ran) in reached


# Words, in every way to quote them.

TEXTS = st.one_of(
    st.sampled_from(
        ["merge", "--ff-only", "-m", "a b", "it's", 'say "x"', "$HOME", "*", "f?", "~", "#x", "a#b", "!", "{a,b}", "\\"]
    ),
    st.sampled_from("é 日本 a;b `x` $(deploy) x=1 --context=prod [a] a&b | < - -- ^ %".split()),
    st.sampled_from(["a\nb", ""]),
    st.text(alphabet="ab -$'\"\\`*é\t\n;&|<>(){}#!~=,.", max_size=6),
)


def single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def double(text: str) -> str:
    return '"' + "".join("\\" + char if char in '"$`\\' else char for char in text) + '"'


def escaped(text: str) -> str:
    return "".join("'\n'" if char == "\n" else "\\" + char for char in text) or "''"


def ansi(text: str) -> str:
    return "$'" + "".join({"'": "\\'", "\\": "\\\\", "\n": "\\n", "\t": "\\t"}.get(char, char) for char in text) + "'"


def mixed(text: str) -> str:
    half = len(text) // 2
    return single(text[:half]) + double(text[half:])


def continued(text: str) -> str:
    plain = shlex.quote(text)
    return plain[:1] + "\\\n" + plain[1:] if plain == text and len(text) > 1 else plain


POSIX = (single, double, escaped, mixed, shlex.quote, shlex.quote, continued)


def words(styles: Sequence[Callable[[str], str]]) -> st.SearchStrategy[str]:
    return st.builds(lambda style, text: style(text), st.sampled_from(styles), TEXTS)


OPEN = st.sampled_from(
    ["$X", '"$X"', "$UNSET", '"$UNSET"', "a$UNSET", "f*", "~", "~/x", "$(printf 'p q')", '"$(printf x)"', "$((1+1))"]
)
BASH_OPEN = st.sampled_from(
    ["{a,b}c", "x{1..3}", "{a,{b,c}}d", "{a}", "{,x}", 'a{"b,c",d}', "$'\\x41\\u00e9'", "${X}", '${UNSET:-"d e"}']
)
REDIRECTS = st.sampled_from(["> out", "2>&1", ">>out", "< f1", "2> /dev/null", ">|out", "0<f2"])
ASSIGNS = st.sampled_from(["A=1 ", "A='x y' ", "A= B=2 ", "A=$X "])
PROGRAMS = st.sampled_from(["git", "kubectl", "deploy", 'g"it"', "'git'", "\\git", "g\\it"])


@st.composite
def simple(draw: st.DrawFn, some: st.SearchStrategy[str], literal: bool) -> str:
    parts = [draw(PROGRAMS), *draw(st.lists(some, max_size=4))]
    for redirect in draw(st.lists(REDIRECTS, max_size=1)):
        parts.insert(draw(st.integers(0, len(parts))), redirect)
    assign = draw(st.one_of(st.just(""), ASSIGNS)) if draw(st.booleans()) else ""
    return ("" if literal and "$" in assign else assign) + " ".join(parts)


def shelled(quote: Callable[[str], str], shell: str) -> Callable[[str], str]:
    return lambda inner: f"{shell} {quote(inner)}"


PREFIXES = [
    "env ",
    "env -u B A=1 ",
    "nohup ",
    "nice -n 3 ",
    "nice ",
    "timeout 5 ",
    "timeout -k 1 5s ",
    "stdbuf -oL ",
    "command ",
    "setsid -w ",
    "env -u A -- ",
    "command -- ",
]
WRAPPERS: list[Callable[[str], str]] = [
    shelled(single, "sh -c"),
    shelled(double, "bash -c"),
    shelled(single, "bash -euc"),
    shelled(double, "bash --norc -c --"),
    shelled(single, "eval"),
    shelled(double, "eval --"),
    shelled(single, "env bash -c"),
    shelled(single, "nohup sh -c"),
]
STRAIGHT: list[Callable[[str], str]] = [
    lambda one: f"({one})",
    lambda one: f"{{ {one}; }}",
    lambda one: f"{one} # git comment",
    lambda one: f"# git no\n{one}\n",
    lambda one: f"if true; then {one}; fi",
    lambda one: f"for i in 1; do {one}; done",
    lambda one: f"case a in a) {one} ;; esac",
    lambda one: f"true && {one}",
    lambda one: f": $({one})",
    lambda one: f': "x$({one})"',
    lambda one: f"cat <<END\nx $({one}) y\nEND",
    lambda one: f"cat <<'END'\n$(git no)\nEND\n{one}",
    lambda one: f"X=$({one})",
    lambda one: f"f() {{ {one}; }}; f",
    lambda one: f"sh <<'END'\n{one}\nEND",
]
CROOKED: list[Callable[[str], str]] = [
    lambda one: f"cat <({one})",
    lambda one: f"bash <<< {single(one)}",
    lambda one: f"[[ -n $({one}) ]]",
    lambda one: f"! {one}",
    lambda one: f"f1=x; {one}",
    lambda one: f"false || {one}",
    lambda one: f"while {one}; do break; done",
    lambda one: f"until {one}; do break; done",
    lambda one: f"{one} &",
    lambda one: f"X=merge; {one}",
    lambda one: f"X='a b'; {one}",
    lambda one: f"true | {one}",
    lambda one: f"printf 'x y' | xargs {one}" if one.startswith("git ") and "\n" not in one else one,
    lambda one: f"printf x | xargs -I% {one} %z%" if one.startswith("git ") and "\n" not in one else one,
    lambda one: f"find . -maxdepth 0 -exec {one} '{{}}' \\;" if one.startswith("git ") and "\n" not in one else one,
    lambda one: f"bash -c 'git $0 \"$@\"' {shlex.quote(one)} b c",
    lambda one: f"trap {single(one)} EXIT",
    lambda one: f"time {one}",
    lambda one: f"function f {{ {one}; }}; f a",
    lambda one: f"echo git no | {one}",
    lambda one: f"{one} && {{ {one}; }} > out",
    lambda one: f"alias gg=git\ngg merge\n{one}",
    lambda one: f"A=(x $({one})); {one}",
    lambda one: f'g() {{ git "$@"; }}; g merge; {one}',
    lambda one: f'g() {{ "$@"; }}; g {one}' if one.startswith("git ") else one,
    lambda one: f"{one} - <<E\nx\nE" if "\n" not in one else one,
    lambda one: f"{one} > out - <<E x 2>&1 y\nx\nE" if "\n" not in one else one,
    lambda one: f"{one} <<'E' | cat && git tail\nx\nE" if "\n" not in one else one,
    lambda one: f"exec {one}" if one.startswith("git ") else one,
]


@st.composite
def commands(draw: st.DrawFn, literal: bool = False, posix: bool = False) -> str:
    some = words(POSIX if posix else (*POSIX, ansi))
    if not literal:
        some = st.one_of(some, OPEN) if posix else st.one_of(some, OPEN, BASH_OPEN)
    forms = STRAIGHT if literal or posix else STRAIGHT + CROOKED
    line = ""
    for number in range(draw(st.integers(1, 3))):
        one = draw(simple(some, literal))
        for _ in range(draw(st.integers(0, 3))):
            kind = draw(st.integers(0, 2))
            if kind == 0 and one.startswith(("git", "kubectl", "deploy", "env", "nice", "nohup", "timeout", "stdbuf")):
                one = draw(st.sampled_from(PREFIXES)) + one
            elif kind == 1:
                one = draw(st.sampled_from(WRAPPERS))(one)
            else:
                one = draw(st.sampled_from(forms))(one)
        line = line + draw(st.sampled_from(["\n", ";\n", "\n\n"])) + one if number else one
    return line


MARKS = "'\"\\$`(){}[]<>|&;#!~*?=, \n\t-+0@%^:.é"
OPERATORS = "$( ${ $(( << <<< <( >( && || ;; $' $\" (( [[ =(".split()
KEYWORDS = [f" {one} " for one in "do done then fi esac in".split()]
KEYWORDS += ["time ", "! ", "function ", "coproc ", "git ", " git x"]
SPLINTERS = st.sampled_from([*MARKS, *OPERATORS, *KEYWORDS, "\\\n", " # ", "<<E\n", "\nE\n"])


@st.composite
def broken(draw: st.DrawFn) -> str:
    """A command with something put in, left out or moved, anywhere."""
    line = draw(commands())
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(line)))
        line = line[:at] + draw(st.one_of(SPLINTERS, st.just(""))) + line[at + draw(st.integers(0, 2)) :]
    return line


def check(oracle: Oracle, lines: Sequence[str], shell: str, literal: bool) -> None:
    """Every command that ran was foreseen; of a literal line nothing else."""
    for line, ran in zip(lines, oracle.ran(lines, shell), strict=True):
        seen = understand(line)
        claims = [argv for argv in seen.commands if argv.program.text in (*RECORDED, None)]
        for one in ran:
            assert seen.doubt or any(covers(argv, one) for argv in claims), (line, one, seen)
        if literal and seen.doubt is None:
            for argv in claims:
                foreseen = tuple(word.text for word in argv.words)
                assert not argv.certain or foreseen in ran or None in foreseen, (line, argv, ran)


# A failure names its line, so that nothing has to be shrunk by running it again and again.
MANY = settings(
    max_examples=4,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
FOR_LONG = settings(MANY, max_examples=300)


OTHERWISE = [
    r"nohup sh -c 'git $'\''\x41\u00e9'\'' x'",
    r"nohup sh -c 'env -u A -- git $'\''it\'\''s'\'' merge'",
    "sh -c 'git {a,b}c'",
    "sh -c 'git x{1..3} {a}'",
    "sh -c 'git $\"merge\" x'",
    "sh -c 'true &>out git merge'",
    "sh -c '[[ a && git merge ]]'",
    "sh -c '((git merge))'",
    "sh <<'END'\ngit m{erge,ove}\nEND",
    "sh -c 'eval \"git {a,b}\"'",
    "find . -maxdepth 0 -exec sh -c 'git {a,b}' \\;",
    'git a$UNSET > out x{1..3};\n deploy $X "$(printf x)";. deploy $UNSET ${UNSET:-"d e"} > out',
]


BEFORE_VARIABLES = [
    "while 'git' ${X} {a,$}c ~/x ${UNSET:-\"d e\"}; do break; done",
    "c=merge; git {a,$}c",
    "x=1 xy=merge; git {$x,}y",
    "x=1; xy=merge; git {$x,}y; git {$x,\"$x\"}y {a,${x}}y {a,'$'}x",
    "b=1; b2=merge; git $b{1..3} $b{_,2}",
    "git {a,$}@ {a,$}'c' {a,$}$x x{a,$}",
]


def test_braces_come_before_variables(oracle: Oracle) -> None:
    """What a soak found, and its like: a dollar in braces makes a variable of what follows them."""
    check(oracle, BEFORE_VARIABLES, "bash", literal=False)
    assert all(understand(line).doubt for line in BEFORE_VARIABLES[1:3])
    assert understand("mkdir {$a,$b} {a,b}$c {a,b}/$c ${x}{,.bak} {a,'$'}c").doubt is None


def test_what_another_shell_makes_of_bash_was_foreseen(oracle: Oracle) -> None:
    """Lines that a soak found, and their like: `sh` is mostly not bash."""
    check(oracle, OTHERWISE, "bash", literal=False)


@pytest.mark.requirement("P4")
@given(st.lists(commands(), min_size=20, max_size=20))
@MANY
def test_what_bash_runs_was_foreseen(oracle: Oracle, lines: list[str]) -> None:
    check(oracle, lines, "bash", literal=False)


@given(st.lists(commands(posix=True), min_size=20, max_size=20))
@MANY
def test_what_sh_runs_was_foreseen(oracle: Oracle, lines: list[str]) -> None:
    check(oracle, lines, "sh", literal=False)


@given(st.lists(commands(literal=True), min_size=20, max_size=20))
@MANY
def test_nothing_is_claimed_of_literal_commands_that_bash_does_not_run(oracle: Oracle, lines: list[str]) -> None:
    check(oracle, lines, "bash", literal=True)


@given(st.lists(broken(), min_size=20, max_size=20))
@MANY
def test_what_bash_makes_of_broken_commands_was_foreseen(oracle: Oracle, lines: list[str]) -> None:
    check(oracle, lines, "bash", literal=False)


@pytest.mark.soak
@given(st.lists(broken(), min_size=50, max_size=50))
@FOR_LONG
def test_what_bash_makes_of_broken_commands_was_foreseen_for_long(oracle: Oracle, lines: list[str]) -> None:
    check(oracle, lines, "bash", literal=False)


@pytest.mark.soak
@given(st.lists(commands(), min_size=50, max_size=50))
@FOR_LONG
def test_what_bash_runs_was_foreseen_for_long(oracle: Oracle, lines: list[str]) -> None:
    check(oracle, lines, "bash", literal=False)
