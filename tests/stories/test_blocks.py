"""Blocks: text that is always in the prompt, edited by agents. Nothing is cut, lost or overwritten unseen."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as some
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from agent_memory import AgentMemory
from agent_memory.models.errors import Changed, Denied, InvalidInput, NotFound
from patience import PATIENCE
from quick import QuickEmbedder

pytestmark = pytest.mark.requirement("E9")


def test_an_agent_edits_its_blocks(memory: AgentMemory) -> None:
    memory.blocks.set("human", "Name: Ada", description="What is known about the user")
    assert memory.blocks.append("human", "Likes tea").text == "Name: Ada\nLikes tea"
    assert memory.blocks.replace("Human", "tea", "coffee").text == "Name: Ada\nLikes coffee"
    assert memory.blocks.insert("human", "Lives in Lisbon", line=1).text == "Name: Ada\nLives in Lisbon\nLikes coffee"
    assert memory.blocks.insert("human", "Facts:").text.startswith("Facts:\nName: Ada\n")
    rewritten = memory.blocks.rewrite("human", "Ada, Lisbon, coffee")
    assert rewritten.version == 6 and rewritten.description == "What is known about the user"
    assert memory.blocks.get("human") == memory.blocks.list()[0]
    assert memory.blocks.get("human").text == "Ada, Lisbon, coffee"
    assert [len(one.text) for one in memory.blocks.history("human")][:2] == [9, 19]


def test_replace_wants_exactly_one_match(memory: AgentMemory) -> None:
    memory.blocks.set("notes", "aaa b")
    with pytest.raises(InvalidInput, match="occurs 2 times") as several:
        memory.blocks.replace("notes", "aa", "c")
    assert several.value.field == "old" and "more of the text around" in several.value.hint
    with pytest.raises(InvalidInput, match="does not occur"):
        memory.blocks.replace("notes", "B", "c")
    with pytest.raises(InvalidInput):
        memory.blocks.replace("notes", "", "c")
    assert memory.blocks.get("notes").version == 1


def test_what_is_over_the_limit_is_refused_and_nothing_is_cut(memory: AgentMemory) -> None:
    memory.blocks.set("persona", "kind", limit=10)
    for edit in (
        lambda: memory.blocks.append("persona", "and helpful"),
        lambda: memory.blocks.rewrite("persona", "x" * 16),
        lambda: memory.blocks.set("persona", "x" * 16),
        lambda: memory.records.edit(memory.blocks.get("persona").id, text="x" * 16),
    ):
        with pytest.raises(InvalidInput, match="would have 16 characters; its limit is 10"):
            edit()
    with pytest.raises(InvalidInput, match="its limit is 3"):
        memory.blocks.set("persona", limit=3)
    assert memory.blocks.get("persona").text == "kind" and memory.blocks.get("persona").version == 1
    assert memory.blocks.set("persona", limit=30).text == "kind"
    assert memory.blocks.append("persona", "and helpful").version == 3


def test_undo_steps_back_and_what_was_undone_can_come_back(memory: AgentMemory) -> None:
    memory.blocks.set("notes", "one")
    memory.blocks.append("notes", "two")
    memory.blocks.append("notes", "three")
    assert memory.blocks.undo("notes").text == "one\ntwo"
    assert memory.blocks.undo("notes").text == "one"
    with pytest.raises(InvalidInput, match="nothing is left to undo"):
        memory.blocks.undo("notes")
    assert memory.blocks.undo("notes", to=3).text == "one\ntwo\nthree"  # the undo, undone
    assert memory.blocks.append("notes", "four").version == 7
    assert memory.blocks.undo("notes").text == "one\ntwo\nthree"
    assert [one.restores for one in memory.blocks.history("notes")] == [None, None, None, 2, 1, 3, None, 3]
    with pytest.raises(InvalidInput, match="no version 99"):
        memory.blocks.undo("notes", to=99)


def test_a_read_only_block_is_changed_by_people_alone(memory: AgentMemory) -> None:
    memory.blocks.set("persona", "Be kind.", read_only=True)
    for edit in (
        lambda: memory.blocks.append("persona", "Be rude."),
        lambda: memory.blocks.replace("persona", "kind", "rude"),
        lambda: memory.blocks.insert("persona", "Be rude."),
        lambda: memory.blocks.rewrite("persona", "Be rude."),
        lambda: memory.blocks.undo("persona"),
    ):
        with pytest.raises(Denied, match="read-only"):
            edit()
    assert memory.blocks.set("persona", "Be brief.").read_only
    memory.blocks.set("persona", read_only=False)
    assert memory.blocks.append("persona", "Be quick.").text == "Be brief.\nBe quick."


def test_whoever_names_the_version_loses_nothing(memory: AgentMemory) -> None:
    seen = memory.blocks.set("plan", "first").version
    memory.blocks.append("plan", "second", if_version=seen)
    for edit in (
        lambda: memory.blocks.rewrite("plan", "mine", if_version=seen),
        lambda: memory.blocks.set("plan", "mine", if_version=seen),
        lambda: memory.blocks.set("new", "mine", if_version=seen),
        lambda: memory.blocks.undo("plan", if_version=seen),
    ):
        with pytest.raises(Changed, match="version 1 was expected"):
            edit()
    assert memory.blocks.get("plan").text == "first\nsecond"


def test_an_agent_cannot_get_round_a_read_only_block_that_agents_share(memory: AgentMemory) -> None:
    memory.blocks.set("persona", "Be kind.", read_only=True)
    with AgentMemory("ada", agent="bot") as its:
        for way in (
            lambda: its.blocks.set("persona", "Be rude."),
            lambda: its.blocks.set("persona", "Be rude.", shared=False),
            lambda: its.blocks.set("persona", read_only=False, shared=True),
            lambda: its.blocks.delete("persona"),
        ):
            with pytest.raises(Denied, match="read-only"):
                way()
        assert its.blocks.get("persona").text == "Be kind."
        its.blocks.set("own", "mine", read_only=True)
        assert its.blocks.set("own", "still mine").text == "still mine"
    memory.blocks.set("persona", "Be brief.")
    memory.blocks.delete("persona")


def test_bad_input_says_what_to_do(memory: AgentMemory) -> None:
    with pytest.raises(NotFound, match="no block 'nobody'") as unknown:
        memory.blocks.append("nobody", "x")
    assert unknown.value.field == "label" and "list" in unknown.value.hint
    memory.blocks.set("notes", "a\nb")
    with pytest.raises(InvalidInput, match="line: 3; the block has 2 lines"):
        memory.blocks.insert("notes", "c", line=3)
    for wrong in ({"limit": 0}, {"limit": 10**9}, {"text": "\ud800"}, {"colour": "red"}):
        with pytest.raises(InvalidInput):
            memory.blocks.set("notes", **wrong)
    with pytest.raises(InvalidInput, match="needs an agent"):
        memory.blocks.set("notes", "x", shared=False)
    assert memory.blocks.get("notes").version == 1


def test_a_deleted_block_is_gone_with_its_versions(memory: AgentMemory) -> None:
    memory.blocks.set("secret", "the code is 4711")
    memory.blocks.rewrite("secret", "nothing")
    memory.blocks.delete("secret")
    assert memory.blocks.list() == []
    with pytest.raises(NotFound):
        memory.blocks.undo("secret")
    assert memory.blocks.set("secret", "again").version == 1


def test_blocks_are_not_among_what_a_recall_finds(memory: AgentMemory) -> None:
    memory.blocks.set("human", "Ada keeps bees in Lisbon")
    assert memory.recall("who keeps bees in Lisbon?").hits == []


@pytest.mark.local
def test_agents_share_blocks_or_have_their_own(home: Path) -> None:
    with (
        AgentMemory("ada") as ada,
        AgentMemory("ada", agent="coder") as coder,
        AgentMemory("ada", agent="critic") as critic,
        AgentMemory("bob", agent="coder") as bob,
    ):
        ada.blocks.set("human", "Ada")
        assert coder.blocks.append("human", "likes Rust").shared
        assert critic.blocks.get("human").text == "Ada\nlikes Rust"
        assert not coder.blocks.set("plan", "write").shared and coder.blocks.set("goals", "ship", shared=True).shared
        assert [one.label for one in critic.blocks.list()] == ["human", "goals"]
        assert critic.blocks.set("human", "She likes Go", shared=False).version == 1
        assert critic.blocks.get("human").text == "She likes Go" and ada.blocks.get("human").text == "Ada\nlikes Rust"
        assert [(one.label, one.shared) for one in critic.blocks.list()] == [
            ("human", False),
            ("human", True),
            ("goals", True),
        ]
        assert bob.blocks.list() == []
        with AgentMemory("*", shared=True) as everybody:
            everybody.blocks.set("policy", "Be lawful.")
        assert bob.blocks.get("policy").text == "Be lawful."
        with pytest.raises(Denied, match="shared by all users"):
            bob.blocks.append("policy", "Or not.")


WRITER = """
import sys
from agent_memory import AgentMemory
with AgentMemory("ada") as memory:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(sys.argv[2])):
        memory.blocks.append("log", f"{sys.argv[1]} {number}")
"""


@pytest.mark.local
def test_two_processes_lose_no_edit(home: Path) -> None:
    each = 8
    with AgentMemory("ada") as memory:
        memory.blocks.set("log")
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, name, str(each)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for name in ("a", "b")
        ]
        for one in writers:
            assert one.stdout is not None and one.stdout.readline() == "ready\n"
        for one in writers:
            one.communicate("go\n", timeout=PATIENCE)
        assert [one.returncode for one in writers] == [0, 0]
        block = memory.blocks.get("log")
        assert sorted(block.text.splitlines()) == sorted(f"{name} {number}" for name in "ab" for number in range(each))
        assert block.version == 1 + 2 * each


PIECES = some.text("ab \n", max_size=6)


class BlockEdits(RuleBasedStateMachine):
    """Any edits in any order, against a plain model: a text, and a stack of texts as an editor has."""

    @initialize(text=PIECES)
    def begin(self, text: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.memory = AgentMemory("ada", store=f"{self.folder.name}/m.db", embedder=QuickEmbedder())
        self.memory.blocks.set("x", text, limit=20)
        self.text, self.before, self.all = text, list[str](), [text]

    def does(self, made: str | None, edit: Any) -> None:
        """`made` is what the model makes of it; None, that it must be refused."""
        if made is None or len(made) > 20:
            with pytest.raises(InvalidInput):
                edit()
            return
        block = edit()
        assert block.text == made
        if made != self.text:
            self.before.append(self.text)
            self.text = made
            self.all.append(made)

    @rule(text=PIECES)
    def append(self, text: str) -> None:
        joined = self.text + ("" if not self.text or self.text.endswith("\n") else "\n") + text
        self.does(joined if text else None, lambda: self.memory.blocks.append("x", text))

    @rule(old=PIECES, new=PIECES)
    def replace(self, old: str, new: str) -> None:
        places = [at for at in range(len(self.text)) if old and self.text.startswith(old, at)]
        made = self.text[: places[0]] + new + self.text[places[0] + len(old) :] if len(places) == 1 else None
        self.does(made, lambda: self.memory.blocks.replace("x", old, new))

    @rule(text=PIECES.filter(bool), line=some.integers(0, 4))
    def insert(self, text: str, line: int) -> None:
        lines = self.text.splitlines()
        if line > len(lines):
            return self.does(None, lambda: self.memory.blocks.insert("x", text, line))
        block = None if len(self.text) + len(text) > 18 else self.memory.blocks.insert("x", text, line)
        if block is not None:
            assert block.text.splitlines() == [*lines[:line], *text.splitlines(), *lines[line:]]
            self.before.append(self.text)
            self.text = block.text
            self.all.append(block.text)
        return None

    @rule(text=PIECES)
    def rewrite(self, text: str) -> None:
        self.does(text, lambda: self.memory.blocks.rewrite("x", text))

    @rule()
    def undo(self) -> None:
        if not self.before:
            with pytest.raises(InvalidInput, match="nothing is left"):
                self.memory.blocks.undo("x")
            return
        self.text = self.before.pop()
        assert self.memory.blocks.undo("x").text == self.text
        self.all.append(self.text)

    @rule()
    def stale(self) -> None:
        with pytest.raises(Changed):
            self.memory.blocks.rewrite("x", "lost", if_version=len(self.all) + 1)

    @invariant()
    def the_store_holds_what_the_model_holds(self) -> None:
        if hasattr(self, "memory"):
            block = self.memory.blocks.get("x")
            assert (block.text, block.version) == (self.text, len(self.all))

    def teardown(self) -> None:
        if not hasattr(self, "memory"):
            return
        with self.folder, self.memory:
            assert [one.text for one in self.memory.blocks.history("x")] == self.all


BlockEdits.TestCase.settings = settings(max_examples=12, stateful_step_count=12)
TestBlockEdits = pytest.mark.local(BlockEdits.TestCase)
