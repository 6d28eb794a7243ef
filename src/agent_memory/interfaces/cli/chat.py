"""`agent-memory chat`: a model that remembers, at a terminal or through a pipe. C16."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from agent_memory.interfaces.cli import PROGRAM, whose
from agent_memory.interfaces.cli.session import Session

if TYPE_CHECKING:
    from agent_memory.app.chatting import MemoryAugmentedAgent

PROMPT = "> "
HELP = {
    "/why": "what was remembered for the last answer, and why",
    "/blocks": "what is always in the prompt",
    "/forget [ID …]": "erase the last question and its answer, or the records named",
    "/help": "this list",
    "/quit": "end; so does Ctrl-D. Ctrl-C stops an answer",
}


@whose.anywhere
@click.command("chat", short_help="Talk to a model that remembers")
@click.option("--json", "_json", is_flag=True, help="read questions line by line, and answer each with a line of JSON")
@click.pass_obj
def command(session: Session, /, _json: bool) -> int:
    """Talk to a chat model that remembers: what helps is recalled for each question, and both turns are stored.

    At a terminal the answer appears as it is made; `/help` lists what else can be typed. Elsewhere each line of the
    standard input is a question, and its answer is printed. `--conversation ID` goes on with a conversation; otherwise
    a new one begins. AGENT_MEMORY_CHAT_PROVIDER and AGENT_MEMORY_CHAT_MODEL name the model.
    """
    from agent_memory.app.chatting import MemoryAugmentedAgent
    from agent_memory.interfaces.cli import exits

    with session.memory(creates=True) as memory:
        agent = MemoryAugmentedAgent(memory.user_id, memory=memory)
        agent.start_conversation(session.conversation)
        if _json or session.json or not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
            _piped(agent, in_json=_json or session.json)
        else:
            _typed(agent)
    return exits.OK


def _piped(agent: MemoryAugmentedAgent, *, in_json: bool) -> None:
    """What is piped in is talk, all of it: a text of somebody else's must not command anything."""
    from agent_memory.interfaces.cli import output
    from agent_memory.interfaces.cli.blocks import Verbatim

    for line in sys.stdin or ():
        if not (asked := line.strip()):
            continue
        said = agent.chat(asked)
        if in_json and agent.last and agent.last.answered:
            turn = agent.last.answered
            told = {"answer": said, "conversation_id": turn.conversation_id, "turn_id": turn.id, **turn.metadata}
            said = json.dumps(told, ensure_ascii=sys.stdout.encoding.lower() != "utf-8")
        output.write([Verbatim(f"{said}\n")])


def _typed(agent: MemoryAugmentedAgent) -> None:
    from agent_memory.interfaces.cli import output
    from agent_memory.models.errors import AgentMemoryError

    with suppress(ImportError):
        import readline  # noqa: F401 - it edits what is typed
    output.write_error("chat:", f"with {agent.model}, as {agent.memory.user_id}; /help lists what can be typed", "cyan")
    while True:
        try:
            line = input(PROMPT)
        except EOFError:
            click.echo()
            break
        except KeyboardInterrupt:
            click.echo("\n(Ctrl-D ends)", err=True)
            continue
        try:
            if line.startswith("/"):
                if not _done(agent, *line.split()):
                    break
            elif line.strip():
                _answered(agent, line.strip())
        except KeyboardInterrupt:
            click.echo()
            output.write_error("stopped:", "the question is kept", "yellow")
        except click.Abort:
            click.echo("nothing was erased", err=True)
        except AgentMemoryError as error:
            click.echo()
            output.write_error("error:", error.message, "red")
            if error.hint:
                output.write_error("hint:", error.hint, "yellow")
    output.write_error("chat:", f"go on with `{PROGRAM} chat --conversation {agent.conversation_id}`", "cyan")


def _answered(agent: MemoryAugmentedAgent, asked: str) -> None:
    """What a model says is foreign text: nothing in it drives the terminal."""
    from agent_memory.models.visible import visible

    for piece in agent.stream(asked):
        sys.stdout.write(visible(piece))
        sys.stdout.flush()
    click.echo()


def _done(agent: MemoryAugmentedAgent, word: str, *rest: str) -> bool:
    """Do what was typed; False: it is the end."""
    from agent_memory.interfaces.cli import output
    from agent_memory.interfaces.cli.blocks import Card, Sentence

    match word:
        case "/quit" | "/exit":
            return False
        case "/why":
            _why(agent)
        case "/blocks":
            _blocks(agent)
        case "/forget":
            _forget(agent, list(rest))
        case "/help":
            output.write([Card(list(HELP.items()))])
        case _:
            output.write(
                [Sentence(f"there is no {word}: /help lists what there is; a blank before it makes it a question")]
            )
    return True


def _why(agent: MemoryAugmentedAgent) -> None:
    from agent_memory.interfaces.cli import output
    from agent_memory.interfaces.cli.blocks import Note
    from agent_memory.interfaces.cli.present import recalled

    found = agent.why()
    if found is None or agent.last is None:
        output.write([Note("nothing was asked yet")])
        return
    context = agent.last.context
    standing = [(len(context.rules), "rule"), (len(context.preferences), "preference")]
    also = " and ".join(f"{number} {word}{'s' * (number > 1)}" for number, word in standing if number)
    blocks = recalled(found, why=True) if found.hits else [Note("no memory was used")]
    output.write(
        [*blocks, *([Note(f"also {also}")] if also else []), Note(f"{context.total_tokens} tokens of the prompt")]
    )


def _blocks(agent: MemoryAugmentedAgent) -> None:
    from agent_memory.interfaces.cli import output
    from agent_memory.interfaces.cli.blocks import Card, Note

    found = agent.memory.blocks.list()
    cards = [Card([(one.label, f"{len(one.text)} of {one.limit} characters")], f"{one.text}\n") for one in found]
    output.write(cards or [Note(f"no blocks yet: `{PROGRAM} blocks set LABEL --text …` makes one")])


def _forget(agent: MemoryAugmentedAgent, named: list[str]) -> None:
    from agent_memory.interfaces.cli import forgetting, ids, output
    from agent_memory.interfaces.cli.erasures import forgotten

    if named:
        said: dict[str, Any] = ids.resolved(agent.memory, "records.forget", {"ids": named})
    elif agent.last is None:
        said = {"ids": []}
    else:
        said = {"ids": [turn.id for turn in (agent.last.asked, agent.last.answered) if turn]}
    if not said["ids"]:
        click.echo("nothing was said yet: name an id", err=True)
        return
    forgetting.confirm(agent.memory, said)
    output.write(forgotten(agent.memory.records.forget(said["ids"])))
    if not named:
        agent.last = None
