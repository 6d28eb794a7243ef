"""Rules on their way to a page: an agent proposes, a person approves, and only then does anything hold. P8, P22."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

from agent_memory.app import pagefiles
from agent_memory.app.config import config_folder
from agent_memory.app.namespaces.asking import Moments, asked
from agent_memory.app.operations import Namespace, Permission, ToolSlot, operation
from agent_memory.core.write.commit import commit, write
from agent_memory.models.draft import Draft
from agent_memory.models.errors import Denied, InvalidInput, NotFound
from agent_memory.models.kinds.person import INSTRUCTIONS, ORDERS
from agent_memory.models.kinds.procedure import PROPOSED
from agent_memory.models.model import Unit
from agent_memory.models.record import Record, Status
from agent_memory.models.rules import Into, Proposal
from agent_memory.ports.changes import Amend

MOST = 1000
USER_PAGE = "rules.md"
REPOSITORY_PAGE = ".memory/procedural.md"


class Proposals(Namespace):
    """What of `memory.rules` is about rules that hold nowhere yet."""

    @operation(
        "rules.propose",
        "POST /rules/proposals",
        permission=Permission.WRITE,
        mcp=[ToolSlot("core", "rules", "propose")],
    )
    def propose(self, rule: str, confidence: Unit = 0.8, reason: str | None = None) -> Proposal:
        """Propose a rule. It has no effect until someone approves it.

        `rule` is Markdown as on a page: `**never-merge** (deny) Never merge.`, and its keys as a list below. The same
        id proposed again is a new version of the proposal.
        """
        from agent_memory.core.rules.adding import proposed
        from agent_memory.core.rules.written import markdown

        read = proposed(rule)
        client = self._client
        draft = Draft(
            kind="procedure",
            text=read.text,
            payload={
                "name": read.id,
                "section": "rule",
                "severity": str(read.severity),
                "markdown": markdown(read),
                "reason": reason,
            },
            status=Status.HELD,
            confidence=confidence,
            source=PROPOSED,
        )
        applied = commit(client.runtime.writing, [draft], client.author(reason), client.now())
        (record,) = client.runtime.store.records.get(client.view(), [applied.outcomes[0].id])
        return _shown(record)

    @operation("rules.propose_rule", "POST /rules/proposals/learned", permission=Permission.OPERATOR, here=True)
    def propose_rule(self, learning: str, into: Into = "user", folder: str | None = None) -> Proposal:
        """Propose the rule of a learning, and show what approving it would add to a page. `learning` is its id, or that
        of a preference to do something always or never."""
        from difflib import unified_diff

        from agent_memory.core.rules.adding import ending, proposed

        record = self._client.ask("records.get", id=learning)
        if not (rule := _rule_of(record)):
            raise InvalidInput(
                f"learning: {learning!r} has no rule",
                hint="`procedural learn --rule` gives it one; a preference becomes one where its domain is "
                "`instructions` and its value `always` or `never`",
                field="learning",
            )
        page = self._target(into, folder)
        text = page.read_text(encoding="utf-8") if page.exists() else ""
        added = ending(str(page), text, proposed(rule))
        made: Proposal = self._client.ask("rules.propose", rule=rule, confidence=record.confidence, reason=record.text)
        before, after = text.splitlines(keepends=True), (text + added).splitlines(keepends=True)
        diff = "".join(unified_diff(before, after, page.name, page.name))
        return made.model_copy(update={"page": str(page), "diff": diff})

    @operation("rules.proposals", "GET /rules/proposals")
    def proposals(self, **at: Unpack[Moments]) -> list[Proposal]:
        """Rules that are waiting for approval, the newest first."""
        return self._waiting(at)

    @operation("rules.approve", "POST /rules/proposals/{id}/approve", permission=Permission.OPERATOR, here=True)
    def approve(self, id: str, into: Into = "user", folder: str | None = None) -> Proposal:
        """Write a proposed rule to a page, where it takes effect: your own page (`user`), or that of the repository
        (`.memory/procedural.md`), for everybody who works in it. `id` is the proposal's or the rule's."""
        from agent_memory.core.rules.adding import ending, proposed

        chosen = _named(id, self._client.ask("rules.proposals"))
        page = self._target(into, folder)
        rule = proposed(chosen.rule)
        pagefiles.append(page, lambda text: ending(str(page), text, rule))
        self._client.ask("records.amend", id=chosen.id, status=Status.ARCHIVED, reason=f"approved into {page.name}")
        return chosen.model_copy(update={"page": str(page)})

    @operation("rules.reject", "POST /rules/proposals/{id}/reject", permission=Permission.REVIEW)
    def reject(self, id: str, reason: str | None = None) -> Proposal:
        """Turn a proposed rule down; it stays in the history, with the reason."""
        chosen, client = _named(id, self._waiting({})), self._client
        author = client.author(reason or "rejected")
        write(client.runtime.writing, [Amend(chosen.id, Status.REJECTED)], author, client.now())
        return chosen

    def _target(self, into: Into, folder: str | None) -> Path:
        if into == "repository":
            return self._page(folder)
        if self._client.workplace.root is not None:
            raise Denied("into: your own pages are on your own machine", hint="approve it there", field="into")
        return config_folder() / USER_PAGE

    def _page(self, folder: str | None) -> Path:
        """The first page of the repository, or of the folder where there is none."""
        from agent_memory.engines.git.clone import clone

        workplace = self._client.workplace
        place = workplace.folder(folder)
        found = clone(place)
        root = found.root if found else place
        page = workplace.path(REPOSITORY_PAGE, root)
        if not page.is_relative_to(root):
            raise InvalidInput(
                f"folder: {REPOSITORY_PAGE} leads outside {root}", hint="remove the link", field="folder"
            )
        return page

    def _waiting(self, at: Moments) -> list[Proposal]:
        view, where = asked(self._client, {"kinds": ["procedure"], "status": Status.HELD}, at)
        found = self._client.runtime.store.records.find(view, where, limit=MOST)
        return [_shown(record) for record in found if record.source == PROPOSED]


def _named(id: str, waiting: list[Proposal]) -> Proposal:
    for one in waiting:
        if id in (one.id, one.name):
            return one
    raise NotFound(f"no proposal {id!r} is waiting", hint="`agent-memory rules proposals` shows them", field="id")


def _rule_of(record: Record) -> str | None:
    """As a page has it."""
    from agent_memory.core.rules.adding import advice

    said = record.payload
    if record.kind == "preference" and said["domain"] == INSTRUCTIONS and said["value"] in ORDERS:
        return advice(f"{said['value']} {said['name']}", f"{said['value'].capitalize()} {said['name']}.")
    return said.get("rule") if record.kind == "learning" else None


def _shown(record: Record) -> Proposal:
    payload = record.payload
    return Proposal(
        id=record.id,
        name=payload["name"],
        rule=payload["markdown"],
        confidence=record.confidence,
        reason=payload.get("reason"),
        at=record.recorded_at,
    )
