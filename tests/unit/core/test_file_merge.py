"""Merging a file and the memory, for random edits of both. P7."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent_memory.core.files.merge import FileMerge, merge
from agent_memory.core.files.pages import NotesPage, PreferencesPage, fits, preference_key, preferences_text, spelled
from agent_memory.models.kinds.person import Preference

SECRET = b"a secret of this machine"
sides = st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["1", "2", "3"]))


def applied(side: dict[str, str], news: dict[str, str | None]) -> dict[str, str]:
    both: dict[str, str | None] = {**side, **news}
    return {key: value for key, value in both.items() if value is not None}


def synced(base: dict[str, str]) -> dict[str, str]:
    return merge(base, base, {}, SECRET).agreed


@given(sides, sides, sides)
def test_what_is_no_conflict_is_the_same_afterwards(
    base: dict[str, str], file: dict[str, str], memory: dict[str, str]
) -> None:
    found = merge(file, memory, synced(base), SECRET)
    ours, theirs = applied(file, found.file), applied(memory, found.memory)
    assert {key for key in {*ours, *theirs} if ours.get(key) != theirs.get(key)} == set(found.conflicts)
    for key in "abcd":
        if file.get(key) == base.get(key):
            assert ours.get(key) == memory.get(key), "who changed nothing takes what the other did"
        if memory.get(key) == base.get(key):
            assert theirs.get(key) == file.get(key)
        both = file.get(key) != base.get(key) != memory.get(key) != file.get(key)
        assert (key in found.conflicts) == both


@given(sides, sides, sides, st.sampled_from(["nothing", "memory", "file"]))
def test_a_sync_that_was_killed_anywhere_is_done_again(
    base: dict[str, str], file: dict[str, str], memory: dict[str, str], after: str
) -> None:
    agreed = synced(base)
    whole: FileMerge = merge(file, memory, agreed, SECRET)
    wanted = applied(file, whole.file), applied(memory, whole.memory)
    if after != "nothing":
        memory = wanted[1]
    if after == "file":
        file = wanted[0]
    again = merge(file, memory, agreed, SECRET)
    assert (applied(file, again.file), applied(memory, again.memory)) == wanted
    assert again.agreed == whole.agreed and again.conflicts == whole.conflicts


@given(sides, sides, sides, st.sampled_from(["file", "memory"]))
def test_whoever_is_preferred_leaves_no_conflict(
    base: dict[str, str], file: dict[str, str], memory: dict[str, str], prefer: str
) -> None:
    found = merge(file, memory, synced(base), SECRET, prefer)  # type: ignore[arg-type]
    assert not found.conflicts and applied(file, found.file) == applied(memory, found.memory)


names = st.text("ab *:#é", min_size=1, max_size=6).filter(lambda one: one.strip() == one)
values = st.one_of(st.text("ab\n*: 1é", max_size=8), st.integers(), st.booleans(), st.none(), st.lists(st.integers()))
preferences = st.builds(Preference, domain=names, name=names, value=values, repository=st.none())


@given(st.lists(preferences, unique_by=preference_key), st.sampled_from(["\n", "\r\n"]))
def test_a_page_says_what_was_written_to_it_and_nothing_else_moves(said: list[Preference], end: str) -> None:
    fitting = {preference_key(one): one for one in said if fits(one)}
    text = f"# Mine{end}{end}a line of my own{end}{end}## git{end}{end}- **sign**: true"
    fitting.pop("git\x1fsign", None)
    written = PreferencesPage(text).changed(fitting)
    page = PreferencesPage(written)
    assert page.entries == {"git\x1fsign": "true"} | {key: spelled(one.value) for key, one in fitting.items()}
    assert {str(one) for one in page.strange} == {"line 3: 'a line of my own'"}
    assert PreferencesPage(page.changed(dict.fromkeys(fitting))).entries == {"git\x1fsign": "true"}
    assert ("\r\n" in written) == (end == "\r\n") and written.replace("\r\n", "").count("\r") == 0


def test_what_stands_twice_is_named_and_the_first_counts() -> None:
    page = PreferencesPage("## git\n- **a**: 1\n- **A**: 2\n")
    assert page.entries == {"git\x1fa": "1"} and [str(one) for one in page.strange] == [
        "line 3: '- **A**: 2' (line 2 says that already)"
    ]


def test_an_empty_page_is_begun_with_a_title() -> None:
    one = Preference(domain="git", name="sign", value=True)
    assert preferences_text([one]) == "# Preferences\n\n## git\n\n- **sign**: true\n"


@given(
    st.dictionaries(st.sampled_from(["# One", "## Two", "Three"]), st.sampled_from(["x", "y\n\nz", "```\n# no\n```"]))
)
def test_sections_of_notes(said: dict[str, str]) -> None:
    text = "Before.\n\n" + "".join(f"{title}\n\n{body}\n\n" for title, body in said.items() if title.startswith("#"))
    page = NotesPage(text)
    assert len(page.entries) == text.count("\n# One") + text.count("## Two") + 1
    for key in page.entries:
        assert key not in NotesPage(page.changed({key: None})).entries
        changed = NotesPage(page.changed({key: page.entries[key] + " more"}))
        assert changed.entries == {**page.entries, key: page.entries[key] + " more"}


def test_headings_that_stand_twice_and_sections_that_say_nothing() -> None:
    page = NotesPage("# A\n\none\n\n# A\n\ntwo\n\n# Empty\n\n<!-- write here -->\n")
    assert page.entries == {"a": "# A\n\none", "a\x1f2": "# A\n\ntwo"}
