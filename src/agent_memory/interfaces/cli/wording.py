"""Words of help for options: by operation and name, else by name. A test misses those that are missing.

Aliases are here, too: other words for the same option, where nothing else of the operation is called so.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

HELP: Mapping[str, str] = MappingProxyType(
    {
        "after": "only what begins then or later",
        "after_id": "continue after the last id of the page before",
        "after_seq": "continue after the last seq of the page before",
        "as_of": "answer with what was known then",
        "at": "a commit, a tag or a branch  [default: what is on the disk]",
        "before": "only what begins before then",
        "confidence": "how certain it is, 0 to 1",
        "conversation_id": "only of this conversation",
        "counter": "how tokens are counted: estimate (safe for any model) or wordpiece",
        "depth": "how many links to follow",
        "domain": "only of this domain",
        "dry_run": "only say what it would do",
        "remembered": "take along rules that were seen on your pages elsewhere",
        "entity_ids": "an entity that it is about (repeatable)",
        "embed": "make vectors now rather than later",
        "expect": "SEQ:HEAD of an earlier run: notice a journal that was cut off since",
        "expires_days": "how long it is valid  [default: forever]",
        "fields": "indexed fields that must be equal",
        "folder": "where to look  [default: here]",
        "format": "how it is written",
        "from_conversation_id": "the conversation that it was learned in",
        "hours": "how far to look back",
        "idempotency_key": "sent twice under this key, it is done once",
        "ids": "with the id that each item came from  [default: yes]",
        "if_version": "only if this is still its newest version",
        "importance": "how much it matters, 0 to 1",
        "include_episodic": "with turns of conversations",
        "include_procedural": "with strategies",
        "include_semantic": "with facts and entities",
        "into": "the page of your own, or that of the repository",
        "k": "how many hits",
        "kinds": "only these kinds: observation, fact, preference, decision … (repeatable)",
        "latency_ms": "how long it took, in milliseconds",
        "limit": "at most this many",
        "links": "an edge to another record (repeatable)",
        "max_tokens": "never more than this",
        "metadata": "structured data beside the vector",
        "min_confidence": "leave out what is less certain",
        "min_relevance": "leave out what fits less, 0 to 1; 0.4 is a good start, 0.2 a careful one",
        "now": "ask again as of now, and show what changed since",
        "oldest_first": "the oldest first",
        "paths": "files or folders (repeatable)  [default: what is found here]",
        "payload": "structured data beside the text",
        "per_conversation": "at most this many turns of one conversation; 0: all  [default: 3]",
        "permissions": "read, write, review, admin or operator (repeatable)  [default: read and write]",
        "predicate": "with a subject: what is said about it; a new claim takes the place of the old one",
        "properties": "structured data about it",
        "reason": "why, for the journal",
        "recipe": "which channels count how much: a name that `recipes` lists, or a recipe of your own",
        "repository": "only of this repository, its pages included",
        "near_repository": "what belongs to this one counts a little more  [default: that of the working directory]",
        "by": "what to add up by",
        "since": "only from then on  [default: the last seven days]",
        "slower_than": "only those that took this many milliseconds or more",
        "skip_bad": "leave out lines that cannot be read, and take over the rest",
        "skip_forgotten": "pass over what was forgotten, and count it",
        "source": "where it comes from",
        "source_turn_id": "the turn that it was said in",
        "status": "only with this standing  [default: active]",
        "subject": "with a predicate: whom or what it is about",
        "success": "whether it worked",
        "task_type": "only for this type of task",
        "tiers": "only these (repeatable)",
        "time_window_hours": "only what began within this many hours",
        "top_k": "how many hits",
        "trace_id": "only of this OpenTelemetry trace",
        "trace": "say what each channel put first, and what was left out and why",
        "ttl_seconds": "how long to keep it",
        "user_id": "whose (only your own can be asked for)",
        "valid_at": "answer with what was true in the world then",
        "vectors": "build the vectors of the configured embedder beside the old ones, then switch",
        "weights": "how much each group counts: episodic, semantic_facts, semantic_entities, procedural, recency",
        "where": "metadata that must be equal",
        "contexts.assemble min_relevance": "leave out what fits less, 0 to 1  [default: 0.1]",
        "for_user": "the only user it may speak for  [default: any of the tenant]",
        "recall k": "how many hits  [default: AGENT_MEMORY_DEFAULT_TOP_K, or 10]",
        "goals.update status": "its new status",
        "goals.update priority": "its new priority: 1 to 5, the highest",
        "procedural.record_invocation conversation_id": "the conversation that it happened in",
        "procedural.record_invocation turn_id": "the turn that it happened in",
        "procedural.record_invocation task_type": "the type of task that it was used for",
        "rules.prompt task": "what is to be done: skills and examples that fit it are shown  [default: all]",
        "rules.propose confidence": "how certain you are of it, 0 to 1",
        "rules.log limit": "at most so many commits",
        "semantic.learn_fact repository": "the repository that it belongs to  [default: that of the working directory]",
        "semantic.learn_fact source": "who says so  [default: user_stated]",
        "semantic.learn_fact valid_from": "since when it is true  [default: now]",
        "records.forget_where conversation_id": "all of this conversation",
        "records.forget_where kinds": "all of this kind (repeatable)",
        "records.forget_where repository": "all of this repository",
        "records.forget_where dry_run": "only count what would go",
        "remember query": "what is to be done or answered; without it, `add` stores and `recall` looks up",
        "records.add conversation_id": "the conversation that it belongs to",
        "records.add id": "an id of your own; the same id again is a new version",
        "records.add key": "natural key: the same key is the same thing, and gets a new version",
        "records.add kind": "the type of memory: observation, fact, preference, decision …",
        "records.add repository": "the repository that it belongs to  [default: that of the working directory]",
        "records.add status": "its standing  [default: active]",
        "records.add valid_from": "when it begins to be true  [default: now]",
        "records.add valid_to": "when it stops being true  [default: never]",
        "records.amend confidence": "how certain it is from now on, 0 to 1",
        "records.amend importance": "how much it matters from now on, 0 to 1",
        "records.amend status": "its new standing",
        "records.amend valid_to": "when it stops, or stopped, being true",
        "records.edit text": "its new text",
        "records.edit payload": "fields of its structured data to change",
        "records.edit valid_from": "when it began to be true",
        "records.journal id": "only lines about this record",
        "records.journal after": "only lines after the one with this seq, the oldest first  [default: the last lines]",
        "records.journal limit": "at most so many lines",
    }
)

ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "k": ("-k", "--limit", "--top-k"),
        "kinds": ("--kind",),
        "top_k": ("-k", "--limit"),
    }
)

POSITIONAL = frozenset(
    {
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


def explained(operation: str, name: str) -> str:
    """What the option is for."""
    return HELP.get(f"{operation} {name}") or HELP.get(name, name.replace("_", " "))
