"""How findings in pages look: a line each that editors understand, or annotations for GitHub."""

from __future__ import annotations

from agent_memory.app.namespaces.rules import Begun, Linted
from agent_memory.interfaces.cli.blocks import Block, Note, Sentence, Verbatim
from agent_memory.interfaces.cli.cleaning import one_line
from agent_memory.interfaces.cli.rules import trusting
from agent_memory.models.rules import Finding

STYLES = {"error": "red", "warning": "yellow"}


def linted(result: Linted) -> list[Block]:
    errors = sum(one.level == "error" for one in result.findings)
    warnings = len(result.findings) - errors
    safe = sum(one.fixable for one in result.findings)
    said = f"{_count(len(result.pages), 'page')}: {_count(errors, 'error')}, {_count(warnings, 'warning')}"
    said += f"; --fix repairs {safe}" if safe else ""
    return [
        *(Sentence(f"fixed {one_line(path)}", "green") for path in result.fixed),
        *(Sentence(one_line(str(one)), STYLES[one.level]) for one in result.findings),
        Note(said),
    ]


def annotated(result: Linted) -> list[Block]:
    """Workflow commands of GitHub Actions, which it shows beside the lines."""
    return [Verbatim("".join(f"{_annotation(one)}\n" for one in result.findings))] if result.findings else []


def begun(result: Begun) -> list[Block]:
    return [
        *(Sentence(f"wrote {one}", "green") for one in result.written),
        *(Sentence(f"kept {one}: it was there already") for one in result.kept),
        *([Note(trusting.TRUSTED)] if result.newly_trusted else []),
        Note("write your rules into .memory/procedural.md, and check them with `agent-memory rules lint`"),
    ]


def _annotation(one: Finding) -> str:
    place = f"file={_property(one.path)},line={one.line},col={one.column},title={_property(one.code)}"
    return f"::{one.level} {place}::{_escaped(one_line(one.message))}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(one_line(text)).replace(":", "%3A").replace(",", "%2C")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
