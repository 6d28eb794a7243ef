"""What links give: questions that name one thing and are answered by a record about another, over the public API.

    python benchmarks/links/run.py                 # with and without the channel, in three surroundings
    python benchmarks/links/run.py --grid          # weights, depths and fans on the half that they are chosen on
    python benchmarks/links/run.py --speed         # what the channel costs, by the number of entities

The world (`world.json`, written by us) is a shop's services, their databases, vendors, clusters, teams and people; each
question names its evidence and how many links lie between. The surroundings: the world alone; with a crowd (four
copies of it under other names, and a hub that everything is part of, with 60 facts of its own); with the texts of
`../operations` beside it, which nothing is linked with.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from itertools import product
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
from agent_memory import AgentMemory
from agent_memory.models import Entity
from agent_memory.models.recipe import DEFAULT, Recipe
from small import SMALL, at_most

os.environ["AGENT_MEMORY_PROCEDURES"] = "false"  # this repository has pages of its own

HERE = Path(__file__).parent
WORLD = json.loads((HERE / "world.json").read_text())
SURROUNDINGS = ("alone", "crowd", "operations")[: at_most(3, 1)]
CUTS = (1, 5, 10)


def fill(memory: AgentMemory, surroundings: str) -> dict[str, str]:
    """A fact's own id, or an entity's name -> the id under which it is stored."""
    known = populate(memory, "")
    if surroundings == "crowd":
        for copy in range(2, 6):
            populate(memory, f"-{copy}")
        hub = memory.upsert_entity(Entity(name="Acme Cloud", type="Platform"))
        for record in memory.records.find("entity", limit=1000):
            if record.id != hub.id:
                memory.semantic.create_relationship(record.id, hub.id, "PART_OF")
        for number in range(60):
            memory.learn_fact(f"rule {number} of the platform: see chapter {number}", entity_ids=[hub.id])
    elif surroundings == "operations":
        lines = [json.loads(line) for line in (HERE.parent / "operations/operations.jsonl").read_text().splitlines()]
        texts = list(dict.fromkeys(text for line in lines for text in (item["text"] for item in line["corpus"])))
        for start in range(0, len(texts), 200):
            memory.records.add_many([{"text": text} for text in texts[start : start + 200]], embed=True)
    return known


def populate(memory: AgentMemory, suffix: str) -> dict[str, str]:
    ids = {}
    for one in WORLD["entities"]:
        aliases = [f"{alias}{suffix}" for alias in one["aliases"]]
        entity = Entity(name=f"{one['name']}{suffix}", type=one["type"], aliases=aliases)
        ids[one["name"]] = memory.upsert_entity(entity).id
    for one in WORLD["links"]:
        memory.semantic.create_relationship(ids[one["from"]], ids[one["to"]], one["type"])
    stored = dict(ids)
    for one in WORLD["facts"]:
        text = one["text"]
        for name in one["about"] if suffix else ():
            text = text.replace(name, f"{name}{suffix}")
        if text == one["text"] and suffix:
            continue  # a copy must not be told from the original by nothing
        stored[one["id"]] = memory.learn_fact(text, entity_ids=[ids[name] for name in one["about"]]).id
    return stored


def found(memory: AgentMemory, known: dict[str, str], recipe: Recipe, half: str | None) -> dict[str, list[list[bool]]]:
    """sort of question -> for each, whether its evidence is among the first 1, 5, 10."""
    results = defaultdict(list)
    for one in WORLD["questions"][:: 10 if SMALL else 1]:
        if half in (None, one["half"]):
            hits = [hit.id for hit in memory.recall(one["text"], max(CUTS), recipe)]
            results[one["sort"]].append([known[one["evidence"]] in hits[:cut] for cut in CUTS])
    return results


def shares(rows: list[list[bool]]) -> str:
    return " / ".join(f"{100 * statistics.mean(column):5.1f}" for column in zip(*rows, strict=True))


def report(half: str | None) -> None:
    for surroundings in SURROUNDINGS:
        with tempfile.TemporaryDirectory() as folder, AgentMemory("reader", store=Path(folder) / "m.db") as memory:
            known = fill(memory, surroundings)
            with_links, without = (
                found(memory, known, DEFAULT.model_copy(update=change), half) for change in ({}, {"entities": 0.0})
            )
            print(f"\n{surroundings}: {memory.upkeep.stats()['records']} records\n| questions | n | without | with |")
            for sort in [*with_links, None]:
                before, after = (
                    [row for name, rows in results.items() if sort in (None, name) for row in rows]
                    for results in (without, with_links)
                )
                print(f"| {sort or 'all'} | {len(after)} | {shares(before)} | {shares(after)} |")


def grid() -> None:
    """recall@5 and @10 on the first half, the linked questions and the others apart."""
    others = ("not linked", "nothing named", "direct")
    for surroundings in SURROUNDINGS:
        with tempfile.TemporaryDirectory() as folder, AgentMemory("reader", store=Path(folder) / "m.db") as memory:
            known = fill(memory, surroundings)
            print(f"\n{surroundings}\n| weight | depth | fan | linked @1/5/10 | the others |")
            for weight, depth, fan in product((0.0, 0.2, 0.4, 0.6, 0.8), (2, 3), (3, 10, 1000)):
                if weight or (depth, fan) == (3, 10):
                    recipe = DEFAULT.model_copy(update={"entities": weight, "depth": depth, "fan": fan})
                    results = found(memory, known, recipe, "dev")
                    linked, rest = (
                        [row for sort, rows in results.items() if (sort in others) is other for row in rows]
                        for other in (False, True)
                    )
                    print(f"| {weight} | {depth} | {fan} | {shares(linked)} | {shares(rest)} |", flush=True)


def speed() -> None:
    """Milliseconds of CPU of a recall (median of 200), with and without the channel; of the first, by the clock."""
    for entities in sorted({at_most(many, 20) for many in (0, 100, 10_000)}):
        with tempfile.TemporaryDirectory() as folder, AgentMemory("reader", store=Path(folder) / "m.db") as memory:
            memory.records.add_many(
                [{"text": f"note {n} about thing {n % 100}"} for n in range(at_most(2000, 20))], embed=True
            )
            drafts = [
                {"text": f"service {n}", "kind": "entity", "payload": {"name": f"service {n}", "type": "Service"}}
                for n in range(entities)
            ]
            ids = []
            for start in range(0, entities, 500):
                ids += [one.id for one in memory.records.add_many(drafts[start : start + 500], embed=True)]
            for number in range(min(entities, 2000)):
                memory.semantic.create_relationship(ids[number], ids[number * 7 % len(ids)], "CALLS")
            started = time.perf_counter()
            memory.recall("what does service 7 call?")
            first = time.perf_counter() - started
            recipes = [DEFAULT.model_copy(update={"entities": weight}) for weight in (DEFAULT.entities, 0.0)]
            taken: list[list[float]] = [[], []]
            for number in range(
                at_most(400, 8)
            ):  # in turn, and each as often the first, so that nothing favours either
                which = (number + number // 2) % 2
                started = time.process_time()
                memory.recall(f"what does service {number // 2 % 90} call?", recipe=recipes[which])
                taken[which].append(time.process_time() - started)
            with_links, without = (1000 * statistics.median(times) for times in taken)
            print(f"{entities} entities: first {1000 * first:.0f}; with {with_links:.2f}, without {without:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--grid", action="store_true")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--half", choices=("dev", "test"))
    options = parser.parse_args()
    if options.grid:
        grid()
    elif options.speed:
        speed()
    else:
        report(options.half)
