"""Rules as of a commit, their log and their differences: in Python, at the command line, over REST and gRPC."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from foreign import Foreign
from starlette.testclient import TestClient

from agent_memory import AgentMemory
from agent_memory.app.service import Service
from agent_memory.interfaces.grpc.server import start
from agent_memory.interfaces.rest.app import create_app
from agent_memory.models.errors import InvalidInput, NotFound

pytestmark = pytest.mark.requirement("P1", "P2")

FIRST = """## Rules

- **never-merge** (deny) Always rebase, never merge.
  - command: `git merge`
- **conventional** (require) Commit messages follow Conventional Commits.
  - commit message: conventional
"""
SECOND = """## Rules

- **never-merge** (warn) Always rebase, never merge.
  - command: `git merge`, `git pull`
  - unless: `git pull --rebase`
  - git config: `pull.rebase=true`
- **short** (advise) Write short sentences.
"""


@pytest.fixture
def commits(repo: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two states of the rules, the first is v0.1; the working directory is the repository."""
    first = repo.commit("feat: first rules", procedural=FIRST)
    repo.git("tag", "v0.1")
    second = repo.commit("feat: other rules", procedural=SECOND)
    repo.trust()
    monkeypatch.chdir(repo.root)
    return [first, second]


@pytest.fixture
def memory(commits: list[str]) -> Iterator[AgentMemory]:
    with AgentMemory(user_id="ada") as opened:
        yield opened


def test_in_python(memory: AgentMemory, repo: Any, commits: list[str]) -> None:
    now, then = memory.rules.read(), memory.rules.at("v0.1")
    assert [rule.id for rule in now.rules] == ["never-merge", "short"] and now.version.commit == commits[1]
    assert [rule.id for rule in then.rules] == ["never-merge", "conventional"] and then.version.ref == "v0.1"
    assert {rule.at.commit for rule in then.rules} == {commits[0]}
    assert memory.rules.read(at="v0.1") == then
    assert [one.commit for one in memory.rules.log()] == commits[::-1]
    assert [one.rule for one in memory.rules.diff("v0.1", "HEAD")] == ["conventional", "never-merge", "short"]
    assert memory.rules.diff("HEAD") == []
    repo.write(".memory/procedural.md", FIRST)
    assert memory.rules.diff("v0.1") == [] and memory.rules.read().version.dirty


def test_what_a_caller_does_to_an_answer_is_their_own(memory: AgentMemory) -> None:
    memory.rules.read().rules.clear()
    assert len(memory.rules.read().rules) == 2


def test_errors_name_what_the_caller_named(memory: AgentMemory, tmp_path: Path) -> None:
    for call, field in (
        (lambda: memory.rules.read(at="v0.l"), "at"),
        (lambda: memory.rules.at("v0.l"), "ref"),
        (lambda: memory.rules.diff("v0.l"), "a"),
        (lambda: memory.rules.diff("v0.1", "v0.l"), "b"),
    ):
        with pytest.raises(NotFound, match=f"{field}: .*did you mean v0.1") as caught:
            call()
        assert caught.value.field == field
    with pytest.raises(InvalidInput, match="a: ") as refused:
        memory.rules.diff("--output=x")
    assert refused.value.field == "a"
    for limit in (0, 1001):
        with pytest.raises(InvalidInput, match="limit"):
            memory.rules.log(limit=limit)
    with pytest.raises(InvalidInput, match="not in a git repository"):
        memory.rules.log(folder=str(tmp_path))
    with pytest.raises(InvalidInput, match="folder"):
        memory.rules.read("nowhere")


def test_a_remote_store_has_no_say_about_files_here(commits: list[str], serving: Any) -> None:
    with serving() as url, AgentMemory(user_id="ada", store=url) as memory:
        assert memory.rules.at("v0.1").version.commit == commits[0]


def test_at_the_command_line(here: Any, commits: list[str], repo: Any) -> None:
    short = [commit[:10] for commit in commits]
    repo.write("sub/x", "")
    assert here("rules", "read", "--folder", "sub").out.splitlines() == [
        "name\tkind\tplace\ttext",
        f"never-merge\twarn\t.memory/procedural.md:3 ({short[1]})\tAlways rebase, never merge.",
        f"short\tadvise\t.memory/procedural.md:7 ({short[1]})\tWrite short sentences.",
    ]
    assert f"conventional\trequire\t.memory/procedural.md:5 ({short[0]})" in here("rules", "at", "v0.1").out
    assert here("rules", "read", "--at", "v0.1", "--json").json["version"]["commit"] == commits[0]
    assert [line.split("\t")[::3] for line in here("rules", "log").out.splitlines()] == [
        ["commit", "rules"],
        [short[1], "+short -conventional ~never-merge"],
        [short[0], "+conventional +never-merge"],
    ]
    expected = [
        "change\trule\ttext",
        "removed\tconventional\t(require) Commit messages follow Conventional Commits.",
        "changed\tnever-merge\tseverity: deny → warn; "
        "check: command git merge → command git merge, git pull, unless git pull --rebase; "
        "git config: – → pull.rebase=true",
        "added\tshort\t(advise) Write short sentences.",
    ]
    assert here("rules", "diff", "v0.1").out.splitlines() == expected
    assert here("rules", "diff", "v0.1", "HEAD").out.splitlines() == expected
    assert [one["change"] for one in here("rules", "diff", "v0.1", "--json").json] == ["removed", "changed", "added"]
    wrong = here("rules", "read", "--at", "v0.l")
    assert wrong.code == 3 and "did you mean v0.1?" in wrong.err


def test_a_page_that_cannot_be_read_is_said(here: Any, repo: Any, commits: list[str]) -> None:
    repo.write(".memory/broken.md", b"\xff")
    ran = here("rules", "read")
    assert ".memory/broken.md:1:1 unreadable" in ran.out and "never-merge" in ran.out


def test_over_rest_it_is_about_the_folder_of_the_server(commits: list[str], tmp_path: Path) -> None:
    service = Service()
    with TestClient(create_app(service), base_url="http://localhost", client=("127.0.0.1", 50000)) as rest:
        book = rest.get("/v1/rules", params={"at": "v0.1"}).json()
        assert book["version"]["commit"] == commits[0] and book["rules"][0]["at"]["commit"] == commits[0]
        assert rest.get("/v1/rules/at", params={"ref": "v0.1"}).json() == book
        assert [one["commit"] for one in rest.get("/v1/rules/log").json()] == commits[::-1]
        changed = rest.get("/v1/rules/diff", params={"a": "v0.1", "b": "HEAD"}).json()
        assert [one["change"] for one in changed] == ["removed", "changed", "added"]
        assert rest.get("/v1/rules", params={"folder": str(tmp_path)}).status_code == 403
        assert rest.get("/v1/rules", params={"at": "nothing"}).json()["field"] == "at"
    service.close()


def test_over_grpc(commits: list[str]) -> None:
    service = Service()
    with start(service, port=0) as door:
        client = Foreign(door.port)
        book = client.call("RulesService/At", {"ref": "v0.1"})
        client.close()
    service.close()
    assert book["version"]["commit"] == commits[0]
