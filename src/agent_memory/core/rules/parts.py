"""A page, cut at its headings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent_memory.core.rules.markdown import Block

RULES, SKILLS, EXAMPLES = "rules", "skills", "examples"
SECTIONS = (RULES, SKILLS, EXAMPLES)


@dataclass(frozen=True)
class PagePart:
    """A heading and what follows it, up to the next one that `read` looks at. `name` is the section it belongs to."""

    name: str
    title: str
    heading: Block | None
    level: int
    blocks: tuple[Block, ...]

    @property
    def depth(self) -> int:
        return self.heading.level if self.heading else 0

    @property
    def inner(self) -> bool:
        """Whether its heading is smaller than that of its section."""
        return self.depth > self.level

    @property
    def first(self) -> int:
        return self.heading.first if self.heading else self.blocks[0].first

    @property
    def end(self) -> int:
        return self.blocks[-1].end if self.blocks else self.heading.end if self.heading else 0


def parts(blocks: Sequence[Block]) -> Iterator[PagePart]:
    """A page, cut at its headings. Below "Rules", "Skills" and "Examples" a smaller heading still belongs to them."""
    name, level = "", 0
    heading: Block | None = None
    held: list[Block] = []
    for block in [*blocks, None]:
        if block is not None and block.kind != "heading":
            held.append(block)
            continue
        if heading is not None or held:
            yield PagePart(name, heading.content.strip() if heading else "", heading, level, tuple(held))
        if block is None:
            return
        title = block.content.strip().strip("*_:").strip().lower()
        if title in SECTIONS:
            name, level = title, block.level
        elif block.level <= level or not name:
            name, level = "", block.level
        heading, held = block, []
