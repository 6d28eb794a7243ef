"""Parts of another package: a working set, vectors, an embedder, a reranker; and what they forget while away. P20."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.outside import Outside

CLI = [sys.executable, "-m", "agent_memory.interfaces.cli"]
BEGIN = "import json\nfrom agent_memory import AgentMemory\nmemory = AgentMemory(user_id='ada', conversation_id='c')\n"


@pytest.fixture
def outside(tmp_path: Path, home: Path) -> Iterator[Outside]:
    server = Outside(tmp_path)
    server.start()
    yield server
    server.kill()


def python(code: str, environment: dict[str, str]) -> Any:
    ran = subprocess.run([sys.executable, "-c", BEGIN + code], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def cli(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*CLI, "--user", "ada", *arguments], env=environment, capture_output=True, text=True)


def remembered(environment: dict[str, str]) -> str:
    """A turn whose picture is on the desk, and a vector under its id."""
    id: str = python(
        "from agent_memory import Turn\n"
        "turn = memory.store_turn(Turn(role='user', content='the canary sings', conversation_id='c', index=0))\n"
        "memory.vectors.upsert('short', turn.id, [1.0, 0.0])\nprint(json.dumps(turn.id))",
        environment,
    )
    return id


def stats(environment: dict[str, str]) -> Any:
    return json.loads(cli(environment, "stats", "--json").stdout)


@pytest.mark.requirement("P20")
def test_all_of_it_through_the_library_and_the_command_line(outside: Outside) -> None:
    id = remembered(outside.environment)
    assert any("canary" in json.dumps(one) for one in outside.kept().values())
    found = python(
        "hits = memory.recall('canary')\n"
        "print(json.dumps([[hit.id for hit in hits], memory.vectors.query('short', [1.0, 0.0])[0].id,\n"
        "    len(memory.get_working_context()['recent_turns']), memory.upkeep.stats()['space']]))",
        outside.environment,
    )
    assert found == [[id], id, 1, "toy-words@1/16"]
    assert json.loads(cli(outside.environment, "recall", "canary", "--json").stdout)["hits"][0]["record"]["id"] == id
    said = cli(outside.environment, "working", "get-context", "--conversation", "c", "--json")
    assert "canary" in said.stdout, said.stderr


def test_a_reranker_by_its_scheme(outside: Outside) -> None:
    environment = {**outside.environment, "AGENT_MEMORY_RERANK_URL": "toy://here"}
    order = python(
        "from agent_memory.models.recipe import RECIPES\n"
        "for text in ('tea is green and rather long', 'tea'): memory.records.add(text)\n"
        "recipe = RECIPES['default'].model_copy(update={'rerank': 5})\n"
        "print(json.dumps([hit.text for hit in memory.recall('tea', recipe=recipe)]))",
        environment,
    )
    assert order[0] == "tea"


def test_what_is_forgotten_while_it_is_away_is_owed_and_paid(outside: Outside) -> None:
    id = remembered(outside.environment)
    outside.kill()
    said = json.loads(cli(outside.environment, "forget", id, "--yes", "--json").stdout)
    assert (said["ids"][0], len(said["ids"]), said["scrubbed"]) == (id, 2, False), "with its conversation"
    debts = stats(outside.environment)["debts"]
    assert [(one["place"], one["records"]) for one in debts] == [
        (f"vectors {outside.url}", 2),
        (f"working {outside.url}", 2),
    ]
    assert all(one["since"] and "away" in one["error"] for one in debts)
    doctor = cli(outside.environment, "doctor").stdout
    assert f"working {outside.url} has to forget 2 records since" in doctor
    assert "canary" in json.dumps(outside.kept()) and id in json.dumps(outside.kept())
    assert "canary" not in json.dumps(debts) + doctor

    outside.start()
    jobs = json.loads(cli(outside.environment, "upkeep", "run-jobs", "--json").stdout)
    assert jobs["scrub"] == {"owed": 0}
    assert "canary" not in json.dumps(outside.kept()) and id not in json.dumps(outside.kept())
    assert stats(outside.environment)["debts"] == []
    assert "has to forget" not in cli(outside.environment, "doctor").stdout
    assert json.loads(cli(outside.environment, "verify", "--json").stdout)["ok"]


def test_while_it_is_there_nothing_is_owed(outside: Outside) -> None:
    id = remembered(outside.environment)
    assert json.loads(cli(outside.environment, "forget", id, "--yes", "--json").stdout)["scrubbed"] is True
    assert "canary" not in json.dumps(outside.kept()) and id not in json.dumps(outside.kept())


def test_a_process_killed_between_commit_and_payment_leaves_the_debt(outside: Outside) -> None:
    id = remembered(outside.environment)
    ran = cli({**outside.environment, "TOY_DIES": "1"}, "forget", id, "--yes")
    assert ran.returncode == -signal.SIGKILL
    assert cli(outside.environment, "show", id).returncode != 0, "what was erased is gone"
    owed = {one["place"]: one["records"] for one in stats(outside.environment)["debts"]}
    assert owed[f"working {outside.url}"] == 2
    assert "canary" in json.dumps(outside.kept())
    assert cli(outside.environment, "upkeep", "run-jobs").returncode == 0
    assert stats(outside.environment)["debts"] == [] and "canary" not in json.dumps(outside.kept())


def test_a_process_that_does_not_know_of_it_owes_it_all_the_same(outside: Outside) -> None:
    id = remembered(outside.environment)
    without = {**outside.environment}
    del without["AGENT_MEMORY_WORKING"], without["AGENT_MEMORY_VECTORS"]
    assert json.loads(cli(without, "forget", id, "--yes", "--json").stdout)["scrubbed"] is False
    assert cli(outside.environment, "upkeep", "run-jobs").returncode == 0
    assert stats(without)["debts"] == [] and "canary" not in json.dumps(outside.kept())


def test_a_place_that_is_gone_for_good_is_detached(outside: Outside) -> None:
    id, other = remembered(outside.environment), "working toy://elsewhere:1"
    outside.kill()
    assert "not off every disk yet" in cli(outside.environment, "forget", id, "--yes").stdout
    refused = cli(outside.environment, "upkeep", "detach", other)
    assert refused.returncode == 3 and f"working {outside.url}" in refused.stderr
    without = {name: value for name, value in outside.environment.items() if not name.endswith(("WORKING", "_VECTORS"))}
    for port in ("working", "vectors"):
        assert cli(without, "upkeep", "detach", f"{port}  {outside.url}/", "--json").stdout.strip() == "2"
    assert stats(without)["debts"] == []


def test_a_working_set_that_is_away_costs_the_desk_and_nothing_else(outside: Outside) -> None:
    outside.kill()
    kept = python(
        "from agent_memory import Turn\nfrom agent_memory.models.errors import PartMissing\n"
        "memory.store_turn(Turn(role='user', content='tea at four', conversation_id='c', index=0))\n"
        "try:\n    memory.set_working_context('mood', 'calm')\nexcept PartMissing as error:\n    away = error.message\n"
        "context = memory.assemble_context('tea')\nmemory.close()\nprint(json.dumps([away, context.text]))",
        outside.environment,
    )
    assert "toy server is away" in kept[0] and "tea at four" in kept[1]


def test_another_file_of_ours_can_be_the_working_set(home: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "AGENT_MEMORY_WORKING": str(tmp_path / "desk.db")}
    id = remembered(environment)
    assert b"canary" in b"".join(one.read_bytes() for one in tmp_path.glob("desk.db*"))
    assert json.loads(cli(environment, "forget", id, "--yes", "--json").stdout)["scrubbed"] is True
    assert b"canary" not in b"".join(one.read_bytes() for one in tmp_path.glob("desk.db*"))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("toy = wrong:Nothing", ["entry point 'toy' in agent_memory.working of wrong", "install what it needs"]),
        ("toy = wrong:Half", ["gives a Half without set,", "agent_memory.ports.working.WorkingStore", "upgrade it"]),
    ],
)
def test_a_broken_plug_in_is_named_with_the_fix(entry: str, said: list[str], home: Path, tmp_path: Path) -> None:
    module = "class Half:\n    def __init__(self, url):\n        self.get = None\n"
    ran = cli(installed(tmp_path, entry, module), "add", "x")
    assert ran.returncode != 0 and "Traceback" not in ran.stderr
    assert [one for one in said if one not in ran.stderr] == [], ran.stderr


def test_two_packages_with_one_name_are_refused(home: Path, tmp_path: Path) -> None:
    environment = installed(tmp_path, "toy = wrong:Half", "")
    environment["PYTHONPATH"] += os.pathsep + str(Path(__file__).parents[1] / "plugins")
    ran = cli(environment, "add", "x")
    assert "have the same name" in ran.stderr and "uninstall one of them" in ran.stderr


def test_nobody_replaces_ours(home: Path, tmp_path: Path) -> None:
    environment = installed(tmp_path, "sqlite = wrong:Half", "")
    environment["AGENT_MEMORY_WORKING"] = str(tmp_path / "desk.db")
    assert cli(environment, "add", "x").returncode == 0
    assert "entry point 'sqlite' in agent_memory.working of wrong is not used" in cli(environment, "doctor").stdout


@pytest.mark.parametrize(
    ("setting", "value"), [("WORKING", "nope://x"), ("VECTORS", "nope://x"), ("EMBEDDING_PROVIDER", "nope")]
)
def test_what_nobody_offers_is_named_with_its_setting_and_group(setting: str, value: str, home: Path) -> None:
    ran = cli({**os.environ, f"AGENT_MEMORY_{setting}": value}, "add", "x")
    group = "embedders" if "EMBED" in setting else setting.lower()
    assert ran.returncode != 0 and f"{setting.lower()}: " in ran.stderr and f"agent_memory.{group}" in ran.stderr


def installed(tmp_path: Path, entry: str, module: str) -> dict[str, str]:
    """A package called wrong, as pip would have installed it."""
    site = tmp_path / "site"
    (site / "wrong-1.0.dist-info").mkdir(parents=True)
    (site / "wrong.py").write_text(module)
    (site / "wrong-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: wrong\nVersion: 1.0\n")
    (site / "wrong-1.0.dist-info" / "entry_points.txt").write_text(f"[agent_memory.working]\n{entry}\n")
    return {**os.environ, "PYTHONPATH": str(site), "AGENT_MEMORY_WORKING": "toy://127.0.0.1:1"}


def test_the_doctor_asks_every_part_that_is_elsewhere(outside: Outside) -> None:
    there = cli(outside.environment, "doctor").stdout
    assert f"working      {outside.url}: answers in" in there and f"vectors      {outside.url}: answers in" in there
    outside.kill()
    away = cli(outside.environment, "doctor")
    assert away.returncode == 1 and f"{outside.url}: the toy server is away" in away.stdout
    assert away.stdout.count("→ start it") == 2


def test_the_doctor_says_how_a_place_is_told_that_is_not_set_here(outside: Outside) -> None:
    id = remembered(outside.environment)
    without = {name: value for name, value in outside.environment.items() if not name.endswith(("WORKING", "_VECTORS"))}
    assert json.loads(cli(without, "forget", id, "--yes", "--json").stdout)["scrubbed"] is False
    said = cli(without, "doctor").stdout
    assert f"it is not set here: run `agent-memory upkeep run-jobs` with AGENT_MEMORY_WORKING={outside.url}" in said
    assert "it is not set here" not in cli(outside.environment, "doctor").stdout


@pytest.mark.parametrize("part", ["WORKING", "VECTORS"])
def test_a_file_of_a_part_is_named_with_its_setting(part: str, home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    other.write_text("not a database, and long enough to be looked at" * 30)
    for path in (tmp_path, other):
        environment = {**os.environ, f"AGENT_MEMORY_{part}": str(path)}
        ran = cli(environment, "add", "x")
        assert ran.returncode != 0 and f"{path}, which AGENT_MEMORY_{part} names" in ran.stderr, ran.stderr
    doctor = cli(environment, "doctor")
    assert doctor.returncode == 1 and f"name another file in AGENT_MEMORY_{part}" in doctor.stdout


@pytest.mark.parametrize("path", ["desk.db", "sqlite:///desk.db", "./desk.db"])
def test_a_part_at_a_relative_path_is_refused(path: str, home: Path, tmp_path: Path) -> None:
    """A place is attached to the store for good: it must not be another one in every folder."""
    environment = {**os.environ, "AGENT_MEMORY_WORKING": path}
    ran = cli(environment, "add", "x")
    assert ran.returncode != 0 and "working: " in ran.stderr and "relative path" in ran.stderr
    assert f"AGENT_MEMORY_WORKING={tmp_path.resolve() / 'desk.db'}" in ran.stderr
    assert not (tmp_path / "desk.db").exists() and not list(home.glob("*.db"))
    assert "relative path" in cli(environment, "doctor").stdout
