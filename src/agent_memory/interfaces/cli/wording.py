"""Words of help for parameters, by name. One that is missing here is explained by its name and type alone."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

HELP: Mapping[str, str] = MappingProxyType(
    {
        "after": "only what begins then or later",
        "after_id": "continue after the last id of the page before",
        "as_of": "answer with what was known then",
        "before": "only what begins before then",
        "confidence": "how certain it is, 0 to 1",
        "conversation_id": "the conversation",
        "depth": "how many links to follow",
        "embed": "make vectors now rather than later",
        "fields": "indexed fields that must be equal",
        "hours": "how far to look back",
        "id": "an id of your own; the same id again is a new version",
        "idempotency_key": "sent twice under this key, it is done once",
        "importance": "0 to 1",
        "include_episodic": "with turns of conversations",
        "include_procedural": "with strategies",
        "include_semantic": "with facts and entities",
        "k": "how many hits",
        "key": "natural key: the same key is the same thing, and gets a new version",
        "kind": "the type of memory: observation, fact, preference, decision …",
        "kinds": "only these kinds (can be given several times)",
        "latency_ms": "how long it took, in milliseconds",
        "limit": "at most so many",
        "links": "an edge to another record (can be given several times)",
        "min_confidence": "leave out what is less certain",
        "oldest_first": "turn the order round",
        "payload": "structured data beside the text",
        "reason": "why, for the journal",
        "recipe": "which channels count how much",
        "repository": "the repository",
        "source": "where it comes from",
        "status": "its standing",
        "success": "whether it worked",
        "time_window_hours": "only what began in the last so many hours",
        "top_k": "how many hits",
        "ttl_seconds": "how long to keep it",
        "valid_at": "answer with what was true in the world then",
        "valid_from": "when it begins to be true (now, unless given)",
        "valid_to": "when it ends to be true",
        "vectors": "build the vectors of the configured embedder beside the old ones, then switch",
    }
)
