"""Documentation is tested: what exists is described, and what is described runs."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from agent_memory.interfaces.cli.root import root
from agent_memory.interfaces.cli.session import Session
from patience import PATIENCE

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = [
    pytest.param(code, id=f"{page.relative_to(ROOT)}:{number}")
    for page in PAGES
    for number, code in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.S | re.M), 1)
]
DONE = (
    "C1 C2 C3 C4 C5 C6 C7 C9 C10 C14 C16 C17 T1 T2 T3 T4 T5 T6 T7 T8 T9 L1 L2 L3 L4 L5 L7 L8 L9 L10 P1 P2 P3 P4 P5 P7 "
    "P9 P10 P15 P16 P20 P21 P22 E1 E2 E4 E8 E9 E10".split()
)  # the lines of the requirements that are done so far; of P16 the dashboard is still to come


@pytest.mark.parametrize("code", EXAMPLES)
def test_examples_in_the_docs_run(code: str, home: Path, tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env={**os.environ}, capture_output=True, text=True)
    assert ran.returncode == 0, f"{code}\n{ran.stderr}"


README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.S | re.M)
FIRST = [code for language, code in BLOCKS if language == "python"]
TYPED = [block.splitlines() for language, block in BLOCKS if not language]


@pytest.mark.parametrize("code", FIRST)
def test_every_block_of_the_readme_shows_something(code: str, home: Path, tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert ran.stdout.strip(), code


def test_the_commands_of_the_readme_show_something_as_they_stand(home: Path, tmp_path: Path) -> None:
    """In their order, in one home; what serves or is started by others is tried elsewhere."""
    block = next(lines for lines in TYPED if lines[0].startswith("agent-memory add"))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for line in block:
        ran = subprocess.run(
            ["sh", "-c", line], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True
        )
        assert (ran.returncode, bool(ran.stdout.strip()), ran.stderr) == (0, True, ""), line


def test_commands_in_the_pages_are_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those in blocks for a shell: each names a command, with arguments and options that it has. Nothing is run."""
    monkeypatch.setattr("sys.stdin", None)
    shells = r"^ *```(?:sh|bash|console)?\n(.*?)^ *```$"
    pages = [page for page in PAGES if "reference" not in page.parts]
    typed = [
        (page, line)
        for page in pages
        for block in re.findall(shells, page.read_text("utf-8"), re.S | re.M)
        for line in re.findall(r"^ *(?:\$ )?agent-memory (.*)", block.replace("\\\n", " "), re.M)
    ]
    assert len(typed) > 50
    wrong = [f"{page.name}: {line}: {why}" for page, line in typed if (why := _misunderstood(line))]
    assert wrong == []


def _misunderstood(line: str) -> str | None:
    """What the command line has against it, if anything."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return None  # it goes on in the next line
    stop = next((place for place, word in enumerate(words) if word in ("|", "&&", ";", ">", "<", "&")), len(words))
    command: click.Command = root
    try:
        context = root.make_context("agent-memory", words[:stop] or ["list"], obj=Session())
        while isinstance(command, click.Group) and (rest := [*context._protected_args, *context.args]):
            name, found, rest = command.resolve_command(context, rest)
            assert found is not None
            command, context = found, found.make_context(name, rest, parent=context)
    except click.exceptions.Exit:
        return None  # its help
    except click.ClickException as error:
        return error.format_message()
    return None


def test_what_the_readme_asks_of_a_server_is_answered(serving: Callable[..., Any], home: Path) -> None:
    """With the words of its `curl` lines. The first of them asks `make run`, which says the same line itself."""
    asked = [line.replace("localhost:8005", "AT") for lines in TYPED for line in lines if line.startswith("curl ")]
    first, stores, finds = (shlex.split(line) for line in asked)
    assert first[2].removeprefix("AT") in (ROOT / "scripts" / "run.sh").read_text("utf-8")
    with serving() as url:
        for words in (stores, finds):
            data = words[words.index("-d") + 1].encode() if "-d" in words else None
            at = next(word for word in words if word.startswith("AT")).replace("AT", url)
            request = urllib.request.Request(at, data, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                found = answer.read().decode()
        assert "Staging is on port 5433" in found


@pytest.mark.parametrize(
    "command", [["scripts/reference.py", "--check"], ["-m", "agent_memory.interfaces.cli.reference"]]
)
def test_the_reference_is_what_the_code_says(command: list[str]) -> None:
    """Operations, settings, kinds and commands are described, since the pages are made from them."""
    ran = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr or "run `make docs`"
    if not command[0].startswith("scripts"):
        assert ran.stdout == (ROOT / "docs/reference/cli.md").read_text("utf-8"), "run `make docs`"


def test_links_between_pages_lead_somewhere() -> None:
    targets = [
        (page, target)
        for page in PAGES
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    ]
    assert [
        f"{page.relative_to(ROOT)} -> {target}" for page, target in targets if not (page.parent / target).exists()
    ] == []


def test_the_paths_through_the_house_name_what_is_there() -> None:
    """Each function that the architecture tells of with its file is defined in such a file."""
    sources = {path.as_posix(): path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py")}
    steps = re.findall(r"`([\w.]+)`\s+\(`([\w/]+\.py)`", (ROOT / "docs/architecture.md").read_text("utf-8"))
    assert len(steps) > 20
    for name, file in steps:
        wanted = re.compile(rf"^ *(def|class) {name.rpartition('.')[2]}\b", re.M)
        homes = [text for path, text in sources.items() if path.endswith(f"/{file}")]
        assert any(map(wanted.search, homes)), f"{name} is not in {file}"


def test_every_code_of_a_requirement_is_in_the_key() -> None:
    key = re.findall(r"^\| ([A-Z]\d+) \|", (ROOT / "docs/requirements.md").read_text("utf-8"), re.M)
    named = {
        code
        for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
        for said in re.findall(r'mark\.requirement\(([^)]*)\)|^"""(.*?)"""', path.read_text("utf-8"), re.S | re.M)
        for code in re.findall(r"\b[PTCLE]\d{1,2}\b", " ".join(said))
    }
    assert len(named) > len(DONE) and named - set(key) == set()


def test_every_requirement_has_a_test_that_shows_it() -> None:
    marks = "\n".join(
        path.read_text("utf-8")
        for path in [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "src").rglob("testing/**/*.py")]
    )
    shown = {
        id for found in re.findall(r"mark\.requirement\(([^)]*)\)", marks) for id in re.findall(r"[A-Z]\d+", found)
    }
    assert sorted(set(DONE) - shown) == []


@pytest.mark.requirement("P21")
def test_the_licence_is_mit() -> None:
    assert (ROOT / "LICENSE").read_text("utf-8").startswith("MIT License")
    assert 'license = "MIT"' in (ROOT / "pyproject.toml").read_text("utf-8")
