"""How many connections a server takes. Without a limit it takes them for as long as the system gives any, and then can
open no file any more."""

from __future__ import annotations

MOST_CONNECTIONS = 1000
FILES_KEPT = 200  # that a process may need beside its connections


def most_connections(share: float) -> int:
    """As many as are useful, and fewer where the system lets a process have few files: a door's share of those."""
    try:
        import resource
    except ImportError:  # Windows
        return MOST_CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(16, min(MOST_CONNECTIONS, int(share * (files - FILES_KEPT))))
