"""Pipes, terminals and foreign text."""

from __future__ import annotations

import functools
import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.interfaces.cli.cleaning import clean_json, one_line
from agent_memory.models.visible import visible
from patience import PATIENCE

PROGRAM = [sys.executable, "-m", "agent_memory.interfaces.cli"]
PORT = "Staging listens on port 5433"
EVIL = "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J \u202etxt [bold]not bold[/bold] :smile:"


def test_text_comes_from_a_pipe(process: Any, here: Any) -> None:
    assert process("add", "--id", "a", input="from a pipe\nwith two lines\n").code == 0
    assert process("add", "-", "--id", "b", input="déjà vu\n").code == 0
    assert {one["id"]: one["text"] for one in here("list", "--json").json} == {
        "a": "from a pipe\nwith two lines",
        "b": "déjà vu",
    }
    assert process("add").code == 2
    ran = process("add", input=b"\xff\xfe")
    assert (ran.code, "not UTF-8" in ran.err) == (2, True)
    many = json.dumps([{"text": "one"}, {"text": "two", "kind": "decision"}])
    assert process("records", "add-many", "-", input=many).out.count("created") == 2


def test_a_reader_that_leaves_is_no_error(home: Path, process: Any) -> None:
    with AgentMemory("default") as memory:
        memory.records.add_many([{"text": f"line {number} " + "x" * 20_000} for number in range(500)])
    command = [sys.executable, "-m", "agent_memory.interfaces.cli", "list", "--limit", "5000"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stderr is not None
    assert child.stdout.readline().startswith(b"id\t")
    child.stdout.close()
    assert child.stderr.read() == b""
    child.stderr.close()
    assert child.wait(PATIENCE) == 141


def test_foreign_text_cannot_drive_the_terminal(terminal: Any, here: Any) -> None:
    with AgentMemory("default") as memory:
        memory.records.add(EVIL, id="evil")
    for words in (
        ["list"],
        ["show", "evil"],
        ["history", "evil"],
        ["recall", "red title", "--why"],
        ["show", "evil", "--json"],
    ):
        plain, screen = here(*words).out, terminal(*words, NO_COLOR="1").out
        for out in (plain, screen):
            assert "\x1b]" not in out
            assert "\x1b[31mred" not in out
            assert "\x9b" not in out
            assert "\u202e" not in out
            assert "[bold]not bold[/bold] :smile:" in " ".join(out.split())
        assert "\x1b" not in plain
    assert "\\x1b[31mred" in here("show", "evil").out
    assert here("show", "evil", "--json").json["text"] == EVIL


def test_an_export_at_a_terminal_hides_nothing(terminal: Any, process: Any, tmp_path: Path) -> None:
    hidden = f"{EVIL} \U000e0041\u200b\ufeff 👩🏽‍💻"
    with AgentMemory("default") as memory:
        memory.records.add(hidden, id="evil")
    seen = terminal("export").out
    assert not any(mark in seen for mark in "\x1b\x07\x9b\u202e\U000e0041\u200b\ufeff")
    assert "👩🏽‍💻" in seen and "\\u202e" in seen
    (line,) = [line for line in seen.splitlines() if line.startswith("{")]
    assert json.loads(line)["text"] == hidden
    piped = process("export").out
    assert "\U000e0041" in piped and json.loads(piped) == json.loads(line)
    process("export", str(tmp_path / "all.jsonl"))
    assert (tmp_path / "all.jsonl").read_text("utf-8") == piped


def test_a_terminal_gets_colour_and_tables_unless_no_color(terminal: Any, here: Any, remembered: str) -> None:
    coloured = terminal("recall", "which port?", "--why").out
    assert "\x1b[3" in coloured
    assert "1 of 1 memory, " in coloured
    assert "\t" not in coloured
    plain = terminal("recall", "which port?", NO_COLOR="1").out
    assert PORT in plain
    assert "\x1b[3" not in plain
    assert "nothing" in terminal("list", "--kind", "fact").out


def test_an_output_without_unicode_still_works(process: Any, here: Any) -> None:
    here("add", "naïve → 雪", "--id", "snow")
    assert "na\\xefve" in process("show", "snow", PYTHONIOENCODING="ascii").out
    assert process("show", "snow", "--json", PYTHONIOENCODING="ascii").json["text"] == "naïve → 雪"


def test_ctrl_c_is_quiet_and_cleans_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    command = [sys.executable, "-m", "agent_memory.interfaces.cli", "demo"]
    heard = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # what runs in the background ignores it
    for _ in range(40):  # on a busy machine it may be done before the signal comes
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=heard) as child:
            while child.poll() is None and not list(scratch.glob("agent-memory-demo-*/demo.db")):
                time.sleep(0.01)
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=PATIENCE)
        if child.returncode != 0:
            break
    assert (child.returncode, out, err.strip()) == (130, b"", b"")
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("text", [EVIL, "a\r\nb\tc", "\u2028"])
def test_cleaning_changes_only_what_is_unsafe(text: str) -> None:
    assert visible("plain: é 雪 \n\t[x]") == "plain: é 雪 \n\t[x]"
    assert not any(mark in visible(text) for mark in "\x1b\x07\x9b\r\u202e\u2028")
    assert "\n" not in one_line(text)
    assert json.loads(clean_json(json.dumps(text, ensure_ascii=False))) == text


@pytest.mark.parametrize("words", [["list"], ["list", "--json"]])
def test_an_output_that_is_full_is_no_bug(remembered: str, words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        ran = subprocess.run([*PROGRAM, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    assert ran.returncode == 2 and "the output cannot be written: No space left on device" in ran.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_an_output_that_is_closed_does_not_matter(remembered: str, closed: str) -> None:
    line = " ".join([*map(shlex.quote, PROGRAM), "list", closed])
    ran = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=PATIENCE)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ("5433" in ran.stdout) == (closed == "2>&-")
