"""Conventional Commits 1.0.0: the examples and the sixteen rules of the specification."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.core.rules.conventional import Footer, cleaned, parse, wrong

pytestmark = pytest.mark.requirement("P4")

GOOD = [
    "feat: allow provided config object to extend other configs\n\nBREAKING CHANGE: `extends` key is now used",
    "feat!: send an email to the customer when a product is shipped",
    "feat(api)!: send an email to the customer when a product is shipped",
    "chore!: drop support for Node 6\n\nBREAKING CHANGE: use JavaScript features not available in Node 6.",
    "docs: correct spelling of CHANGELOG",
    "feat(lang): add Polish language",
    "fix: prevent racing of requests\n\nIntroduce a request id.\n\nRemove timeouts.\n\nReviewed-by: Z\nRefs: #123",
    "FEAT: types are not case sensitive",
    "revert: let us never again speak of the noodle incident\n\nRefs: 676104e, a215868",
    "fix: x\n\nBREAKING-CHANGE: the same as with a space",
    "fix: x\n\nCloses #12",
    "fix: x\n\nthe breaking change in the parser is small\nbreaking change: in the middle of a text",
    "Merge branch 'feature' into main",
    "Merge remote-tracking branch 'origin/main'",
    "Merge pull request #12 from ada/feature",
    'Revert "feat: x"\n\nThis reverts commit 0123456789abcdef.',
    "fixup! feat: x",
    "fixup! squash! feat(a): x",
    "feat: x\r\n\r\nbody with carriage returns\r\n",
]

BAD = [
    ("", "is empty"),
    ("\n\n", "is empty"),
    ("add a thing", "has no type"),
    ("feat add a thing", "has no type"),
    (": add", "has no type"),
    ("feat:add", "no space after the colon"),
    ("feat: ", "no description"),
    ("feat:", "no space after the colon"),
    ("feat:  two", "more than one space"),
    ("feat(): x", "the scope `()`"),
    ("feat( a): x", "the scope"),
    ("feat (a): x", "has no type"),
    ("1feat: x", "is not a noun"),
    ("feat: x\nbody at once", "the second line must be empty"),
    ("feat: x\n\nBreaking change: y", "must be in capitals"),
    ("feat: x\n\nBREAKING CHANGE y: z\n\nBREAKING CHANGE:", "needs a colon, a space and what breaks"),
    ("feat: x\n\nBREAKING CHANGE #12", "needs a colon, a space and what breaks"),
    ("feat: x\n\nsome text\nBREAKING CHANGE: y", "needs a blank line before it"),
    ("fixup! whatever", "has no type"),
    ("Merge my mind", "has no type"),
    ('Revert "feat: x"', "has no type"),
]


@pytest.mark.parametrize("message", GOOD)
def test_good_messages(message: str) -> None:
    assert wrong(message) is None


@pytest.mark.parametrize(("message", "said"), BAD)
def test_what_is_wrong_is_said(message: str, said: str) -> None:
    assert said in (wrong(message) or "nothing")


def test_the_parts_of_a_message() -> None:
    parts = parse("Fix(net)!: wait\n\nOne.\n\nTwo.\n\nReviewed-by: Z\nBREAKING CHANGE: waits\nlonger\nRefs #7")
    assert (parts.type, parts.scope, parts.description, parts.breaking) == ("fix", "net", "wait", True)
    assert parts.body == "One.\n\nTwo."
    assert parts.footers == (
        Footer("Reviewed-by", "Z"),
        Footer("BREAKING CHANGE", "waits\nlonger"),
        Footer("Refs", "7"),
    )
    assert not parse("fix: x\n\nbody").breaking
    assert parse("fix: x\n\nBREAKING CHANGE: y").breaking


def test_a_message_file_is_read_as_git_will_store_it() -> None:
    file = (
        "\nfeat: x  \n\n# a comment\nbody\n\n# ------------------------ >8 ------------------------\ndiff --git a b\n"
    )
    assert cleaned(file) == "feat: x\n\nbody"
    assert cleaned(";c\nfeat: x\n#7\n", ";") == "feat: x\n#7"
    assert cleaned("# kept\n", comments=False) == "# kept"


@given(st.text(max_size=200))
def test_any_text_is_good_or_told_why_not(message: str) -> None:
    said = wrong(message)
    assert said is None or said.strip()
