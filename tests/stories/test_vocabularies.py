"""Another way to make words: offered, never silent; a store that has words of both ways finds them all. Decision 26."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from agent_memory import AgentMemory
from agent_memory.app.check import CheckState
from agent_memory.app.contents import contents
from agent_memory.core.write import words
from agent_memory.core.write.words import STOP_WORDS, Analyser
from agent_memory.engines.sqlite import rebuild
from agent_memory.models.errors import StoreNewer

OLD = words.ANALYSERS[0]
NEW = Analyser("words-2", STOP_WORDS | {"please"}, "porter")

# "dying" is a form of "die" for the old stemmer alone, "generally" has the stem of "generic" for the new one alone.
TEXTS = [f"pump {number} was dying, it generally runs" for number in range(12)]

REBUILDING = """
import os, signal, sys
from agent_memory import AgentMemory
from agent_memory.core.write import words
from agent_memory.engines.sqlite import rebuild

class Killed(words.Analyser):
    made = 0
    def terms(self, text, marks=()):
        self.made += 1
        if self.made == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().terms(text, marks)

rebuild.BATCH = 2
words.ANALYSERS = (Killed("words-2", words.STOP_WORDS | {"please"}, "porter"), *words.ANALYSERS)
AgentMemory(user_id="ada", store=sys.argv[1]).upkeep.rebuild()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.db"


@pytest.fixture
def upgraded(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on this is the next version of the program."""
    monkeypatch.setattr(words, "ANALYSERS", (NEW, OLD))


def opened(path: Path) -> AgentMemory:
    return AgentMemory(user_id="ada", store=path)


def fill(path: Path) -> None:
    with opened(path) as memory:
        memory.records.add_many([{"text": text} for text in TEXTS])


def killed_half_way(path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", REBUILDING, str(path)], capture_output=True, text=True)
    assert ran.returncode == -signal.SIGKILL, ran.stderr


def by_words(memory: AgentMemory, query: str) -> set[str]:
    """Texts that have a word of the query, and not only its meaning."""
    return {hit.text for hit in memory.recall(query, k=50) if hit.why.words}


def rows(path: Path) -> dict[str, int]:
    """How many contents have words of which vocabulary."""
    sql = "select name, count(*) from words w join vocabularies v on v.vocabulary = w.vocabulary group by name"
    connection = sqlite3.connect(path)
    try:
        return dict(connection.execute(sql).fetchall())
    finally:
        connection.close()


def doctor(path: Path) -> tuple[CheckState, str]:
    found = next(one for one in contents(path, None) if one.name == "words")
    return found.state, f"{found.detail} {found.fix}"


@pytest.mark.local
def test_a_new_analyser_changes_nothing_before_the_rebuild_that_it_offers(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fill(path)
    assert doctor(path)[0] is CheckState.OK
    monkeypatch.setattr(words, "ANALYSERS", (NEW, OLD))
    with opened(path) as memory:
        assert "`agent-memory rebuild`" in caplog.text and "words-1" in caplog.text
        memory.records.add("valve 1 was dying, it generally leaks")
        assert by_words(memory, "Did anything die?") == {*TEXTS, "valve 1 was dying, it generally leaks"}
        assert by_words(memory, "What is generic?") == set()
        assert memory.upkeep.verify().ok
    assert rows(path) == {"words-1": 13}, "what is written is found by whoever else has the store open"
    state, said = doctor(path)
    assert state is CheckState.WARN and "`agent-memory rebuild`" in said
    with opened(path) as memory:
        assert memory.upkeep.rebuild()["contents"] == 13
        assert by_words(memory, "Did anything die?") == set()
        assert by_words(memory, "What is generic?") == {*TEXTS, "valve 1 was dying, it generally leaks"}
        assert memory.upkeep.verify().ok
    assert rows(path) == {"words-2": 13}
    assert doctor(path) == (CheckState.OK, f"{NEW.vocabulary.fingerprint} ")


@pytest.mark.local
@pytest.mark.skipif(os.name != "posix", reason="is killed by a signal")
def test_a_rebuild_that_was_killed_half_way_goes_on_and_until_then_both_kinds_of_words_are_found(
    path: Path, upgraded: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(words, "ANALYSERS", (OLD,))
    fill(path)
    with opened(path) as memory:
        receipt = memory.recall("Did pump 3 die?").receipt_id
        assert memory.receipts.replay(receipt).same_vocabularies
    killed_half_way(path)
    assert rows(path) == {"words-1": 6, "words-2": 6}
    monkeypatch.setattr(words, "ANALYSERS", (NEW, OLD))
    with opened(path) as memory:
        assert "was not finished" in caplog.text
        memory.records.add("valve 1 was dying, it generally leaks")
        old, new = by_words(memory, "Did anything die?"), by_words(memory, "What is generic?")
        assert old == {*TEXTS[6:]} and new == {*TEXTS[:6], "valve 1 was dying, it generally leaks"}
        found = memory.recall("pump", k=50)
        assert {hit.text for hit in found if hit.why.words} == {*TEXTS}, "a word that both know is one word"
        assert len({round(hit.why.channels["words"], 4) for hit in found if hit.why.words}) == 1
        half = memory.recall("pump").receipt_id
        assert memory.receipts.get(half)["vocabularies"] == [NEW.vocabulary.fingerprint, OLD.vocabulary.fingerprint]
        assert memory.upkeep.verify().ok
    assert rows(path) == {"words-1": 6, "words-2": 7}
    assert doctor(path)[0] is CheckState.WARN
    with opened(path) as memory:
        assert memory.upkeep.rebuild()["contents"] == 6, "what was made is not made again"
        assert by_words(memory, "Did anything die?") == set()
        assert len(by_words(memory, "What is generic?")) == 13
        for told in (receipt, half):
            replay = memory.receipts.replay(told)
            assert not replay.same_vocabularies and replay.same_pipeline
        assert replay.vocabularies == [NEW.vocabulary.fingerprint, OLD.vocabulary.fingerprint]
        assert memory.upkeep.verify().ok
    assert rows(path) == {"words-2": 13}


@pytest.mark.local
def test_an_older_program_refuses_words_that_it_cannot_make(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that had the store open all the time."""
    fill(path)
    with opened(path) as memory:
        by_words(memory, "pump")
        monkeypatch.setattr(words, "ANALYSERS", (NEW, OLD))
        with opened(path) as newer:
            newer.upkeep.rebuild()
        monkeypatch.setattr(words, "ANALYSERS", (OLD,))
        for act in (lambda: memory.records.add("x"), lambda: memory.recall("pump"), memory.upkeep.rebuild):
            with pytest.raises(StoreNewer, match="upgrade agent-memory"):
                act()
    with pytest.raises(StoreNewer, match="upgrade agent-memory"):
        opened(path)
    assert doctor(path)[0] is CheckState.FAIL
    assert rows(path) == {"words-2": 12}


@pytest.mark.local
def test_who_writes_while_another_process_begins_a_rebuild_writes_in_its_words(path: Path, upgraded: None) -> None:
    fill(path)
    with opened(path) as memory:
        memory.records.add("before")
        connection = sqlite3.connect(path)
        with connection:  # as another process does
            rebuild.vocabulary.begin(connection, words.Analyser("words-1").vocabulary)
        connection.close()
        memory.records.add("valve 1 was dying, it generally leaks")
        assert by_words(memory, "Did anything die?") == {"valve 1 was dying, it generally leaks"}
        assert memory.upkeep.verify().ok


@pytest.mark.local
def test_a_rebuild_lets_forgetting_find_who_asked_in_the_old_words(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(path) as memory:
        kept = memory.records.add("the code of the vault is swordfish").id
        receipt = memory.recall("vault code swordfish").receipt_id
        memory.records.forget([memory.records.add("something else").id])
        assert memory.receipts.get(receipt)
    monkeypatch.setattr(words, "ANALYSERS", (NEW, OLD))
    with opened(path) as memory:
        memory.upkeep.rebuild()
        connection = sqlite3.connect(path)
        (terms,) = connection.execute("select terms from receipts where id = ?", (receipt,)).fetchone()
        connection.close()
        assert NEW.hash("vault") in terms and OLD.hash("vault") in terms
        assert memory.upkeep.verify().ok
        memory.records.forget([kept])
    assert b"swordfish" not in path.read_bytes()


def test_the_digest_of_an_analyser_notices_another_release_of_the_stemmer() -> None:
    """PyStemmer 3 stems "added" and "internal" otherwise than 2.2; here: whatever is done otherwise."""
    same = [Analyser("words-1"), Analyser("words-1")]
    other = [Analyser("words-1", language="porter"), Analyser("words-1", STOP_WORDS | {"pump"})]
    assert len({one.vocabulary for one in same}) == 1
    assert len({one.vocabulary for one in (*same, *other)}) == 3
    assert not any(one.vocabulary.same(same[0].vocabulary) for one in other)
