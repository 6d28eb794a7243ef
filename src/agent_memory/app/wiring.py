"""Where the parts meet: a store, an embedder and the kinds become a runtime, shared by the clients of a process."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from agent_memory.app import extractors, pricing, registry, telemetry
from agent_memory.app.compose import compose, part_settings
from agent_memory.app.config import Settings
from agent_memory.app.guarded import Guarded
from agent_memory.core.context.tokens import estimate
from agent_memory.core.experience.ring import RingBounds, Rings
from agent_memory.core.govern.book import Book
from agent_memory.core.govern.gate import Gate, Gates
from agent_memory.core.govern.metering import (
    MeteredChat,
    MeteredReranker,
    ModelMeter,
)
from agent_memory.core.govern.redaction import Redaction, commons
from agent_memory.core.govern.review import ReviewGate
from agent_memory.core.upkeep.extract.values import NamedExtractor
from agent_memory.core.upkeep.job import Keeping
from agent_memory.core.upkeep.pruning import ForgettingTerms
from agent_memory.core.write.commit import How, Writing, commit
from agent_memory.core.write.debts import Debts
from agent_memory.core.write.embed import FOLLOWING, REEMBED, Embedding, following
from agent_memory.core.write.mirror import Mirroring
from agent_memory.core.write.wording import REBUILD, Wording, deriver, outdated
from agent_memory.models.draft import Draft
from agent_memory.models.kinds.govern import ALLOWANCE, FIRST, NO_SECRETS
from agent_memory.models.kinds.kind import Kind
from agent_memory.models.moment import to_micros
from agent_memory.models.record import Scope
from agent_memory.ports.access import Refusal
from agent_memory.ports.changes import Author
from agent_memory.ports.chat import ChatModel
from agent_memory.ports.clock import Clock, StoreClock
from agent_memory.ports.embedder import Embedder
from agent_memory.ports.forks import CALL_SECONDS, CALLS, FORK_SECONDS
from agent_memory.ports.reading import ReadLine
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.reranker import Reranker
from agent_memory.ports.spans import log
from agent_memory.ports.store import Store

if TYPE_CHECKING:
    from agent_memory.core.recall.gather import Recalling
    from agent_memory.ports.index import Calling


READS_AT_ONCE = 2000
_log = log(__name__)


@dataclass(frozen=True)
class OwnParts:
    """What a client brings along, instead of what the settings name; `embedders` by their namespaces of vectors. `chat`
    is a `ChatModel`, or an object with `chat.completions.create`."""

    embedder: Embedder | None = None
    reranker: Reranker | None = None
    embedders: Mapping[str, Embedder] = field(default_factory=dict)
    chat: Any = None


@dataclass(eq=False)
class Runtime:
    """One open store and what works on it. Counted: the last client to leave closes it.

    `url` says where the store is, `given` what a client brought along, `embedders` which ones namespaces of vectors
    have for themselves, `idle` when each scope was last found to have nothing to do.
    """

    settings: Settings
    url: str
    store: Store
    embedder: Guarded
    kinds: Mapping[str, Kind]
    meter: ModelMeter
    reranker: Reranker | None = None
    given: OwnParts = field(default_factory=OwnParts)
    embedders: Mapping[str, Guarded] = field(default_factory=dict)
    chat: MeteredChat | None = None
    clients: int = 0
    idle: dict[Scope, int] = field(default_factory=dict)
    embedding: Embedding = field(init=False)
    mirroring: Mirroring = field(init=False)
    wording: Wording = field(init=False)
    redaction: Redaction = field(init=False)
    review: ReviewGate = field(init=False)
    gate: Gate = field(init=False)
    receipts: Book[ReceiptLine] = field(init=False)
    refusals: Book[Refusal] = field(init=False)
    reads: Book[ReadLine] = field(init=False)
    rings: Rings = field(init=False)

    def __post_init__(self) -> None:
        price = getattr(self.embedder.embedder, "price", self.settings.embedding_price)
        self.embedding = Embedding(self.embedder, self.store.index, price)
        self.mirroring = Mirroring(self.store)
        self.wording = Wording(self.store.vocabularies)
        self.redaction = Redaction(
            self.store,
            self.kinds,
            lambda *content: deriver(self.kinds, self.wording.analyser)(*content),
            self.settings.personal_data,
            self._found,
        )
        self.review = ReviewGate(
            self.store.records,
            self.kinds,
            self.settings.fact_confidence_threshold,
            lambda: to_micros(self.clock.now()),
            self.settings.review,
            self.settings.personal_data == "hold",
        )
        ours: list[tuple[str, Gate]] = [("redaction", self.redaction)] if self.settings.redact else []
        ours.append(("review", self.review))
        self.gate = Gates([*ours, *registry.open_gates()], self._note_refused)
        self.receipts = Book(self.store.receipts.keep)
        self.refusals = Book(self.store.access.refuse)
        self.reads = Book(self.keep_reads, READS_AT_ONCE)
        bounds = RingBounds(self.settings.operational_events, self.settings.operational_hours)
        clean = self._without_secrets if self.settings.redact else lambda tenant, text: text
        self.rings = Rings(lambda: self.store.working, lambda: self.writing, bounds, clean)

    def keep_reads(self, lines: Sequence[ReadLine], *, durable: bool = False) -> None:
        if self.store.reading is not None:
            self.store.reading.keep(lines, durable=durable)

    def _without_secrets(self, tenant: str, text: str) -> str:
        return self.redaction.json(text, self.redaction.known(tenant, found=False))

    def _found(self, tenant: str) -> None:
        """Begin the journal of a tenant, with an allowance that allows nothing."""
        draft = Draft(kind=ALLOWANCE, text=FIRST, payload={"fingerprint": NO_SECRETS})
        author = Author(commons(tenant), actor="redaction")
        commit(self.writing, [draft], author, to_micros(self.clock.now()), How(embed=False, decides=True))

    def _note_refused(self, author: Author, reason: str) -> None:
        now, scope = to_micros(self.clock.now()), author.scope
        self.refusals.add(Refusal(now, scope.tenant, scope.user, "write", reason))

    def embedder_of(self, namespace: str) -> Guarded:
        """What makes the vectors of a namespace of `vectors`."""
        return self.embedders.get(namespace, self.embedder)

    def require_chat(self) -> MeteredChat:
        """For what cannot do without one; what can, looks whether there is a `chat`."""
        return registry.require_chat(self.chat)

    @property
    def clock(self) -> Clock:
        """For whoever brings none along."""
        return StoreClock(self.store.bounded)

    @property
    def debts(self) -> Debts:
        return Debts(self.store.debts, self.store.outside)

    @property
    def writing(self) -> Writing:
        given = (self.store.records, self.embedding, self.kinds, self.gate, self.receipts)
        return Writing(*given, self.debts, self.wording)

    @cached_property
    def calling(self) -> Calling:
        """How entities are called; what searches is loaded with the first recall."""
        from agent_memory.core.recall.entities import calling

        return calling(self.kinds)

    @property
    def recalling(self) -> Recalling:
        from agent_memory.core.recall.gather import Recalling

        return Recalling(
            self.store.index, self.embedding, self.receipts, self.calling, self.reranker, self.settings.adapters
        )

    @property
    def terms(self) -> ForgettingTerms:
        said = self.settings
        days = (said.episodic_retention_days, said.grace_days)
        return ForgettingTerms(said.salience_decay_rate, *days, said.fact_confidence_threshold)

    def keeping(self, clock: Clock) -> Keeping:
        given = (self.store, self.writing, self.mirroring, clock)
        return Keeping(*given, embedder_of=self.embedder_of, terms=self.terms, extractors=lambda: self.extractors)

    @cached_property
    def extractors(self) -> tuple[NamedExtractor, ...]:
        """Who reads turns beside the rules; looked for when the first turn is read."""
        if self.chat is None or self.settings.extract == "rules":
            return extractors.others()
        from agent_memory.core.upkeep.extract.asking import asking

        return (*extractors.others(), asking(self.chat))

    def before_fork(self) -> None:
        for one in (self.embedder, *self.embedders.values()):
            one.guard.before_fork()
        self.store.before_fork()

    def after_fork(self, child: bool) -> None:
        for one in (self.embedder, *self.embedders.values()):
            one.guard.after_fork(child)
        self.store.after_fork(child)
        if child:
            self.receipts.after_fork()
            self.refusals.after_fork()
            self.reads.after_fork()
            self.rings.after_fork()
            self.mirroring.after_fork()


AT_THE_GATE = ("redact", "personal_data", "review", "fact_confidence_threshold")
"""Settings by which a runtime decides about writes."""
FORGETTING = ("salience_decay_rate", "episodic_retention_days", "grace_days")
"""Settings by which its jobs archive and remove."""
_open: list[Runtime] = []
_lock = threading.RLock()
_watching = False


def borrow(settings: Settings, given: OwnParts = OwnParts(), *, create: bool = True) -> Runtime:  # noqa: B008
    """The runtime for these settings: one per store and its parts, embedder and reranker, so that clients share caches
    and connections. What a client brings along serves only those that bring the same. Without `create`, a store that is
    not there yet is an error."""
    url = registry.locate(settings.store_url)
    if not create:
        registry.check_there(url)
    telemetry.begin(settings)
    watch_forks()
    with _lock:
        for runtime in _open:
            if runtime.url == url and _serves(runtime, settings, given):
                break
        else:
            runtime = build(settings, given, create=create)
            _open.append(runtime)
        runtime.clients += 1
        return runtime


def _serves(runtime: Runtime, settings: Settings, given: OwnParts) -> bool:
    """Whether it has the parts that were brought along and, for the others, what the settings name."""
    had, brought = runtime.settings, runtime.given
    brings_all = given.embedder is not None and not settings.embedders  # these are opened with the same keys
    return (
        brought.embedder is given.embedder
        and part_settings(had) == part_settings(settings)
        and brought.reranker is given.reranker
        and all(getattr(had, name) == getattr(settings, name) for name in (*AT_THE_GATE, *FORGETTING))
        and (had.adapters, had.extract) == (settings.adapters, settings.extract)
        and brought.embedders == given.embedders
        and had.embedders == settings.embedders
        and brought.chat is given.chat
        and registry.chat_settings(had) == registry.chat_settings(settings)
        and (brings_all or registry.embedder_settings(had) == registry.embedder_settings(settings))
        and (given.reranker is not None or registry.reranker_settings(had) == registry.reranker_settings(settings))
    )


def share(runtime: Runtime) -> Runtime:
    """One more client of an open runtime; `release` lets go of it again."""
    with _lock:
        runtime.clients += 1
    return runtime


def release(runtime: Runtime) -> None:
    with _lock:
        runtime.clients -= 1
        if runtime.clients == 0:
            _open.remove(runtime)
            _close(runtime)


def build(settings: Settings, given: OwnParts = OwnParts(), *, create: bool = True) -> Runtime:  # noqa: B008
    embedder = registry.open_embedder(settings) if given.embedder is None else given.embedder
    reranker = registry.open_reranker(settings) if given.reranker is None else given.reranker
    embedders = {**registry.open_embedders(settings), **given.embedders}
    chat = registry.open_chat_model(settings, given.chat)
    rules = pricing.terms(settings)
    kinds = registry.installed_kinds()
    url = registry.locate(settings.store_url)
    store = compose(settings, create=create)
    try:
        if not store.read_only:
            store.records.prepare(kinds.values())
        if why := outdated(store.vocabularies()):
            _log.warning("%s: %s", why, REBUILD)
    except BaseException:
        store.close()
        raise
    meter = ModelMeter(store.spending, lambda: StoreClock(store.bounded), estimate, rules)
    counting = None if store.spending is None or store.read_only else meter
    guarded = {name: Guarded(one, counting) for name, one in embedders.items()}
    if counting is not None and getattr(reranker, "service", None) is not None:
        reranker = MeteredReranker(reranker, counting, pricing.known(reranker))
    made = Runtime(
        settings,
        url,
        store,
        Guarded(embedder, counting, settings.embedding_price),
        kinds,
        meter,
        reranker,
        given,
        guarded,
    )
    if following(made.embedding):
        _log.warning("%s: %s", FOLLOWING, REEMBED)
    if chat is not None:
        made.chat = metered(chat, settings, meter)
    return made


def metered(chat: ChatModel, settings: Settings, meter: ModelMeter) -> MeteredChat:
    """The model, asked only as much as the budgets allow."""
    return MeteredChat(chat, meter, settings.chat_max_tokens, pricing.known(chat))


def _close(runtime: Runtime) -> None:
    runtime.rings.close()
    runtime.receipts.close()
    runtime.refusals.close()
    runtime.reads.close()
    runtime.mirroring.close()
    runtime.store.close()


def _close_all() -> None:
    """What still waits is written when the process ends."""
    for runtime in _open:
        _close(runtime)
    _open.clear()


# Hooks run the last one first. The first finalizer brings the hook of all finalizers, which take the embedder away:
# it has to be there before ours, which needs the embedder.
weakref.finalize(_close_all, bool)
atexit.register(_close_all)


def watch_forks() -> None:
    """Once, and not before there is a client, whom a fork could harm. Systems without forks have no hook either."""
    global _watching
    with _lock:
        if not _watching and hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=_before_fork,
                after_in_parent=lambda: _after_fork(child=False),
                after_in_child=lambda: _after_fork(child=True),
            )
            _watching = True


_held = False


def _before_fork() -> None:
    global _held
    CALLS.before_fork(CALL_SECONDS)
    _held = _lock.acquire(timeout=FORK_SECONDS)  # no store is half open or half closed
    for runtime in tuple(_open):
        runtime.before_fork()


def _after_fork(*, child: bool) -> None:
    global _lock, _held
    for runtime in tuple(_open):
        runtime.after_fork(child)
    if child:
        _lock = threading.RLock()
    held, _held = _held, False  # before the next thread that forks says that it holds it
    if held and not child:
        _lock.release()
    CALLS.after_fork(child)
