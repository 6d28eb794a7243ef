"""Every command that a line for a shell could run: the tree-sitter grammar says where commands stand, `lexer` reads
their words, `wrappers` says what they run in turn.

Nothing here raises or runs for long, whatever the text: what is too large, too deep or unclear is a doubt.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agent_memory.core.rules.clone import NOWHERE, CloneState
from agent_memory.core.rules.shell.braces import WordPart, expanded
from agent_memory.core.rules.shell.constants import constants
from agent_memory.core.rules.shell.gitruns import STEERS, configured
from agent_memory.core.rules.shell.holes import HOLE, holes, requoted
from agent_memory.core.rules.shell.lexer import Lexed, ShellSource
from agent_memory.core.rules.shell.meaning import restated, settled
from agent_memory.core.rules.shell.tree import HOLDERS, SIMPLE, dropped, in_expansion, is_part, nodes_of, parsed
from agent_memory.core.rules.shell.words import ANY, Argv, Unclear, Understood, Word
from agent_memory.core.rules.shell.wrappers import InnerCommand, Script, unwrapped
from agent_memory.core.rules.shell.writers import moved, written

if TYPE_CHECKING:
    from tree_sitter import Node

LONGEST = 256_000  # bytes of a line
DEEPEST = 60  # of statements in statements
MOST_NESTED = 12  # of scripts in scripts
MOST_COMMANDS = 2_000
_ENDS = {"command_substitution", "process_substitution", "expansion", "arithmetic_expansion", "array"}
_OPAQUE = {"raw_string", "ansi_c_string", "comment", "heredoc_start", "heredoc_end"}
_BASH_ONLY = {"[[", "(("}
_RESERVED = set(
    "if then else elif fi do done case esac while until for select function { } ! [[ ]] time coproc".split()
)


Span = tuple[int, int]


@dataclass(frozen=True)
class Setting:
    """Where a command stands: how deep, what its standard input is (None: nothing that can be seen), whether it
    is the only reading of what was written, and whether it is bash that reads it."""

    nested: int = 0
    fed: Word | None = None
    certain: bool = True
    bash: bool = True


def understand(command: str, clone: CloneState = NOWHERE) -> Understood:
    """What a line for a shell could run, in a clone of git."""
    reader = CommandReader(clone)
    reader.script(command, Setting())
    return reader.understood()


def understand_argv(words: Sequence[str], clone: CloneState = NOWHERE) -> Understood:
    """What a list of words could run, without a shell: `["sh", "-c", "git merge"]` is a merge too."""
    reader = CommandReader(clone)
    reader.argv(list(map(Word.of, words)), Setting())
    return reader.understood()


class CommandReader:
    """Collects the commands of one line."""

    def __init__(self, clone: CloneState) -> None:
        self._clone = clone
        self._git: Mapping[str, str] = clone.aliases
        self._aliases: dict[str, Word] = {}
        self._commands: dict[Argv, None] = {}
        self._doubts: dict[str, None] = {}
        self._writes: dict[Word, None] = {}
        self._gone = ""  # where the line has changed to
        self._left = 2 * LONGEST  # bytes that may still be read, all scripts in scripts together

    def understood(self) -> Understood:
        return Understood(tuple(self._commands), "; ".join(list(self._doubts)[:3]) or None, tuple(self._writes))

    def doubt(self, why: str) -> None:
        self._doubts[why] = None

    def write(self, file: Word) -> None:
        """A file is written: here, or where the line has gone to (which may have been in a subshell)."""
        if not file.lead.startswith("/dev/"):
            self._writes |= {file: None, moved(self._gone, file): None}

    def script(self, text: str, setting: Setting) -> None:
        """Read a text for a shell."""
        if len(text) > LONGEST or setting.nested > MOST_NESTED or len(self._commands) > MOST_COMMANDS:
            self.doubt("it is too long or too deeply nested to be understood")
            return
        self._left -= len(text)
        if self._left < 0:
            self.doubt("it is too long or too deeply nested to be understood")
            return
        text = text.replace("\r\n", "\n")
        if "\0" in text or "\r" in text:
            self.doubt("it has a NUL or a carriage return")
            text = text.replace("\0", "").replace("\r", "\n")
        try:
            data = text.encode()
        except UnicodeEncodeError:
            self.doubt("it is no Unicode text")
            return
        try:
            ShellText(self, data, setting.bash).walk(setting)
        except Unclear as unclear:
            self.doubt(str(unclear))
        except RecursionError:
            self.doubt("it is too deeply nested to be understood")

    def argv(self, words: Sequence[Word], setting: Setting) -> None:
        """Take up one command and what it runs in turn."""
        if not words:
            return
        argv = Argv(tuple(words), setting.certain)
        if argv.program.text == "git":
            argv = Argv(tuple(settled(words, self._clone)), setting.certain)
        if len(self._commands) > MOST_COMMANDS or setting.nested > MOST_NESTED:
            self.doubt("it is too long or too deeply nested to be understood")
            return
        self._commands[argv] = None
        name = argv.program.text
        if name == "git":
            self._git = {**self._git, **configured(words)}
            self._commands |= dict.fromkeys(restated(argv, self._clone))
        if any(STEERS.match(word.lead) for word in words):
            self.doubt("it gives git settings in variables")
        if name is None:
            self.doubt("a program is known only when it runs")
        else:
            self._alias(name, argv, setting)
            self._files(name, argv)
        try:
            for inner in unwrapped(argv, setting.fed, self._git):
                deeper = replace(setting, nested=setting.nested + 1, certain=setting.certain and inner.certain)
                if isinstance(inner, InnerCommand):
                    self.argv(inner.words, deeper)
                elif isinstance(inner, Script):
                    self._inner(inner.text, deeper if inner.bash is None else replace(deeper, bash=inner.bash))
                if inner.doubt:
                    self.doubt(inner.doubt)
        except Unclear as unclear:
            self.doubt(str(unclear))

    def _files(self, name: str, argv: Argv) -> None:
        folder = argv.words[-1].text
        if name in ("cd", "pushd") and len(argv.words) > 1 and folder and folder[0] not in "-+":
            self._gone = posixpath.join(self._gone, folder)
        for file in written(argv):
            self.write(file)

    def _inner(self, text: Word, setting: Setting) -> None:
        if text.text is None:
            self.doubt("a part of a script is known only when it runs")
        if text.parts != (None,):
            self.script("".join(HOLE if part is None else part for part in text.parts), setting)

    def _alias(self, name: str, argv: Argv, setting: Setting) -> None:
        if name == "alias":
            for word in argv.words[1:]:
                made, equals, said = word.lead.partition("=")
                if equals:
                    self._aliases[made] = Word((said, *word.parts[1:]), word.spreads)
                elif word.text is None:
                    self.doubt("an alias is known only when it runs")
        elif (value := self._aliases.get(argv.words[0].text or "")) is not None:
            rest = [" ", *(part for word in argv.words[1:] for part in (requoted(word), " "))]
            deeper = replace(setting, nested=setting.nested + 1, certain=False)
            self._inner(
                Word((*value.parts, *rest)) if value.text is None else Word.of(value.text + "".join(rest)), deeper
            )


class ShellText:
    """One text for a shell, with its tree."""

    def __init__(self, reader: CommandReader, data: bytes, bash: bool) -> None:
        self._reader = reader
        self._tails: dict[int, tuple[Sequence[Span], Word | None]] = {}
        self._root = parsed(data).root_node
        if self._root.has_error:
            reader.doubt("the shell syntax is not clear")
        text = data.decode("latin-1")
        nodes = nodes_of(self._root)
        ends = {node.start_byte: node.end_byte for node in nodes if node.type in _ENDS}
        bare = ShellSource(text, ends, {}, bash)
        self._source = replace(bare, constants=constants(nodes, bare))
        if not bash and any(node.type in _BASH_ONLY for node in nodes):
            reader.doubt("[[ and (( mean something else in shells other than bash")
        if any(dropped(node, text) for node in nodes if node.type in HOLDERS):
            reader.doubt("a part that the shell grammar does not see")

    def walk(self, setting: Setting) -> None:
        self._walk(self._root, setting, 0)

    def _walk(self, node: Node, setting: Setting, depth: int) -> None:
        if depth > DEEPEST:
            self._reader.doubt("it is too deeply nested to be understood")
            return
        kind = node.type
        spans, fed = self._tails.get(node.id, ((), None))
        if fed is not None:
            setting = replace(setting, fed=fed)
        if spans and kind not in SIMPLE:
            setting = self._fed(spans, setting)
        if kind in SIMPLE and not is_part(node):
            self._simple(node, spans, setting)
        elif kind == "redirected_statement":
            self._redirected(node, setting, depth)
            return
        elif kind == "list":
            self._list(node, setting, depth)
            return
        elif kind == "pipeline":
            self._pipeline(node, setting, depth)
            return
        elif kind == "command_substitution" and self._source.text[node.start_byte] == "`":
            self._backticks(node, setting)
            return
        elif kind == "command_substitution" and self._source.text.startswith("$((", node.start_byte):
            self._reader.doubt("it may be arithmetic or a command")
        elif kind == "function_definition":
            setting = replace(setting, certain=False)
        elif not node.child_count:
            self._leaf(node)
        for child in node.children:
            self._walk(child, setting, depth + 1)

    def _list(self, node: Node, setting: Setting, depth: int) -> None:
        """`a && b && c`: lists in lists, as many as there are commands."""
        items: list[Node] = []
        while node.type == "list":
            items += reversed(node.children[1:])
            node = node.children[0]
        for item in (node, *reversed(items)):
            self._walk(item, setting, depth + 1)

    def _pipeline(self, node: Node, setting: Setting, depth: int) -> None:
        piped = setting
        for child in node.children:
            if child.type in ("|", "|&"):
                piped = replace(setting, fed=ANY)
            self._walk(child, piped, depth + 1)

    def _leaf(self, node: Node) -> None:
        """What the grammar took for plain text has no substitution in it, or the grammar is wrong."""
        if node.is_named and (node.type not in _OPAQUE or in_expansion(node)):
            text = re.sub(r"\\.", "", self._source.text[node.start_byte : node.end_byte], flags=re.S)
            if "`" in text or "$(" in text:
                self._reader.doubt("a substitution that the shell grammar does not see")
        elif node.type == "comment" and node.start_byte:
            before = self._source.text[node.start_byte - 1]
            if before not in " \t\n;&|()`":
                self._reader.doubt("a comment where there may be none")

    def _backticks(self, node: Node, setting: Setting) -> None:
        text = self._source.text[node.start_byte + 1 : node.end_byte - 1]
        quoted = node.parent is not None and node.parent.type == "string"
        self._again(re.sub(r'\\([$`\\"])' if quoted else r"\\([$`\\])", r"\1", text), setting)

    def _again(self, text: str, setting: Setting) -> None:
        self._reader.script(
            text.encode("latin-1").decode("utf-8", "replace"), replace(setting, nested=setting.nested + 1)
        )

    def _simple(self, node: Node, more: Sequence[Span], setting: Setting) -> None:
        """A simple command: its own words, and those that the grammar took for part of a redirection."""
        lexed = Lexed()
        try:
            self._source.lex(node.start_byte, node.end_byte, lexed)
            for start, end in more:
                self._source.lex(start, end, lexed, leading=False)
            self._source.ended(max(node.end_byte, *(end for _, end in more), 0))
            words = [word for pieces in lexed.words for word in holes(expanded(pieces, self._source.bash))]
            self._keyword(lexed.words)
            self._files(lexed)
        except Unclear as unclear:
            self._reader.doubt(str(unclear))
            return
        if any(pieces and STEERS.match(pieces[0].text or "") for pieces in lexed.assigned):
            self._reader.doubt("it gives git settings in variables")
        if lexed.fed is not None:
            fed = expanded([replace(piece, quoted=True, split=False) for piece in lexed.fed])
            setting = replace(setting, fed=holes(fed)[0])
        elif lexed.reads:
            setting = replace(setting, fed=None)
        self._reader.argv(words, setting)

    def _files(self, lexed: Lexed) -> None:
        for pieces in lexed.written:
            for word in holes(expanded(pieces, self._source.bash)):
                self._reader.write(word)

    def _keyword(self, words: list[list[WordPart]]) -> None:
        """A reserved word is no program: where the grammar takes it for one, it does not know."""
        bare = [
            "".join(piece.text or "" for piece in pieces) if not any(p.quoted for p in pieces) else ""
            for pieces in words[:2]
        ]
        if bare and bare[0] in _RESERVED and (bare[0] not in ("time", "coproc") or (bare[1:] and bare[1] in _RESERVED)):
            raise Unclear(f"the shell grammar is unclear near {bare[0]!r}")

    def _redirected(self, node: Node, setting: Setting, depth: int) -> None:
        """A statement with redirections; of `a && b > c` the grammar takes the whole, and bash the last command."""
        body = node.child_by_field_name("body")
        files: list[Node] = []
        spans: list[Span] = []
        fed: Word | None = None
        before = body.end_byte if body is not None else node.start_byte
        for redirect in node.children_by_field_name("redirect"):
            if redirect.type == "heredoc_redirect":
                fed = self._heredoc(redirect, setting, depth, files)
            else:
                files.append(redirect)
            if self._source.text[before : redirect.start_byte].replace("\\\n", "").strip():
                spans.append((before, redirect.start_byte))  # the grammar drops the dash of `python - <<EOF`
            before = redirect.end_byte
        spans += [(file.start_byte, file.end_byte) for file in files]
        last = body
        while last is not None and last.type in ("list", "pipeline", "negated_command"):
            last = last.children[-1]
        if last is not None and body is not None:
            self._tails[last.id] = (sorted(spans), fed)
            self._walk(body, setting, depth + 1)
        elif body is None:
            self._fed(sorted(spans), setting)
        for file in files:
            for child in file.children:
                self._walk(child, setting, depth + 1)

    def _fed(self, spans: Sequence[Span], setting: Setting) -> Setting:
        """The standard input of a compound statement."""
        lexed = Lexed()
        for start, end in spans:
            self._source.lex(start, end, lexed, leading=False)
        self._files(lexed)
        if lexed.words:
            self._reader.doubt("words after a redirection")
        if lexed.fed is not None or lexed.reads:
            setting = replace(setting, fed=ANY if lexed.fed is not None else None)
        return setting

    def _heredoc(self, node: Node, setting: Setting, depth: int, files: list[Node]) -> Word:
        """The text of a here-document; what else stands on its first line is walked."""
        body: Node | None = None
        quoted, delimiter, end = False, "", node.end_byte
        for number, child in enumerate(node.children):
            field = node.field_name_for_child(number)
            if child.type == "heredoc_start":
                written = self._source.text[child.start_byte : child.end_byte]
                quoted = any(char in written for char in "'\"\\")
                delimiter = re.sub(r"['\"\\]", "", written)
            elif child.type == "heredoc_body":
                body = child
            elif child.type == "heredoc_end":
                end = child.start_byte
            elif field in ("argument", "redirect"):
                files.append(child)
            else:
                self._walk(child, replace(setting, fed=ANY) if child.type == "pipeline" else setting, depth + 1)
        if body is None:
            return Word.of("")
        start = self._source.text.rfind("\n", 0, body.start_byte) + 1
        stop = self._source.text.rfind("\n", 0, end) + 1
        self._check(start, stop, end, delimiter)
        if quoted:
            return Word.of(self._source.text[start:stop].encode("latin-1").decode("utf-8", "replace"))
        for child in body.children:
            if child.type != "heredoc_content":
                self._walk(child, setting, depth + 1)
        for found in re.finditer(r"`((?:[^`\\]|\\.)*)`", self._source.text[start:stop], re.S):
            self._again(re.sub(r"\\([$`\\])", r"\1", found[1]), setting)
        return holes(expanded(self._source.heredoc(start, stop)))[0]

    def _check(self, start: int, stop: int, end: int, delimiter: str) -> None:
        """The body ends at the first line that is the delimiter, or the grammar is wrong."""
        lines = [line.lstrip("\t") for line in self._source.text[start:stop].split("\n")]
        last = self._source.text[stop:].split("\n", 1)[0].lstrip("\t")
        if delimiter in lines or last != delimiter or not delimiter:
            self._reader.doubt("a here-document that does not end clearly")
