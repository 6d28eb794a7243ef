"""The tree of a text for a shell, within bounds.

The grammar needs time that grows with the square of some texts (long pipelines, here-documents that never end), and the
parser cannot be stopped. So it is fed in pieces: when its time is over the text ends early, and that is `Unclear`.
"""

from __future__ import annotations

import time
from functools import cache
from typing import TYPE_CHECKING

from agent_memory.core.rules.shell.words import Unclear

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Tree

SHORT = 2_000  # bytes that are parsed at once
SECONDS = 1.0  # for a longer text
STEP = 1_024
MOST_PIPES = 2_000
MOST_NODES = 20_000
_TOO_LONG = "it is too long or too deeply nested to be understood"

PLAIN = bytes(range(128)) + b"_" * 128
"""The grammar looks up characters in a table that ends at 255, and reads past it: `{` before one of plane 16 ends the
process. It is shown letters instead, as many as there are bytes, which is what they are to a shell."""

HOLDERS = frozenset(
    "program list pipeline subshell compound_statement if_statement elif_clause else_clause for_statement"
    " while_statement case_statement case_item function_definition do_group negated_command command_substitution"
    " process_substitution heredoc_redirect".split()
)
SIMPLE = {"command", "declaration_command", "unset_command", "variable_assignment", "variable_assignments"}


@cache
def _language() -> Language:
    from tree_sitter import Language
    from tree_sitter_bash import language

    return Language(language())


def parsed(data: bytes) -> Tree:
    """The tree of a text. A parser is not shared: two threads may be here at once."""
    from tree_sitter import Parser

    data = data.translate(PLAIN)
    parser = Parser(_language())
    if len(data) <= SHORT:
        return parser.parse(data)
    if data.count(b"|") > MOST_PIPES:
        raise Unclear(_TOO_LONG)
    end, late = time.monotonic() + SECONDS, False

    def piece(offset: int, _: object) -> bytes:
        nonlocal late
        late = late or time.monotonic() > end
        return b"" if late else data[offset : offset + STEP]

    tree = parser.parse(piece)
    if late:
        raise Unclear(_TOO_LONG)
    return tree


def nodes_of(root: Node) -> list[Node]:
    """All nodes of a tree."""
    if root.descendant_count > MOST_NODES:
        raise Unclear(_TOO_LONG)
    found = [root]
    for node in found:
        found += node.children
    return found


def dropped(node: Node, text: str) -> bool:
    """Whether a statement has text that is in none of its parts: the grammar skips some silently."""
    at = 0 if node.type == "program" else node.start_byte
    for child in node.children:
        if child.start_byte > at and text[at : child.start_byte].replace("\\\n", "").strip(" \t\n"):
            return True
        at = max(at, child.end_byte)
    return node.type == "program" and bool(text[at:].replace("\\\n", "").strip(" \t\n"))


def in_expansion(node: Node) -> bool:
    """Inside `"${X:-'…'}"` single quotes are no quotes."""
    parent = node.parent
    while parent is not None and parent.type in ("concatenation", "string"):
        parent = parent.parent
    return node.type in ("raw_string", "ansi_c_string") and parent is not None and parent.type == "expansion"


def is_part(node: Node) -> bool:
    """An assignment that is part of something else, which is read as a whole."""
    return (
        node.type == "variable_assignment"
        and node.parent is not None
        and node.parent.type in (*SIMPLE, "c_style_for_statement", "binary_expression")
    )
