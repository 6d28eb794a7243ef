"""The bill of materials is valid, and tells exactly what users install; the locks name no registry."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKS = [*(ROOT / "requirements").rglob("*.txt"), ROOT / "requirements/foreign/package-lock.json"]


@pytest.fixture(scope="module")
def bill(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    file = tmp_path_factory.mktemp("dist") / "new" / "agent-memory.cdx.json"
    subprocess.run([sys.executable, ROOT / "scripts/sbom.py", file], check=True)
    told: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return told


def installed() -> dict[str, str]:
    """What an installation with all extras consists of here, by what each package says about itself."""
    found: dict[str, str] = {}
    left = [("agent-memory", extra) for extra in ["", *distribution("agent-memory").metadata.get_all("Provides-Extra")]]
    seen = set(left)
    while left:
        name, extra = left.pop()
        for line in distribution(name).requires or []:
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                other = canonicalize_name(needed.name)
                found[other] = distribution(other).version
                more = {(other, one) for one in ["", *needed.extras]} - seen
                seen |= more
                left += more
    return found


def test_it_is_valid(bill: dict[str, Any]) -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill)) is None


def test_it_lists_what_is_installed_and_no_tool_of_ours(bill: dict[str, Any]) -> None:
    listed = {(one["name"], one["version"]): one for one in bill["components"]}
    here = set(installed().items())
    assert here <= listed.keys()
    assert all(one["hashes"] for one in listed.values())
    elsewhere = listed.keys() - here
    assert all(listed[one]["properties"] for one in elsewhere), "for another system, or another Python"


def test_it_tells_all_that_is_locked_for_users(bill: dict[str, Any]) -> None:
    runtime, dev = (
        set(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements" / name).read_text("utf-8"), re.M))
        for name in ("runtime.txt", "dev.txt")
    )
    assert runtime == {(one["name"], one["version"]) for one in bill["components"]}
    assert runtime < dev, "users get what we test with: run `make lock`"


def test_it_tells_who_needs_what(bill: dict[str, Any]) -> None:
    refs = {one["bom-ref"] for one in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
    needed = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    assert needed.keys() == refs and {ref for others in needed.values() for ref in others} <= refs
    direct = {ref.split("/")[1].split("@")[0] for ref in needed[bill["metadata"]["component"]["bom-ref"]]}
    assert {"numpy", "onnxruntime", "fastapi", "mcp"} <= direct and "h11" not in direct


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_a_lock_names_no_registry(lock: Path) -> None:
    text = lock.read_text("utf-8")
    assert '"resolved"' not in text and not re.search(r"--(extra-)?index-url|@ https?://", text)
