"""Commands for a shell: what a line would run (`understand`), and whether that is what a rule says (`matches`).

A line is taken apart as bash does it, through `sudo`, `env`, `sh -c` and their like. What cannot be known before it
runs stays open: a part of a word, a word, or the whole line (`Understood.doubt`). `docs/guides/procedures-shell.md`
lists what is seen and what is not.
"""

from agent_memory.core.rules.shell.parse import understand, understand_argv
from agent_memory.core.rules.shell.pattern import CommandPattern, having, matches, pattern
from agent_memory.core.rules.shell.words import Argv, Understood, Word

__all__ = [
    "Argv",
    "CommandPattern",
    "Understood",
    "Word",
    "having",
    "matches",
    "pattern",
    "understand",
    "understand_argv",
]
