"""`memory.user`: what is known about the person: preferences, expertise, interests. C7, P7."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from agent_memory.app import userfiles
from agent_memory.app.following import shown_here
from agent_memory.app.namespaces.asking import asked
from agent_memory.app.namespaces.options import Moments
from agent_memory.app.operations import Namespace, Permission, ResourceSlot, ToolSlot, operation
from agent_memory.core.files.pages import PreferencesPage, preferences_text, spelled
from agent_memory.core.recall.standing import person, preferences, repository_of
from agent_memory.core.write.commit import commit
from agent_memory.models.draft import Draft
from agent_memory.models.errors import InvalidInput
from agent_memory.models.files import Side, SyncedFiles
from agent_memory.models.kinds.person import Expertise, Interest, Preference, preference_key
from agent_memory.models.model import Moment, Name, Unit
from agent_memory.models.record import Status
from agent_memory.ports.changes import Effect, Outcome

SHOWN = 5  # lines that an error names


class User(Namespace):
    """Valid in every repository and conversation. A new value succeeds the old one; the old one stays in history."""

    @operation(
        "user.set_preference",
        "PUT /preferences",
        permission=Permission.WRITE,
        command="prefer",
        mcp=[ToolSlot("core", "save", "preference"), ToolSlot("records", "preferences", "set")],
    )
    def set_preference(
        self, domain: str, name: str, value: Any, confidence: Unit = 1.0, repository: Name | None = None
    ) -> Preference:
        """Remember what the user wants: domain "git", name "merge style", value "rebase".

        With a `repository` it applies there, instead of the preference that applies everywhere else. It is `held` where
        the review policy does not let it take effect by itself.
        """
        preference = Preference(domain=domain, name=name, value=value, repository=repository)
        became, *_ = self._write([preference.draft(confidence)])
        stored = self._client.own("preference", id=became.id) if became.effect is Effect.UNCHANGED else None
        held = became.effect is Effect.HELD or (stored is not None and stored.status is not Status.ACTIVE)
        return preference.model_copy(update={"held": held})

    @operation("user.get_preference", "GET /preferences/{domain}/{name}")
    def get_preference(
        self,
        domain: str,
        name: str,
        as_of: Moment | None = None,
        valid_at: Moment | None = None,
        repository: Name | None = None,
    ) -> Any:
        """The value of one preference, now or at a moment; None if there is none.

        A preference of the repository takes precedence, if the repository is named or the call is made in it.
        """
        records, view = self._client.runtime.store.records, self._client.view(as_of, valid_at)
        where = repository_of(shown_here(self._client, repository))
        wanted = preference_key(domain, name)
        keys = [preference_key(domain, name, where)] if where else []
        found = (records.by_key(view, "preference", key) for key in (*keys, wanted))
        stored = [Preference(**one.payload) for one in found if one is not None and one.status is Status.ACTIVE][:1]
        if as_of is None and valid_at is None:
            stored = userfiles.lived(self._client, stored)
        return next((one.value for one in stored if preference_key(one.domain, one.name) == wanted), None)

    @operation(
        "user.preferences",
        "GET /preferences",
        command="preferences",
        mcp=[ToolSlot("records", "preferences", "list"), ResourceSlot("memory://preferences")],
    )
    def preferences(
        self, domain: str | None = None, repository: Name | None = None, **at: Unpack[Moments]
    ) -> list[Preference]:
        """All preferences, or those of one domain. Preferences of a repository are included if it is named, or if the
        call is made in it.

        On your own machine this includes edits to USER_PREFS.md that are not synced yet.
        """
        return self._all(domain, repository, at)

    @operation(
        "user.set_expertise",
        "PUT /expertise",
        permission=Permission.WRITE,
        mcp=[ToolSlot("knowledge", "user", "set_expertise")],
    )
    def set_expertise(self, topic: str, level: str) -> Expertise:
        """Remember how well the user knows a topic."""
        expertise = Expertise(topic=topic, level=level)
        self._write([Draft(kind="expertise", text=f"{topic}: {level}", payload=expertise.model_dump())])
        return expertise

    @operation(
        "user.add_interest",
        "POST /interests",
        permission=Permission.WRITE,
        mcp=[ToolSlot("knowledge", "user", "add_interest")],
    )
    def add_interest(self, topic: str) -> Interest:
        """Remember what the user cares about."""
        interest = Interest(topic=topic)
        self._write([Draft(kind="interest", text=topic, payload=interest.model_dump())])
        return interest

    @operation("user.context", "GET /user", command="whoami", mcp=[ResourceSlot("memory://user")])
    def context(self, **at: Unpack[Moments]) -> dict[str, Any]:
        """Everything about the user: name, preferences, expertise, interests, communication style.

        The user's `name` is the preference `user` / `name`, if set, and `communication_style` is `user` /
        `communication style`; `last_active` is the time of the newest memory.
        """
        view, chosen = asked(self._client, {}, at)
        return person(self._client.runtime.store.records, view, chosen.pages)

    @operation("user.to_markdown", "GET /user/markdown")
    def to_markdown(self) -> str:
        """The preferences as USER_PREFS.md: a section per domain, for people to read and edit."""
        return preferences_text(preferences(self._client.runtime.store.records, self._client.view()))

    @operation("user.from_markdown", "PUT /user/markdown", permission=Permission.WRITE)
    def from_markdown(self, text: str) -> list[Preference]:
        """Store what was written into USER_PREFS.md; returns the preferences that are new or changed.

        What is missing in the text stays unchanged: deleting a line forgets nothing. A line that is neither a heading
        nor a preference is an error, and then nothing changes.
        """
        page = PreferencesPage(text)
        if page.strange:
            more = f" and {len(page.strange) - SHOWN} more" if len(page.strange) > SHOWN else ""
            raise InvalidInput(
                f"text: not understood: {'; '.join(map(str, page.strange[:SHOWN]))}{more}",
                hint="write each as `- **name**: value` on one line, below a `## domain`; nothing was changed",
                field="text",
            )
        stored = preferences(self._client.runtime.store.records, self._client.view())
        known = {preference_key(one.domain, one.name): spelled(one.value) for one in stored}
        read = [one for key, one in page.preferences.items() if known.get(key) != page.entries[key]]
        self._write([one.draft() for one in read])
        return read

    @operation("user.sync", "POST /user/sync", permission=Permission.OPERATOR, command="sync", here=True)
    def sync(self, folder: str | None = None, prefer: Side | None = None, dry_run: bool = False) -> SyncedFiles:
        """Synchronize your files with the memory: USER_PREFS.md, and the notes of a trusted repository.

        What has changed on one side only is taken over by the other; a line that you deleted ends its preference. What
        has changed on both sides is a conflict: both values are reported and kept, unless `prefer` says which wins.
        With `dry_run` nothing is changed anywhere.
        """
        return userfiles.sync(self._client, self._client.workplace.folder(folder), prefer, dry_run=dry_run)

    def _all(self, domain: str | None, repository: str | None, at: Moments) -> list[Preference]:
        view, where = self._client.view(**at), repository_of(shown_here(self._client, repository))
        found = preferences(self._client.runtime.store.records, view, repository=where)
        found = found if at else userfiles.lived(self._client, found)
        return [one for one in found if domain is None or one.domain == domain]

    def _write(self, drafts: list[Draft]) -> Sequence[Outcome]:
        client = self._client
        return commit(client.runtime.writing, drafts, client.author(), client.now()).outcomes if drafts else ()
