"""Write docs/reference/{operations,settings,kinds}.md and .env.example from the code.

python scripts/reference.py            writes the files
python scripts/reference.py --check    exits 1 when one of them is not what would be written
"""

from __future__ import annotations

import inspect
import sys
import typing
from pathlib import Path

from agent_memory.app import config
from agent_memory.app.namespaces import Records
from agent_memory.app.operations import TABLE, Operation
from agent_memory.app.variables import HARMLESS, PREFIX, UNPREFIXED
from agent_memory.models.kinds.built_in import BUILT_IN
from agent_memory.models.record import Record

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "reference"
MADE = "<!-- Made by scripts/reference.py: do not edit. -->\n\n"

SETTINGS = """# Settings

All optional, from the environment or from a `.env` file: in your configuration folder, or in the working directory. The
configuration folder is `~/.config/agent-memory` (macOS: `~/Library/Application Support/agent-memory`, Windows:
`%APPDATA%\\agent-memory`), or where `AGENT_MEMORY_CONFIG` in the environment says. Arguments win over the environment,
that over the `.env` of the working directory, and that over your own; a name with the prefix wins over one without.
[`.env.example`](../../.env.example) has them all, and `agent-memory doctor` shows where each came from.

A `.env` in the working directory may be somebody else's: clones and archives bring one along. Unless you trust that
folder (`agent-memory rules trust`), it may set {harmless}. The rest says whose memories these are, and where they and
your keys go: there it is ignored, and a warning says so.

A key in the environment is never sent to an address that a file names, and a key in a file only to the address in the
same file, or to the provider's usual one.
"""
EXAMPLE = """# Every setting of agent-memory, with its default. Made by scripts/reference.py: do not edit.
# Copy it to ~/.config/agent-memory/.env (docs/reference/settings.md has the other systems), and take the `#` from the
# lines that you want. In a working directory only those marked with * count. Keep a key in the file of its address."""


def operations() -> str:
    assert Records
    lines = [
        "# Operations",
        "",
        "One table for every door. In Python an operation is a method: `records.add` is `memory.records.add(…)`.",
        "On the command line it is `agent-memory records add`, or its short name where it has one. In REST it has the",
        "route that is shown ([guide](../guides/rest.md)), and `POST /v1/call/records.add` like every other.",
        "Scope (tenant, user, agent) is never an argument: it belongs to the client.",
    ]
    groups: dict[str, list[Operation]] = {}
    for operation in TABLE.values():
        groups.setdefault(operation.name.rpartition(".")[0] or "retriever", []).append(operation)
    for group, members in sorted(groups.items()):
        lines += ["", f"## {group}", ""]
        for operation in members:
            short = f" · `agent-memory {operation.command}`" if operation.command else ""
            routes = " · ".join(f"`{one.replace(' ', ' /v1')}`" for one in (operation.route, operation.of_one) if one)
            lines += [f"### `{operation.name}`", "", f"{operation.permission} · {routes}{short}", ""]
            lines += [inspect.getdoc(operation.function) or "", ""]
            if operation.signature:
                lines += ["| argument | type | default |", "|---|---|---|"]
                lines += [*(_argument(name, one) for name, one in operation.signature.items()), ""]
    return MADE + "\n".join(lines) + "\n"


def settings() -> str:
    harmless = ", ".join(f"`{PREFIX}{name.upper()}`" for name in sorted(HARMLESS))
    lines = [SETTINGS.format(harmless=harmless), "| variable | meaning | default |", "|---|---|---|"]
    for name, field in config.Settings.model_fields.items():
        shown = f"`{_default(name)}`" if _default(name) and name != "home" else _default(name)
        also = f", also `{name.upper()}`" if name.upper() in UNPREFIXED else ""
        lines.append(f"| `{PREFIX}{name.upper()}`{also} | {field.description} | {shown} |")
    return MADE + "\n".join(lines) + "\n"


def example() -> str:
    """A `.env` to copy: every setting, turned off."""
    lines = [EXAMPLE]
    for name, field in config.Settings.model_fields.items():
        mark = " *" if name in HARMLESS else ""
        also = f" (also {name.upper()})" if name.upper() in UNPREFIXED else ""
        value = "" if name == "home" else _default(name)
        lines += ["", f"# {field.description}{also}{mark}", f"# {PREFIX}{name.upper()}={value}"]
    return "\n".join(lines) + "\n"


def _default(name: str) -> str:
    if name == "home":
        return "the platform's data folder"
    default = config.Settings.model_fields[name].get_default()
    return "" if default is None else str(default).lower() if isinstance(default, bool) else str(default)


def kinds() -> str:
    lines = [
        "# Kinds",
        "",
        "Every record has an envelope and a payload; the kind says what the payload holds. *Succeeds*: a new version",
        "of the same key follows the old one in valid time; otherwise it corrects it. Indexed fields can be used in",
        "`fields=`. A kind of your own is one value and one entry point: see [extending](../guides/extending.md).",
        "",
        "## The envelope",
        "",
        "| field | type |",
        "|---|---|",
        *(f"| `{name}` | {_type(field.annotation)} |" for name, field in Record.model_fields.items()),
    ]
    for kind in BUILT_IN:
        notes = ("succeeds" if kind.succeeds else "corrects") + ("" if kind.searchable else ", recalled when named")
        lines += ["", f"## `{kind.name}`", "", f"SQL view `{kind.plural}`; {notes}.", ""]
        lines += ["| payload field | type | indexed |", "|---|---|---|"]
        for name, field in kind.payload.model_fields.items():
            lines.append(f"| `{name}` | {_type(field.annotation)} | {'yes' if name in kind.indexed else ''} |")
    return MADE + "\n".join(lines) + "\n"


def _argument(name: str, parameter: inspect.Parameter) -> str:
    default = "required" if parameter.default is parameter.empty else f"`{parameter.default!r}`"
    return f"| `{name}` | {_type(parameter.annotation)} | {default} |"


def _type(annotation: object) -> str:
    if typing.get_origin(annotation) is typing.Annotated:
        kind, *notes = typing.get_args(annotation)
        return _type(kind) + _bounds(notes)
    arguments = typing.get_args(annotation)
    if arguments and typing.get_origin(annotation) is typing.Literal:
        return ", ".join(f"`{one}`" for one in arguments)
    if arguments:
        parts = [_type(one) for one in arguments]
        origin = typing.get_origin(annotation)
        if origin in (list, tuple, dict):
            return f"{origin.__name__}[{', '.join(parts)}]"
        return " or ".join(part for part in parts if part != "None")
    if annotation is type(None):
        return "None"
    return getattr(annotation, "__name__", str(annotation)).replace("Any", "any")


def _bounds(notes: list[object]) -> str:
    """How small and how large a number may be."""
    told: dict[str, float] = {}
    for note in notes:
        for one in getattr(note, "metadata", ()):
            told |= {name: getattr(one, name) for name in ("ge", "gt", "le") if hasattr(one, name)}
    shown = {name: f"{value:,.0f}" for name, value in told.items()}
    if told.keys() == {"gt", "le"}:
        return f" (more than {shown['gt']}, at most {shown['le']})"
    return f" ({shown['ge']} to {shown['le']})" if "le" in shown else f" (at least {shown['ge']})" if shown else ""


def main() -> int:
    stale = 0
    pages = {
        FOLDER / "operations.md": operations(),
        FOLDER / "settings.md": settings(),
        FOLDER / "kinds.md": kinds(),
        ROOT / ".env.example": example(),
    }
    for path, text in pages.items():
        if "--check" in sys.argv:
            stale |= not path.exists() or path.read_text("utf-8") != text
        else:
            path.write_text(text, "utf-8")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
