"""What a pattern says about a whole line."""

from __future__ import annotations

from agent_memory.core.rules.answer import Answer
from agent_memory.core.rules.shell import matches, pattern, understand


def answer(text: str, line: str) -> Answer:
    return max((matches(pattern(text), argv) for argv in understand(line).commands), default=Answer.NO)
