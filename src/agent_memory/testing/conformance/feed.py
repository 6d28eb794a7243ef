"""The feed: lines of every tenant, cursors that move with what was made of them, and leases with a token that grows."""

from __future__ import annotations

import pytest

from agent_memory.models.errors import Changed, LeaseLost
from agent_memory.models.record import Scope
from agent_memory.ports.changes import Author, Erase
from agent_memory.ports.feed import Cursor, FeedLine, JobOutcome, JobState, Lease, Work
from agent_memory.ports.index import Embedded
from agent_memory.ports.store import Store
from agent_memory.testing.builders import (
    ALICE,
    BOB,
    NOW,
    SPACE,
    STRANGER,
    ids,
    link,
    put,
    text_vector,
    view,
    write,
)

ACME, RIVAL = Cursor("acme"), Cursor("rival")
LONG = 3600.0  # seconds: a lease that does not end while a test runs


def leased(store: Store, name: str = "read", holder: str = "one") -> Lease:
    lease = store.feed.lease(name, holder, LONG)
    assert lease is not None
    return lease


def work(lease: Lease, lines: list[FeedLine], since: Cursor = ACME) -> Work:
    return Work(lease, since, lines[-1].cursor)


def make(store: Store, done: Work, id: str = "made") -> None:
    store.records.apply([put("made", id=id)], author=Author(ALICE, "job"), now=NOW, work=done)


class FeedLineConformance:
    """The `Feed` port."""

    def test_lines_of_a_tenant_whoever_they_belong_to(self, store: Store) -> None:
        write(store, put("one", id="a"), put("two", id="b", kind="fact"), link("a", "b"))
        write(store, put("theirs", id="x"), scope=STRANGER)
        write(store, put("bob's", id="c"), scope=BOB, now=NOW + 5)
        lines = store.feed.lines(ACME)
        assert [(one.operation, one.scope, one.kind, one.id) for one in lines] == [
            ("put", ALICE, "note", "a"),
            ("put", ALICE, "fact", "b"),
            ("connect", ALICE, "note", "a"),
            ("put", BOB, "note", "c"),
        ]
        assert [one.at for one in lines] == [NOW, NOW, NOW, NOW + 5]
        assert [one.seq for one in lines] == sorted({one.seq for one in lines})
        assert [one.id for one in store.feed.lines(RIVAL)] == ["x"]
        assert store.feed.lines(Cursor("nobody")) == []

    def test_lines_are_those_of_the_journal_in_pages(self, store: Store) -> None:
        write(store, *(put("note", id=f"n{number}") for number in range(5)))
        first = store.feed.lines(ACME, limit=2)
        rest = store.feed.lines(first[-1].cursor)
        told = [(one.seq, one.chain) for one in (*first, *rest)]
        assert told == [(one.seq, one.chain) for one in store.records.journal(view())] and len(first) == 2

    def test_what_was_erased_has_an_id_and_no_kind(self, store: Store) -> None:
        write(store, put("one", id="a"))
        write(store, Erase("a"))
        assert [(one.operation, one.kind, one.id) for one in store.feed.lines(ACME)] == [
            ("put", None, "a"),
            ("erase", None, "a"),
        ]

    def test_a_cursor_moves_with_what_was_made(self, store: Store) -> None:
        write(store, put("one", id="a"))
        assert store.feed.cursor("read", "acme") == ACME
        lease, lines = leased(store), store.feed.lines(ACME)
        make(store, work(lease, lines))
        assert store.feed.cursor("read", "acme") == lines[-1].cursor
        assert store.feed.cursor("another", "acme") == ACME and store.feed.cursor("read", "rival") == RIVAL
        assert [one.id for one in store.feed.lines(lines[-1].cursor)] == ["made"]

    def test_what_fails_moves_no_cursor(self, store: Store) -> None:
        write(store, put("one", id="a"))
        done = work(leased(store), store.feed.lines(ACME))
        with pytest.raises(LookupError):
            store.records.apply([link("a", "nowhere")], author=Author(ALICE, "job"), now=NOW, work=done)
        assert store.feed.cursor("read", "acme") == ACME

    def test_the_same_lines_are_worked_on_once(self, store: Store) -> None:
        write(store, put("one", id="a"))
        done = work(leased(store), store.feed.lines(ACME))
        make(store, done)
        with pytest.raises(Changed):
            make(store, done, id="twin")
        assert ids(store.records.get(view(), ["made", "twin"])) == ["made"]

    def test_nothing_is_made_of_a_journal_that_is_not_there(self, store: Store) -> None:
        """As after a restore, or a fail-over to a copy that lacked the last lines."""
        write(store, put("one", id="a"))
        lease, line = leased(store), store.feed.lines(ACME)[-1]
        for other in (line._replace(chain="00" * 32), line._replace(seq=line.seq + 1), line._replace(scope=STRANGER)):
            with pytest.raises(Changed):
                make(store, Work(lease, Cursor(other.scope.tenant), other.cursor))
        assert store.records.get(view(), ["made"]) == []

    def test_whoever_read_another_journal_starts_anew(self, store: Store) -> None:
        write(store, put("one", id="a"), put("two", id="b"))
        lines = store.feed.lines(ACME)
        for strange in (lines[0].cursor._replace(chain="00" * 32), lines[1].cursor._replace(seq=99)):
            assert store.feed.lines(strange) == lines
        assert store.feed.lines(lines[0].cursor) == lines[1:]

    def test_advance_moves_a_cursor_where_nothing_is_made(self, store: Store) -> None:
        write(store, put("one", id="a"), put("two", id="b"))
        lease, lines = leased(store), store.feed.lines(ACME)
        store.feed.advance(work(lease, lines[:1]))
        with pytest.raises(Changed):
            store.feed.advance(work(lease, lines))
        store.feed.advance(work(lease, lines, since=lines[0].cursor))
        assert store.feed.cursor("read", "acme") == lines[1].cursor

    def test_news_names_tenants_that_have_lines_to_read(self, store: Store) -> None:
        assert store.feed.news("read") == [] and store.feed.behind("read") == 0
        write(store, put("one", id="a"), put("two", id="b"))
        write(store, put("theirs", id="x"), scope=STRANGER)
        assert store.feed.news("read") == ["acme", "rival"] and store.feed.behind("read") == 3
        lease, lines = leased(store), store.feed.lines(ACME)
        store.feed.advance(work(lease, lines[:1]))
        assert store.feed.behind("read") == 2
        store.feed.advance(work(lease, lines, since=lines[0].cursor))
        assert store.feed.news("read") == ["rival"] and store.feed.behind("read") == 1
        assert store.feed.news("another") == ["acme", "rival"] and store.feed.behind("another") == 3

    def test_news_keeps_nobody_waiting(self, store: Store) -> None:
        """Each asks for one, and each tenant writes all the time: all of them get their turn."""
        tenants = [Scope(tenant=name, user="alice") for name in ("a", "b", "c")]
        lease, served = leased(store), list[str]()
        for turn in range(6):
            for scope in tenants:
                write(store, put("note", id=f"n{turn}"), scope=scope)
            (tenant,) = store.feed.news("read", limit=1)
            since = store.feed.cursor("read", tenant)
            store.feed.advance(work(lease, store.feed.lines(since, limit=1), since))
            served.append(tenant)
        assert served == ["a", "b", "c", "a", "b", "c"]

    def test_lines_that_concern_the_store_are_no_tenants(self, store: Store) -> None:
        store.index.begin(SPACE)
        assert store.feed.news("read") == [] and store.feed.behind("read") == 0


class LeaseConformance:
    """The leases of the `Feed` port."""

    def test_one_at_a_time_and_the_token_grows(self, store: Store) -> None:
        first = leased(store)
        assert (first.name, first.holder) == ("read", "one")
        assert store.feed.lease("read", "two", LONG) is None and store.feed.lease("read", "one", LONG) is None
        assert leased(store, "another", "two").name == "another", "each job has its own"
        store.feed.release(first)
        second = leased(store, holder="two")
        assert second.token > first.token

    def test_a_lease_that_is_over_can_be_taken_and_shuts_its_holder_out(self, store: Store) -> None:
        write(store, put("one", id="a"))
        over = store.feed.lease("read", "one", 0.0)
        assert over is not None
        lines = store.feed.lines(ACME)
        taken = leased(store, holder="two")
        for late in (Work(over), work(over, lines)):
            with pytest.raises(LeaseLost):
                make(store, late)
            with pytest.raises(LeaseLost):
                store.feed.advance(late)
        with pytest.raises(LeaseLost):
            store.feed.renew(over, LONG)
        store.feed.release(over, JobOutcome(1.0))
        assert store.records.get(view(), ["made"]) == [] and store.feed.cursor("read", "acme") == ACME
        assert store.feed.states()[0].holder == "two" and store.feed.states()[0].ran_at is None
        make(store, work(taken, lines))

    def test_a_lease_that_was_given_back_writes_nothing(self, store: Store) -> None:
        lease = leased(store)
        store.feed.release(lease)
        with pytest.raises(LeaseLost):
            make(store, Work(lease))
        with pytest.raises(LeaseLost):
            make(store, Work(leased(store, holder="two")._replace(holder="one")))

    def test_a_job_that_is_forgotten_leaves_nothing(self, store: Store) -> None:
        lease = leased(store)
        store.feed.release(lease._replace(holder="two"), forget=True)
        assert len(store.feed.states()) == 1, "whoever does not hold it forgets nothing"
        store.feed.release(lease, forget=True)
        assert store.feed.states() == []
        taken = leased(store, holder="two")
        with pytest.raises(LeaseLost):
            make(store, Work(lease))
        make(store, Work(taken))
        assert store.records.verify(ALICE.tenant).problems == ()

    def test_a_lease_that_is_renewed_is_kept(self, store: Store) -> None:
        lease = store.feed.lease("read", "one", 0.0)
        assert lease is not None
        store.feed.renew(lease, LONG)
        assert store.feed.lease("read", "two", LONG) is None
        make(store, Work(lease))

    def test_vectors_of_a_job_whose_lease_was_lost_are_not_stored(self, store: Store) -> None:
        store.index.begin(SPACE)
        write(store, put("one", id="a"))
        lease = leased(store)
        (waiting,) = store.index.unembedded(SPACE, None, 10)
        made = [Embedded(waiting.handle, (text_vector("one"),), complete=True)]
        store.feed.release(lease)
        with pytest.raises(LeaseLost):
            store.index.embedded(SPACE, ALICE.tenant, made, now=NOW, work=Work(lease))
        assert store.index.pending(SPACE) == 1
        store.index.embedded(SPACE, ALICE.tenant, made, now=NOW, work=Work(leased(store)))
        assert store.index.pending(SPACE) == 0

    def test_a_job_is_not_due_again_before_its_time(self, store: Store) -> None:
        store.feed.release(leased(store), JobOutcome(0.5, {"made": 2}))
        assert store.feed.lease("read", "two", LONG, every=LONG) is None
        store.feed.release(leased(store, holder="two"))
        assert store.feed.lease("read", "two", LONG, every=LONG) is None, "giving back is no run"
        assert store.feed.lease("read", "two", LONG, every=0.0) is not None

    def test_what_is_known_of_jobs(self, store: Store) -> None:
        assert store.feed.states() == []
        store.feed.release(leased(store), JobOutcome(0.5, {"made": 2}))
        store.feed.release(leased(store, "fail"), JobOutcome(0.25, error="nobody answers"))
        leased(store, "held", "two")
        failed, waiting, ran = store.feed.states()
        assert (ran.name, ran.holder, ran.until, ran.seconds, ran.did) == ("read", None, None, 0.5, {"made": 2})
        assert ran.ran_at is not None and ran.failed_at is None and ran.error is None
        assert (failed.error, failed.did, failed.failed_at) == ("nobody answers", {}, failed.ran_at)
        assert waiting.until is not None and waiting == JobState("held", "two", waiting.until)
        store.feed.release(leased(store, "fail"), JobOutcome(0.5, {"made": 1}))
        again = store.feed.states()[0]
        assert (again.error, again.failed_at) == ("nobody answers", failed.failed_at), "the last failure is remembered"
        assert again.did == {"made": 1} and store.records.verify(ALICE.tenant).problems == ()
