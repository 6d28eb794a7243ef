"""Lists of whole numbers are sent as one type of array; all others as psycopg sends them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import psycopg
import pytest
from tests.parts.postgres import server

from agent_memory.engines.postgres.wire import connected

pytestmark = pytest.mark.engines


@pytest.mark.parametrize(
    ("given", "type", "sent"),
    [
        ([1, -2, 2**15, 2**31, 2**63 - 1, -(2**63)], "bigint", "bigint[]"),
        ([0, 1], "smallint", "bigint[]"),
        ([], "bigint", None),
        ([1, None], "bigint", "smallint[]"),
        ([True, False], "boolean", "boolean[]"),
        ([Decimal("1.50"), Decimal("-2")], "numeric", "numeric[]"),
        (["1", "two, {3}", ""], "text", "text[]"),
    ],
)
def test_what_is_sent_comes_back(given: list[Any], type: str, sent: str | None) -> None:
    with connected(server().fresh()) as connection:
        for _ in range(5):  # prepared since the third
            assert connection.execute(f"select %s::{type}[]".encode(), [given]).fetchone() == (given,)
        if sent is not None:
            assert connection.execute("select pg_typeof(%s)::text", [given]).fetchone() == (sent,)


def test_a_number_that_no_column_holds_is_refused() -> None:
    with connected(server().fresh()) as connection, pytest.raises(psycopg.errors.NumericValueOutOfRange):
        connection.execute("select %s::bigint[]", [[2**63]])
