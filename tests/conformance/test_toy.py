"""A second engine, made of nothing but dicts and the ledger, keeps the promises of the ports."""

from __future__ import annotations

import pytest
from tests.toy.engine import open_toy

from agent_memory.ports.store import Store
from agent_memory.testing.agreement import agreement
from agent_memory.testing.conformance import ShippingConformance, StoreConformance


@pytest.fixture
def store() -> Store:
    return open_toy()


class TestToy(StoreConformance): ...


class TestShipping(ShippingConformance): ...


TestAgreement = pytest.mark.timeout(900)(agreement(lambda folder: open_toy()))
