"""The files that a line is seen to write: redirections, and a short table of programs."""

from __future__ import annotations

import pytest

from agent_memory.core.rules.shell import Word, understand, understand_argv
from agent_memory.core.rules.shell.globs import may_be_path

pytestmark = pytest.mark.requirement("P4")

SEEN = [
    "echo x > s/a",
    "echo x >> s/a",
    "echo x >| s/a",
    "echo x &> s/a",
    "echo x >& s/a",
    "echo x 2>s/a",
    "> s/a",
    "exec 3> s/a",
    "{ echo a; } > s/a",
    "for i in 1; do echo; done > s/a",
    "cat > s/a <<E\nx\nE",
    "cat <<E > s/a\nx\nE",
    "a && b > s/a",
    "F=s/a; echo x > $F",
    "echo x | tee -a s/a",
    "sudo tee s/a",
    "sh -c 'echo x > s/a'",
    "x=$(echo y > s/a)",
    "cat >(tee s/a)",
    "sed -i s/x/y/ s/a",
    "sed -i.bak -e s/x/y/ s/a",
    "sed -ni p s/a",
    "perl -pi -e 's/x/y/' s/a",
    "cp b s/a",
    "cp x/a s",
    "cp -t s x/a",
    "cp --target-directory=s x/a",
    "mv b s/a",
    "mv s/a b",
    "rm -f s/a",
    "ln -sf /x s/a",
    "touch -d now s/a",
    "truncate -s 0 s/a",
    "shred -n 3 s/a",
    "install -m 600 b s/a",
    "rsync -a b s/a",
    "dd if=b of=s/a bs=1",
    "curl -o s/a https://example.org",
    "curl --output=s/a https://example.org",
    "wget -Os/a https://example.org",
    "patch s/a b.diff",
    "git checkout -- s/a",
    "git checkout main s/a",
    "git checkout main -- s/a",
    "git restore s/a",
    "git restore --staged --worktree s/a",
    "git -C s restore a",
    "git rm s/a",
    "git mv b s/a",
    "cd s && echo x > a",
    "cd s; cd ../s && rm -f a",
]
UNSEEN = [
    "cat s/a",
    "echo '> s/a'",
    "echo x # > s/a",
    "cat < s/a",
    "[[ a > s/a ]]",
    "echo x 2>&1",
    "echo x > /dev/null",
    "sed s/x/y/ s/a",
    "cp s/a b",
    "git restore --staged s/a",
    "git rm --cached s/a",
    "git add s/a",
    "git checkout -b s/a",
    "rsync s/a host:s/a",
    "grep -i x s/a",
    "curl https://example.org/s/a",
    "dd if=s/a of=b",
]


def files(line: str) -> set[str | None]:
    return {word.text.replace("s/../", "") if word.text else None for word in understand(line).writes}


@pytest.mark.parametrize("line", SEEN)
def test_what_a_line_writes_is_seen(line: str) -> None:
    assert "s/a" in files(line), files(line)


@pytest.mark.parametrize("line", UNSEEN)
def test_what_it_does_not_write_is_not(line: str) -> None:
    assert "s/a" not in files(line)


def test_words_without_a_shell_write_too() -> None:
    assert understand_argv(["tee", "s/a"]).writes == (Word.of("s/a"),)
    assert understand_argv(["echo", ">", "s/a"]).writes == ()


@pytest.mark.parametrize(
    "line", ["rm -rf s", "mv s b", "git checkout -- s", "git restore s", "cp x s", "rsync -a x/ s/"]
)
def test_a_folder_is_what_is_in_it(line: str) -> None:
    assert "s/…" in files(line)


@pytest.mark.parametrize(
    ("line", "pattern", "may"),
    [
        ('echo x > "$F"', "secrets/**", True),
        ('echo x > "secrets/$F"', "secrets/**", True),
        ('echo x > "build/$F"', "secrets/**", False),
        ('echo x > "build/$F"', "*.pem", True),
        ('echo x > "$F.txt"', "*.pem", False),
        ("rm *.tmp", "secrets/**", False),
        ("rm build/*", "secrets/**", False),
        ("rm secrets/*", "secrets/**", True),
        ("rm -r *", "secrets/**", True),
        ("rm *", "*.pem", True),
        ("rm src/*.py", "src/**/*.py", True),
        ("rm src/*.py", "/src/a.py", True),
        ("cp *.py build/", "*.pem", False),
        ("cp certs/*.pem build/", "*.pem", True),
        ("ls | xargs rm", "secrets/**", True),
    ],
)
def test_a_file_that_is_not_known_may_be_any_that_fits(line: str, pattern: str, may: bool) -> None:
    hidden = [word for word in understand(line).writes if word.text is None]
    assert hidden
    assert any(may_be_path(pattern, word) for word in hidden) is may
