"""Variables that are given one literal value, once, before they are used: `X=merge; git $X` is a merge.

Only what is beyond doubt: assigned at the top of the line, nowhere else named but where it is read, and nothing about
that could change variables from afar.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from agent_memory.core.rules.shell.braces import expanded
from agent_memory.core.rules.shell.lexer import Constant, Lexed, ShellSource
from agent_memory.core.rules.shell.words import Unclear

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_CONSTANTS = 100
_AFAR = re.compile(
    r"\b(?:eval|source|trap|alias|IFS|set|shopt|nameref)\b|(?:^|[\s;&|({])\.\s|\b(?:declare|local|typeset)\s+-\w*n"
)
_OWN = set(
    "SECONDS RANDOM SRANDOM LINENO UID EUID PPID BASHPID EPOCHSECONDS EPOCHREALTIME HISTCMD DIRSTACK GROUPS FUNCNAME"
    " _".split()
)


def constants(nodes: Iterable[Node], source: ShellSource) -> dict[str, Constant]:
    assigned = [node for node in nodes if node.type == "variable_assignment" and _at_top(node)]
    if not assigned or len(assigned) > MOST_CONSTANTS or _AFAR.search(source.text):
        return {}
    found: dict[str, Constant] = {}
    for node in assigned:
        name = source.text[node.start_byte : node.end_byte].partition("=")[0]
        if name in _OWN or not re.fullmatch(r"\w+", name) or not _once(name, source.text):
            continue
        value = _value(node, source)
        if value is not None:
            found[name] = Constant(value, node.end_byte)
    return found


def _at_top(node: Node) -> bool:
    """Whether it surely runs, in this shell: nothing stands around it but a sequence."""
    parent = node.parent
    if parent is not None and parent.type == "declaration_command" and parent.children[0].type == "export":
        node, parent = (parent, parent.parent) if parent.child_count == 2 else (node, None)
    elif parent is not None and parent.type == "variable_assignments":
        node, parent = parent, parent.parent
    while parent is not None and parent.type == "list" and parent.children[0] == node:
        node, parent = parent, parent.parent
    following = node.next_sibling
    return parent is not None and parent.type == "program" and (following is None or following.type != "&")


def _once(name: str, text: str) -> bool:
    named = re.findall(rf"(?<![\w$])(?<!\$\{{){name}(?!\w)", text)
    return len(named) == 1 and not re.search(rf"\$\{{{name}:?=", text)


def _value(node: Node, source: ShellSource) -> str | None:
    lexed = Lexed()
    try:
        source.lex(node.start_byte, node.end_byte, lexed)
        pieces = [piece for one in lexed.assigned for piece in one]
        if (
            lexed.words
            or len(lexed.assigned) != 1
            or any(not piece.quoted and "~" in (piece.text or "") for piece in pieces)
        ):
            return None
        words = expanded([type(piece)(piece.text, True) for piece in pieces])
    except Unclear:
        return None
    text = words[0].text if len(words) == 1 else None
    return text.partition("=")[2].encode("utf-8", "surrogateescape").decode("latin-1") if text is not None else None
