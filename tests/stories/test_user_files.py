"""Files that people edit and the memory shares: USER_PREFS.md, working notes and notes by hand. P7."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.app.config import config_folder
from agent_memory.models.files import SyncedFile

pytestmark = [pytest.mark.requirement("P7"), pytest.mark.local]


@pytest.fixture
def ada(monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentMemory]:
    monkeypatch.setenv("AGENT_MEMORY_USER", "ada")
    with AgentMemory("ada") as memory:
        yield memory


@pytest.fixture
def page(ada: AgentMemory) -> Path:
    """Written by the first sync."""
    ada.user.set_preference("git", "merge style", "rebase")
    ada.user.set_preference("git", "sign", True)
    ada.user.sync()
    return config_folder() / "USER_PREFS.md"


def synced(memory: AgentMemory, **how: Any) -> SyncedFile:
    return memory.user.sync(**how).files[0]


def changed(one: SyncedFile) -> dict[str, list[str]]:
    fields = ("remembered", "ended", "written", "removed")
    return {name: found for name in fields if (found := getattr(one, name))}


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_the_first_sync_writes_a_page_for_people(page: Path) -> None:
    assert page.read_text() == "# Preferences\n\n## git\n\n- **merge style**: rebase\n- **sign**: true\n"


def test_a_second_sync_changes_nothing(ada: AgentMemory, page: Path) -> None:
    before, seq = page.read_text(), ada.records.journal(limit=1000)[-1].seq
    assert changed(synced(ada)) == {}
    assert page.read_text() == before and ada.records.journal(limit=1000)[-1].seq == seq


def test_what_somebody_edits_is_remembered_and_what_was_stays_in_history(ada: AgentMemory, page: Path) -> None:
    edit(page, "rebase", "merge")
    assert changed(synced(ada)) == {"remembered": ["git: merge style"]}
    assert ada.user.get_preference("git", "merge style") == "merge"
    (record,) = [one for one in ada.records.find("preference") if one.payload["name"] == "merge style"]
    assert [one.payload["value"] for one in ada.records.history(record.id)] == ["rebase", "rebase", "merge"]


def test_what_the_memory_learned_is_written_where_it_belongs(ada: AgentMemory, page: Path) -> None:
    edit(page, "## git\n", "Some thoughts of mine.\n\n## git\n")
    ada.user.set_preference("git", "merge style", "squash")
    ada.user.set_preference("editor", "tabs", 4)
    found = synced(ada)
    assert changed(found) == {"written": ["editor: tabs", "git: merge style"]}
    assert found.not_understood == ["line 3: 'Some thoughts of mine.'"]
    assert page.read_text() == (
        "# Preferences\n\nSome thoughts of mine.\n\n## git\n\n- **merge style**: squash\n- **sign**: true\n"
        "\n## editor\n\n- **tabs**: 4\n"
    )


def test_a_deleted_line_ends_the_preference(ada: AgentMemory, page: Path) -> None:
    edit(page, "- **sign**: true\n", "")
    assert changed(synced(ada)) == {"ended": ["git: sign"]}
    assert ada.user.get_preference("git", "sign") is None


def test_what_was_forgotten_leaves_the_page_and_does_not_come_back(ada: AgentMemory, page: Path) -> None:
    (record,) = [one for one in ada.records.find("preference") if one.payload["name"] == "sign"]
    ada.records.forget([record.id])
    assert ada.user.get_preference("git", "sign") is None, "the page is not asked again about what was forgotten"
    assert changed(synced(ada)) == {"removed": ["git: sign"]}
    assert "sign" not in page.read_text()


@pytest.mark.parametrize(("prefer", "wins"), [(None, None), ("file", "merge"), ("memory", "squash")])
def test_a_conflict_tells_both_values(ada: AgentMemory, page: Path, prefer: Any, wins: str | None) -> None:
    edit(page, "rebase", "merge")
    ada.user.set_preference("git", "merge style", "squash")
    found = synced(ada, prefer=prefer)
    if wins is None:
        assert [one.model_dump() for one in found.conflicts] == [
            {"entry": "git: merge style", "file": "merge", "memory": "squash"}
        ]
        assert "merge style**: merge" in page.read_text() and ada.user.get_preference("git", "merge style") == "squash"
        assert len(synced(ada).conflicts) == 1, "it stays one until somebody decides"
    else:
        assert not found.conflicts
        assert f"merge style**: {wins}" in page.read_text() and ada.user.get_preference("git", "merge style") == wins


def test_reading_sees_the_page_and_stores_nothing(ada: AgentMemory, page: Path) -> None:
    edit(page, "- **sign**: true\n", "- **editor**: vim\n")
    seq = ada.records.journal(limit=1000)[-1].seq
    assert {one.name: one.value for one in ada.user.preferences("git")} == {"merge style": "rebase", "editor": "vim"}
    assert ada.records.journal(limit=1000)[-1].seq == seq
    assert len(ada.records.find("preference")) == 2


def test_only_the_person_this_machine_is_set_up_for_has_the_page(ada: AgentMemory, page: Path) -> None:
    edit(page, "rebase", "merge")
    with AgentMemory("bob") as other:
        assert other.user.preferences() == [] and other.user.sync().files == []
    with AgentMemory("ada", tenant="other") as elsewhere:
        assert elsewhere.user.preferences() == [] and elsewhere.user.sync().files == []


def test_a_dry_run_changes_nothing(ada: AgentMemory, page: Path) -> None:
    edit(page, "rebase", "merge")
    before = page.read_text()
    assert changed(synced(ada, dry_run=True)) == {"remembered": ["git: merge style"]}
    assert page.read_text() == before and len(ada.records.history(ada.records.find("preference")[0].id)) < 3
    assert changed(synced(ada)) == {"remembered": ["git: merge style"]}


def test_a_page_that_is_lost_is_written_again(ada: AgentMemory, page: Path) -> None:
    before = page.read_text()
    page.unlink()
    assert not synced(ada).ended
    assert page.read_text() == before and len(ada.user.preferences()) == 2
    assert page.stat().st_mode & 0o077 == 0, "it is as private as the store"


def test_an_editor_that_saves_in_place_loses_nothing(ada: AgentMemory, page: Path) -> None:
    with page.open("w") as editor:  # which empties it, and writes a moment later
        assert "empty" in (synced(ada).problem or "")
        editor.write("# Preferences\n\n## git\n\n- **merge style**: squash\n- **sign**: true\n")
    assert changed(synced(ada)) == {"remembered": ["git: merge style"]} and "squash" in page.read_text()


def test_a_byte_order_mark_stays_and_says_nothing(ada: AgentMemory, page: Path) -> None:
    page.write_bytes(b"\xef\xbb\xbf## git\r\n- **merge style**: merge\r\n- **sign**: true\r\n")
    assert changed(synced(ada)) == {"remembered": ["git: merge style"]}
    ada.user.set_preference("git", "sign", False)
    assert changed(synced(ada)) == {"written": ["git: sign"]}
    assert page.read_bytes() == b"\xef\xbb\xbf## git\r\n- **merge style**: merge\r\n- **sign**: false\r\n"


def test_what_stands_twice_does_not_come_back(ada: AgentMemory, page: Path) -> None:
    edit(page, "- **sign**: true\n", "- **sign**: true\n- **sign**: true\n")
    synced(ada)
    (record,) = [one for one in ada.records.find("preference") if one.payload["name"] == "sign"]
    ada.records.forget([record.id])
    assert changed(synced(ada)) == {"removed": ["git: sign"]} and "sign" not in page.read_text()
    assert changed(synced(ada)) == {}


def test_comments_and_blocks_of_code_are_not_in_force(ada: AgentMemory, page: Path) -> None:
    edit(page, "- **sign**", "<!-- - **a**: 1\n- **b**: 2 -->\n```\n- **c**: 3\n```\n- **sign**")
    found = synced(ada)
    assert changed(found) == {} and not found.not_understood and len(ada.user.preferences()) == 2


def test_a_link_to_somewhere_else_stays_a_link(ada: AgentMemory, page: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "dotfiles.md"
    page.rename(elsewhere)
    page.symlink_to(elsewhere)
    synced(ada)
    ada.user.set_preference("git", "sign", False)
    assert changed(synced(ada)) == {"written": ["git: sign"]}
    assert page.is_symlink() and "sign**: false" in elsewhere.read_text()


def test_a_page_that_cannot_be_written_keeps_what_was_agreed_on(
    ada: AgentMemory, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    (record,) = [one for one in ada.records.find("preference") if one.payload["name"] == "sign"]
    ada.records.forget([record.id])
    edit(page, "rebase", "merge")
    with monkeypatch.context() as disk:
        disk.setattr("agent_memory.app.pagefiles._write", full)
        disk.setattr("agent_memory.app.userfiles._agree", lambda *_, **__: None)  # nor what was agreed on
        assert "No space left" in (synced(ada).problem or "")
    assert ada.user.get_preference("git", "merge style") == "merge" and ada.user.get_preference("git", "sign") is None
    assert changed(synced(ada)) == {"removed": ["git: sign"]}


def test_a_memory_that_has_lost_everything_does_not_empty_the_page(ada: AgentMemory, page: Path) -> None:
    before = page.read_text()
    ada.records.forget([one.id for one in ada.records.find("preference")])
    assert "prefer memory" in (synced(ada).problem or "") and page.read_text() == before
    assert changed(synced(ada, prefer="memory")) == {"removed": ["git: merge style", "git: sign"]}


def test_the_only_line_of_a_page_is_not_lost_either(ada: AgentMemory, page: Path) -> None:
    edit(page, "- **sign**: true\n", "")
    synced(ada)
    before = page.read_text()
    ada.records.forget([one.id for one in ada.records.find("preference")])
    assert "is it the right one?" in (synced(ada).problem or "") and page.read_text() == before
    assert changed(synced(ada, prefer="file")) == {"remembered": ["git: merge style"]}


def test_what_was_written_meanwhile_is_not_overwritten(
    ada: AgentMemory, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agent_memory.app import userfiles

    edit(page, "rebase", "merge")
    opened = userfiles._opened

    def late(*given: Any) -> Any:
        found = opened(*given)
        ada.user.set_preference("git", "merge style", "octopus")
        return found

    with monkeypatch.context() as between:
        between.setattr(userfiles, "_opened", late)
        assert "meanwhile" in (synced(ada).problem or "")
    assert [one.entry for one in synced(ada).conflicts] == ["git: merge style"]


def test_with_a_store_on_a_server(serving: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_USER", "ada")
    file = config_folder() / "USER_PREFS.md"
    with serving() as url, AgentMemory("ada", store=url) as memory:
        memory.user.set_preference("git", "merge style", "rebase")
        memory.user.set_preference("git", "sign", True)
        assert changed(synced(memory)) == {"written": ["git: merge style", "git: sign"]}
        assert changed(synced(memory)) == {}
        edit(file, "- **sign**: true\n", "")
        assert changed(synced(memory)) == {"ended": ["git: sign"]}
        assert memory.user.get_preference("git", "sign") is None


def test_a_page_that_is_not_text_is_named_and_left_alone(ada: AgentMemory, page: Path) -> None:
    page.write_bytes(b"# Preferences\n\xff\xfe\n")
    assert "UTF-8" in (synced(ada).problem or "")
    assert page.read_bytes() == b"# Preferences\n\xff\xfe\n" and len(ada.user.preferences()) == 2


def test_what_was_agreed_on_is_kept_without_its_text(ada: AgentMemory, page: Path, home: Path) -> None:
    (kept,) = (ada._client.settings.home / "agreed").glob("*.json")
    assert "rebase" not in kept.read_text() and "git" not in kept.read_text()
    kept.write_text("{")  # damaged: both are asked about what differs
    edit(page, "rebase", "merge")
    assert [one.entry for one in synced(ada).conflicts] == ["git: merge style"]


NOTES = "# Outages\n\nThe cache was cold after the move.\n\n## Lessons\n\nWarm it first.\n"


@pytest.fixture
def project(repo: Any, ada: AgentMemory, monkeypatch: pytest.MonkeyPatch) -> Any:
    repo.commit("rules", procedural="## Rules\n\n- **kind** Be kind.\n")
    repo.write(".memory/notes/outages.md", NOTES)
    repo.write(".memory/working.md", "# Now\n\nMoving the cache.\n")
    repo.write(".memory/USER_PREFS.md", "## git\n\n- **merge style**: merge\n")
    monkeypatch.chdir(repo.root)
    return repo


def test_nothing_of_an_untrusted_repository_is_stored_or_in_force(project: Any, ada: AgentMemory, page: Path) -> None:
    found = ada.user.sync(folder=str(project.root))
    assert found.untrusted == str(project.root) and [one.path for one in found.files] == [str(page)]
    assert ada.records.find("note") == ada.records.find("working_note") == []
    assert ada.user.get_preference("git", "merge style") == "rebase"


def test_notes_of_a_trusted_repository_are_memories(project: Any, ada: AgentMemory) -> None:
    project.trust()
    found = {one.path: one for one in ada.user.sync().files}
    assert found[".memory/notes/outages.md"].remembered == ["lessons", "outages"]
    assert found[".memory/working.md"].remembered == ["now"]
    assert "## Lessons\n\nWarm it first." in [
        hit.text for hit in ada.recall("what did we learn about warming the cache?")
    ]
    edit(project.root / ".memory/notes/outages.md", "Warm it first.", "Warm it first, and watch the hit rate.")
    ada.user.sync()
    (lesson,) = [one for one in ada.records.find("note") if one.payload["section"] == "lessons"]
    assert "hit rate" in lesson.text and lesson.repository == str(project.root)
    edit(project.root / ".memory/notes/outages.md", "## Lessons\n\nWarm it first, and watch the hit rate.\n", "")
    ada.user.sync()
    assert [one.payload["section"] for one in ada.records.find("note")] == ["outages"]


def test_a_file_of_notes_that_another_branch_has_is_not_forgotten(project: Any, ada: AgentMemory) -> None:
    project.trust()
    ada.user.sync()
    (project.root / ".memory/notes/outages.md").unlink()
    ada.user.sync()
    assert len(ada.records.find("note")) == 2 and not (project.root / ".memory/notes/outages.md").exists()


def test_what_somebody_wrote_by_hand_is_not_deleted(project: Any, ada: AgentMemory) -> None:
    project.trust()
    ada.user.sync()
    file = project.root / ".memory/notes/outages.md"
    (lesson,) = [one for one in ada.records.find("note") if one.payload["section"] == "lessons"]
    ada.records.forget([lesson.id])
    found = {one.path: one for one in ada.user.sync().files}[".memory/notes/outages.md"]
    assert [one.entry for one in found.conflicts] == ["lessons"] and file.read_text() == NOTES
    ada.user.sync(prefer="memory")
    assert "Lessons" not in file.read_text()


def test_a_note_that_is_edited_in_the_memory_is_edited_in_its_file(project: Any, ada: AgentMemory) -> None:
    project.trust()
    ada.user.sync()
    (lesson,) = [one for one in ada.records.find("note") if one.payload["section"] == "lessons"]
    ada.records.edit(lesson.id, text="## Lessons\n\nWarm it twice.")
    ada.user.sync()
    file = project.root / ".memory/notes/outages.md"
    assert file.read_text() == NOTES.replace("Warm it first.", "Warm it twice.") + "\n"
    assert all(changed(one) == {} for one in ada.user.sync().files)


def test_a_repository_has_preferences_of_its_own(project: Any, ada: AgentMemory, page: Path) -> None:
    project.trust()
    ada.user.sync()
    assert ada.user.get_preference("git", "merge style") == "merge"
    assert ada.user.get_preference("git", "sign") is True, "what it does not override holds there, too"
    assert page.read_text().count("merge style") == 1 and "rebase" in page.read_text()
    ada.user.set_preference("git", "merge style", "squash", repository="elsewhere")
    assert ada.user.get_preference("git", "merge style", repository="elsewhere") == "squash"


def test_the_nearest_preference_counts_everywhere(ada: AgentMemory) -> None:
    with AgentMemory("*", shared=True) as everybody, AgentMemory("ada", agent="reviewer") as reviewer:
        ada.user.set_preference("git", "sign", "mine")
        reviewer.user.set_preference("git", "sign", "the agent's")
        everybody.user.set_preference("git", "sign", "everybody's")
        for memory, value in ((ada, "mine"), (reviewer, "the agent's"), (everybody, "everybody's")):
            assert memory.user.get_preference("git", "sign") == value
            assert [one.value for one in memory.user.preferences()] == [value]
            assert [one["value"] for one in memory.get_user_context()["preferences"]] == [value]
            assert memory.assemble_context("commit").text.count("git: sign") == 1


def test_callers_of_a_server_get_nothing_of_its_files(
    project: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its workplace is that of whoever runs it."""
    from agent_memory.app.caller import Caller
    from agent_memory.app.client import within
    from agent_memory.app.workplace import Workplace
    from agent_memory.models.record import Scope

    project.trust()
    with AgentMemory("ada") as ada:
        client = ada._client
        for scope, files in ((Scope(tenant="default", user="ada"), 3), (Scope(tenant="rival", user="bob"), 0)):
            caller, place = Caller(scope), Workplace.bound(project.root)
            with within(client.runtime, client.settings, caller, client.clock, place) as guest:
                assert len(guest.ask("user.sync").files) == files


def test_a_repository_s_own_does_not_hold_outside(
    project: Any, ada: AgentMemory, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.trust()
    ada.user.sync()
    monkeypatch.chdir(tmp_path)
    assert ada.user.get_preference("git", "merge style") == "rebase"


TOKEN = "ghp_" + "k7Qz2Lw9Xc4V" * 3  # made up


@pytest.mark.requirement("P23")
def test_a_page_keeps_its_secrets_and_the_memory_has_none(
    project: Any, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    """What no caller said passes the gate as well; and nothing of it is written back to the page."""
    for name, value in (("REDACT", "on"), ("USER", "ada")):
        monkeypatch.setenv(f"AGENT_MEMORY_{name}", value)
    project.trust()
    notes = project.root / ".memory/working.md"
    notes.write_text(said := f"# Now\n\nThe deploy key is {TOKEN}.\n")
    with AgentMemory("ada") as ada:
        for number in range(3):
            (told,) = (one for one in ada.user.sync().files if one.path == ".memory/working.md")
            assert changed(told) == ({} if number else {"remembered": ["now"]}) and not told.conflicts
            assert notes.read_text() == said
        (note,) = ada.records.find("working_note")
        assert note.text.endswith("The deploy key is [redacted:github-token].")
        assert TOKEN.encode() not in b"".join(one.read_bytes() for one in home.rglob("*") if one.is_file())
        ada.records.edit(note.id, text="# Now\n\nThere is no deploy key.")
        notes.write_text(said.replace("deploy", "build"))
        (told,) = (one for one in ada.user.sync().files if one.path == ".memory/working.md")
        (conflict,) = told.conflicts
        assert "[redacted:github-token]" in str(conflict.file) and TOKEN not in told.model_dump_json()


@pytest.mark.requirement("P23")
def test_a_heading_with_a_secret_finds_its_memory_again(
    project: Any, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    """Two that differ in their secrets stay two."""
    for name, value in (("REDACT", "on"), ("USER", "ada")):
        monkeypatch.setenv(f"AGENT_MEMORY_{name}", value)
    project.trust()
    access, other = "AKIA" + "Q7ZLW5XC4VRT2KHM", "ghp_" + "m3Rt8Np5Yb6J" * 3  # made up
    notes = project.root / ".memory/notes/keys.md"
    notes.parent.mkdir(parents=True, exist_ok=True)
    said = f"# Roses\n\nRed.\n\n# Of {TOKEN}\n\nOne.\n\n# Of {other}\n\nTwo.\n\n# Of {access}\n\nThree.\n"
    notes.write_text(said)
    where = {"path": ".memory/notes/keys.md"}

    def sync(memory: AgentMemory, prefer: Any = None) -> SyncedFile:
        (told,) = (one for one in memory.user.sync(prefer=prefer).files if one.path == where["path"])
        assert not told.conflicts and not told.problem
        assert not any(secret.casefold() in told.model_dump_json().casefold() for secret in (TOKEN, other, access))
        return told

    with AgentMemory("ada") as ada:
        assert len(sync(ada).remembered) == 4
        for _ in range(2):
            assert (
                changed(sync(ada)) == {}
                and notes.read_text() == said
                and len(ada.records.find("note", fields=where)) == 4
            )
        edit(notes, "Two.", "Two keys.")
        (name,) = sync(ada).remembered
        ids = {one.text.splitlines()[-1]: one.id for one in ada.records.find("note", fields=where)}
        assert name.startswith("of [redacted:github-token") and ids.keys() == {"Red.", "One.", "Two keys.", "Three."}
        ada.records.edit(ids["One."], text="# Of [redacted:github-token]\n\nOne more.")
        assert sync(ada, prefer="memory").written and notes.read_text() == said.replace("Two.", "Two keys.").replace(
            "One.", "One more."
        )
        assert changed(sync(ada)) == {}
        notes.write_text(notes.read_text().partition(f"# Of {other}")[0])
        assert len(sync(ada).ended) == 2 and len(ada.records.find("note", fields=where)) == 2
        kept = b"".join(one.read_bytes() for one in home.rglob("*") if one.is_file()).lower()
        assert not any(secret.lower().encode() in kept for secret in (TOKEN, other, access))
