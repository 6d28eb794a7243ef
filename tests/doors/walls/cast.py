"""Who is in the store of the walls: two tenants, their users and agents, each with one of everything.

Whatever somebody writes holds a word that nobody can guess, and most ids are as good: so whatever reaches somebody else
is seen, wherever it stands.
"""

from __future__ import annotations

import itertools
import secrets
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent_memory import AgentMemory
from agent_memory.app.operations import Permission
from agent_memory.core.working import desk
from agent_memory.models import Entity, Goal, Link, Turn
from agent_memory.models.graph import Edge, Node
from agent_memory.models.record import Scope

TENANTS, USERS, AGENTS = ("default", "zeta"), ("default", "ada", "*"), ("*", "robot")
OWNERS = [Scope(tenant=t, user=u, agent=a) for t, u, a in itertools.product(TENANTS, USERS, AGENTS)]
TALK, SPACE, KEY, RIGHTS = "talk", "pictures", "port", list(Permission)
OF_A_TENANT, FOR_A_TENANT = {"govern.audit"}, {"review.set_policy"}
OF_A_USER = {"review.list", "review.show", "review.approve", "review.edit", "review.reject"}
"""Of whoever asks, and of what each of their agents keeps for itself."""
EVERYWHERE = "note"
"""An id that everybody's store has."""
LONG = 10**7
"""Seconds that things stay on a desk: what ends by itself in a long run would look as if somebody had changed it."""


@dataclass(frozen=True)
class ApiKey:
    """A key as the tests remember it; a revoked one opens nothing."""

    secret: str
    tenant: str
    user: str | None
    revoked: bool = False


@dataclass(frozen=True)
class Cast:
    """Two stores with the same people, one of which asks for keys; whose words and ids are whose."""

    folder: Path
    words: dict[Scope, str]
    ids: dict[Scope, set[str]]
    kinds: dict[str, dict[Scope, list[str]]]
    keys: dict[str, ApiKey] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)

    def copied(self, to: Path, keyed: bool) -> Path:
        return Path(shutil.copy(self.folder / ("keyed.db" if keyed else "open.db"), to))

    def secrets(self, seen: Iterable[Scope]) -> set[str]:
        """Words and ids of everybody who is not seen by any of these."""
        near = {scope for reader in seen for scope in reader.readable()}
        far = [owner for owner in OWNERS if owner not in near]
        tenants = {scope.tenant for scope in near}
        found = {self.words[one] for one in far} | {id for one in far for id in self.ids[one]}
        return found | {label for tenant, label in self.labels.items() if tenant not in tenants}

    def far(self, operation: str, seen: Iterable[Scope]) -> set[str]:
        """The same, of what an operation must not tell: an administrator's audit is of all users of the tenant, and a
        user's review is of their agents, too."""
        tenants = {one.tenant for one in seen} if operation in OF_A_TENANT else set[str]()
        users = {(one.tenant, one.user) for one in seen if one.agent == "*"} if operation in OF_A_USER else set()
        near = (one for one in OWNERS if one.tenant in tenants or (one.tenant, one.user) in users)
        return self.secrets([*seen, *near])

    def of_kind(self, kind: str, owners: Iterable[Scope] = OWNERS) -> list[str]:
        return [id for owner in owners for id in self.kinds[kind].get(owner, ())]

    def everyones(self) -> list[str]:
        return [EVERYWHERE, *sorted(set().union(*self.ids.values()))]


def gathered(folder: Path) -> Cast:
    """Written once; every example works on a copy."""
    words = {owner: "own" + secrets.token_hex(8) for owner in OWNERS}
    ids: dict[Scope, set[str]] = {}
    kinds: dict[str, dict[Scope, list[str]]] = {}
    store = folder / "open.db"
    for owner in OWNERS:
        with opened(store, owner) as memory:
            receipt = _one_of_everything(memory, words[owner])
            found = [("receipt", receipt)]
            found += [(one.kind, one.id) for one in memory.records.find(limit=1000) if one.scope == owner]
            ids[owner] = {id for _, id in found} - {EVERYWHERE}
            for kind, id in found:
                kinds.setdefault(kind, {}).setdefault(owner, []).append(id)
            memory.close(clear=False)
    cast = Cast(folder, words, ids, kinds)
    shutil.copy(store, folder / "keyed.db")
    for tenant in TENANTS:
        cast.labels[tenant] = "key" + secrets.token_hex(8)
        ada = Scope(tenant=tenant, user="ada")
        with opened(folder / "keyed.db", ada) as memory:
            for name, key in _keys(memory, cast.labels[tenant]):
                cast.keys[f"{tenant} {name}"] = key
                kinds.setdefault("key", {}).setdefault(ada, []).append(key.secret.split("_")[1])
    return cast


def opened(store: Path, who: Scope, talk: str | None = TALK) -> AgentMemory:
    shared = who.user == "*"
    return AgentMemory(who.user, talk, store=store, tenant=who.tenant, agent=who.agent, shared=shared)


def _keys(memory: AgentMemory, label: str) -> Iterator[tuple[str, ApiKey]]:
    tenant = memory._client.scope.tenant
    for user, rights in itertools.product((None, "ada"), ([*RIGHTS], *([one] for one in RIGHTS))):
        made = memory.keys.create(label, rights, user)
        yield f"{user} {'+'.join(rights)}", ApiKey(made.secret, tenant, user)
    ended = memory.keys.create(label, RIGHTS)
    memory.keys.revoke(ended.id)
    yield "revoked", ApiKey(ended.secret, tenant, None, revoked=True)


def _one_of_everything(memory: AgentMemory, word: str) -> str:
    """Gives the id of a receipt."""
    said = f"checkout listens on port 8080 says {word}"
    memory.records.add(said, id=EVERYWHERE, reason=word, payload={"said": word})
    other = memory.records.add(f"{said} and more", kind="plan", reason=word, idempotency_key="once").id
    memory.records.edit(other, f"{said} and even more")
    memory.records.link(Link(source_id=EVERYWHERE, target_id=other, type="CAUSED", properties={"said": word}))
    memory.store_turn(Turn(conversation_id=TALK, index=0, role="user", speaker="Ann", content=said))
    memory.graph.create_entities(
        [Node(name=name, entity_type="service", observations=[f"{name}: {said}"]) for name in ("checkout", "base")]
    )
    memory.graph.create_relations([Edge(source="checkout", target="base", relation_type="uses")])
    one = memory.upsert_entity(Entity(name="checkout", type="Service", description=said))
    two = memory.upsert_entity(Entity(name="base", type="Database", description=said))
    memory.semantic.create_relationship(one.id, two.id, "USES", {"said": word})
    memory.learn_fact(said, subject="checkout", predicate="port", entity_ids=[one.id])
    memory.user.set_preference("checkout", KEY, said)
    memory.user.set_expertise(f"checkout {word}", "expert")
    memory.user.add_interest(f"checkout {word}")
    goal = memory.add_goal(Goal(description=said))
    memory.add_goal(Goal(description=f"a part of it: {said}", parent_goal_id=goal.id))
    memory.record_tool_usage("curl", {"said": word}, {"said": word}, True, 5)
    memory.procedural.learn_strategy(said, "checkout", ["curl"])
    memory.reflect({"said": word})
    memory.knowledge.upload("checkout.md", f"# Checkout\n\n{said}")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(desk, "LIST_SECONDS", LONG)
        memory.set_working_context(KEY, said, LONG)
        memory.working.set_active_goal(goal.id, said)
        memory.working.push_thought(said)
    memory.vectors.upsert(SPACE, EVERYWHERE, [1.0, 0.0, 0.0], {"said": word})
    return memory.recall(f"checkout {word}").receipt_id


def state(store: Path, owner: Scope) -> str:
    """What somebody else could have changed: every write of records and links leaves a line in the journal."""
    with opened(store, owner) as memory:
        lines = memory.records.journal(limit=10_000)
        held = memory.get_working_context(), memory.working.get_thoughts()
        found = f"{lines[-1].chain} {len(lines)} {held} {memory.vectors.query(SPACE, [1.0, 0.0, 0.0])}"
        memory.close(clear=False)
    return found
