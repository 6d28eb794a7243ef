"""The toy as rows, for `migrate`: what it shows, and how it is filled."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tests.toy.shop import Port, Shop
from tests.toy.tables import Tables

from agent_memory.ledger import reading
from agent_memory.ledger.journal import NOBODYS, OPERATIONS, TENANT, Line
from agent_memory.ledger.keys import cells, restored
from agent_memory.ledger.quantise import quantised, requantised
from agent_memory.ledger.quantise import restored as unpacked
from agent_memory.ledger.rows import (
    AnswerRow,
    ContentRow,
    Gone,
    KeptAnswer,
    Lack,
    LinkRow,
    RecordPlace,
    VectorRow,
    VersionRow,
)
from agent_memory.ledger.shipment import check_mark, occupied, unfilled, whole
from agent_memory.ledger.spending import limits
from agent_memory.models.record import Scope, Status
from agent_memory.ports.access import Refusal
from agent_memory.ports.changes import Content, Terms, Vector, VersionState, Vocabulary
from agent_memory.ports.embedder import Space
from agent_memory.ports.feed import Cursor
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.records import View
from agent_memory.ports.shipping import Cells, Show
from agent_memory.ports.spending import DaySpending, SpendingLimit
from agent_memory.ports.vectors import belongs
from agent_memory.ports.working import Desk

HASH = 9  # bytes of a word among the terms of a content: its hash, and how often it occurs


class ToyShipping(Port):
    @contextmanager
    def showing(self, tenant: str | None = None) -> Iterator[Show]:
        showing = _Showing(self.shop, tenant)
        yield lambda section: iter([*getattr(showing, f"_{section}")()])

    def mark(self) -> str | None:
        return self.shop.mark

    def begin(self, mark: str) -> None:
        if self.shop.tenants or self.shop.keys or self.shop.refusals or self.shop.namespaces:
            raise occupied("toy://")
        self.base.shop = Shop(mark=mark)

    def take(self, rows: Sequence[tuple[str, Sequence[Cells]]], mark: str, *, after: str) -> None:
        with self.base.writing(filling=True) as shop:
            check_mark(shop.mark, after, "toy://")
            taking = _Taking(shop)
            for section, several in rows:
                for row in several:
                    getattr(taking, f"_{section}")(*row)
            shop.mark = mark

    def finish(self, *, after: str) -> None:
        """Everything follows from the rows as they are."""
        check_mark(self.shop.mark, after, "toy://")

    def open(self, *, after: str) -> None:
        check_mark(self.shop.mark, after, "toy://")
        self.shop.mark = None

    def abandon(self) -> None:
        if self.shop.mark is None:
            raise unfilled("toy://")
        self.base.shop = Shop()


class _Showing:
    def __init__(self, shop: Shop, tenant: str | None) -> None:
        self.shop, self.tenant = shop, tenant
        mine = sorted(shop.tenants.items(), key=lambda one: one[1].number)
        self.mine = {name: shop.of(name) for name, _ in mine if tenant in (None, name)}

    def _heads(self) -> Iterator[Cells]:
        if self.shop.store and self.tenant is None:
            yield None, self.shop.store[-1].seq, self.shop.store[-1].chain
        yield from ((name, one.lines[-1].seq, one.lines[-1].chain) for name, one in self.mine.items() if one.lines)

    def _common(self) -> list[Cells]:
        return []

    def _meta(self) -> list[Cells]:
        return [("accessed", str(self.shop.accesses_since))] if self.shop.accesses_since else []

    def _vocabularies(self) -> list[Cells]:
        known = self.shop.vocabulary
        return [(1, known.name, known.digest, True)] if known else []

    def _spaces(self) -> Iterator[Cells]:
        for place, one in enumerate(self.shop.spaces):
            yield one.model, one.version, one.dimension, place == 0

    def _places(self) -> list[Cells]:
        return [*self.shop.places.items()]

    def _tenants(self) -> Iterator[Cells]:
        if self.tenant is None:
            yield 0, None, 0, self.shop.salt, self.shop.beginning
        yield from ((one.number, name, 0, one.salt, one.beginning) for name, one in self.mine.items() if one.lines)

    def _scopes(self) -> Iterator[Cells]:
        for name, one in self.mine.items():
            used = {line.scope for line in one.lines} | {scope for scope, _ in one.answers}
            rows = ((number, scope) for scope, number in one.scopes.items() if scope in used)
            yield from ((name, number, scope.user, scope.agent, None) for number, scope in rows)

    def _journal(self) -> Iterator[Cells]:
        for name, one in self.mine.items():
            for line in one.lines:
                number = NOBODYS if line.scope is None else one.scopes[line.scope]
                yield (name, *line[:3], number, *line[4:], None)

    def _store(self) -> Iterator[Cells]:
        return ((*line[:3], *line[4:], None) for line in self.shop.store)

    def _contents(self) -> Iterator[Cells]:
        for name, one in self.mine.items():
            for row in one.contents.values():
                body, words = row.body, row.terms
                said = (body.text, None, None, body.payload, body.salt, 1 if one.vocabulary else 0)
                yield (name, row.content, *said, words.length, words.hashes + words.counts)

    def _fields(self) -> Iterator[Cells]:
        for name, one in self.mine.items():
            for row in one.contents.values():
                told = ((key, value if isinstance(value, str) else whole(value)) for key, value in row.fields)
                yield from ((name, row.content, *field) for field in dict.fromkeys(told))

    def _versions(self) -> Iterator[Cells]:
        for name, one in self.mine.items():
            for row in one.versions.values():
                (record, id, scope), state = row.place, row.state
                numbers = (row.version, record, id, row.number, row.content, one.scopes[scope], row.kind)
                said = (state.key, state.conversation_id, state.position, state.repository, str(state.status))
                rest = (float(state.importance), float(state.confidence), state.source)
                yield (name, *numbers, *said, *rest, state.valid_from, state.valid_to, row.ended)

    def _links(self) -> Iterator[Cells]:
        for name, one in self.mine.items():
            for row in one.links.values():
                said = (float(row.weight), row.properties, row.salt, row.ended)
                yield (name, row.link, row.source, row.target, row.type, one.scopes[row.scope], *said)

    def _tombstones(self) -> Iterator[Cells]:
        for name, one in self.mine.items():
            for row in one.tombstones:
                yield name, row.place.record, row.place.id, one.scopes[row.place.scope], row.line

    def _vectors(self) -> Iterator[Cells]:
        for name, one in self.mine.items():
            for row in one.vectors:
                packed = one.packed.get((row.line, row.place)) or quantised(row.vector.numbers)
                place = (row.line, row.place, row.space.fingerprint, one.scopes[row.scope], row.content)
                yield (name, *place, row.vector.part, row.vector.start, row.vector.end, *packed)

    def _pending(self) -> Iterator[Cells]:
        for name, one in self.mine.items():
            for row in one.lacks.values():
                yield name, row.content, row.space.fingerprint, one.scopes[row.scope], row.part

    def _answers(self) -> Iterator[Cells]:
        for name, one in self.mine.items():
            for row in one.answers.values():
                yield name, one.scopes[row.scope], row.key, row.answer.request, row.at, row.answer.text

    def _receipts(self) -> Iterator[Cells]:
        for name, one in self.mine.items():
            for line, named in one.receipts.values():
                scope = line.view.scope
                said = (line.view.now, line.seq, line.terms, line.body, sorted(named))
                yield (name, line.id, scope.user, scope.agent, *said)

    def _accesses(self) -> Iterator[Cells]:
        for name, one in self.mine.items():
            yield from ((name, record, len(times), max(times)) for record, times in one.accesses.items())

    def _accessed(self) -> Iterator[Cells]:
        for name, one in self.mine.items():
            for record, times in one.accesses.items():
                yield from ((name, record, *told) for told in Counter(times).items())

    def _values(self) -> Iterator[Cells]:
        for name, one in self.mine.items():
            for (desk, key), (value, until) in one.values.items():
                yield name, desk.scope.user, desk.scope.agent, desk.conversation, key, value, until

    def _lists(self) -> Iterator[Cells]:
        for name, one in self.mine.items():
            for (desk, key), told in one.lists.items():
                for place, (value, until) in enumerate(told, 1):
                    yield name, desk.scope.user, desk.scope.agent, desk.conversation, key, place, value, until

    def _namespaces(self) -> Iterator[Cells]:
        for (place, id), (scale, data, *rest) in self.shop.namespaces.items():
            if self.tenant is None or belongs(place, self.tenant):
                yield (place, id, unpacked(scale, data).astype("<f4").tobytes(), *rest)

    def _scores(self) -> Iterator[Cells]:
        for (place, id), told in self.shop.scores.items():
            if self.tenant is None or belongs(place, self.tenant):
                yield (place, id, *told)

    def _missed(self) -> Iterator[Cells]:
        turns: defaultdict[str, int] = defaultdict(int)
        for place, namespace, id in sorted(self.shop.missed, key=self.shop.missed.__getitem__):
            if self.tenant is None or belongs(namespace, self.tenant):
                turns[place] += 1
                yield place, namespace, id, turns[place], 0

    def _cursors(self) -> Iterator[Cells]:
        turns: defaultdict[str, int] = defaultdict(int)
        for (job, tenant), cursor in self.shop.cursors.items():
            if self.tenant in (None, tenant):
                turns[job] += 1
                yield tenant, job, cursor.seq, cursor.chain, turns[job]

    def _debts(self) -> Iterator[Cells]:
        for (place, scope, id), (seq, at) in self.shop.debts.items():
            if self.tenant in (None, scope.tenant):
                yield place, scope.tenant, scope.user, scope.agent, id or "", seq, at

    def _keys(self) -> Iterator[Cells]:
        return (cells(key) for key in self.shop.keys.values() if self.tenant in (None, key.tenant))

    def _refusals(self) -> Iterator[Cells]:
        mine = [one for one in self.shop.refusals if self.tenant in (None, one.tenant)]
        for place, one in enumerate(mine, 1):
            yield place, one.at, one.tenant, one.user, one.operation, one.reason, one.key

    def _reads(self) -> Iterator[Cells]:
        mine = [one for one in self.shop.reads if self.tenant in (None, one.tenant)]
        for place, one in enumerate(mine, 1):
            yield place, *reading.cells(one)

    def _spending(self) -> list[Cells]:
        return [] if self.tenant else sorted(self.shop.spent.values())

    def _budgets(self) -> list[Cells]:
        return [] if self.tenant else [limits(one) for _, one in sorted(self.shop.budgets.items())]


class _Taking:
    def __init__(self, shop: Shop) -> None:
        self.shop = shop

    def _scope(self, tenant: str, number: int) -> Scope:
        return next(scope for scope, one in self.shop.of(tenant).scopes.items() if one == number)

    def _space(self, name: str) -> Space:
        return next(one for one in self.shop.spaces if one.fingerprint == name)

    def _meta(self, name: str, value: str) -> None:
        self.shop.accesses_since = int(value)

    def _vocabularies(self, number: int, name: str, digest: str, active: bool) -> None:
        self.shop.vocabulary = Vocabulary(name, digest) if active else self.shop.vocabulary

    def _spaces(self, model: str, version: str, dimension: int, active: bool) -> None:
        one = Space(model, version, dimension)
        self.shop.spaces = (one, *self.shop.spaces) if active else (*self.shop.spaces, one)

    def _places(self, name: str, error: str | None) -> None:
        self.shop.places[name] = error

    def _tenants(self, number: int, name: str | None, base: int, salt: bytes, beginning: bytes) -> None:
        if name is None:
            self.shop.salt, self.shop.beginning = salt, beginning
        else:
            self.shop.tenants[name] = Tables(number, salt, beginning)
            self.shop.numbered = max(self.shop.numbered, number)

    def _scopes(self, tenant: str, number: int, user: str, agent: str, old: int | None) -> None:
        self.shop.of(tenant).scopes[Scope(tenant=tenant, user=user, agent=agent)] = number

    def _journal(self, tenant: str, seq: int, at: int, operation: int, scope: int, *rest: Any) -> None:
        self.shop.of(tenant).lines.append(Line(seq, at, operation, self._scope(tenant, scope), *rest[:-1]))

    def _store(self, seq: int, at: int, operation: int, record: int | None, *rest: Any) -> None:
        self.shop.store.append(Line(seq, at, operation, None, record, *rest[:-1]))
        if operation == OPERATIONS[TENANT]:
            self.shop.numbered = max(self.shop.numbered, record or 0)

    def _contents(self, tenant: str, content: int, text: str, encoded: bytes | None, *rest: Any) -> None:
        _, payload, salt, _, length, terms = rest
        cut = len(terms) // HASH * (HASH - 1)
        words = Terms(terms[:cut], terms[cut:], length)
        self.shop.of(tenant).contents[content] = ContentRow(content, Content(text, payload, salt), words, (), (), ())

    def _fields(self, tenant: str, content: int, name: str, value: Any) -> None:
        rows = self.shop.of(tenant).contents
        rows[content] = rows[content]._replace(fields=(*rows[content].fields, (name, value)))

    def _versions(self, tenant: str, version: int, record: int, id: str, number: int, content: int, *rest: Any) -> None:
        scope, kind, key, conversation, position, repository, status, *said = rest
        importance, confidence, source, begin, end, ended = said
        told = (key, conversation, position, repository, Status(status), importance, confidence, source)
        place = RecordPlace(record, id, self._scope(tenant, scope))
        row = VersionRow(version, place, kind, number, content, VersionState(begin, end, *told), ended)
        self.shop.of(tenant).versions[version] = row

    def _links(self, tenant: str, link: int, source: int, target: int, type: str, scope: int, *rest: Any) -> None:
        self.shop.of(tenant).links[link] = LinkRow(link, source, target, type, self._scope(tenant, scope), *rest)

    def _tombstones(self, tenant: str, record: int, id: str, scope: int, line: int) -> None:
        self.shop.of(tenant).tombstones.append(Gone(RecordPlace(record, id, self._scope(tenant, scope)), line))

    def _vectors(self, tenant: str, line: int, place: int, space: str, scope: int, content: int, *rest: Any) -> None:
        part, start, end, *packed = rest
        tables, made = self.shop.of(tenant), Vector.of(part, start, end, unpacked(*packed))
        whose = content, self._scope(tenant, scope), self._space(space)
        tables.vectors.append(VectorRow(line, place, *whose, made))
        tables.packed[line, place] = (packed[0], packed[1])

    def _pending(self, tenant: str, content: int, space: str, scope: int, part: int) -> None:
        lack = Lack(content, self._scope(tenant, scope), self._space(space), part)
        self.shop.of(tenant).lacks[content, lack.space] = lack

    def _answers(self, tenant: str, scope: int, key: str, request: bytes, at: int, answer: str) -> None:
        whose = self._scope(tenant, scope)
        self.shop.of(tenant).answers[whose, key] = AnswerRow(whose, key, at, KeptAnswer(request, answer))

    def _receipts(self, tenant: str, id: str, user: str, agent: str, at: int, seq: int, *rest: Any) -> None:
        terms, body, told = rest
        view = View(Scope(tenant=tenant, user=user, agent=agent), at)
        line = ReceiptLine(id=id, view=view, seq=seq, body=body, handles=(), terms=terms)
        self.shop.of(tenant).receipts[id] = (line, frozenset(told))

    def _accesses(self, *row: Any) -> None:
        """All of them are told one by one."""

    def _accessed(self, tenant: str, record: int, at: int, times: int) -> None:
        accesses = self.shop.of(tenant).accesses
        accesses[record] = (*accesses.get(record, ()), *[at] * times)

    def _values(self, tenant: str, user: str, agent: str, conversation: str, key: str, *rest: Any) -> None:
        desk = Desk(Scope(tenant=tenant, user=user, agent=agent), conversation)
        self.shop.of(tenant).values[desk, key] = (rest[0], rest[1])

    def _lists(self, tenant: str, user: str, agent: str, conversation: str, name: str, *rest: Any) -> None:
        desk = Desk(Scope(tenant=tenant, user=user, agent=agent), conversation)
        lists = self.shop.of(tenant).lists
        lists[desk, name] = (*lists.get((desk, name), ()), (rest[1], rest[2]))

    def _namespaces(self, namespace: str, id: str, vector: bytes, metadata: str, model: str | None) -> None:
        import numpy as np

        self.shop.namespaces[namespace, id] = (*requantised(np.frombuffer(vector, "<f4")), metadata, model)

    def _scores(self, namespace: str, id: str, score: float, at: int) -> None:
        self.shop.scores[namespace, id] = (score, at)

    def _missed(self, place: str, namespace: str, id: str, turn: int, at: int) -> None:
        self.shop.missed[place, namespace, id] = max(self.shop.missed.values(), default=0) + 1

    def _cursors(self, tenant: str, job: str, seq: int, chain: str, turn: int) -> None:
        self.shop.cursors[job, tenant] = Cursor(tenant, seq, chain)

    def _debts(self, place: str, tenant: str, user: str, agent: str, id: str, *rest: int) -> None:
        seq, at = rest
        self.shop.debts[place, Scope(tenant=tenant, user=user, agent=agent), id or None] = (seq, at)

    def _keys(self, *row: Any) -> None:
        self.shop.keys[row[0]] = restored(row)

    def _refusals(self, number: int, *row: Any) -> None:
        self.shop.refusals.append(Refusal(*row))

    def _reads(self, number: int, *row: Any) -> None:
        self.shop.reads.append(reading.restored(row))

    def _spending(self, *row: Any) -> None:
        self.shop.spent[DaySpending(*row).account] = DaySpending(*row)

    def _budgets(self, *row: Any) -> None:
        self.shop.budgets[row[:3]] = SpendingLimit(*row)
