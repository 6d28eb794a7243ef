"""How procedures look on their way to where work is done: the beginning of a prompt, a clone."""

from __future__ import annotations

from collections import Counter

from agent_memory.interfaces.cli import PROGRAM
from agent_memory.interfaces.cli.blocks import Block, Card, Note, Verbatim
from agent_memory.interfaces.cli.rules.trusting import hint
from agent_memory.interfaces.cli.rules.versions import version
from agent_memory.models.rules import AppliedRules, Prefix


def prefix(one: Prefix) -> list[Block]:
    """The text itself, to be piped into a prompt; at a terminal also what it cost and left out."""
    if not one.text and not one.left_out:
        return [Note(f"nothing to say: `{PROGRAM} rules init` begins a page")]
    reasons = Counter(left.reason for left in one.left_out)
    left = f", {len(one.left_out)} left out ({', '.join(f'{why} {n}' for why, n in sorted(reasons.items()))})"
    shown = f"{one.tokens} of {one.max_tokens} tokens: rules {len(one.rules)}, skills, examples and texts "
    said = f"{shown}{len(one.entries)}{left if one.left_out else ''}; {version(one.version)}"
    return [*([Verbatim(one.text)] if one.text else []), Note(said), *hint(one.untrusted)]


def applied(one: AppliedRules) -> list[Block]:
    fields: list[tuple[str, object]] = [
        ("clone", one.folder),
        ("rules", ", ".join(one.rules) or None),
        ("git config", ", ".join(f"{name}={value}" for name, value in one.config.items()) or None),
        ("hooks", ", ".join(one.hooks) or None),
    ]
    fields += [("left alone", f"{name}: {why}") for name, why in one.skipped.items()]
    return [Card(fields)]
