"""A line to try, for the help of a command and for the reference."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

EXAMPLES: Mapping[str, str] = MappingProxyType(
    {
        "add": "add 'Staging listens on port 5433' --id staging-port --importance 0.8",
        "amend": "amend staging-port --importance 0.9 --reason 'asked for twice'",
        "context": "context 'move staging to another port' --max-tokens 500",
        "demo": "demo",
        "doctor": "doctor",
        "edit": "edit staging-port --text 'Staging listens on port 5434' --reason 'it moved'",
        "export": "export memories.ndjson",
        "guard": "guard -- git status",
        "records forget-where": "records forget-where --conversation-id old --dry-run",
        "forget": "forget staging-port --reason 'no longer ours to keep' --yes",
        "history": "history staging-port",
        "import": "import memories.ndjson",
        "import-mcp": "import-mcp ~/memory.jsonl",
        "jobs": "jobs",
        "journal": "journal --limit 20",
        "learn": "learn 'Staging runs PostgreSQL 16' --subject staging --predicate runs",
        "list": "list --kind observation --after 'last week'",
        "mcp": "mcp --user ada --toolsets core,knowledge",
        "prefer": "prefer git 'merge style' rebase",
        "preferences": "preferences --domain git",
        "rebuild": "rebuild",
        "receipt": "receipt RECEIPT",
        "recipes": "recipes",
        "recall": "recall 'which port is staging on?' -k 3 --why",
        "remember": "remember --query 'deploy to staging'",
        "replay": "replay RECEIPT --now",
        "serve": "serve --port 8005",
        "show": "show staging-port --as-of now",
        "stats": "stats",
        "try": "try recall 'why did the deploys time out?'",
        "verify": "verify",
        "whoami": "whoami",
        "worker": "worker --once",
        "keys create": "keys create dashboard --permissions read --expires-days 30",
        "receipts costs": "receipts costs --by user",
        "receipts find": "receipts find --slower-than 100",
        "rules init": "rules init",
        "rules lint": "rules lint --fix",
        "rules fix": "rules fix",
        "rules read": "rules read --at HEAD",
        "rules at": "rules at HEAD",
        "rules log": "rules log --limit 5",
        "rules diff": "rules diff HEAD",
        "rules check": "rules check --command 'git rebase main'",
        "rules prompt": "rules prompt --task 'deploy to staging' --max-tokens 1000",
        "rules propose": "rules propose '**no-friday** (advise) No deploys on Fridays.' --reason 'the third outage'",
        "rules proposals": "rules proposals",
        "rules approve": "rules approve no-friday --into repository",
        "rules reject": "rules reject no-friday --reason 'only in December'",
        "rules trust": "rules trust",
        "rules trusted": "rules trusted",
        "rules follow": "rules follow",
        "rules untrust": "rules untrust",
        "rules apply": "rules apply . --dry-run",
        "rules install-hooks": "rules install-hooks",
        "rules hook": "rules hook < call.json",
    }
)
"""A line to try for each command without a namespace, and for those whose use is not plain. They are run by a test.
RECEIPT is the id that `recall --json` gives."""
