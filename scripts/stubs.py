"""Write src/agent_memory/app/aio.pyi: what `AsyncAgentMemory` looks like to type checkers and editors.

python scripts/stubs.py            writes the file
python scripts/stubs.py --check    exits 1 when the file is not what would be written
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import typing
from collections.abc import Callable
from pathlib import Path

from agent_memory.app import namespaces
from agent_memory.app.memory import AgentMemory
from agent_memory.app.operations import NAMESPACES, TABLE
from agent_memory.app.session import ChatSession
from agent_memory.models import model

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src/agent_memory/app/aio.pyi"
HEAD = '"""Made by scripts/stubs.py from AgentMemory and its namespaces: do not edit."""\n\n'
PARTS = {name.lower(): getattr(namespaces, name) for name in namespaces.__all__}


class Writer:
    """Collects classes and the imports that their annotations need."""

    def __init__(self) -> None:
        self.imports: set[str] = {"from pathlib import Path", "from typing import Self"}

    def method(self, name: str, function: object) -> str:
        signature = _with_reason(inspect.signature(function), inspect.unwrap(function))  # type: ignore[arg-type]
        for text in [signature.return_annotation, *(one.annotation for one in signature.parameters.values())]:
            if isinstance(text, str):
                self.need(text, inspect.unwrap(function).__globals__)  # type: ignore[arg-type]
        return f"    async def {name}{_shown(signature)}: ..."

    def need(self, annotation: str, scope: dict[str, object]) -> None:
        for name in re.findall(r"[A-Za-z_]\w*", annotation):
            thing = scope.get(name)
            if thing is None:
                continue
            if name in vars(model) and not inspect.isclass(thing):
                self.imports.add(f"from {model.__name__} import {name}")
            elif thing is getattr(typing, name, None):
                self.imports.add(f"from typing import {name}")
            else:
                home = thing.__module__ if inspect.isclass(thing) else _home(name, scope)
                self.imports.add(f"from {home} import {name}")

    def mirrored(self, name: str, sync: type) -> str:
        """A method called `list` comes last: after it, `list[…]` would mean the method."""
        found = sorted(inspect.getmembers(sync, inspect.isfunction), key=lambda one: one[0] == "list")
        methods = [self.method(each, function) for each, function in found if not each.startswith("_")]
        attributes = [
            f"    {each}: {text}"
            for each, text in vars(sync).get("__annotations__", {}).items()
            if each not in NAMESPACES  # these have a class of their own here
        ]
        return "\n".join([f"class {name}:", *attributes, *methods])


def _with_reason(signature: inspect.Signature, function: Callable[..., object]) -> inspect.Signature:
    """What reads takes a `why=`, which is no argument of its own."""
    *others, last = signature.parameters.values()
    options = last.kind is last.VAR_KEYWORD
    declared = next((one for one in TABLE.values() if one.function is function), None)
    if declared is not None:
        reads = declared.shows_memories
    else:  # a client's shorter name for one
        fields = typing.get_args(typing.get_type_hints(function)[last.name]) if options else ()
        reads = any("as_of" in typing.get_type_hints(one) for one in fields)
    if not reads:
        return signature
    why = inspect.Parameter("why", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="str | None")
    return signature.replace(parameters=[*others, why, last] if options else [*others, last, why])


def _home(name: str, scope: dict[str, object]) -> str:
    """Where a type alias was defined: the module of ours that has it and does not import it."""
    for module in sys.modules.values():
        if module.__name__.startswith("agent_memory.models") and vars(module).get(name) is scope[name]:
            source = inspect.getsource(module)
            if re.search(rf"^{name}\s*=", source, re.MULTILINE):
                return module.__name__
    raise LookupError(name)


def _shown(signature: inspect.Signature) -> str:
    """Annotations are strings, and stand without quotes; a default is only said to be there."""
    parameters = [
        one if one.default is one.empty else one.replace(default=...) for one in signature.parameters.values()
    ]
    return str(signature.replace(parameters=parameters)).replace("'", "").replace("Ellipsis", "...")


def stub() -> str:
    writer = Writer()
    classes = [writer.mirrored(f"Async{sync.__name__}", sync) for sync in PARTS.values()]
    classes.append(writer.mirrored("AsyncChatSession", ChatSession))
    main = writer.mirrored("AsyncAgentMemory", AgentMemory)
    main = re.sub(r"async (def session\(.*\) -> )ChatSession", r"\1AsyncChatSession", main)
    init = _shown(inspect.signature(AgentMemory.__init__))
    for text in ("Embedder", "Reranker", "Clock"):
        writer.need(text, AgentMemory.__init__.__globals__)
    fields = [f"    {name}: Async{sync.__name__}" for name, sync in PARTS.items()]
    fields += ["    user_id: str", "    conversation_id: str | None", f"    def __init__{init}: ..."]
    fields += [
        "    async def __aenter__(self) -> Self: ...",
        "    async def __aexit__(self, *error: object) -> None: ...",
    ]
    head, _, rest = main.partition("\n")
    body = "\n\n".join([*classes, "\n".join([head, *fields, rest])])
    writer.imports.discard("from agent_memory.app.session import ChatSession")  # it is awaited here
    return _formatted(HEAD + "\n".join(sorted(writer.imports)) + "\n\n" + body + "\n")


def _formatted(text: str) -> str:
    ruff = [sys.executable, "-m", "ruff"]
    name = ["--stdin-filename", str(TARGET)]
    sort = ["check", "--select", "I", "--fix", "-q"]
    fixed = subprocess.run([*ruff, *sort, *name, "-"], input=text, capture_output=True, text=True)
    done = subprocess.run([*ruff, "format", "-q", *name, "-"], input=fixed.stdout, capture_output=True, text=True)
    return done.stdout


def main() -> int:
    made = stub()
    if "--check" in sys.argv:
        return int(TARGET.read_text() != made)
    TARGET.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
