"""Strangers judge what REST says of itself, and make clients of it that work. `make foreign` installs them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tools import run

from agent_memory import AgentMemory
from agent_memory.app.operations import TABLE, Permission
from patience import PATIENCE

pytestmark = pytest.mark.foreign
HERE = Path(__file__).parent
STRICT = {
    "noEmit": True,
    "strict": True,
    "skipLibCheck": True,
    "target": "es2022",
    "lib": ["es2022", "dom"],
    "module": "esnext",
    "moduleResolution": "bundler",
    "types": [],
}


@pytest.fixture
def served(home: Path, serving: Any) -> Iterator[tuple[str, str]]:
    """The address of a server that asks for a key, and such a key."""
    with AgentMemory("default") as memory:
        key = memory.keys.create("a client", [Permission.READ, Permission.WRITE]).secret
    with serving() as url:
        yield url, key


@pytest.fixture
def document(served: tuple[str, str], tmp_path: Path) -> Path:
    url, key = served
    told = httpx.get(f"{url}/openapi.json", headers={"authorization": f"Bearer {key}"}, timeout=PATIENCE)
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(told.json()), "utf-8")
    return file


def test_the_document_is_valid(document: Path) -> None:
    ran = run("openapi-spec-validator", str(document))
    assert ran.returncode == 0 and ran.stdout.strip().endswith("OK"), ran.stdout + ran.stderr


def test_a_generated_python_client_works(document: Path, served: tuple[str, str], tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"content_type_overrides": {"application/x-ndjson": "application/octet-stream"}}))
    where = tmp_path / "memory_client"
    words = ["--path", str(document), "--output-path", str(where), "--meta", "none", "--config", str(config)]
    ran = run("openapi-python-client", "generate", *words, "--fail-on-warning", cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    made = {file.stem for file in (where / "api").rglob("*.py")}
    assert {name.replace(".", "_") for name in TABLE} <= made
    shutil.copy(HERE / "using.py", tmp_path)
    ran = run("python", "using.py", *served, cwd=tmp_path)
    assert ran.stdout == "done\n", ran.stdout + ran.stderr


def test_a_typescript_client_is_typed_and_works(document: Path, served: tuple[str, str], tmp_path: Path) -> None:
    modules = shutil.which("openapi-typescript")
    assert modules is not None, "`make foreign` installs it"
    (tmp_path / "node_modules").symlink_to(Path(modules).parents[1])
    shutil.copy(HERE / "using.ts", tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    words = ["--default-non-nullable", "false"]  # what has a default need not be sent
    ran = run("openapi-typescript", str(document), "-o", str(tmp_path / "memory.d.ts"), *words, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (tmp_path / "globals.d.ts").write_text("declare const process: { argv: string[] };\n")
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": STRICT, "include": ["*.ts"]}))
    ran = run("tsc", cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    ran = run("node", "--experimental-strip-types", "--no-warnings", "using.ts", *served, cwd=tmp_path)
    assert ran.stdout == "done\n", ran.stdout + ran.stderr
