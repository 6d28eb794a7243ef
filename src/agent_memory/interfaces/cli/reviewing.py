"""`agent-memory review`: what waits for a decision, one by one at a terminal, as a list elsewhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from agent_memory.interfaces.cli import PROGRAM, output
from agent_memory.interfaces.cli.blocks import Block, Card, Column, Note, Sentence, Table, Under
from agent_memory.interfaces.cli.session import Session

if TYPE_CHECKING:
    from agent_memory.app.memory import AgentMemory
    from agent_memory.models.record import Record
    from agent_memory.models.review import HeldMemory, ReviewPolicy

COLUMNS = (
    Column("id", Under.NARROW, "cyan", whole=True, order=0, short=True),
    Column("kind"),
    Column("source"),
    Column("confidence", right=True, label=True),
    Column("why", Under.ALWAYS),
    Column("text"),
)
CHOICES = {"a": "approve", "e": "edit", "r": "reject", "s": "skip", "q": "quit"}


def waiting(found: list[HeldMemory]) -> list[Block]:
    rows: list[tuple[object, ...]] = [
        (one.id, one.kind, one.source, one.confidence, one.why, one.text) for one in found
    ]
    return [Table(COLUMNS, rows), Note(f"`{PROGRAM} review approve ID` or `{PROGRAM} review reject ID`")]


def held(one: HeldMemory) -> list[Block]:
    known: list[tuple[str, object]] = [("id", one.id), ("kind", one.kind), ("why", one.why)]
    known += [("source", one.source), ("confidence", one.confidence), ("at", one.at)]
    known += [("in force", one.in_force)] if one.in_force else []
    known += [(name, value) for name, value in one.payload.items() if value not in (None, [], {})]
    made_from = [Sentence(f"{it.kind} {it.id}, from {it.source}: {it.text}", lead="made from ") for it in one.evidence]
    return [Card(known, body=one.text), *made_from]


def rejected(one: HeldMemory) -> list[Block]:
    return [Sentence(f"rejected {one.id}", "green")]


def approved(one: Record) -> list[Block]:
    return [Sentence(f"{one.kind} {one.id}: {one.text}", "green", lead="approved ")]


def policy(one: ReviewPolicy) -> list[Block]:
    from agent_memory.models.review import ReviewRule

    names = [*ReviewRule.model_fields]
    rows = [tuple(getattr(rule, name) for name in names) for rule in one.rules]
    default: Block = Sentence("no rules: the default decides, which the guide to reviewing describes")
    return [Table(tuple(map(Column, names)), rows) if rows else default]


def alone() -> None:
    """The group without a command."""
    session = click.get_current_context().find_object(Session) or Session()
    with session.memory() as memory:
        found = _all(memory)
        if session.json:
            output.write_json(found)
        elif not found:
            output.write([Note("nothing waits for review")])
        elif sys.stdin is None or not sys.stdin.isatty():
            output.write(waiting(found))
        else:
            _walk(memory, found)


def _all(memory: AgentMemory) -> list[HeldMemory]:
    found = page = memory.review.list()
    while page := memory.review.list(after_id=page[-1].id) if page else []:
        found += page
    return found


def _walk(memory: AgentMemory, found: list[HeldMemory]) -> None:
    for number, one in enumerate(found, 1):
        output.write([Sentence(f"{number} of {len(found)}", "bold"), *held(memory.review.show(one.id))])
        if not _decided(memory, one):
            return


def _decided(memory: AgentMemory, one: HeldMemory) -> bool:
    """Ask until it is; False: enough."""
    from agent_memory.models.errors import AgentMemoryError

    asked = ", ".join(f"{letter} {word}" for letter, word in CHOICES.items())
    while True:
        choice = click.prompt(asked, type=click.Choice([*CHOICES]), default="s", show_choices=False, err=True)
        try:
            match choice:
                case "a":
                    output.write(approved(memory.review.approve(one.id)))
                case "e":
                    one = memory.review.edit(one.id, **_corrected(one))
                    output.write(held(one))
                    continue
                case "r":
                    reason = click.prompt("reason", default="", show_default=False, err=True)
                    output.write(rejected(memory.review.reject(one.id, reason=reason or None)))
        except AgentMemoryError as error:
            output.write_error("error:", str(error), "red")
            continue
        return choice != "q"


def _corrected(one: HeldMemory) -> dict[str, Any]:
    said: dict[str, Any] = {"text": click.prompt("text", default=one.text, err=True)}
    if "value" in one.payload:
        said["payload"] = {"value": click.prompt("value", default=one.payload["value"], err=True)}
    return said
