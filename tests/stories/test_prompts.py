"""Procedures reach an agent: at the beginning of a prompt, by recall and in a context, as the pages say it now."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_memory import AgentMemory
from agent_memory.models.errors import Conflict, InvalidInput, NotFound
from patience import PATIENCE

PAGE = """# How we work

## Rules

- **never-merge** (deny) Always rebase, never merge.
  - command: `git merge`
- **short** Write short sentences.

## Skills

### Deploy to staging

Run `make deploy ENV=staging`, then watch the error rate for ten minutes.

### Rotate the database password

1. `vault rotate db/prod`
2. restart the api pods
"""
MERGE = "**linear** (deny) Keep the history linear.\n  - command: `git merge`"


@pytest.fixture
def project(repo, monkeypatch):
    repo.commit("rules", procedural=PAGE)
    repo.trust()
    monkeypatch.chdir(repo.root)
    return repo


def names(memory: AgentMemory, query: str = "deploy staging database password merge sentences") -> set[str]:
    return {hit.record.payload["name"] for hit in memory.recall(query, kinds=["procedure"])}


@pytest.mark.requirement("P3")
def test_a_prompt_begins_with_the_rules_and_what_fits_the_task(project) -> None:
    with AgentMemory("ada") as memory:
        made = memory.rules.prompt(task="the database credentials leaked, rotate them")
        assert made.rules == ["never-merge", "short"]
        assert made.entries == ["rotate-the-database-password"]
        assert "vault rotate" in made.text and "make deploy" not in made.text
        assert made.version.commit == project.git("rev-parse", "HEAD") and not made.version.dirty
        again = memory.rules.prompt(task="the database credentials leaked, rotate them")
        assert (again.text, again.digest) == (made.text, made.digest)
        assert memory.rules.prompt(task="bake bread").entries == []
        assert memory.rules.prompt().entries == ["deploy-to-staging", "rotate-the-database-password"]


@pytest.mark.requirement("P3")
def test_a_budget_is_kept_and_says_what_was_left_out(project) -> None:
    with AgentMemory("ada") as memory:
        for budget in (1, 20, 50, 80, 200):
            made = memory.rules.prompt(max_tokens=budget, counter=len)
            assert len(made.text) == made.tokens <= budget
        small = memory.rules.prompt(max_tokens=60)
        assert "never-merge" in small.rules and {one.reason for one in small.left_out} == {"budget"}
        with pytest.raises(InvalidInput, match="max_tokens"):
            memory.rules.prompt(max_tokens=0)


@pytest.mark.requirement("P1", "P3")
def test_recall_finds_what_a_page_says_once_it_is_followed(project) -> None:
    with AgentMemory("ada") as memory:
        assert names(memory) == set()
        assert memory.rules.follow().written == 4
        assert names(memory) == {"never-merge", "short", "deploy-to-staging", "rotate-the-database-password"}
        before = {hit.record.id: hit.record.version for hit in memory.recall("deploy", kinds=["procedure"])}
        project.write(".memory/procedural.md", "A new first line.\n\n" + PAGE.replace("ten minutes", "an hour"))
        done = memory.rules.follow()
        assert (done.written, done.archived, done.unchanged) == (1, 0, 3)
        hits = memory.recall("deploy to staging", kinds=["procedure"])
        assert "an hour" in hits[0].record.text
        assert str(hits[0].page) == f"{project.root}, .memory/procedural.md"
        after = {hit.record.id: hit.record.version for hit in memory.recall("deploy", kinds=["procedure"])}
        changed = {id for id in after if after[id] != before.get(id)}
        assert [memory.records.get(id).payload["name"] for id in changed] == ["deploy-to-staging"]
        project.write(".memory/procedural.md", "## Rules\n\n- **short** Write short sentences.\n")
        assert memory.rules.follow().archived == 3
        assert names(memory) == {"short"}
        (was,) = [one for one in memory.records.history(hits[0].record.id) if "ten minutes" in one.text][:1]
        assert was.source == "page"


@pytest.mark.local
def test_no_read_writes_and_unchanged_pages_are_not_written_again(project) -> None:
    with AgentMemory("ada") as memory:
        for _ in range(2):
            memory.recall("deploy")
            memory.assemble_context("deploy to staging")
            memory.remember("deploy")
            memory.rules.prompt(task="deploy")
            memory.records.find("procedure")
        assert memory.records.journal(limit=1000) == []
        memory.rules.follow()
        lines = len(memory.records.journal(limit=1000))
        assert memory.rules.follow().written == 0
        project.commit("nothing about the pages")
        memory.rules.follow()
        assert len(memory.records.journal(limit=1000)) == lines > 0


@pytest.mark.local
def test_a_page_that_cannot_be_read_now_takes_nothing_away(project) -> None:
    with AgentMemory("ada") as memory:
        memory.rules.follow()
        before = names(memory)
        project.write(".memory/procedural.md", b"\xff")
        memory.rules.follow()
        assert names(memory) == before != set()
        assert memory.rules.prompt().rules == ["unreadable-procedural-md"]


@pytest.mark.local
def test_what_other_folders_say_is_left_alone(project, tmp_path: Path, monkeypatch) -> None:
    project.write("sub/.memory/procedural.md", "## Rules\n\n- **only-here** Only here.\n")
    with AgentMemory("ada") as memory:
        memory.rules.follow(folder="sub")
        assert "only-here" in names(memory, "only here")
        memory.rules.follow()
        assert "only-here" in names(memory, "only here")
        monkeypatch.chdir(tmp_path)
        assert names(memory) == set()
        assert memory.rules.prompt().rules == []
        assert "never-merge" not in memory.assemble_context("merge the branch").text
        found = memory.recall("merge", kinds=["procedure"], repository=str(project.root))
        assert "never-merge" in {hit.record.payload["name"] for hit in found}
    monkeypatch.chdir(project.root)
    with AgentMemory("bob") as other:
        other.rules.follow()
        assert all(one.scope.user == "bob" for one in other.records.find("procedure"))


def test_it_can_be_turned_off(project, monkeypatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_PROCEDURES", "false")
    with AgentMemory("ada") as memory:
        assert names(memory) == set()
        assert "never-merge" not in memory.assemble_context("merge the branch").text
        assert memory.rules.prompt().rules == ["never-merge", "short"]


@pytest.mark.requirement("P3", "T5")
def test_a_context_begins_with_the_rules(project) -> None:
    with AgentMemory("ada") as memory:
        memory.user.set_preference("style", "language", "British English")
        made = memory.assemble_context("deploy to staging")
        assert [chunk.id for chunk in made.rules] == ["never-merge", "short"]
        assert made.text.index("- never-merge (deny)") < made.text.index("British English")
        assert "make deploy" in made.text and made.text.count("Always rebase") == 1
        for form in ("markdown", "xml", "json"):
            for budget in (1, 30, 90, 300):
                small = memory.assemble_context("deploy to staging", budget, counter=len, format=form)
                assert len(small.text) == small.total_tokens <= budget
        past = memory.assemble_context("deploy to staging", as_of=memory.records.find("preference")[0].recorded_at)
        assert past.rules == []


@pytest.mark.requirement("P8")
def test_a_proposed_rule_holds_when_it_is_approved(project) -> None:
    config = Path(os.environ["AGENT_MEMORY_CONFIG"])
    with AgentMemory("ada") as memory:
        one = memory.rules.propose(MERGE, confidence=0.7, reason="the last merge broke bisect")
        assert [(held.name, held.confidence, held.reason) for held in memory.rules.proposals()] == [
            ("linear", 0.7, "the last merge broke bisect")
        ]
        assert "linear" not in memory.rules.prompt().rules and "linear" not in names(memory)
        assert memory.rules.propose(MERGE, confidence=0.9).id == one.id
        approved = memory.rules.approve("linear")
        assert approved.page == str(config / "rules.md")
        assert "linear" in memory.rules.prompt().rules and memory.rules.proposals() == []
        again = memory.rules.propose(MERGE)
        assert memory.rules.approve(again.id).page == approved.page
        assert (config / "rules.md").read_text().count("**linear**") == 1
        with pytest.raises(NotFound, match="no proposal 'linear'"):
            memory.rules.approve("linear")


@pytest.mark.requirement("P8")
def test_into_the_repository_and_not_at_all(project) -> None:
    with AgentMemory("ada") as memory:
        memory.rules.propose(MERGE)
        page = memory.rules.approve("linear", into="repository").page
        assert Path(page).read_text().startswith(PAGE)
        assert memory.rules.prompt().version.dirty
        one = memory.rules.propose("**other** (warn) Other.\n  - command: `other`")
        memory.rules.reject(one.id, "not now")
        assert memory.rules.proposals() == []
        memory.rules.propose("**short** (deny) Something else.\n  - command: `x`")
        with pytest.raises(Conflict, match="another rule 'short'"):
            memory.rules.approve("short", into="repository")
        assert [held.name for held in memory.rules.proposals()] == ["short"]
        with pytest.raises(InvalidInput, match="no key `comand`"):
            memory.rules.propose("**x** (deny) X.\n  - comand: `x`")


@pytest.mark.parametrize("start", ["sub", "apart"])
def test_a_server_applies_nothing_outside_its_folder(project, serving, monkeypatch, start: str) -> None:
    """The top of the repository, or its git folder, can lie above the folder of the server."""
    import httpx

    (project.root / "sub").mkdir()
    project.git("worktree", "add", "--quiet", "apart")
    monkeypatch.chdir(project.root / start)
    with serving() as url:
        refused = httpx.post(f"{url}/v1/rules/apply", json={"folder": "."}, timeout=PATIENCE)
        assert refused.status_code == 403 and "reaches out" in refused.json()["detail"], refused.text
    assert not (project.root / ".git/agent-memory").exists()
    assert not (project.root / ".git/hooks/commit-msg").exists()


@pytest.mark.local
def test_a_server_shows_nobody_the_pages_of_whoever_runs_it(project, serving, monkeypatch) -> None:
    import httpx

    monkeypatch.setenv("AGENT_MEMORY_WORKPLACE", str(project.root))
    own = Path(os.environ["AGENT_MEMORY_CONFIG"])
    own.mkdir(exist_ok=True)
    (own / "mine.md").write_text("## Rules\n\n- **secret** (deny) Mine alone.\n  - command: `secret`\n")
    with AgentMemory("ada") as memory:
        memory.rules.follow()
        assert "secret" in memory.rules.prompt(task="deploy").rules and "secret" in names(memory, "mine alone")
    with serving() as url, httpx.Client(base_url=f"{url}/v1", timeout=PATIENCE) as client:
        told = [
            client.get("/rules"),
            client.post("/rules/prompt", json={"task": "deploy"}),
            client.post("/rules/check", json={"action": {"command": "secret"}}),
            client.post("/context", json={"task_description": "deploy secret"}),
        ]
        assert [one.status_code for one in told] == [200] * 4
        assert all("Mine alone" not in one.text and "mine.md" not in one.text for one in told)
        assert told[2].json()["allowed"]
        followed = client.post("/rules/follow", json={}, headers={"X-Memory-User": "ada"})
        assert followed.json()["repository"] == str(project.root), followed.text
    with AgentMemory("ada") as memory:
        kept = [one.status for one in memory.records.find("procedure", fields={"origin": "user"})]
        assert kept == ["active"]  # a server knows nothing of them, and takes none away


def test_a_server_writes_no_page_of_anybodys_own(project, serving) -> None:
    import httpx

    with serving() as url:
        made = httpx.post(f"{url}/v1/rules/proposals", json={"rule": MERGE}, timeout=PATIENCE).json()
        refused = httpx.post(f"{url}/v1/rules/proposals/{made['id']}/approve", json={}, timeout=PATIENCE)
        assert refused.status_code == 403 and "into" in refused.json()["detail"]
        with AgentMemory("default", store=url) as memory:  # runs here, on the user's own machine
            assert Path(memory.rules.approve("linear").page).parent == Path(os.environ["AGENT_MEMORY_CONFIG"])
            assert memory.rules.proposals() == [] and "linear" in memory.rules.prompt(task="deploy").rules
