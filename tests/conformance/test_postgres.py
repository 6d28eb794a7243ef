"""The PostgreSQL engine keeps the promises of the ports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.parts.postgres import emptied

from agent_memory.engines.postgres import open_store
from agent_memory.ports.store import Store
from agent_memory.testing import conformance
from agent_memory.testing.agreement import agreement

pytestmark = pytest.mark.engines


@pytest.fixture
def store() -> Iterator[Store]:
    opened = open_store(emptied(18))
    yield opened
    opened.close()


class TestRecords(conformance.RecordStoreConformance): ...


@pytest.mark.requirement("C3")
class TestLinks(conformance.LinkConformance): ...


class TestSearch(conformance.SearchConformance): ...


@pytest.mark.requirement("L5")
class TestSpaces(conformance.SpaceConformance): ...


@pytest.mark.requirement("C5")
class TestWorking(conformance.WorkingConformance): ...


class TestReceipts(conformance.ReceiptConformance): ...


class TestDebts(conformance.DebtConformance): ...


class TestAccess(conformance.AccessConformance): ...


@pytest.mark.requirement("P9")
class TestReading(conformance.ReadingConformance): ...


@pytest.mark.requirement("P19")
class TestSpending(conformance.SpendingConformance): ...


class TestFeed(conformance.FeedConformance): ...


@pytest.mark.requirement("L5", "L9")
class TestVectors(conformance.MirrorConformance): ...


@pytest.mark.requirement("L10")
class TestTenants(conformance.TenantsConformance): ...


@pytest.mark.requirement("L10")
class TestShipping(conformance.ShippingConformance): ...


class TestOldestServer(conformance.TenantsConformance, conformance.SpaceConformance):
    """What is newest in SQL is in what these use."""

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        opened = open_store(emptied(16))
        yield opened
        opened.close()


def new(folder: Path) -> Store:
    return open_store(emptied(18))


TestAgreement = pytest.mark.timeout(900)(agreement(new))  # when it fails, it looks for a short example
TestLongAgreement = pytest.mark.timeout(7200)(pytest.mark.soak(agreement(new, searching=True)))
