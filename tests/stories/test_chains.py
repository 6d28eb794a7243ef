"""Each tenant has a journal and a chain of its own, also in a store that had one for all of them. L10, P9.

`tenants-0.1.0.json.gz` is a store as 0.1.0 wrote it, and what it answered then: three tenants, whose lines lie among
each other, with conversations and repositories of the same names, a space that took the place of another, records that
were forgotten, receipts and a key.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from agent_memory import AgentMemory
from agent_memory.app.upgrading import upgrade
from agent_memory.models.errors import AgentMemoryError, Corrupt
from agent_memory.ports.embedder import Passage, Space

OLD = Path(__file__).parents[1] / "data/tenants-0.1.0.json.gz"
TENANTS = ("acme", "rival", "solo")


class Hashed:
    """As the old store was embedded."""

    space = Space("hashed", "2", 8)

    def passages(self, text: str) -> Sequence[Passage]:
        return (Passage(0, len(text)),) if text else ()

    def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        digests = [hashlib.blake2b(f"2{text}".encode(), digest_size=8).digest() for text in texts]
        rows = np.array([[byte - 128 for byte in one] for one in digests], np.float32).reshape(len(texts), 8)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Store:
    """The old store, and what it told."""

    def __init__(self, path: Path) -> None:
        found = json.loads(gzip.decompress(OLD.read_bytes()))
        self.path, self.told = path, found["told"]
        with closing(sqlite3.connect(path)) as old:
            old.executescript(found["sql"])
        self.before = dict(self.query("select seq, digest from journal"))

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            return connection.execute(sql).fetchall()

    def opened(self, tenant: str = "acme") -> AgentMemory:
        return AgentMemory(user_id="ada", tenant=tenant, store=f"sqlite:///{self.path}", embedder=Hashed())


@pytest.fixture
def old(home: Path, tmp_path: Path) -> Iterator[Store]:
    yield Store(tmp_path / "old.db")


@pytest.mark.requirement("L10")
def test_no_number_and_no_digest_changes(old: Store) -> None:
    old.opened().close()
    rows = old.query("select line, number, tenant, digest, old from journal")
    kept = {line: digest for line, number, _, digest, before in rows if before is not None}
    assert kept == old.before
    assert all(line == number for line, number, _, _, before in rows if before is not None)
    assert len({tenant for _, _, tenant, _, _ in rows}) == 4, "three, and the store"


@pytest.mark.requirement("L10")
def test_everything_is_proved_and_each_goes_on_after_the_last_line_of_all(old: Store) -> None:
    last = old.told["seq"]
    for tenant in TENANTS:
        with old.opened(tenant) as memory:
            assert memory.records.add("after the upgrade").seq == last + 1
            assert memory.records.add("and more").seq == last + 2
            lines = memory.records.journal(limit=500)
            assert [one.seq for one in lines][-2:] == [last + 1, last + 2]
            proof = memory.upkeep.verify()
            assert proof.ok, proof.problems
            assert proof.head == lines[-1].chain and proof.seq == last + 2
            assert memory.upkeep.verify(expect=old.told["head"]).ok, "what was noted before still proves something"
            assert memory.upkeep.stats()["seq"] == last + 2
    with old.opened("new") as memory:
        assert memory.records.add("somebody who was not there").seq == 1
        proof = memory.upkeep.verify()
        assert proof.ok and {*proof.heads} == {"", *TENANTS, "new"}


@pytest.mark.requirement("L10", "P9")
def test_questions_about_the_past_have_the_same_answers(old: Store) -> None:
    for tenant in TENANTS:
        with old.opened(tenant) as memory:
            memory.records.add_many([{"text": f"later {number}"} for number in range(20)])
            for moment, expected in old.told["as_of"][tenant].items():
                found = memory.records.find(limit=100, as_of=datetime.fromisoformat(moment))
                assert sorted([one.id, one.version, one.text] for one in found) == expected


@pytest.mark.requirement("P9")
def test_receipts_are_replayed_as_before(old: Store) -> None:
    first = {}
    for _ in range(2):
        for tenant in TENANTS:
            with old.opened(tenant) as memory:
                for one in old.told["receipts"][tenant]:
                    again = memory.receipts.replay(one["id"])
                    assert sorted([hit.id, hit.record.version] for hit in again.recalled) == one["hits"]
                    assert again.same_space == (one["label"] == "third"), "only then the space of today answered"
                    scores = [(hit.id, hit.score) for hit in again.recalled]
                    assert first.setdefault(one["id"], scores) == scores, "others and later lines change nothing"
                memory.records.add_many([{"text": f"checkout later {number}"} for number in range(5)])


@pytest.mark.requirement("L10")
def test_no_two_tenants_share_a_row_that_a_write_makes(old: Store) -> None:
    old.opened().close()
    named = old.query(
        "select l.text, l.tenant, count(distinct s.tenant) from labels l join versions v "
        "on l.label in (v.conversation, v.repository) join scopes s on s.scope = v.scope group by l.label"
    )
    assert sorted((text, count) for text, _, count in named) == [("c1", 1)] * 3 + [("r1", 1)] * 3
    actors = old.query("select a.text, a.tenant, count(distinct j.tenant) from actors a join journal j using (actor)"
                       " group by a.actor")  # fmt: skip
    assert all(count == 1 for _, _, count in actors) and len({tenant for _, tenant, _ in actors}) == 4
    assert old.query("select text from names where text = 'ada'") == []
    used = old.query(
        "select n.text, n.tenant, group_concat(distinct s.tenant) from names n join versions v "
        "on n.name in (v.kind, v.status, v.source) join scopes s on s.scope = v.scope group by n.name"
    )
    assert all("," not in whose for _, _, whose in used) and {tenant for _, tenant, _ in used} == {1, 2, 3}
    assert sum(text == "active" for text, _, _ in used) == 3
    fields = old.query(
        "select n.name, n.tenant, count(distinct s.tenant) from names n join fields f on f.name = n.name "
        "join versions v on v.version = f.content join scopes s on s.scope = v.scope group by n.name"
    )
    assert fields and all(count == 1 for _, _, count in fields)
    assert [number for (number,) in old.query("select number from scopes order by tenant, scope")] == [1, 2] * 3


@pytest.mark.requirement("L10")
@pytest.mark.parametrize(
    ("change", "line"),
    (
        ("update journal set reason = 'x' where seq = 20", 20),
        ("delete from journal where seq = 7", 7),
        ("update journal set digest = x'00' where seq = 1", 1),
        ("update names set text = cast(x'ff' as text) where text = 'ada'", 2),
    ),
)
def test_a_broken_chain_is_not_sealed_anew(old: Store, change: str, line: int) -> None:
    old.query(change)
    before = old.query("select * from journal")
    with pytest.raises(Corrupt, match=f": line {line} of its journal"):
        old.opened()
    assert old.query("pragma user_version") == [(3,)] and old.query("select * from journal") == before


@pytest.mark.requirement("L10")
@pytest.mark.parametrize(
    ("change", "lines"),
    (
        ("update journal set reason = 'x' where seq = 20", "20"),
        ("update journal set reason = 'x' where seq in (9, 20, 21, 22)", "9 20-22"),
        ("update journal set digest = x'00' where seq = 1", "1"),
        ("update names set text = cast(x'ff' as text) where text = 'ada'", None),
    ),
)
def test_an_operator_goes_on_past_a_broken_chain_and_that_is_told_for_ever(
    old: Store, change: str, lines: str | None
) -> None:
    old.query(change)
    with pytest.raises(Corrupt) as refused:
        old.opened()
    assert "upgrade --accept-damage" in (refused.value.hint or "")
    done = upgrade(f"sqlite:///{old.path}", accept_damage=True)
    assert done.before == 3 and done.after == upgrade(f"sqlite:///{old.path}").before
    for _ in range(2):
        with old.opened() as memory:
            memory.records.add("afterwards")
            proof = memory.upkeep.verify()
            assert proof.ok, proof.problems
            [note] = proof.notes
            assert lines is None or note.endswith(f"accepted: {lines}")
    old.query("update journal set reason = 'y' where line = 12")
    with old.opened() as memory:
        proof = memory.upkeep.verify()
        assert not proof.ok and any("line 12 " in problem for problem in proof.problems), "that is new"
        assert proof.notes == [note]


@pytest.mark.requirement("L10")
def test_a_line_that_was_missing_is_known_and_what_it_brought_is_not_proved(old: Store) -> None:
    old.query("delete from journal where seq = 7")
    upgrade(f"sqlite:///{old.path}", accept_damage=True)
    with old.opened() as memory:
        proof = memory.upkeep.verify()
    assert [note.rpartition(" ")[2] for note in proof.notes] == ["7-8"], "and the next one, which follows from it"
    assert not any("line 7 " in problem or "row 7 " in problem for problem in proof.problems), proof.problems


@pytest.mark.requirement("L10")
def test_old_values_go_with_the_first_tenant_that_is_erased(old: Store) -> None:
    """Those that stand beside lines that are gone would help to guess these."""
    old.query("update journal set reason = 'x' where seq = 20")
    upgrade(f"sqlite:///{old.path}", accept_damage=True)
    last = old.told["seq"]
    for erased in TENANTS[:2]:
        with old.opened("solo") as memory:
            assert memory.tenants.erase(erased).records
            proof = memory.upkeep.verify()
            assert proof.ok and proof.notes, proof.problems
            assert memory.upkeep.verify(expect=old.told["head"]).ok, "where it ended is still known"
            earlier = memory.upkeep.verify(expect=f"{last - 1}:{'0' * 64}")
            assert any("note the head that is printed now" in problem for problem in earlier.problems)
            assert old.query("select count(*) from journal where old is not null") == [(0,)]
    with old.opened("solo") as memory:
        assert memory.records.add("more").seq == last + 1
        moments = old.told["as_of"]["solo"].items()
        for moment, expected in moments:
            found = memory.records.find(limit=100, as_of=datetime.fromisoformat(moment))
            assert sorted([one.id, one.version, one.text] for one in found) == expected
    old.query(f"delete from journal where line = (select max(line) from journal where number <= {last})")
    with old.opened("solo") as memory:
        assert not memory.upkeep.verify().ok


@pytest.mark.requirement("L10")
@pytest.mark.parametrize(
    ("change", "said"),
    (
        ("update journal set old = x'00' where line = 9", "in the journal that all tenants had"),
        ("update tenants set base = base - 1 where name = 'acme'", "does not begin where it should"),
        ("update tenants set genesis = x'00' where name = 'rival'", "does not begin where it should"),
        ("update tenants set name = 'other' where name = 'solo'", "tenant"),
        ("delete from tenants where name = 'solo'", "is gone"),
        ("update journal set tenant = 1 where tenant = 2 and number > 30", "tenant"),
        ("update scopes set number = number + 8 where tenant = 'acme'", "does not follow"),
        ("update names set tenant = 9 where tenant = 2", "of another tenant"),
    ),
)
def test_what_was_upgraded_is_guarded(old: Store, change: str, said: str) -> None:
    old.opened().close()
    old.query(change)
    with old.opened() as memory:
        proof = memory.upkeep.verify()
        assert not proof.ok and any(said in problem for problem in proof.problems), proof.problems


@pytest.mark.requirement("L10")
def test_keys_of_an_older_version_are_sealed_by_the_upgrade(old: Store) -> None:
    with old.opened() as memory:
        checked = memory.upkeep.verify()
    assert checked.ok and checked.checked["keys"] == 1, checked.problems
    assert checked.checked["rows without a checksum"]
    old.query("update keys set permissions = 'admin'")
    with old.opened() as memory:
        assert not memory.upkeep.verify().ok


@pytest.mark.requirement("L10")
def test_views_of_other_tools_still_show_everything(old: Store) -> None:
    expected = old.query("select id, tenant, recorded_at, conversation_id from turns order by id")
    assert expected
    old.opened().close()
    assert old.query("select id, tenant, recorded_at, conversation_id from turns order by id") == expected


@pytest.mark.requirement("L10")
def test_an_upgrade_that_stops_in_the_middle_changes_nothing(old: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from agent_memory.engines.sqlite import chains

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(chains, "_label", full)
        with pytest.raises(AgentMemoryError):
            old.opened()
    assert old.query("pragma user_version") == [(3,)]
    assert dict(old.query("select seq, digest from journal")) == old.before
    with old.opened() as memory:
        assert memory.upkeep.verify().ok


@pytest.mark.requirement("L10")
def test_two_tenants_do_not_meet(home: Path) -> None:
    """Numbers, heads and moments of one are the same whether or not another writes."""
    heads = []
    for tenant in ("acme", "rival"):
        with AgentMemory(user_id="ada", tenant=tenant) as memory:
            assert [memory.records.add(f"{number}").seq for number in range(3)] == [1, 2, 3]
            proof = memory.upkeep.verify()
            heads.append(proof.heads["acme"])
            assert proof.ok and proof.heads[tenant] == f"{proof.seq}:{proof.head}" and proof.seq == 3
    assert heads[0] == heads[1]
