"""Documents through the doors: what is sent, which paths a server reads, and what a terminal shows."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from agent_memory import AgentMemory, AsyncAgentMemory
from agent_memory.ports.progress import watched
from patience import PATIENCE

Serving = Callable[..., AbstractContextManager[str]]


def ask(url: str, path: str, body: Any) -> tuple[int, Any]:
    request = Request(f"{url}/v1{path}", json.dumps(body).encode(), {"content-type": "application/json"})
    try:
        with urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


@pytest.mark.requirement("T4")
def test_a_document_is_sent_to_a_server(serving: Serving, tmp_path: Path) -> None:
    file = tmp_path / "guide.md"
    file.write_text("# Guide\n\nTea is green.\n")
    with serving() as url:
        with AgentMemory("ada", store=url) as memory:
            assert memory.knowledge.ingest(file).added == 1
            assert memory.knowledge.search("tea")[0].metadata["source"] == str(file)

        async def again() -> str:
            async with AsyncAgentMemory("ada", store=url) as memory:
                return (await memory.knowledge.ingest(str(file))).effect

        assert asyncio.run(again()) == "unchanged"
        content = base64.b64encode(file.read_bytes()).decode()
        told = ask(url, "/knowledge/documents", {"name": "sent.md", "content": content, "encoding": "base64"})
        assert (told[0] // 100, told[1]["effect"]) == (2, "created")
        wrong = ask(url, "/knowledge/documents", {"name": "sent.md", "content": "%%", "encoding": "base64"})
        assert wrong[0] == 422 and "is not base64" in str(wrong[1])


@pytest.mark.requirement("T4")
def test_a_server_without_a_workplace_reads_no_files(serving: Serving, tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("# Guide\n\nTea is green.\n")
    with serving() as url:
        for path, body in (("ingest", {"path": "guide.md"}), ("sync", {"folder": "."})):
            status, said = ask(url, f"/knowledge/{path}", body)
            assert status == 422 and "this server reads no files" in str(said)


@pytest.mark.requirement("T4")
def test_a_path_is_held_to_the_workplace(serving: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "work"
    (root / ".hidden").mkdir(parents=True)
    for file in (root / "guide.md", root / ".hidden" / "x.md", tmp_path / "out.md"):
        file.write_text("# Guide\n\nTea is green.\n")
    (root / "link.md").symlink_to(tmp_path / "out.md")
    monkeypatch.setenv("AGENT_MEMORY_WORKPLACE", str(root))
    with serving() as url:
        status, told = ask(url, "/knowledge/ingest", {"path": "guide.md"})
        assert (status // 100, told["source"]) == (2, "guide.md")
        for path in ("../out.md", str(tmp_path / "out.md"), "link.md", ".hidden/x.md"):
            assert ask(url, "/knowledge/ingest", {"path": path})[0] == 403
        assert ask(url, "/knowledge/sync", {"folder": ".."})[0] == 403
        status, told = ask(url, "/knowledge/sync", {"folder": "."})
        assert (status // 100, told["unchanged"], told["added"]) == (2, 1, [])
        (root / "guide.md").unlink()
        assert ask(url, "/knowledge/sync", {"folder": ".", "force": True})[1]["gone"] == ["guide.md"]


@pytest.mark.requirement("T4")
def test_on_the_command_line(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.md").write_text(f"# Page {name}\n\nTea {name} is green.\n")
    (folder / "c.pdf").write_bytes(b"no")

    def run(*words: str) -> tuple[int, str, str]:
        command = [sys.executable, "-m", "agent_memory.interfaces.cli", "knowledge", *words]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
        return ran.returncode, ran.stdout, ran.stderr

    code, said, _ = run("sync", "docs", "--glob", "**/*.md", "--glob", "*.pdf")
    assert code == 0 and "new: a.md\nnew: b.md\nskipped: c.pdf: is not a PDF" in said
    assert f"\n{folder}: 2 new, 1 skipped\n" in said
    (folder / "d.csv").touch()
    code, said, _ = run("sync", "docs")
    assert code == 0 and f"\nnot documents: 1 file: .csv (1)\n{folder}: 2 unchanged, 1 skipped\n" in said
    (folder / "a.md").unlink()
    code, _, error = run("sync", "docs")
    assert code == 2 and "1 of 2 documents known from it are gone: a.md; nothing was changed" in error
    code, said, _ = run("sync", "docs", "--force", "--dry-run")
    assert code == 0 and "gone, and would be archived: a.md" in said
    code, said, _ = run("search", "tea b")
    assert code == 0 and f"{folder / 'b.md'}, chunk 1 of 1" in said


def test_long_work_tells_how_far_it_is(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.md").write_text(f"# Page\n\nTea {number}.\n")
    heard: list[tuple[str, int, int]] = []
    with AgentMemory("ada") as memory, watched(lambda *told: heard.append(told)):
        memory.knowledge.sync(tmp_path)
    assert ("documents", 3, 3) in heard
