"""`agent-memory chat`, typed at a real terminal and piped through, with a model behind OpenAI's protocol."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.testing.wire import CannedStream, FakeOpenAI, event
from patience import PATIENCE

PROGRAM = [sys.executable, "-m", "agent_memory.interfaces.cli"]
# Its terminal controls the process, so that Ctrl-C is a signal.
AT_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as service:
        monkeypatch.setenv("AGENT_MEMORY_CHAT_PROVIDER", "openai")
        monkeypatch.setenv("AGENT_MEMORY_CHAT_MODEL", "gpt-x")
        monkeypatch.setenv("AGENT_MEMORY_CHAT_URL", service.url)
        service.say = lambda body: {"content": f"You said: {body['messages'][-1]['content']}"}
        yield service


class Typist:
    """Somebody at a terminal who reads before typing on."""

    def __init__(self, *words: str) -> None:
        self._ours, theirs = pty.openpty()
        self.child = subprocess.Popen(
            [sys.executable, "-c", AT_TERMINAL, *PROGRAM, *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "dumb", "COLUMNS": "100"},
            start_new_session=True,
        )
        os.close(theirs)
        self.seen = ""

    def reads(self, text: str) -> str:
        """What came up to this text, which is waited for; it counts once."""
        while text not in self.seen:
            ready, _, _ = select.select([self._ours], [], [], PATIENCE)
            assert ready, f"{text!r} never came: {self.seen!r}"
            try:
                self.seen += ANSI.sub("", os.read(self._ours, 65536).decode())
            except OSError:
                raise AssertionError(f"it ended without {text!r}: {self.seen!r}") from None
        before, _, self.seen = self.seen.partition(text)
        return before

    def types(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def asks(self, line: str) -> str:
        """The answer, up to the next prompt."""
        self.types(f"{line}\r")
        self.reads(line)
        return self.reads("\n> ")

    def ended(self) -> int:
        try:
            while os.read(self._ours, 65536):
                pass
        except OSError:
            pass
        os.close(self._ours)
        return self.child.wait(PATIENCE)


def told(conversation: str) -> list[tuple[str, str]]:
    with AgentMemory("default") as memory:
        return [(turn.role, turn.content) for turn in memory.episodic.get_conversation(conversation)]


def test_a_talk_at_a_terminal(model: FakeOpenAI, here: Any) -> None:
    here("add", "The staging database listens on port 5433", "--id", "port")
    typist = Typist("chat", "--conversation", "monday")
    assert "with gpt-x, as default" in typist.reads("> ")
    assert "nothing was asked yet" in typist.asks("/why")
    assert "no blocks yet" in typist.asks("/blocks")
    with AgentMemory("default") as memory:
        memory.blocks.set("human", "Answers in one sentence, please.")
    assert "one sentence" in typist.asks("/blocks")
    assert "You said: which port is staging on?" in typist.asks("which port is staging on?")
    why = " ".join(typist.asks("/why").split())
    assert "port 5433" in why and "words: " in why and "score" in why and "tokens" in why
    assert "/forget" in typist.asks("/help")
    assert "there is no /nonsense" in typist.asks("/nonsense")
    typist.types("/forget\r")
    assert "which port is staging on?" in typist.reads("[y/N]")
    assert "nothing was erased" in typist.asks("n")
    assert len(told("monday")) == 2
    typist.types("/forget\r")
    typist.reads("[y/N]")
    assert "forgotten: " in typist.asks("y")
    assert told("monday") == []
    typist.types("/forget port\r")
    typist.reads("[y/N]")
    typist.asks("y")
    typist.types("/quit\r")
    typist.reads("agent-memory chat --conversation monday")
    assert typist.ended() == 0
    assert [one["kind"] for one in here("list", "--json").json] == ["block"]
    system = model.requests[0].body["messages"][0]["content"]
    assert "staging database listens" in system and "one sentence" in system


def test_ctrl_c_stops_an_answer_and_ctrl_d_ends(model: FakeOpenAI) -> None:
    first = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Well, "}}]}
    model.troubles.append(CannedStream([event(first)], hangs=True))
    typist = Typist("chat", "--conversation", "monday")
    typist.reads("> ")
    typist.types("tell me a story\r")
    typist.reads("Well, ")
    typist.types("\x03")
    assert "the question is kept" in typist.reads("\n> ")
    assert told("monday") == [("user", "tell me a story")]
    typist.types("half a li\x03")
    assert "Ctrl-D ends" in typist.reads("\n> ")
    assert "You said: tell me a story" in typist.asks("tell me a story"), "asked again, it goes on with the question"
    typist.types("\x04")
    assert typist.ended() == 0
    assert told("monday") == [("user", "tell me a story"), ("assistant", "You said: tell me a story")]


def test_a_model_that_fails_is_told_of_and_the_talk_goes_on(model: FakeOpenAI) -> None:
    first = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Half an "}}]}
    model.troubles += [CannedStream([event(first)]), CannedStream([event(b"rubbish")])]
    typist = Typist("chat", "--conversation", "monday")
    typist.reads("> ")
    assert "error: " in typist.asks("hello")
    assert "error: " in typist.asks("hello")
    assert told("monday") == [("user", "hello")]
    model.say = lambda body: {"content": "red \x1b[31m and \x07 bell"}
    assert "red \\x1b[31m and \\x07 bell" in typist.asks("hello"), "nothing that a model says drives the terminal"
    typist.types("\x04")
    assert typist.ended() == 0
    assert [role for role, _ in told("monday")] == ["user", "assistant"]


def test_lines_from_a_pipe_are_questions(model: FakeOpenAI, process: Any) -> None:
    ran = process("chat", "--conversation", "piped", input="hello\n\n/quit\nbye\n")
    assert (ran.code, ran.out, ran.err) == (0, "You said: hello\nYou said: /quit\nYou said: bye\n", "")
    assert [text for role, text in told("piped") if role == "user"] == ["hello", "/quit", "bye"]
    lines = process("chat", "--json", "--conversation", "piped", input="again\n").out.splitlines()
    said = json.loads(lines[0])
    assert (len(lines), said["answer"], said["model"]) == (1, "You said: again", "gpt-x")
    with AgentMemory("default") as memory:
        assert memory.records.get(said["turn_id"]).text == "You said: again"
    assert [one["content"] for one in model.requests[-1].body["messages"][1:]][::2] == [
        "hello",
        "/quit",
        "bye",
        "again",
    ]


def test_errors_from_a_pipe_are_statuses(model: FakeOpenAI, process: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model.say = lambda body: {"content": ""}
    ran = process("chat", "--conversation", "piped", input="hello\nnever asked\n")
    assert (ran.code, ran.out) == (7, "") and "answered nothing" in ran.err
    assert told("piped") == [("user", "hello")]
    monkeypatch.delenv("AGENT_MEMORY_CHAT_PROVIDER")
    ran = process("chat", input="hello\n")
    assert ran.code == 7 and "AGENT_MEMORY_CHAT_PROVIDER" in ran.err and "ollama" in ran.err
