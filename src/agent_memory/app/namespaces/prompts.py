"""Procedures where work is done: at the beginning of a prompt, and in a clone. P3, P22."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agent_memory.app import pagefiles, registry, trust
from agent_memory.app.fitting import fitting
from agent_memory.app.operations import Namespace, Permission, ToolSlot, operation
from agent_memory.app.procedures import Procedures, procedures
from agent_memory.app.workplace import Workplace
from agent_memory.models.context import Counting
from agent_memory.models.errors import Denied, InvalidInput
from agent_memory.models.kinds.procedure import USER
from agent_memory.models.limits import Tokens
from agent_memory.models.moment import to_micros
from agent_memory.models.rules import AppliedRules, Layer, Prefix, Rule, Rulebook, Version

if TYPE_CHECKING:
    from agent_memory.engines.git.clone import Clone

NOT_HERE = "is remembered, and on no page of yours here: take it along with `remembered`, or write it to a page"
MOST_RULES = 1000
FLOOR = 0.2  # relevance under which a skill has nothing to do with a task
NEAR = 0.5  # of the best one's relevance, under which it is not what the task needs


class Prompts(Namespace):
    """What of `memory.rules` puts procedures where work is done."""

    @operation("rules.prompt", "POST /rules/prompt", mcp=[ToolSlot("core", "rules", "prompt")], here=True)
    def prompt(
        self,
        task: str | None = None,
        max_tokens: Tokens = 2000,
        counter: Counting = "estimate",
        folder: str | None = None,
        at: str | None = None,
    ) -> Prefix:
        """The beginning of a prompt: the rules that hold in a folder, then the skills and examples that fit the task.

        Never more than `max_tokens`; what is enforced is the last to be left out, and `left_out` says what was. The
        same pages and task give the same text, with what does not depend on the task first. Without a task all skills
        fit. `at` is a commit, tag or branch. What pages say of a repository that is not trusted is quoted at the end.
        """
        from agent_memory.core.rules.prompt import prefix

        count = registry.counting(counter)
        book = trust.book(self._client.workplace.folder(folder), at, self._client.workplace.own)
        every = list(range(len(book.entries) + len(book.quoted)))
        chosen = every if task is None or not every else self._fitting(task, book)
        return prefix(book, chosen, count, max_tokens)

    @operation("rules.apply", "POST /rules/apply", permission=Permission.OPERATOR, here=True)
    def apply(self, folder: str, dry_run: bool = False, remembered: bool = False) -> AppliedRules:
        """Make your own rules hold in a clone, whoever works in it: a page inside its git folder, hooks, and the git
        settings that rules and preferences name.

        Nothing outside the clone changes, and nothing in its working tree. Run it again to apply what has changed. With
        `dry_run` it only shows what it would do. `remembered` includes rules that this memory saw on your pages
        elsewhere: anyone who may write to the memory could have put one there, so look at them first.
        """
        from agent_memory.core.rules.applying import PAGE, page, settings, together
        from agent_memory.engines.git import clone, hooks
        from agent_memory.engines.git.script import CHECKED

        found = _clone(self._client.workplace, folder)
        seen = self._remembered()
        rules = together(self._own(), seen if remembered else {})
        wanted = settings(rules, self._client.ask("user.preferences"))
        known = {rule.id for rule in rules}
        wanted.skipped.update({f"rule: {name}": NOT_HERE for name in seen if name not in known})
        if not dry_run:
            hooks.install(found.root, sys.executable)  # first: it may be refused, and then nothing was done
            clone.configure(found, wanted.config)
            pagefiles.put(found.pages / PAGE, page(rules).encode())
        return AppliedRules(
            folder=str(found.root),
            rules=[rule.id for rule in rules],
            config=wanted.config,
            hooks=list(CHECKED),
            skipped=wanted.skipped,
        )

    def _procedures(self) -> Procedures:
        """Those that this caller may see."""
        return procedures(self._client.workplace.own)

    def _own(self) -> list[Rule]:
        """Rules of the user's own pages on this machine; a network caller has none here."""
        if self._client.workplace.root is not None:
            return []
        from agent_memory.core.rules.merge import merged

        pages = [one for one in procedures().pages(self._client.workplace.folder()) if one.layer == Layer.USER]
        return merged(pages, Version()).rules

    def _remembered(self) -> dict[str, str]:
        """Rules by their ids, as they are written."""
        own = {"origin": USER, "section": "rule"}
        found = self._client.ask("records.find", kind="procedure", limit=MOST_RULES, fields=own)
        return {one.payload["name"]: one.payload["markdown"] for one in found if one.payload.get("markdown")}

    def _fitting(self, task: str, book: Rulebook) -> list[int]:
        """Places of entries, and after them of what is quoted, that fit a task, the best first."""
        from agent_memory.core.rules.prompt import shown

        texts = [*(shown(entry) for entry in book.entries), *(one.text for one in book.quoted)]
        client, now = self._client, to_micros(datetime.now(UTC))
        fits = fitting(
            task, texts, lambda some: client.ask("embedder.embed", texts=some), client.settings.store_url, now
        )
        best = max(fits)
        order = sorted(range(len(fits)), key=lambda place: -fits[place])
        return [place for place in order if fits[place] >= max(FLOOR, NEAR * best)]


def _clone(workplace: Workplace, asked: str) -> Clone:
    from agent_memory.engines.git.clone import clone

    folder = workplace.folder(asked)
    found = clone(folder)
    if found is None:
        raise InvalidInput(f"folder: {str(folder)!r} is not in a git repository", hint="name a clone", field="folder")
    if not (workplace.holds(found.root) and workplace.holds(found.pages.parent)):
        raise Denied(
            "folder: its repository reaches outside the folder of this server",
            hint="apply it on your own machine, or start the server at the top of the repository",
            field="folder",
        )
    return found
