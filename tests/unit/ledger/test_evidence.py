"""The rules of `verify` need no database: rows in memory, changed behind its back, are named in the same words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.toy.engine import open_toy
from tests.toy.proof import ToyEvidence
from tests.toy.records import ToyRecords
from tests.toy.shop import Shop
from tests.toy.tables import Tables

from agent_memory.ledger.evidence import CommonAt, Sealed, VectorAt
from agent_memory.ledger.journal import GENESIS, chained
from agent_memory.ledger.proof import MOST_PROBLEMS, ProofRequest, verify
from agent_memory.ledger.seals import sealed
from agent_memory.ports.access import KeyRow
from agent_memory.ports.changes import Amend, Disconnect, Erase, Mark
from agent_memory.ports.store import Store
from agent_memory.testing.builders import ALICE, BOB, NOW, SPACE, STRANGER, link, put, write

OURS = ALICE.tenant
GONE, WRITTEN = "is gone, and nobody erased it", "is not what was written"


@pytest.fixture
def store() -> Store:
    """With something of everything."""
    store = open_toy()
    store.index.begin(SPACE)
    write(store, put("I owe you ten", id="note"), put("has a key", id="keyed", key="k"))
    write(store, put("I owe you nine", id="note"), Amend("keyed", importance=0.25))
    write(store, link("keyed", "note", weight=1.0), link("note", "keyed", weight=0.5))
    write(store, link("keyed", "note", weight=0.25), Disconnect("note", "keyed", "about"))
    write(store, put("to be forgotten", id="gone"))
    write(store, Erase("gone"))
    write(store, put("of another tenant", id="note"), scope=STRANGER)
    store.access.add(KeyRow("k1", b"secret", "laptop", OURS, None, ("admin",), NOW))
    assert store.records.verify(OURS).problems == ()
    return store


def shop(store: Store) -> Shop:
    assert isinstance(store.records, ToyRecords)
    return store.records.base.shop


def _line(tables: Tables, seq: int, **cells: object) -> None:
    tables.lines[seq - 1] = tables.lines[seq - 1]._replace(**cells)


def _version(tables: Tables, seq: int, **cells: object) -> None:
    tables.versions[seq] = tables.versions[seq]._replace(**cells)


def _link(tables: Tables, link: int, **cells: object) -> None:
    tables.links[link] = tables.links[link]._replace(**cells)


TAMPERING: dict[str, tuple[Callable[[Tables], object], str]] = {
    "a line gone": (lambda one: one.lines.pop(2), "line 3 of tenant 'acme' is missing"),
    "another actor": (lambda one: _line(one, 2, actor="mallory"), "line 2 of tenant 'acme' does not follow"),
    "a moment of another type": (lambda one: _line(one, 2, at=b"x"), "line 2 of tenant 'acme' does not follow"),
    "another text": (
        lambda one: one.contents.update(
            {1: one.contents[1]._replace(body=one.contents[1].body._replace(text="I owe you nothing"))}
        ),
        f"the version {WRITTEN}",
    ),
    "a version gone": (lambda one: one.versions.pop(4), f"its version {GONE}"),
    "another number": (lambda one: _version(one, 3, number=7), f"the version {WRITTEN}"),
    "another scope": (
        lambda one: _version(one, 3, place=one.versions[3].place._replace(scope=BOB)),
        f"line 3 of tenant 'acme': its version {GONE}",
    ),
    "an old version believed again": (lambda one: _version(one, 1, ended=None), f"the version {WRITTEN}"),
    "a version ended elsewhere": (
        lambda one: _version(one, 1, ended=7),
        "versions that no line of their record ended: 1 (first: 1)",
    ),
    "a version of no line": (
        lambda one: one.versions.update({99: one.versions[3]._replace(version=99)}),
        "versions without a journal line: 1",
    ),
    "another weight": (lambda one: _link(one, 7, weight=0.75), f"the link {WRITTEN}"),
    "a link to another record": (lambda one: _link(one, 7, target=2), f"its link {GONE}"),
    "a cut link standing again": (lambda one: _link(one, 6, ended=None), f"its link {GONE}"),
    "a link cut": (lambda one: _link(one, 7, ended=1), "links that no line of theirs ended: 1 (first: 7)"),
    "a tombstone gone": (lambda one: one.tombstones.clear(), f"its tombstone {GONE}"),
    "a forged tombstone": (
        lambda one: one.tombstones.insert(0, one.tombstones[0]._replace(place=one.versions[1].place, line=1)),
        "tombstones without a journal line: 1 (first: 1)",
    ),
    "a chain that begins elsewhere": (lambda one: setattr(one, "beginning", GENESIS), "does not begin where it should"),
}


@pytest.mark.parametrize("how", TAMPERING)
def test_tampering_is_named(how: str, store: Store) -> None:
    change, said = TAMPERING[how]
    change(shop(store).of(OURS))
    assert any(said in problem for problem in store.records.verify(OURS).problems), store.records.verify(OURS).problems
    assert store.records.verify(STRANGER.tenant, alone=True).problems == (), "it is not the other's"


def test_keys_spaces_and_tenants_are_as_the_stores_journal_tells(store: Store) -> None:
    whole = shop(store)
    whole.keys["k2"] = whole.keys["k1"]._replace(id="k2")
    whole.spaces = ()
    del whole.tenants[STRANGER.tenant]
    problems = store.records.verify(OURS).problems
    assert [one.split(":")[0] for one in problems] == ["tenants", "keys", "spaces"]
    del whole.keys["k1"], whole.keys["k2"]
    assert "keys: id 'k1' is gone" in store.records.verify(OURS).problems


class Extra(ToyEvidence):
    """With what rows in memory do not have."""

    damaged: Exception | None = None

    def __init__(self, shop: Shop, asked: ProofRequest) -> None:
        super().__init__(shop, asked)
        rows = [sealed("a", 1), ("b", 2, b"wrong"), ("c\udcff", 3, None)]
        self.beside = lambda: (Sealed("things", ("name", "value"), rows),)
        self.vectors = lambda: (VectorAt(7, 1.0, b"\x01", 2, True), VectorAt(8, 1.0, b"\x05\x05", 2, False))
        self.unreadable = lambda error: error is self.damaged

    def active(self) -> list[str]:
        if self.damaged:
            raise self.damaged
        return super().active()


def test_checksums_and_shapes(store: Store) -> None:
    asked = ProofRequest(OURS)
    proof = verify(Extra(shop(store), asked), asked)
    assert proof.problems == (
        f"things: name 'b' {WRITTEN}",
        "things: name 'c\\udcff': its name is not UTF-8",
        "vectors: vector 7 has 1 numbers, its space 2",
        "vectors: vector 8 is 7.071 long, not 1",
    )
    assert (proof.checked["other rows"], proof.checked["rows without a checksum"]) == (2, 1)


def test_what_cannot_be_read_is_named_and_the_rest_is_looked_at(store: Store) -> None:
    asked = ProofRequest(OURS)
    evidence = Extra(shop(store), asked)
    evidence.damaged = OSError("page 7")
    problems = verify(evidence, asked).problems
    assert "spaces: cannot be read: page 7" in problems and any(one.startswith("vectors: ") for one in problems)
    evidence.unreadable = lambda error: False
    with pytest.raises(OSError, match="page 7"):
        verify(evidence, asked)


def test_the_journal_that_all_tenants_had_stays_proved(store: Store) -> None:
    asked = ProofRequest(OURS)
    evidence = ToyEvidence(shop(store), asked)
    said = [(seq, NOW, 1, 1, seq, None, "ada", None) for seq in (1, 2)]
    chain = [chained(GENESIS, said[0], b"a")]
    chain.append(chained(chain[0], said[1], b"b"))
    common = [CommonAt(one, digest, value) for one, digest, value in zip(said, (b"a", b"b"), chain, strict=True)]
    evidence.common = lambda: common
    noted = ProofRequest(OURS, Mark(2, chain[1].hex()))
    assert verify(evidence, noted).problems == ()
    evidence.common = lambda: [common[0], common[1]._replace(digest=b"c")]
    assert verify(evidence, asked).problems == ("journal: line 2 does not follow in the journal that all tenants had",)


def test_no_more_problems_are_told_than_anybody_reads(store: Store) -> None:
    tables = shop(store).of(OURS)
    tables.versions |= {1000 + number: tables.versions[3]._replace(version=1000 + number) for number in range(500)}
    for _ in range(MOST_PROBLEMS):
        tables.lines.append(tables.lines[-1])
    problems = store.records.verify(OURS).problems
    assert len(problems) == MOST_PROBLEMS + 1 and problems[-1].startswith("and ")
