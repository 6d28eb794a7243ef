"""What the tests of the gRPC door share: an operation that is only declared, a refusal, and patience."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from agent_memory.app.namespaces import Records
from agent_memory.app.operations import TABLE, operation


@contextmanager
def toy(name: str, function: Callable[..., Any]) -> Iterator[None]:
    """An operation that is declared, and nothing else."""
    setattr(Records, name, operation(f"records.{name}", f"POST /toys/{name}")(function))
    try:
        yield
    finally:
        delattr(Records, name)
        del TABLE[f"records.{name}"]


def refused(call: Callable[[], Any]) -> tuple[grpc.StatusCode, str, dict[str, Any]]:
    with pytest.raises(grpc.RpcError) as raised:
        call()
    return raised.value.code(), raised.value.details(), dict(raised.value.trailing_metadata() or ())
