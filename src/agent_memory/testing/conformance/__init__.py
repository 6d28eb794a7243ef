"""What the ports promise, as tests. An engine's test file subclasses these and gives them a fixture `store`:

    @pytest.fixture
    def store(tmp_path):
        opened = open_store(tmp_path / "memory.db")
        yield opened
        opened.close()

    class TestStore(StoreConformance): ...

The fixture gives every test a new, empty `agent_memory.ports.store.Store`. An engine that offers only some of the ports
takes only their classes. This package needs pytest; the rest of `agent_memory.testing` does not.
"""

from __future__ import annotations

from importlib import resources

import pytest

# Before they are imported: so that a failing assertion in them shows its values.
pytest.register_assert_rewrite(
    *(
        f"{__name__}.{file.name.removesuffix('.py')}"
        for file in resources.files(__name__).iterdir()
        if file.name[0] != "_"
    )
)

from agent_memory.testing.conformance.shipping import ShippingConformance  # noqa: E402
from agent_memory.testing.conformance.store import (  # noqa: E402
    AccessConformance,
    DebtConformance,
    FeedConformance,
    IndexConformance,
    LinkConformance,
    MirrorConformance,
    ReadingConformance,
    ReceiptConformance,
    RecordStoreConformance,
    SearchConformance,
    SpaceConformance,
    SpendingConformance,
    StoreConformance,
    TenantsConformance,
    VectorConformance,
    WorkingConformance,
)

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
    "ShippingConformance",
    "SpaceConformance",
    "SpendingConformance",
    "StoreConformance",
    "TenantsConformance",
    "VectorConformance",
    "WorkingConformance",
]
