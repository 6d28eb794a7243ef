"""Paging turns out: the one write of a session beside its turns. It expects every turn to be what was read, so that no
summary is made of what is forgotten meanwhile; and a summary in a model's words goes with any turn that it retells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agent_memory.core.talk.extract import QuotedSentence, extracted, picked
from agent_memory.core.talk.retell import retold
from agent_memory.core.talk.session import Limit, Talk, laid_out, read
from agent_memory.core.write.commit import SELF, How, Writing, commit, until_settled, write
from agent_memory.models.draft import Draft
from agent_memory.models.kinds.talk import EXTRACTED, MemoryBlock, Pick, SessionPayload
from agent_memory.models.model import new_id
from agent_memory.models.record import Link, Record
from agent_memory.ports.changes import DERIVED_FROM, Author, Erase, Expect
from agent_memory.ports.chat import ChatModel
from agent_memory.ports.records import View

AT_ONCE = 500  # turns that one write pages out


class Paging(NamedTuple):
    """Whose conversation, under which limit; `chat` writes the summary, where there is one."""

    writing: Writing
    view: View
    author: Author
    conversation_id: str
    blocks: Sequence[MemoryBlock]
    limit: Limit
    chat: ChatModel | None = None

    def talk(self) -> Talk:
        return read(self.writing.records, self.view, self.author.scope, self.conversation_id)


def page_out(paging: Paging) -> None:
    """Until the turns that are left have room. A model that could not write the summary is not asked again."""

    def attempt(talk: Talk) -> bool:
        nonlocal paging
        laid = laid_out(talk, paging.blocks, paging.limit)
        leaving = laid.leaving[:AT_ONCE]
        if not leaving and talk.stale is None:
            return False
        text = _retelling(paging, talk, leaving) if talk.stale is None else None
        worded = talk.stale or (talk.record if talk.record and talk.record.text and not text else None)
        paging = paging if text or talk.stale else paging._replace(chat=None)
        if worded is not None:  # no version of what only quotes may hold a model's words
            write(paging.writing, [Erase(worded.id, version=worded.version)], paging.author, paging.view.now)
            return True
        same = len(leaving) == len(laid.leaving)
        ranked = laid.ranked if same else extracted(_before(talk), leaving, paging.limit.summary, paging.limit.count)
        _store(paging, talk, leaving, text or [one.pick for one in ranked])
        return True

    while until_settled(attempt, paging.talk):
        pass


def _store(paging: Paging, talk: Talk, leaving: Sequence[Record], summary: str | list[Pick]) -> None:
    by = paging.chat.model if isinstance(summary, str) and paging.chat else EXTRACTED
    payload = SessionPayload(
        conversation_id=paging.conversation_id,
        upto=leaving[-1].payload["index"],
        turns=(talk.state.turns if talk.state else 0) + len(leaving),
        made_by=by,
        picks=[] if isinstance(summary, str) else summary,
    )
    draft = Draft(
        kind="session",
        id=talk.record.id if talk.record else new_id(),
        text=summary if isinstance(summary, str) else "",
        payload=payload.dumped(),
        conversation_id=paging.conversation_id,
        source="model" if isinstance(summary, str) else "extract",
        links=tuple(Link(source_id=SELF, target_id=one.id, type=DERIVED_FROM) for one in leaving),
    )
    of = Expect(talk.record.version, id=talk.record.id) if talk.record else _none(paging.conversation_id)
    own = [one for one in leaving if one.scope == paging.author.scope]
    expect = [of, *(Expect(one.version, id=one.id) for one in own)]
    commit(paging.writing, [draft], paging.author, paging.view.now, How(expect=expect))


def _retelling(paging: Paging, talk: Talk, leaving: Sequence[Record]) -> str | None:
    if paging.chat is None:
        return None
    before = talk.record.text if talk.record else ""
    before = before or "\n".join(one.shown for one in _before(talk))
    return retold(paging.chat, before, leaving, paging.limit.summary)


def _before(talk: Talk) -> list[QuotedSentence]:
    return picked(talk.state.picks, talk.quoted) if talk.state else []


def _none(conversation_id: str) -> Expect:
    return Expect(0, kind="session", key=conversation_id)
