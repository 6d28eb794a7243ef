"""A store, a gRPC door to it, and a client that has only its address."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from foreign import Foreign

from agent_memory.app.service import Service
from agent_memory.interfaces.grpc.door import GrpcDoor
from agent_memory.interfaces.grpc.server import start


@pytest.fixture
def service(home: object) -> Iterator[Service]:
    opened = Service()
    yield opened
    opened.close()


@pytest.fixture
def door(service: Service) -> Iterator[GrpcDoor]:
    with start(service, port=0) as running:
        yield running


@pytest.fixture
def client(door: GrpcDoor) -> Iterator[Foreign]:
    made = Foreign(door.port)
    yield made
    made.close()
