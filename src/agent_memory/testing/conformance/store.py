"""The suites put together, one per port, and one for all of them."""

from __future__ import annotations

from agent_memory.testing.conformance.access import AccessConformance
from agent_memory.testing.conformance.debts import DebtConformance
from agent_memory.testing.conformance.departed import DepartedConformance
from agent_memory.testing.conformance.erasure import DerivedErasureConformance, ErasureConformance
from agent_memory.testing.conformance.feed import FeedLineConformance as _Feed
from agent_memory.testing.conformance.feed import LeaseConformance
from agent_memory.testing.conformance.finding import FindConformance
from agent_memory.testing.conformance.groups import GroupConformance
from agent_memory.testing.conformance.journal import JournalConformance
from agent_memory.testing.conformance.links import LinkRowConformance as _Links
from agent_memory.testing.conformance.links import LinkWallConformance
from agent_memory.testing.conformance.moments import RecordedTimeConformance, ValidTimeConformance
from agent_memory.testing.conformance.names import NameConformance
from agent_memory.testing.conformance.past import PastConformance
from agent_memory.testing.conformance.reading import ReadingConformance
from agent_memory.testing.conformance.receipts import ReceiptConformance
from agent_memory.testing.conformance.search import SimilarityConformance, WordsConformance
from agent_memory.testing.conformance.spaces import SpaceConformance
from agent_memory.testing.conformance.spending import SpendingConformance
from agent_memory.testing.conformance.tenants import JournalsConformance
from agent_memory.testing.conformance.vectors import MirrorConformance, VectorConformance
from agent_memory.testing.conformance.versions import AmendConformance, VersionConformance
from agent_memory.testing.conformance.walls import WallConformance
from agent_memory.testing.conformance.working import WorkingConformance
from agent_memory.testing.conformance.writing import PreconditionConformance, WritingConformance


class RecordStoreConformance(
    WritingConformance,
    GroupConformance,
    PreconditionConformance,
    VersionConformance,
    AmendConformance,
    RecordedTimeConformance,
    ValidTimeConformance,
    FindConformance,
    WallConformance,
    JournalConformance,
    ErasureConformance,
    DerivedErasureConformance,
):
    """The `RecordStore` port, its links apart."""


class LinkConformance(_Links, LinkWallConformance):
    """The links of the `RecordStore` port."""


class SearchConformance(WordsConformance, SimilarityConformance, PastConformance, NameConformance):
    """Questions to the `Index` port."""


class IndexConformance(SearchConformance, SpaceConformance):
    """The `Index` port."""


class FeedConformance(_Feed, LeaseConformance):
    """The `Feed` port."""


class TenantsConformance(JournalsConformance, DepartedConformance):
    """Each tenant for itself, in all ports; and the `TenantStore` port."""


class StoreConformance(
    RecordStoreConformance,
    LinkConformance,
    IndexConformance,
    WorkingConformance,
    ReceiptConformance,
    MirrorConformance,
    AccessConformance,
    DebtConformance,
    FeedConformance,
    TenantsConformance,
    SpendingConformance,
    ReadingConformance,
):
    """Everything that a complete engine offers."""


__all__ = [
    "AccessConformance",
    "DebtConformance",
    "FeedConformance",
    "IndexConformance",
    "LinkConformance",
    "MirrorConformance",
    "ReadingConformance",
    "ReceiptConformance",
    "RecordStoreConformance",
    "SearchConformance",
    "SpaceConformance",
    "SpendingConformance",
    "StoreConformance",
    "TenantsConformance",
    "VectorConformance",
    "WorkingConformance",
]
