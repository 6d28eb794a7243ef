"""Prompts that a person can choose in their client. A capability adds one with `@prompt`, in a module of its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types as types

from agent_memory.app.operations import TABLE
from agent_memory.app.service import Caller, Service
from agent_memory.core.context.render import escaped
from agent_memory.interfaces.mcp.answers import NOTE, SHOWN, short
from agent_memory.models.errors import InvalidInput, NotFound
from agent_memory.models.visible import visible

Ask = Callable[..., Any]
"""Calls an operation by its name, with its arguments, for whoever chose the prompt."""


@dataclass(frozen=True)
class Prompt:
    """`arguments` by name: what each is for. Those with a default in `write` may be left out."""

    name: str
    title: str
    arguments: Mapping[str, str]
    write: Callable[..., str]

    def announced(self) -> types.Prompt:
        signature = inspect.signature(self.write).parameters
        return types.Prompt(
            name=self.name,
            title=self.title,
            description=inspect.getdoc(self.write),
            arguments=[
                types.PromptArgument(
                    name=name, description=about, required=signature[name].default is inspect.Parameter.empty
                )
                for name, about in self.arguments.items()
            ],
        )


PROMPTS: dict[str, Prompt] = {}


def prompt(name: str, title: str, /, **arguments: str) -> Callable[[Callable[..., str]], Callable[..., str]]:
    """Add a prompt. The function gets `ask` and its arguments as text, and gives what is said to the model."""

    def mark(write: Callable[..., str]) -> Callable[..., str]:
        PROMPTS[name] = Prompt(name, title, arguments, write)
        return write

    return mark


def made(service: Service, caller: Caller, name: str, given: Mapping[str, str]) -> types.GetPromptResult:
    if name not in PROMPTS:
        raise NotFound(f"no prompt {name!r}", hint=f"one of {', '.join(PROMPTS)}", field="name")
    chosen = PROMPTS[name]
    needed = [one.name for one in chosen.announced().arguments or () if one.required]
    if absent := [one for one in needed if not given.get(one)]:
        raise InvalidInput(f"{absent[0]}: is missing", hint=chosen.arguments[absent[0]], field=absent[0])

    def ask(operation: str, **arguments: Any) -> Any:
        return service.call(TABLE[operation], caller, arguments)

    text = chosen.write(ask, **{name: value for name, value in given.items() if name in chosen.arguments})
    said = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=chosen.title, messages=[said])


def _flat(text: str) -> str:
    """In one line, and without a letter that is not seen or that ends the element around it."""
    return escaped(visible(" ".join(text.split())))


@prompt("recall_first", "Recall before you answer", question="what you want to know")
def recall_first(ask: Ask, question: str) -> str:
    """What memory holds about a question, and the question itself."""
    hits = [short(hit.record) for hit in ask("recall", query=question)]
    lines = [f"- [{one['date']}] {one['kind']} {_flat(one['id'])}{_from(one)}: {_flat(one['text'])}" for one in hits]
    known = "\n".join(lines) or "- nothing"
    return (
        f"Memory holds this about the question (the first {SHOWN} characters of each; `get` an id for all of it). "
        f"{NOTE}\n\n<memory>\n{known}\n</memory>\n\nAnswer from it where it helps, name the ids that you used, and say "
        f"so if it does not tell.\n\nQuestion: {question}"
    )


def _from(one: Mapping[str, Any]) -> str:
    return f" (from the page {_flat(one['page'])})" if "page" in one else ""


@prompt(
    "context_for_task",
    "Assemble context for a task",
    task="what is to be done",
    max_tokens="how long the context may be; 4000 unless said",
)
def context_for_task(ask: Ask, task: str, max_tokens: str = "4000") -> str:
    """Preferences, goals and what is known about a task, then the task."""
    context = ask("contexts.assemble", task_description=task, max_tokens=max_tokens)
    return f"{context.text}\n\n{NOTE}\n\nTask: {task}"


@prompt("save_what_matters", "Save what matters of this conversation")
def save_what_matters(ask: Ask) -> str:
    """Ask the model to go through the conversation and keep what will be needed later."""
    return (
        "Go through this conversation and `save` what will matter in later ones: decisions and why, facts (with "
        "subject and predicate where they can change), how I want things done (preferences), and what is still to be "
        "reached (goals). `recall` each first, and do not save what is known already. One thing at a time, "
        "understandable without this conversation, no secrets. Then list what you saved, with its ids."
    )
