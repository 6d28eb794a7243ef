"""Every operation, with every permission, for one's own tenant and another: what is let in, what is not, and that
nothing of another tenant is touched or told. Looped over the table: a new operation is here as soon as it is declared.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from asking import calls
from cast import OWNERS, Cast, opened
from hypothesis import HealthCheck, Phase, given, settings
from ways import Badge, Rest, Way

from agent_memory.app.operations import TABLE, Permission
from agent_memory.models.record import Scope
from house import House
from patience import PATIENCE

OWN, OTHER = "default", "zeta"
ENDING = ("keys.rotate", "keys.revoke")  # it could be the caller's own key
PAGE = "# Rules\n\n- **never-merge** (deny) Never merge by hand.\n"


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with pages, which the server works in."""
    folder = tmp_path_factory.mktemp("workplace")
    (folder / ".memory").mkdir()
    (folder / ".memory/procedural.md").write_text(PAGE)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("AGENT_MEMORY_WORKPLACE", str(folder))
        yield folder


@pytest.fixture(params=["rest", "grpc"])
def way(request: pytest.FixtureRequest, workplace: Path, house: House, one_server: Any) -> Iterator[Way]:
    """By the wire, at a real server."""
    if request.param == "grpc":
        yield house.ways["grpc"]
        return
    with httpx.Client(base_url=one_server.url, timeout=PATIENCE) as http:
        yield Rest(http)  # type: ignore[arg-type]


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, workplace: Path, house: House) -> Path:
    """Of which the other tenant has something that is left to do."""
    monkeypatch.setenv("AGENT_MEMORY_WORKPLACE", str(workplace))
    monkeypatch.setenv("AGENT_MEMORY_RATE_LIMIT", "0")
    path = house.enter(keyed=True)
    with opened(path, Scope(tenant=OTHER, user="ada")) as memory:
        memory.records.add_many([{"text": f"left for later {number}"} for number in range(3)])
        memory.close(clear=False)
    return path


@pytest.fixture(scope="module")
def asked(cast: Cast) -> list[tuple[Any, dict[str, Any]]]:
    """One call of every operation, with ids that everybody has; the same in every run."""
    found: list[Any] = []

    @settings(
        max_examples=1,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(calls(cast, OWNERS))
    def drawn(made: Any) -> None:
        found[:] = made

    drawn()
    return [(one, {name: value for name, value in said.items() if name in one.signature}) for one, said in found]


def others(store: Path) -> dict[str, int]:
    """Every row that the other tenant has, of every table that says whose its rows are."""
    scopes = "select scope from scopes where tenant = :tenant"
    found = {}
    with sqlite3.connect(store) as file:
        tables = [name for (name,) in file.execute("select name from sqlite_schema where type = 'table'")]
        for table in tables:
            columns = {row[1] for row in file.execute(f"pragma table_info({table})")}
            if table == "refusals" or not columns & {"scope", "tenant"}:  # refusals: strangers say whom they are after
                continue
            whose = "tenant = :tenant" if "tenant" in columns else f"scope in ({scopes})"
            rows = file.execute(f"select * from {table} where {whose} order by 1, 2", {"tenant": OTHER}).fetchall()
            found[table] = hash(tuple(rows))
    return found


def head(store: Path) -> int:
    with sqlite3.connect(store) as file:
        return int(file.execute("select max(line) from journal").fetchone()[0])


@pytest.mark.requirement("P23", "C9")
@pytest.mark.parametrize("permission", [None, *Permission])
def test_every_operation_asks_for_its_permission(
    way: Way, store: Path, cast: Cast, asked: Any, permission: Permission | None
) -> None:
    key = None if permission is None else cast.keys[f"{OWN} None {permission}"]
    before = others(store)
    ada = [Scope(tenant=OWN, user="ada")]
    foreign = {secret for secret in cast.secrets(ada) if secret not in str(asked)}
    own, other = Badge(key, {"user": ("ada",)}), Badge(key, {"user": ("ada",), "tenant": (OTHER,)})
    for operation, arguments in asked:
        told = way.bare(own, operation)
        if key is None:
            assert "unauthenticated" in told, f"{operation.name}: {told[:500]}"
        else:
            refused = operation.permission is not permission
            assert (f"{operation.name} needs the permission" in told) is refused, f"with {permission}: {told[:500]}"
        if operation.name not in ENDING or permission is not Permission.ADMIN:
            told += way.call(own, operation, arguments)
        seq, said = head(store), way.bare(other, operation)
        assert ("unauthenticated" if key is None else "does not belong to the tenant") in said, (
            f"{operation.name}: {said[:500]}"
        )
        told += said + way.call(other, operation, arguments)
        assert head(store) == seq, f"{operation.name} of another tenant wrote"
        theirs = foreign & cast.far(operation.name, ada)
        assert not any(secret in told for secret in theirs), f"{operation.name} told: {told[:2000]}"
        if permission is not Permission.OPERATOR:
            assert others(store) == before, f"{operation.name} with {permission} touched another tenant"
    assert {one.name for one, _ in asked} == set(TABLE)


@pytest.mark.requirement("P23")
@pytest.mark.parametrize("permission", [None, *Permission])
def test_the_second_route_of_an_operation_asks_for_the_same(
    workplace: Path, store: Path, one_server: Any, cast: Cast, permission: Permission | None
) -> None:
    """Of a record that is not there: whoever may, is told so."""
    key = None if permission is None else cast.keys[f"{OWN} None {permission}"]
    own, other = Badge(key, {"user": ("ada",)}), Badge(key, {"user": ("ada",), "tenant": (OTHER,)})
    routed = [one for one in TABLE.values() if one.of_one is not None]
    assert routed
    with httpx.Client(base_url=one_server.url, timeout=PATIENCE) as http:
        for operation in routed:
            method, path = str(operation.of_one).replace("{id}", "none").split()
            seq = head(store)
            allowed = 404 if permission is operation.permission else 401 if key is None else 403
            assert http.request(method, f"/v1{path}", headers=own.pairs()).status_code == allowed
            elsewhere = http.request(method, f"/v1{path}", headers=other.pairs()).status_code
            assert elsewhere == (401 if key is None else 403)
            assert head(store) == seq


@pytest.mark.requirement("P23")
def test_no_read_writes_with_a_key_that_may_only_read(way: Way, store: Path, cast: Cast, asked: Any) -> None:
    reader = Badge(cast.keys[f"{OWN} None read"], {"user": ("ada",)})
    before = head(store)
    for operation, arguments in asked:
        way.call(reader, operation, arguments)
        assert head(store) == before, f"{operation.name} wrote"


def test_an_operator_works_on_the_whole_store(way: Way, store: Path, cast: Cast) -> None:
    operator = Badge(cast.keys[f"{OWN} None operator"])
    before = others(store)
    assert '"ok":true' in way.call(operator, TABLE["upkeep.verify"], {}).replace(" ", "")
    assert others(store) == before
    way.call(operator, TABLE["upkeep.run_jobs"], {})
    assert others(store) != before, "what was left to do there is done"
