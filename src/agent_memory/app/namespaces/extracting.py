"""Reading a conversation or a text now, instead of when it has been quiet: a part of `memory.upkeep`. C18."""

from __future__ import annotations

import hashlib

from agent_memory.app.operations import Namespace, Permission, ToolSlot, operation
from agent_memory.core.upkeep.consolidate import QuietTalk, read_talk, turns_of
from agent_memory.core.upkeep.extract.keep import Keeper, keep, said_of
from agent_memory.core.upkeep.extract.reading import read
from agent_memory.core.upkeep.extract.rules import extract
from agent_memory.core.write.commit import commit
from agent_memory.models.draft import Draft
from agent_memory.models.errors import InvalidInput, NotFound
from agent_memory.models.extraction import Extraction
from agent_memory.models.limits import RecordText
from agent_memory.models.model import Moment, Name


class Extracting(Namespace):
    """Entities, facts and relations from what was said."""

    @operation(
        "upkeep.extract",
        "POST /extract",
        permission=Permission.WRITE,
        command="extract",
        mcp=[ToolSlot("upkeep", "extract")],
    )
    def extract(
        self,
        conversation_id: Name | None = None,
        text: RecordText | None = None,
        said_at: Moment | None = None,
        source: Name = "user",
    ) -> Extraction:
        """Make entities, facts and relations of what a conversation or a text says, now, and say what was made.

        A conversation is read as the job `consolidate` does it, from its beginning. A text is stored as an observation,
        from which all is derived; `said_at` is when it was said, and `source` who says it, as in `web:example.org`.
        """
        if (conversation_id is None) == (text is None):
            raise InvalidInput(
                "conversation_id: name a conversation, or give a text",
                hint="one of the two",
                field="conversation_id",
            )
        client = self._client
        who = client.author()
        keeping = client.runtime.keeping(client.clock)
        keeper = Keeper(keeping, client.scope, client.now(), actor=who.actor, door=who.door)
        if text is not None:
            return self._of_text(keeper, text, said_at, source)
        talk = QuietTalk(client.scope, str(conversation_id))
        turns = turns_of(keeper.keeping, talk, keeper.now)
        if not turns:
            raise NotFound(
                f"no conversation {conversation_id!r} of this user's own",
                hint="it begins when its first turn is stored",
                field="conversation_id",
            )
        return read_talk(keeper, talk, turns, anew=True)

    def _of_text(self, keeper: Keeper, text: str, said_at: Moment | None, source: Name) -> Extraction:
        client = self._client
        id = hashlib.blake2b(f"{source}\x1f{text}".encode(errors="replace"), digest_size=13).hexdigest()
        draft = Draft(
            kind="observation", id=id, text=text, source=source, valid_from=said_at, dated=said_at is not None
        )
        stored = commit(client.runtime.writing, [draft], client.author(), client.now()).outcomes[0].id
        (turn,) = client.runtime.store.records.get(client.view(), [stored])
        said = said_of(turn)
        return keep(keeper, turn, read(said, (), extract(said), keeper.keeping.extractors()), None)
