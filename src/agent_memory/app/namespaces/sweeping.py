"""Forgetting many records at once: a part of `memory.records`."""

from __future__ import annotations

from agent_memory.app.namespaces.asking import Where, asked
from agent_memory.app.operations import Namespace, Permission, ToolSlot, operation
from agent_memory.core.write.forget import sweep
from agent_memory.models.errors import InvalidInput
from agent_memory.models.model import Model, Name
from agent_memory.models.record import Status


class Swept(Model):
    """`count` records fit, by kind in `kinds`; with `dry_run` they are all still there. Otherwise they went, and so did
    `derived` others that were derived from them alone; `scrubbed` as in `Forgotten`."""

    count: int
    kinds: dict[str, int]
    derived: int = 0
    dry_run: bool
    scrubbed: bool = True


class Sweeping(Namespace):
    """Records that go together."""

    @operation(
        "records.forget_where",
        "POST /forget",
        permission=Permission.WRITE,
        mcp=[ToolSlot("core", "forget", "where")],
        erases=True,
    )
    def forget_where(
        self,
        conversation_id: Name | None = None,
        kinds: list[Name] | None = None,
        repository: Name | None = None,
        dry_run: bool = False,
        reason: str | None = None,
    ) -> Swept:
        """Erase every record of this user's own in a conversation, of some kinds or of a repository, whatever its
        status: everything that is given must hold. With `dry_run` they are only counted.

        Many go in slices of some hundred, each erased for good: if it is interrupted, those that are left fit still.
        A record that moved to another conversation or repository fits there alone, and stays with its whole history.
        """
        where: Where = {}
        for name, value in (("conversation_id", conversation_id), ("kinds", kinds), ("repository", repository)):
            if value is not None:
                where[name] = value  # type: ignore[literal-required]
        if not where:
            raise InvalidInput(
                "nothing says which records to forget",
                hint="name a conversation_id, kinds or a repository",
                field="conversation_id",
            )
        client = self._client
        view, chosen = asked(client, where, everywhere=True)
        found = sweep(
            client.runtime.writing,
            view,
            chosen._replace(statuses=tuple(Status)),
            None if dry_run else client.author(reason),
        )
        return Swept(
            count=found.count, kinds=found.kinds, derived=found.derived, dry_run=dry_run, scrubbed=found.scrubbed
        )
