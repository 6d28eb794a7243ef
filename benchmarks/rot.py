"""Context rot: what a task's prompt holds of the evidence, and what it costs, three ways.

    .venv/bin/python benchmarks/rot.py [--model NAME --url http://host:port/v1]

Twenty tasks over four long talks of engineers with an assistant (`rot/`): facts told early, changed later, among much
else. The prompt is the whole talk, its last turns within as many tokens as ours, or `assemble_context` within a share
of the whole. Evidence are turns that somebody named before anything was run; a fact that was changed counts in its
last version only. Nothing was tuned on these tasks. With a model, its answers are looked at for the one word that they
must hold.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from agent_memory import AgentMemory
from agent_memory.core.context.tokens import estimate
from agent_memory.models import Turn

FOLDER = Path(__file__).parent / "rot"
SHARES = (0.05, 0.10, 0.15)
ROLES = {"u": "user", "a": "assistant", "t": "tool"}
SMALL = bool(os.environ.get("AGENT_MEMORY_BENCH_SMALL"))
LINE = re.compile(r"(?P<who>[uat])(?: \[(?P<name>\w+)\])?: (?P<text>.+)")


class Prompt(NamedTuple):
    text: str
    shown: set[str]


def talk(name: str) -> Iterator[tuple[str | None, Turn]]:
    """Its turns, each with the name by which tasks call it, if they do."""
    at = datetime.min.replace(tzinfo=UTC)
    for index, line in enumerate((FOLDER / f"{name}.txt").read_text("utf-8").splitlines()):
        if line.startswith("--- "):
            at = datetime.fromisoformat(f"{line[4:]}:00+00:00")
            continue
        found = LINE.fullmatch(line)
        assert found, f"{name}.txt:{index + 1}: {line}"
        at += timedelta(minutes=1)
        role = ROLES[found["who"]]
        said = Turn(
            id=f"{name}-{index}", conversation_id=name, index=index, role=role, content=found["text"], timestamp=at
        )
        yield found["name"], said


def written(turn: Turn) -> str:
    return f"[{turn.timestamp:%Y-%m-%d %H:%M} {turn.role}] {turn.content}\n"


def whole(turns: list[Turn]) -> Prompt:
    return Prompt("".join(map(written, turns)), {turn.id for turn in turns})


def last(turns: list[Turn], tokens: int) -> Prompt:
    """As many of the last turns as fit."""
    first = len(turns)
    while first and estimate(whole(turns[first - 1 :]).text) <= tokens:
        first -= 1
    return whole(turns[first:])


def ours(memory: AgentMemory, task: str, tokens: int) -> Prompt:
    made = memory.assemble_context(task, tokens, ["longterm"], ids=False, per_conversation=0)
    return Prompt(made.text, {chunk.id for chunk in made.chunks if chunk.id and not chunk.cut})


def asked(args: argparse.Namespace) -> Callable[[str, str], str]:
    from agent_memory.engines.openai.chat import OpenAIChat
    from agent_memory.ports.chat import ChatMessage, ChatRequest

    model = OpenAIChat(model=args.model, base_url=args.url, timeout=900, silence=600)

    def ask(prompt: str, task: str) -> str:
        said = f"Notes of a project:\n\n{prompt}\n\nBy these notes, of which later ones hold, answer shortly: {task}"
        return model.complete(ChatRequest([ChatMessage("user", said)], max_tokens=120, temperature=0.0, seed=1)).text

    return ask


class Row(NamedTuple):
    way: str
    tokens: float
    found: float
    complete: bool
    right: bool | None


def measured(tasks: list[dict[str, object]], ask: Callable[[str, str], str] | None) -> list[Row]:
    rows: list[Row] = []
    for name in sorted({str(task["transcript"]) for task in tasks}):
        named = list(talk(name))
        turns = [turn for _, turn in named]
        ids = {label: turn.id for label, turn in named if label}
        everything = whole(turns)
        size = estimate(everything.text)
        with tempfile.TemporaryDirectory() as folder, AgentMemory("bench", store=f"{folder}/memory.db") as memory:
            for turn in turns:
                memory.store_turn(turn)
            for task in (one for one in tasks if one["transcript"] == name):
                text, evidence = str(task["task"]), [ids[label] for label in task["evidence"]]  # type: ignore[attr-defined]
                ways = {"whole talk": everything}
                for share in SHARES:
                    made = ours(memory, text, int(size * share))
                    ways[f"our context, {share:.0%}"] = made
                    ways[f"last turns, {share:.0%}"] = last(turns, estimate(made.text))
                for way, prompt in ways.items():
                    found = sum(id in prompt.shown for id in evidence) / len(evidence)
                    right = None
                    if ask and (way == "whole talk" or way.endswith("15%")):
                        right = str(task["answer"]).lower() in ask(prompt.text, text).lower()
                    rows.append(Row(way, estimate(prompt.text) / size, found, found == 1, right))
                    if way == "our context, 15%" and found < 1:
                        missed = [label for label in task["evidence"] if ids[label] not in prompt.shown]  # type: ignore[attr-defined]
                        print(f"missed at 15%: {name}: {', '.join(missed)} for {text!r}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", help="a chat model to ask, at --url")
    parser.add_argument("--url", help="an OpenAI-compatible endpoint")
    args = parser.parse_args()
    tasks = json.loads((FOLDER / "tasks.json").read_text("utf-8"))
    tasks = [task for task in tasks if not SMALL or task["transcript"] == "mobile"]
    sizes = {name: [turn for _, turn in talk(name)] for name in sorted({one["transcript"] for one in tasks})}
    for name, turns in sizes.items():
        print(f"{name}: {len(turns)} turns, {estimate(whole(turns).text):,} tokens")
    rows = measured(tasks, asked(args) if args.model else None)
    print(f"\n| {len(tasks)} tasks | tokens of the whole | evidence | tasks with all of it | answers with the word |")
    print("|---|---|---|---|---|")
    for way in ("whole talk", *(f"{who}, {share:.0%}" for share in SHARES for who in ("our context", "last turns"))):
        some = [row for row in rows if row.way == way]
        right = [row.right for row in some if row.right is not None]
        cells = [f"{mean(row.tokens for row in some):.1%}", f"{mean(row.found for row in some):.1%}"]
        cells += [str(sum(row.complete for row in some)), str(sum(right)) if right else "–"]
        print(f"| {way} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
