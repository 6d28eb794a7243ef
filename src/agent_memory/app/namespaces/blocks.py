"""`memory.blocks`: text that is always in the prompt, edited by the agent itself, with versions and undo. E9."""

from __future__ import annotations

from functools import partial
from typing import TypedDict, Unpack

from agent_memory.app.namespaces.asking import Moments
from agent_memory.app.operations import Namespace, Permission, ToolSlot, operation
from agent_memory.core.talk import blocks
from agent_memory.core.talk.edits import appended, inserted, replaced
from agent_memory.core.write.forget import forget
from agent_memory.models.kinds.talk import MemoryBlock
from agent_memory.models.limits import BlockLimit, LineNumber, Phrase, RecordText
from agent_memory.models.model import Name, Text


class BlockOptions(TypedDict, total=False):
    """How a block is to be; what is left out stays as it is, and of a new block is as usual."""

    description: Text
    limit: BlockLimit
    read_only: bool
    shared: bool
    if_version: int


class Blocks(Namespace):
    """Blocks have a label, such as persona or human, and a limit of characters that is never passed. Every edit is a
    version. An agent sees its own blocks and those that the user's agents share."""

    @operation("blocks.get", "GET /blocks/{label}", mcp=[ToolSlot("blocks", "blocks", "get")])
    def get(self, label: Name, **at: Unpack[Moments]) -> MemoryBlock:
        """One block; if several have this label, the agent's own."""
        return MemoryBlock.of(blocks.named(self._client.runtime.store.records, self._client.view(**at), label))

    @operation("blocks.set", "PUT /blocks/{label}", permission=Permission.WRITE)
    def set(self, label: Name, text: RecordText | None = None, **how: Unpack[BlockOptions]) -> MemoryBlock:
        """Make a block, or change its text, description, limit, or whether agents may edit it. Also for read-only
        blocks; only an agent cannot change one that the user's agents share. A new one belongs to the agent of this
        memory, or with `shared` to all agents of the user."""
        client = self._client
        said = {name: value for name, value in {"text": text, **how}.items() if value is not None and name != "shared"}
        return blocks.put(client.runtime.writing, client.author(), client.now(), label, said, how.get("shared"))

    @operation(
        "blocks.append",
        "POST /blocks/{label}/append",
        permission=Permission.WRITE,
        mcp=[ToolSlot("blocks", "blocks", "append")],
    )
    def append(self, label: Name, text: Phrase, if_version: int | None = None) -> MemoryBlock:
        """Add a line at the end of a block."""
        return self._edited(label, partial(appended, more=text), if_version)

    @operation(
        "blocks.replace",
        "POST /blocks/{label}/replace",
        permission=Permission.WRITE,
        mcp=[ToolSlot("blocks", "blocks", "replace")],
    )
    def replace(self, label: Name, old: Phrase, new: RecordText, if_version: int | None = None) -> MemoryBlock:
        """Replace a phrase of a block, which must occur in it exactly once. An empty `new` deletes it."""
        return self._edited(label, partial(replaced, old=old, new=new), if_version)

    @operation(
        "blocks.insert",
        "POST /blocks/{label}/insert",
        permission=Permission.WRITE,
        mcp=[ToolSlot("blocks", "blocks", "insert")],
    )
    def insert(self, label: Name, text: Phrase, line: LineNumber = 0, if_version: int | None = None) -> MemoryBlock:
        """Insert a line into a block after the line with this number; 0 inserts it before the first line."""
        return self._edited(label, partial(inserted, more=text, line=line), if_version)

    @operation(
        "blocks.rewrite",
        "POST /blocks/{label}/rewrite",
        permission=Permission.WRITE,
        mcp=[ToolSlot("blocks", "blocks", "rewrite")],
    )
    def rewrite(self, label: Name, text: RecordText, if_version: int | None = None) -> MemoryBlock:
        """Replace the whole text of a block. With `if_version`, only if nobody has changed it since that version."""
        return self._edited(label, lambda _: text, if_version)

    @operation(
        "blocks.undo",
        "POST /blocks/{label}/undo",
        permission=Permission.WRITE,
        mcp=[ToolSlot("blocks", "blocks", "undo")],
    )
    def undo(self, label: Name, to: int | None = None, if_version: int | None = None) -> MemoryBlock:
        """Undo the last edit; called again, the one before it.

        `to` restores a certain version, even one that was undone. Undoing makes a new version, so nothing is lost.
        """
        client = self._client
        return blocks.undo(client.runtime.writing, client.view(), client.author(), label, to, if_version)

    @operation("blocks.history", "GET /blocks/{label}/history", mcp=[ToolSlot("blocks", "blocks", "history")])
    def history(self, label: Name) -> list[MemoryBlock]:
        """Every version of a block, the oldest first."""
        return blocks.versions(self._client.runtime.store.records, self._client.view(), label)

    @operation("blocks.delete", "DELETE /blocks/{label}", permission=Permission.WRITE, erases=True)
    def delete(self, label: Name) -> None:
        """Erase a block with all its versions. This cannot be undone."""
        client = self._client
        id = blocks.own_id(client.runtime.store.records, client.author(), label)
        forget(client.runtime.writing, [id], client.author(), client.now())

    @operation("blocks.list", "GET /blocks", mcp=[ToolSlot("blocks", "blocks", "list")])
    def list(self, **at: Unpack[Moments]) -> list[MemoryBlock]:
        """Every block that this agent sees: persona and human first."""
        return [
            MemoryBlock.of(one) for one in blocks.visible(self._client.runtime.store.records, self._client.view(**at))
        ]

    def _edited(self, label: str, edit: blocks.Edit, if_version: int | None) -> MemoryBlock:
        client = self._client
        return blocks.change(client.runtime.writing, client.author(), client.now(), label, edit, if_version)
