"""SQL statements have names and live in .sql files, one for each topic: `SQL["insert_versions"]`."""

from __future__ import annotations

from agent_memory.ledger.statements import load

PACKAGE = "agent_memory.engines.postgres"
SQL = load(
    PACKAGE,
    *"database journal desk namespaces access feed debts receipts storage".split(),
    *"read words spaces present write erase stock large indexing views proof tenants spending shipping reading".split(),
)
