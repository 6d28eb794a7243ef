"""`memory.user`: what is known about the person: preferences, expertise, interests. C7, P7."""

from __future__ import annotations

import json
import re
from typing import Any, Unpack

from agent_memory.app.namespaces.asking import Moments, asked
from agent_memory.app.operations import Namespace, Permission, operation
from agent_memory.core.recall.standing import person, preferences
from agent_memory.core.write.commit import commit
from agent_memory.models.draft import Draft
from agent_memory.models.errors import InvalidInput
from agent_memory.models.kinds.kind import joined_key, typed_value
from agent_memory.models.kinds.person import Expertise, Interest, Preference
from agent_memory.models.model import Moment, Unit

SHOWN = 5  # lines that an error names
_DOMAIN = re.compile(r"^##\s+(?P<domain>.+?)\s*$")
_TITLE = re.compile(r"^#\s")
_LINE = re.compile(r"^[-*]\s+\*\*(?P<name>.+?)\*\*\s*:\s*(?P<value>\S.*?)\s*$")


class User(Namespace):
    """Valid in every repository and conversation. A new value succeeds the old one; the old one stays in history."""

    @operation(
        "user.set_preference",
        "PUT /preferences",
        permission=Permission.WRITE,
        command="prefer",
        toolset="core/save/preference records/preferences/set",
    )
    def set_preference(self, domain: str, name: str, value: Any, confidence: Unit = 1.0) -> Preference:
        """Remember what the user wants: domain "git", name "merge style", value "rebase"."""
        preference = Preference(domain=domain, name=name, value=value)
        self._write([_preference_draft(preference, confidence)])
        return preference

    @operation("user.get_preference", "GET /preferences/{domain}/{name}")
    def get_preference(
        self, domain: str, name: str, as_of: Moment | None = None, valid_at: Moment | None = None
    ) -> Any:
        """The value of one preference, now or at a moment; None when there is none."""
        view = self._client.view(as_of, valid_at)
        found = self._client.runtime.store.records.by_key(view, "preference", joined_key(domain, name))
        return None if found is None else found.payload["value"]

    @operation(
        "user.preferences",
        "GET /preferences",
        command="preferences",
        toolset="records/preferences/list memory://preferences",
    )
    def preferences(self, domain: str | None = None, **at: Unpack[Moments]) -> list[Preference]:
        """All preferences, or those of one domain."""
        return preferences(self._client.runtime.store.records, self._client.view(**at), domain)

    @operation(
        "user.set_expertise", "PUT /expertise", permission=Permission.WRITE, toolset="knowledge/user/set_expertise"
    )
    def set_expertise(self, topic: str, level: str) -> Expertise:
        """Remember how well the user knows a topic."""
        expertise = Expertise(topic=topic, level=level)
        self._write([Draft(kind="expertise", text=f"{topic}: {level}", payload=expertise.model_dump())])
        return expertise

    @operation(
        "user.add_interest", "POST /interests", permission=Permission.WRITE, toolset="knowledge/user/add_interest"
    )
    def add_interest(self, topic: str) -> Interest:
        """Remember what the user cares about."""
        interest = Interest(topic=topic)
        self._write([Draft(kind="interest", text=topic, payload=interest.model_dump())])
        return interest

    @operation("user.context", "GET /user", command="whoami", toolset="memory://user")
    def context(self, **at: Unpack[Moments]) -> dict[str, Any]:
        """Everything about the user at once: name, preferences, expertise, interests.

        The user's `name` is the preference `user` / `name`, where there is one; `last_active` is the time of the newest
        memory.
        """
        view, chosen = asked(self._client, {}, at)
        return person(self._client.runtime.store.records, view, chosen.pages)

    @operation("user.to_markdown", "GET /user/markdown")
    def to_markdown(self) -> str:
        """The preferences as USER_PREFS.md: a section per domain, for people to read and edit."""
        lines = ["# Preferences"]
        domain = None
        for one in self._all():
            if one.domain != domain:
                domain = one.domain
                lines += ["", f"## {domain}", ""]
            lines.append(f"- **{one.name}**: {_shown(one.value)}")
        return "\n".join(lines) + "\n"

    @operation("user.from_markdown", "PUT /user/markdown", permission=Permission.WRITE)
    def from_markdown(self, text: str) -> list[Preference]:
        """Take over what somebody wrote into USER_PREFS.md; gives those that are new or changed.

        What is missing in the text is left as it is: deleting a line forgets nothing. A line that is neither a heading
        nor a preference is an error, and then nothing changes.
        """
        known = {(one.domain, one.name): _shown(one.value) for one in self._all()}
        read = [one for one in _parsed(text) if known.get((one.domain, one.name)) != _shown(one.value)]
        self._write([_preference_draft(one, 1.0) for one in read])
        return read

    def _all(self) -> list[Preference]:
        return preferences(self._client.runtime.store.records, self._client.view())

    def _write(self, drafts: list[Draft]) -> None:
        client = self._client
        if drafts:
            commit(client.runtime.writing, drafts, client.author(), client.now())


def _preference_draft(preference: Preference, confidence: float) -> Draft:
    value = preference.value
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    said = [preference.domain, preference.name, *([] if shown == preference.name else [shown])]
    return Draft(
        kind="preference",
        text=": ".join(said),
        payload=preference.model_dump(),
        confidence=confidence,
        source="user_stated",
    )


def _parsed(text: str) -> list[Preference]:
    domain, found, strange = "general", [], []
    for number, line in enumerate(text.splitlines(), 1):
        if heading := _DOMAIN.match(line):
            domain = heading["domain"]
        elif item := _LINE.match(line):
            found.append(Preference(domain=domain, name=item["name"], value=typed_value(item["value"])))
        elif line.strip() and not _TITLE.match(line):
            strange.append(f"line {number}: {line.strip()[:80]!r}")
    if strange:
        more = f" and {len(strange) - SHOWN} more" if len(strange) > SHOWN else ""
        raise InvalidInput(
            f"text: not understood: {'; '.join(strange[:SHOWN])}{more}",
            hint="write each preference as `- **name**: value` on one line, below a `## domain`; nothing was changed",
            field="text",
        )
    return found


def _shown(value: Any) -> str:
    """On one line, and so that it is read back as it was."""
    if value and isinstance(value, str) and typed_value(value) == value.strip() == value and value.isprintable():
        return value
    spelled = json.dumps(value, ensure_ascii=False)
    return spelled if spelled.isprintable() else json.dumps(value)
