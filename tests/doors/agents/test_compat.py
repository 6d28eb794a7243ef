"""Compatibility with the official memory server: its nine tools, its shapes, its file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from mcp import Client

from agent_memory import AgentMemory
from agent_memory.models import Entity
from agent_memory.models.errors import Conflict, InvalidInput, NotFound
from agent_memory.models.graph import Edge, Node, Observing, Unobserving

NINE = (
    "create_entities create_relations add_observations delete_entities delete_observations delete_relations "
    "read_graph search_nodes open_nodes"
).split()
ADA = {"name": "Ada", "entityType": "person", "observations": ["likes tea", "lives in Lisbon"]}
ACME = {"name": "ACME", "entityType": "company", "observations": []}
WORKS = {"from": "Ada", "to": "ACME", "relationType": "works_at"}

# A session as the official server's source has it: each call, and its structured content. The release 2026.8.31
# answered the same, except that it takes what is said twice in one call twice, and always says that all was deleted.
SESSION: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("create_entities", {"entities": [ADA, ACME, ADA]}, {"entities": [ADA, ACME]}),
    ("create_entities", {"entities": [{**ADA, "observations": ["other"]}]}, {"entities": []}),
    ("create_relations", {"relations": [WORKS, WORKS]}, {"relations": [WORKS]}),
    ("create_relations", {"relations": [WORKS]}, {"relations": []}),
    (
        "add_observations",
        {"observations": [{"entityName": "Ada", "contents": ["likes tea", "has a dog", "has a dog"]}]},
        {"results": [{"entityName": "Ada", "addedObservations": ["has a dog"]}]},
    ),
    (
        "read_graph",
        {},
        {"entities": [{**ADA, "observations": [*ADA["observations"], "has a dog"]}, ACME], "relations": [WORKS]},
    ),
    ("search_nodes", {"query": "COMPANY"}, {"entities": [ACME], "relations": [WORKS]}),
    ("search_nodes", {"query": "nothing of the kind"}, {"entities": [], "relations": []}),
    ("open_nodes", {"names": ["ACME", "Nobody"]}, {"entities": [ACME], "relations": [WORKS]}),
    (
        "delete_observations",
        {"deletions": [{"entityName": "Ada", "observations": ["has a dog", "never said"]}]},
        {"success": True, "message": "Deleted 1 of 2 observations."},
    ),
    (
        "delete_observations",
        {"deletions": [{"entityName": "Nobody", "observations": ["x"]}]},
        {"success": True, "message": "Deleted 0 of 1 observations. Entities not found: Nobody"},
    ),
    ("delete_relations", {"relations": [WORKS]}, {"success": True, "message": "Relations deleted successfully"}),
    (
        "delete_relations",
        {"relations": [WORKS]},
        {"success": True, "message": "Deleted 0 of 1 relations. The rest matched nothing."},
    ),
    ("delete_entities", {"entityNames": ["ACME"]}, {"success": True, "message": "Entities deleted successfully"}),
    (
        "delete_entities",
        {"entityNames": ["ACME", "Ada"]},
        {"success": True, "message": "Deleted 1 of 2 entities. Not found: ACME"},
    ),
    ("read_graph", {}, {"entities": [], "relations": []}),
]
BARE = {"create_entities": "entities", "create_relations": "relations", "add_observations": "results"}


async def a_session(client: Client) -> None:
    tools = (await client.list_tools()).tools
    assert sorted(one.name for one in tools) == sorted(NINE)
    for name, given_, answer in SESSION:
        result = await client.call_tool(name, given_)
        assert not result.is_error, result.content
        assert result.structured_content == answer, name
        text = result.content[0].text  # type: ignore[union-attr]
        if "message" in answer:
            assert text == answer["message"]
        else:
            assert text == json.dumps(answer.get(BARE.get(name, ""), answer), indent=2)


@pytest.mark.requirement("E8")
def test_a_session_with_the_official_server_is_one_with_ours(stdio: Any) -> None:
    stdio(a_session, "--compat", "--user", "ada")


def test_arguments_and_hints_are_those_of_the_official_server(inside: Any) -> None:
    tools = {one.name: one for one in inside(Client.list_tools, "compat").tools}
    entity = tools["create_entities"].input_schema["properties"]["entities"]["items"]
    assert entity["required"] == ["name", "entityType", "observations"]
    relation = tools["create_relations"].output_schema["properties"]["relations"]["items"]
    assert set(relation["properties"]) == {"from", "to", "relationType"}
    assert tools["delete_entities"].input_schema["required"] == ["entityNames"]
    assert tools["read_graph"].input_schema["properties"] == {}
    assert tools["search_nodes"].input_schema["properties"].keys() == {"query"}
    for name, tool in tools.items():
        assert tool.annotations.read_only_hint == (name in ("read_graph", "search_nodes", "open_nodes"))
        assert tool.annotations.destructive_hint == name.startswith("delete")


def test_what_it_does_not_know_is_passed_over_and_what_is_wrong_is_said(inside: Any) -> None:
    async def talk(client: Client) -> None:
        more = {"entities": [{**ADA, "colour": "red"}], "comment": "why not"}
        assert (await client.call_tool("create_entities", more)).structured_content == {"entities": [ADA]}
        said = {"observations": [{"entityName": "Nobody", "contents": ["x"]}]}
        lost = await client.call_tool("add_observations", said)
        assert lost.is_error and lost.content[0].text == "Entity with name Nobody not found"  # type: ignore[union-attr]
        wrong = await client.call_tool("create_entities", {"entities": [{"name": "x"}]})
        assert wrong.is_error and "entityType" in str(wrong.content)
        graph = (await client.read_resource("memory://knowledge-graph")).contents[0].text  # type: ignore[union-attr]
        assert json.loads(graph) == {"entities": [ADA], "relations": []}
        assert client.server_capabilities.prompts is None

    inside(talk, "compat")


def test_the_graph_is_made_of_our_own_records(memory: AgentMemory) -> None:
    memory.graph.create_entities([Node(name="Ada", entity_type="person", observations=["likes green tea"])])
    hit = memory.recall("what does Ada drink?")[0]
    entity = memory.records.find(kind="entity")[0]
    assert hit.kind in ("fact", "entity")
    assert [fact["claim"] for fact in memory.semantic.get_entity_graph([entity.id])["facts"]] == ["likes green tea"]
    fact = memory.learn_fact("Ada and Bob share an office", entity_ids=[entity.id])
    assert memory.graph.open(["Ada"]).entities[0].observations == ["likes green tea", "Ada and Bob share an office"]
    memory.graph.create_entities([Node(name="Bob", entity_type="person", observations=[])])
    bob = memory.records.find(kind="entity", fields={"name": "Bob"})[0]
    memory.learn_fact(fact.claim, entity_ids=[bob.id])
    memory.graph.delete_observations([Unobserving(entity_name="Ada", observations=[fact.claim, "likes green tea"])])
    assert [one.observations for one in memory.graph.open(["Ada", "Bob"]).entities] == [[], [fact.claim]]
    assert memory.records.get(fact.id).payload["entity_ids"] == [bob.id]
    assert memory.records.find(kind="fact", fields={}) == [memory.records.get(fact.id)], "the other one is forgotten"
    memory.graph.create_relations([Edge(source="Ada", target="Bob", relation_type="knows")])
    memory.graph.delete_entities(["Bob"])
    assert memory.graph.read().relations == []
    assert [one.text for one in memory.records.find()] == ["Ada"]
    assert memory.upkeep.verify().ok


def test_names_that_differ_only_in_case_are_two_entities(memory: AgentMemory) -> None:
    nodes = [Node(name=name, entity_type="person", observations=[f"is {name}"]) for name in ("Ada", "ADA", "ada")]
    assert memory.graph.create_entities(nodes).entities == nodes
    assert memory.graph.create_entities(nodes).entities == []
    memory.graph.add_observations([Observing(entity_name="ADA", contents=["shouts"])])
    memory.graph.delete_entities(["ada"])
    told = {one.name: one.observations for one in memory.graph.read().entities}
    assert told == {"Ada": ["is Ada"], "ADA": ["is ADA", "shouts"]}
    memory.graph.create_entities(nodes)
    assert {one.name for one in memory.graph.read().entities} == {"Ada", "ADA", "ada"}


def test_an_entity_that_only_a_relation_names_is_shown_by_nothing_else(memory: AgentMemory) -> None:
    memory.graph.create_entities([Node(name="Ada", entity_type="person", observations=[])])
    knows = Edge(source="Ada", target="Bob", relation_type="knows")
    assert memory.graph.create_relations([knows]).relations == [knows]
    assert memory.graph.create_relations([knows]).relations == []
    assert [one.name for one in memory.graph.read().entities] == ["Ada"]
    assert memory.graph.open(["Ada"]).relations == memory.graph.read().relations == [knows]
    assert memory.graph.open(["Bob"]).entities == memory.graph.open(["Bob"]).relations == []
    assert [one.text for one in memory.records.find()] == ["Ada"]
    assert "Bob" not in [one.text for one in memory.recall("who is Bob?")]
    with pytest.raises(NotFound, match="Bob not found"):
        memory.graph.add_observations([Observing(entity_name="Bob", contents=["x"])])
    bob = Node(name="Bob", entity_type="robot", observations=["beeps"])
    assert memory.graph.create_entities([bob]).entities == [bob]
    assert memory.graph.open(["Bob"]).entities == [bob] and memory.graph.open(["Bob"]).relations == [knows]
    memory.graph.create_relations([Edge(source="Eve", target="Ada", relation_type="watches")])
    memory.graph.delete_entities(["Eve", "Bob"])
    assert memory.graph.read().relations == [] and memory.upkeep.verify().ok


def test_what_is_only_mentioned_goes_with_its_last_relation(memory: AgentMemory) -> None:
    def kept() -> list[str]:
        return [one.text for one in memory.records.find(kind="entity", status="archived")]

    secret = Edge(source="Ada", target="Secret Person", relation_type="knows")
    other = Edge(source="Eve", target="Secret Person", relation_type="knows")
    memory.graph.create_entities([Node(name=name, entity_type="person", observations=[]) for name in ("Ada", "Eve")])
    memory.graph.create_relations([secret, other])
    memory.graph.delete_relations([secret])
    assert kept() == ["Secret Person"]
    memory.graph.delete_entities(["Eve"])
    assert kept() == []
    memory.graph.create_relations([secret])
    assert memory.graph.delete_entities(["Secret Person"]).message == "Entities deleted successfully"
    assert kept() == [] and memory.graph.read().relations == []


def test_an_entity_that_others_make_takes_over_the_relations_of_its_mention(memory: AgentMemory) -> None:
    knows = Edge(source="Ada", target="Bob", relation_type="knows")
    memory.graph.create_relations([knows])
    memory.upsert_entity(Entity(name="Bob", type="person"))
    assert memory.graph.open(["Bob"]).relations == [knows]
    assert memory.graph.create_relations([knows]).relations == []
    assert memory.graph.load(json.dumps({"type": "relation", **WORKS, "to": "Bob"})).relations == 1
    assert memory.graph.delete_relations([knows]).message == "Relations deleted successfully"
    assert [one.relation_type for one in memory.graph.read().relations] == ["works_at"]


def test_archived_and_mentioned_again_and_again(memory: AgentMemory) -> None:
    node = Node(name="Ada", entity_type="person", observations=[])
    knows = Edge(source="Eve", target="Ada", relation_type="knows")
    for _ in range(3):
        assert memory.graph.create_entities([node]).entities == [node]
        for one in memory.records.find(kind="entity"):
            memory.records.amend(one.id, status="archived")
        memory.graph.create_relations([knows])
    assert memory.graph.create_entities([node]).entities == [node]
    assert memory.graph.open(["Ada"]).relations == [knows]


def test_nobody_is_kept_from_deleting_by_what_all_users_share(home: Path) -> None:
    with AgentMemory("*", shared=True) as everybody:
        everybody.graph.create_relations([Edge(source="Foo", target="Bar", relation_type="near")])
    with AgentMemory("bob") as memory:
        memory.graph.create_entities([Node(name="Foo", entity_type="thing", observations=[])])
        assert memory.graph.delete_entities(["Foo"]).message == "Entities deleted successfully"


def test_an_entity_with_another_spelling_can_be_corrected(memory: AgentMemory) -> None:
    memory.graph.create_entities([Node(name=name, entity_type="person", observations=[]) for name in ("Ab", "ab")])
    small = memory.records.find(kind="entity", fields={"name": "ab"})[0]
    memory.records.edit(small.id, payload={"description": "small"})
    assert memory.records.get(small.id).key == small.key
    with pytest.raises(Conflict):
        first = memory.records.find(kind="entity", fields={"name": "Ab"})[0]
        memory.upsert_entity(Entity(name="Taken", type="person"))
        memory.records.edit(first.id, payload={"name": "Taken"})


def test_observations_go_in_one_change(memory: AgentMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where one of them stays with somebody else."""
    memory.graph.create_entities(
        [Node(name=name, entity_type="person", observations=[f"{name} rows"]) for name in ("Ada", "Bob")]
    )
    ids = {one.text: one.id for one in memory.records.find(kind="entity")}
    shared = memory.learn_fact("Ada and Bob share an office", entity_ids=list(ids.values()))
    gone = [Unobserving(entity_name="Ada", observations=["Ada rows", shared.claim])]
    real = type(memory._client.runtime.store.records).apply
    calls: list[int] = []

    def counted(self: Any, changes: Any, **rest: Any) -> Any:
        calls.append(len(changes))
        return real(self, changes, **rest)

    monkeypatch.setattr(type(memory._client.runtime.store.records), "apply", counted)
    assert memory.graph.delete_observations(gone).message == "Observations deleted successfully"
    assert len(calls) == 1
    told = {one.name: one.observations for one in memory.graph.read().entities}
    assert told == {"Ada": [], "Bob": ["Bob rows", shared.claim]}
    assert memory.records.get(shared.id).payload["entity_ids"] == [ids["Bob"]]


def test_an_archived_entity_can_be_created_again(memory: AgentMemory) -> None:
    node = Node(name="Ada", entity_type="person", observations=["x"])
    memory.graph.create_entities([node])
    memory.records.amend(memory.records.find(kind="entity")[0].id, status="archived")
    assert memory.graph.read().entities == []
    assert memory.graph.create_entities([node]).entities == [node]
    assert memory.graph.read().entities == [node]


LINES = [{"type": "entity", **ADA}, {"type": "entity", **ACME}, {"type": "relation", **WORKS}]


def written(tmp_path: Path, *lines: object) -> str:
    file = tmp_path / "memory.jsonl"
    file.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), "utf-8")
    return str(file)


def test_the_file_is_taken_over_once(here: Any, tmp_path: Path) -> None:
    file = written(tmp_path, *LINES, "", LINES[2])
    ran = here("import-mcp", file, "--user", "ada")
    assert (ran.code, ran.out) == (0, "took over 2 entities, 2 observations, 1 relation; 0 already known\n")
    again = here("import-mcp", file, "--user", "ada", "--json").json
    assert again == {"entities": 0, "observations": 0, "relations": 0, "known": 5, "bad": []}
    with AgentMemory("ada") as memory:
        graph = memory.graph.read()
        assert [(one.name, one.observations) for one in graph.entities] == [("Ada", ADA["observations"]), ("ACME", [])]
        assert len(graph.relations) == 1
        seq = memory.upkeep.verify().seq
        memory.graph.load(json.dumps({"type": "entity", **ADA, "observations": ["new", "likes tea"]}))
        assert memory.graph.open(["Ada"]).entities[0].observations == [*ADA["observations"], "new"]
        assert memory.upkeep.verify().seq > seq
        assert memory.recall("who lives in Lisbon?")[0].text == "lives in Lisbon"


def test_bad_lines_are_named_by_number_and_nothing_is_half_written(here: Any, tmp_path: Path) -> None:
    bad = [
        "{",
        "7",
        {"type": "thing"},
        {"type": "entity", "name": "x"},
        {"type": "relation", "from": "Ada", "relationType": "knows"},
        {"type": "entity", **ADA, "name": ""},
    ]
    file = written(tmp_path, *LINES, *bad)
    refused = here("import-mcp", file)
    assert refused.code == 2
    for number in range(4, 9):
        assert f"line {number}: " in refused.err
    assert "1 more" in refused.err and "skip" in refused.err
    assert here("stats").code == 6, "not even a store was made"
    taken = here("import-mcp", file, "--skip-bad", "--json").json
    assert taken["entities"] == 2 and taken["relations"] == 1
    assert [one.partition(":")[0] for one in taken["bad"]] == [f"line {number}" for number in range(4, 10)]
    assert here("import-mcp", str(tmp_path / "nowhere")).code == 2


def test_nothing_in_the_file_is_lost(here: Any, tmp_path: Path) -> None:
    """Names that differ only in case, one name with two types, a relation to an entity that is nowhere."""
    lines = [
        {"type": "entity", **ADA},
        {"type": "entity", **ADA, "name": "ada", "observations": ["is written small"]},
        {"type": "entity", **ADA, "entityType": "language", "observations": ["has packages"]},
        {"type": "entity", **ADA, "entityType": "PERSON", "observations": ["likes tea", "said twice"]},
        {"type": "relation", **WORKS, "to": "Nobody"},
        {"type": "relation", "from": "Nowhere", "to": "Nobody", "relationType": "near"},
    ]
    file = written(tmp_path, *lines)
    ran = here("import-mcp", file, "--user", "ada")
    assert (ran.code, ran.out) == (0, "took over 3 entities, 5 observations, 2 relations; 0 already known\n")
    with AgentMemory("ada") as memory:
        graph = memory.graph.read()
        assert [(one.name, one.entity_type, one.observations) for one in graph.entities] == [
            ("Ada", "person", ["likes tea", "lives in Lisbon", "said twice"]),
            ("ada", "person", ["is written small"]),
            ("Ada", "language", ["has packages"]),
        ]
        ends = [(one.source, one.target, one.relation_type) for one in graph.relations]
        assert sorted(ends) == [("Ada", "Nobody", "works_at"), ("Nowhere", "Nobody", "near")]
        head = memory.upkeep.verify().head
    assert here("import-mcp", file, "--user", "ada").out.startswith(
        "took over 0 entities, 0 observations, 0 relations; 10"
    )
    with AgentMemory("ada") as memory:
        assert memory.upkeep.verify().head == head
        nobody = Node(name="Nobody", entity_type="person", observations=[])
        memory.graph.create_entities([nobody])
        assert len(memory.graph.open(["Nobody"]).relations) == 2


def test_the_file_can_be_piped(process: Any, tmp_path: Path) -> None:
    text = "".join(json.dumps(one) + "\n" for one in LINES)
    assert "2 entities" in process("import-mcp", "-", input=text).out


def test_a_long_query_is_refused(memory: AgentMemory) -> None:
    with pytest.raises(InvalidInput, match="limit is 2048"):
        memory.graph.search("x" * 3000)


class Model:
    """The official server's graph, as its source reads."""

    def __init__(self) -> None:
        self.entities: dict[str, list[str]] = {}
        self.relations: list[tuple[str, str]] = []


WHO = some.sampled_from(["Ada", "ADA", "Bob", "ACME", "Zürich"])
SAID = some.lists(some.sampled_from(["tea", "a dog", "Lisbon", "数"]), max_size=3)
STEPS = some.lists(
    some.one_of(
        some.tuples(some.just("create"), WHO, SAID),
        some.tuples(some.just("observe"), WHO, SAID),
        some.tuples(some.just("relate"), WHO, WHO),
        some.tuples(some.just("unobserve"), WHO, SAID),
        some.tuples(some.just("unrelate"), WHO, WHO),
        some.tuples(some.just("delete"), WHO, some.none()),
    ),
    max_size=14,
)


def unique(texts: list[str], besides: list[str]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text not in besides]


def play(model: Model, memory: AgentMemory, step: tuple[str, str, Any]) -> None:
    """The same step in both; a step that the official server refuses is refused."""
    does, name, what = step
    known = model.entities.get(name)
    if does == "create":
        memory.graph.create_entities([Node(name=name, entity_type="thing", observations=what)])
        model.entities.setdefault(name, unique(what, []))
    elif does == "delete":
        memory.graph.delete_entities([name])
        model.entities.pop(name, None)
        model.relations = [one for one in model.relations if name not in one]
    elif does == "unobserve":
        memory.graph.delete_observations([Unobserving(entity_name=name, observations=what)])
        if known is not None:
            model.entities[name] = [text for text in known if text not in what]
    elif does == "unrelate":
        memory.graph.delete_relations([Edge(source=name, target=what, relation_type="knows")])
        model.relations = [one for one in model.relations if one != (name, what)]
    elif does == "relate":
        memory.graph.create_relations([Edge(source=name, target=what, relation_type="knows")])
        model.relations = [*dict.fromkeys([*model.relations, (name, what)])]
    elif known is None:
        with pytest.raises(NotFound):
            memory.graph.add_observations([Observing(entity_name=name, contents=what)])
    else:
        memory.graph.add_observations([Observing(entity_name=name, contents=what)])
        model.entities[name] = [*known, *unique(what, known)]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_whatever_is_done_the_graph_is_what_the_official_server_would_have(
    tmp_path: Path, steps: list[tuple[str, str, Any]]
) -> None:
    (tmp_path / "graph.db").unlink(missing_ok=True)
    model = Model()
    with AgentMemory("ada", store=tmp_path / "graph.db") as memory:
        for step in steps:
            play(model, memory, step)
            graph = memory.graph.read()
            assert {one.name: one.observations for one in graph.entities} == model.entities
            assert sorted((one.source, one.target) for one in graph.relations) == sorted(model.relations)
        assert memory.upkeep.verify().ok
        memory.records.find()
    for rest in tmp_path.glob("graph.db*"):
        rest.unlink()
