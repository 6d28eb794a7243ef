"""Any text at all, however odd, long or deep, is answered, and soon."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from saying import answer

from agent_memory.core.rules.answer import Answer
from agent_memory.core.rules.shell import matches, pattern, tree, understand
from patience import spent


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
        assert matches(pattern("git merge"), argv) in Answer
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


SPLINTERS = """
    <<< << < <& >( <( $( ` ${ $(( (( [[ ]] { } {a, ' " \\ $' # ;; & | && || = += X=( ) ~ * é >| |& 2>&1 {x}>
    case esac do done then fi function time coproc ! eval bash
""".split()
LINES = (
    "git merge main",
    "sudo -u x sh -c 'git merge' </dev/null",
    'git > out merge 2>&1 | cat <(ls) && X=1 rm -rf "$Y" {a,b}c',
    "for x in a b; do git merge $x; done <<<'a b'",
    "if a; then b; else case x in y) git merge;; esac; fi",
    "cat <<E | bash\ngit merge $(date)\nE\necho `ls` $((1 + 2)) ${X:-y}",
)


@st.composite
def broken(draw: st.DrawFn) -> str:
    """A line in which something was put, left out or moved, in several places."""
    line = draw(st.sampled_from(LINES))
    for _ in range(draw(st.integers(1, 6))):
        at, other = draw(st.integers(0, len(line))), draw(st.integers(0, len(line)))
        splinter = draw(st.sampled_from([*SPLINTERS, "\n", "\r", "\0", "<<E\n", "\nE\n", " ", ""]))
        line = line[:at] + splinter + line[draw(st.sampled_from([at, at + 1, at + 3, other])) :]
    return line


def is_answered_soon(line: str) -> None:
    """Beside a line that is as long, and of which nothing is broken."""
    assert understand(line).commands is not None
    works = (lambda: understand(line), lambda: understand("git status; " * (len(line) // 12 + 1)))
    for rounds in (1, 5):  # once may have met the garbage collector, at work on all that was tried before
        broken, whole = spent(*works, rounds=rounds)
        if broken < 1_000 * whole:
            return
    raise AssertionError(f"{broken} against {whole} seconds: {line!r}")


@given(broken())
@settings(max_examples=500, deadline=None)
def test_a_broken_line_is_answered_soon(line: str) -> None:
    is_answered_soon(line)


@pytest.mark.soak
@given(broken())
@settings(max_examples=100_000, deadline=None)
def test_broken_lines_are_answered_soon_for_long(line: str) -> None:
    is_answered_soon(line)


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
        "echo >|out $'a b' f* {a,{b<<<,c}}d\ntime bash -c 'git'",
        "c >o {b<<<,c}\ntime x",
        "<<E\n{ git merge; m xge;bash -c  }",
        "ba((sh /de>|vthen/fd/0 <<< 'git merge'",
    ],
    ids=lambda text: text[:8],
)
def test_long_and_deep_texts_end_soon(text: str) -> None:
    def judged(line: str) -> None:
        for argv in understand(line).commands[:5]:
            matches(pattern("git merge -x y -z"), argv)

    quarter, whole = spent(lambda: judged(text[: len(text) // 4]), lambda: judged(text), rounds=2)
    assert whole < 10 * quarter or whole < 2 * tree.SECONDS, "linear, or given up when the parser's time is over"
