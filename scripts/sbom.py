"""The bill of materials: what an installation of agent-memory with all its extras consists of, as CycloneDX 1.6.

    python scripts/sbom.py [FILE]      # the terminal, or a file

It tells what `requirements/runtime.txt` locks, with the hashes of all files that may be installed, and who needs what.
The same lock gives the same bytes.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements" / "runtime.txt"
OURS = "agent-memory (pyproject.toml)"  # how the lock calls what we need ourselves
_LOCKED = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>\S+)(?: ; (?P<marker>.+?))? \\$")


@dataclass
class Locked:
    name: str
    version: str
    marker: str | None
    hashes: list[str] = field(default_factory=list)
    via: list[str] = field(default_factory=list)

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"


def locked(text: str) -> list[Locked]:
    """One of each version: for different systems and Pythons there may be several of a package."""
    found: list[Locked] = []
    for line in text.splitlines():
        if begun := _LOCKED.match(line):
            found.append(Locked(**begun.groupdict()))
        elif line.lstrip().startswith("--hash=sha256:"):
            found[-1].hashes.append(line.split(":")[1].rstrip(" \\"))
        elif line.startswith("    #") and (name := line.lstrip(" #").removeprefix("via").strip()):
            found[-1].via.append(name)
    return found


def component(one: Locked) -> dict[str, Any]:
    told: dict[str, Any] = {
        "type": "library",
        "bom-ref": one.purl,
        "name": one.name,
        "version": one.version,
        "purl": one.purl,
        "hashes": [{"alg": "SHA-256", "content": value} for value in one.hashes],
    }
    if one.marker:
        told["properties"] = [{"name": "python:marker", "value": one.marker}]
    return told


def bill() -> dict[str, Any]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    parts = locked(LOCK.read_text("utf-8"))
    ours = f"pkg:pypi/{project['name']}@{project['version']}"
    needed = {
        ours: [one.purl for one in parts if OURS in one.via],
        **{one.purl: [other.purl for other in parts if one.name in other.via] for one in parts},
    }
    about = {"name": project["name"], "version": project["version"], "description": project["description"]}
    told = {
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": ours,
                "purl": ours,
                **about,
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": [component(one) for one in parts],
        "dependencies": [{"ref": ref, "dependsOn": others} for ref, others in needed.items()],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(told))
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{serial}", "version": 1, **told}


def main() -> None:
    text = json.dumps(bill(), indent=2) + "\n"
    if len(sys.argv) > 1:
        Path(sys.argv[1]).parent.mkdir(parents=True, exist_ok=True)
        Path(sys.argv[1]).write_text(text, "utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
