"""Which arguments are options, which stand without a name, and what else an option may be called, where nothing else
of the operation is called so."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "k": ("-k", "--limit", "--top-k"),
        "kinds": ("--kind",),
        "top_k": ("-k", "--limit"),
    }
)

POSITIONAL = frozenset(
    {
        "govern.audit id",
        "rules.diff b",
        "rules.fix paths",
        "rules.follow folder",
        "rules.init folder",
        "rules.trust folder",
        "rules.untrust folder",
    }
)
"""What may be left out, and stands without its name all the same."""

NAMED = frozenset({"remember query"})
"""What must be named: `remember TEXT` sounds as if it stored the text."""
