"""A store with something of everything, for whoever carries it elsewhere; and a `migrate` in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.stories.test_tenants import fill, opened

from agent_memory import AgentMemory
from agent_memory.app import registry
from agent_memory.models.record import Scope
from agent_memory.ports.spending import Account, Hold, SpendingLimit
from agent_memory.ports.working import Desk
from agent_memory.testing.builders import NOW

FAR = 4_000_000_000_000_000
SMALL = """
import sys
from agent_memory.app import migrating
from agent_memory.interfaces.cli import main
migrating.BATCH_ROWS = 5
sys.exit(main(["migrate", *sys.argv[1:]]))
"""


def laden(url: str) -> str:
    """Tenants that wrote, one that was erased, one that only has vectors; vectors that wait, texts that are encoded,
    a debt, working sets, names with what is odd in Unicode."""
    with opened("acme", store=url) as acme, opened("rival", store=url) as rival, opened("gone", store=url) as gone:
        fill(acme)
        fill(rival)
        fill(gone)
        acme.records.add(
            "nul \0, \uffff, \U0001f600, e\u0301 and \x1f", id="odd", payload={"n": 1.5, "m": 3, "o": "\0"}
        )
        acme.recall("one of many", why="INC-7")
        rival.recall("nothing at all")
        acme._client.runtime.reads.flush()
        store = acme._client.runtime.store
        assert store.debts is not None and store.spending is not None
        store.spending.limit(SpendingLimit("user", "default", "ada", calls=5))
        store.spending.reserve(Account("2026-03-02", "default", "ada", model="small"), Hold(10), [])
        store.debts.attach("working somewhere://else")
        acme.records.forget([acme.records.add("a debt").id])
        store.debts.failed("working somewhere://else", "out of reach")
        acme.keys.revoke(acme.keys.list()[0].id)
        acme.tenants.erase("gone")
        acme.records.add("long enough to be made smaller, " * 40)
        store.recode("zstd")
        acme.records.add_many([{"text": f"one of many, number {number}"} for number in range(20)])
        acme._client.runtime.receipts.flush()
    with opened("reader", store=url) as reader:  # who never wrote
        reader.recall("nothing here")
    store = registry.open_store(registry.locate(url))
    try:
        scope = Scope(tenant="acme", user="ada")
        desk = Desk(scope, "talk")
        store.working.set(desk, "k" * 500, '"value"', expires_at=FAR, now=NOW)
        for number in range(5):
            store.working.push(desk, "list", str(number), keep=9, expires_at=FAR, now=NOW)
        store.debts.attach("vectors somewhere://else")  # which misses what follows
        store.vectors.upsert("nobody's", "v", [0.1, -0.7, 0.3], {"a": 1})
        store.vectors.upsert("\x1f".join(("only-vectors", "ada", "*", "ns")), "v", [0.5, 0.25], {})
    finally:
        store.close()
    return url


def begun(source: str, target: str, *more: str) -> subprocess.Popen[str]:
    """A `migrate` in small steps."""
    command = [sys.executable, "-c", SMALL, source, target, *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def killed_at(source: str, target: str, section: str) -> None:
    """As soon as it says that a section is behind it."""
    process = begun(source, target)
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line).get("section") == section:
            process.kill()
            break
    process.communicate()
    assert process.returncode == -9


def verified(url: str, **more: object) -> dict[str, str]:
    """The heads, of a store with which nothing is wrong."""
    with AgentMemory("ada", store=url, tenant="acme", **more) as memory:  # type: ignore[arg-type]
        found = memory.upkeep.verify()
        assert found.ok, found.problems
        return found.heads


def path(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))
