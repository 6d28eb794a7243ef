"""How documents are cut: nothing is lost, nothing that belongs together is torn, and an edit stays where it is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from agent_memory.core.knowledge import chunk
from agent_memory.core.knowledge.chunk import DocumentPiece, chunks
from agent_memory.core.knowledge.html import Truncated, html
from agent_memory.core.knowledge.structure import Structure, markdown, paged, plain

SIZE = 200
MOST = SIZE + SIZE // 4
WORDS = some.lists(some.sampled_from("tea is green. port staging listens: a_very_long_word on".split()), max_size=60)
PROSE = WORDS.map(" ".join)
FENCE = some.integers(1, 40).map(
    lambda n: "```python\n" + "\n".join(f"line_{i} = {i}  # a | b" for i in range(n)) + "\n```"
)
TABLE = some.integers(1, 40).map(lambda n: "| a | b |\n|---|---|\n" + "\n".join(f"| row {i} | {i} |" for i in range(n)))
LIST = some.lists(PROSE, min_size=1, max_size=8).map(lambda items: "\n".join(f"- {one or 'x'}" for one in items))
BLOCK = some.one_of(PROSE, FENCE, TABLE, LIST)
BODY = some.lists(BLOCK, max_size=5).map("\n\n".join)
SECTION = some.tuples(some.integers(1, 4), some.sampled_from(("Setup", "Use", "Ports")), BODY)


def written(sections: list[tuple[int, str, str]]) -> str:
    return "".join(
        f"{'#' * level} {title} {place}\n\n{body}\n\n" for place, (level, title, body) in enumerate(sections)
    )


def cut(text: str) -> list[DocumentPiece]:
    return chunks(markdown(text), "page.md", SIZE)


def spans(structure: Structure, pieces: list[DocumentPiece]) -> str:
    assert [one.start for one in pieces[1:]] == [one.end for one in pieces[:-1]]
    return "".join(structure.text[one.start : one.end] for one in pieces)


@pytest.mark.requirement("T4")
@given(BODY, some.lists(SECTION, max_size=6))
def test_chunks_cover_the_text_and_tear_nothing(before: str, sections: list[tuple[int, str, str]]) -> None:
    text = f"{before}\n\n{written(sections)}"
    structure = markdown(text)
    pieces = cut(text)
    assert spans(structure, pieces) == structure.text if pieces else not text.strip()
    assert pieces == cut(text)
    for part in structure.parts:
        holders = [one for one in pieces if one.start < part.end and part.start < one.end]
        assert part.kind != "whole" or len(holders) == 1
        assert part.kind != "list" or part.end - part.start > MOST or len(holders) == 1
    for one in pieces:
        inside = [part for part in structure.parts if one.start <= part.start < one.end and part.kind == "whole"]
        head = " > ".join(one.headings)
        assert one.text == head or one.text.startswith(f"{head}\n\n")
        assert inside or len(one.text) - len(head) - 2 <= MOST


@pytest.mark.requirement("T4")
@given(some.lists(SECTION, min_size=2, max_size=6), some.data())
def test_an_edit_of_one_section_changes_its_chunks_alone(
    sections: list[tuple[int, str, str]], data: some.DataObject
) -> None:
    place = data.draw(some.integers(0, len(sections) - 1))
    level, title, _ = sections[place]
    edited = [*sections[:place], (level, title, "Something else.\n\nAnd more."), *sections[place + 1 :]]
    old, new = cut(written(sections)), cut(written(edited))
    own = f"{title} {place}"
    assert [one.text for one in old if own not in one.headings[-1:]] == [
        one.text for one in new if own not in one.headings[-1:]
    ] or not sections[place][2].strip()  # a heading that had nothing went along with the one below it


@given(some.text(max_size=2000))
@settings(max_examples=200)
def test_any_text_is_cut_without_loss(text: str) -> None:
    for structure in (plain(text), markdown(text)):
        pieces = chunks(structure, "page", SIZE)
        assert spans(structure, pieces) == structure.text if pieces else not structure.text.strip()


@given(some.text(alphabet="<>/ahpretbldiu1 \n&;\"'!-x", max_size=400))
@settings(max_examples=200)
def test_any_html_is_read_or_refused(text: str) -> None:
    try:
        structure = html(text)
    except Truncated:
        return
    pieces = chunks(structure, "page", SIZE)
    assert spans(structure, pieces) == structure.text if pieces else not structure.text.strip()


def test_headings_are_the_path_of_a_chunk() -> None:
    text = "intro\n\n# Guide\n\n## Setup\n\nInstall it.\n\n### Ports\n\n5433\n\n## Use\n\nCall it.\n"
    assert [(one.headings, one.text.partition("\n\n")[2]) for one in cut(text)] == [
        (("Guide",), "intro"),
        (("Guide", "Setup"), "Install it."),
        (("Guide", "Setup", "Ports"), "5433"),
        (("Guide", "Use"), "Call it."),
    ]


def test_what_leads_to_code_stays_with_it() -> None:
    lead, code = "So it is called:", "```sh\n" + "agent-memory add x\n" * 8 + "```"
    pieces = cut(f"# A\n\n{'word ' * 20}\n\n{lead}\n\n{code}\n")
    assert [lead in one.text for one in pieces] == ["agent-memory" in one.text for one in pieces] == [False, True]


def test_front_matter_is_no_heading() -> None:
    [one] = cut("---\ntitle: x\n---\n\n# Guide\n\ntext\n")[-1:]
    assert one.headings == ("Guide",)


def test_a_hash_in_code_is_no_heading() -> None:
    assert len(cut("# A\n\n```sh\n# not a heading\nls\n```\n")) == 1


def test_only_what_no_record_should_hold_is_cut_between_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk, "LARGEST_WHOLE", 100)
    pieces = cut("```\n" + "0123456789\n" * 30 + "```\n")
    assert len(pieces) > 1 and all(one.text.endswith(("0123456789", "```")) for one in pieces)


def test_html_keeps_headings_lists_tables_and_code() -> None:
    page = """<html><head><title>Site</title><style>p {}</style></head><body><nav>menu</nav>
    <h1>Guide</h1><p>Hello <b>big</b>
    world.</p><h2>Setup</h2><ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul>
    <pre>x = 1
  y = 2</pre><table><tr><th>port</th><th>use</th></tr><tr><td>5433</td><td><p>staging</p></td></tr></table>
    <script>if (a < b) alert("<p>")</script>Tail &amp; end</body></html>"""
    first, second = chunks(html(page), "x.html")
    assert first.text == "Guide\n\nHello big world."
    assert second.text == (
        "Guide > Setup\n\n- one\n  - inner\n- two\n\nx = 1\n  y = 2\n\nport | use\n5433 | staging\n\nTail & end"
    )


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("<p>text</p><table><tr><td>5433", "inside of <table>"),
        ("<pre>x = 1", "inside of <pre>"),
        ("<p>text</p><a href='x", "middle of a tag"),
        ("<script>var a = 1;", "inside of <script>"),
        ("<pre>" * 1000, "more than 500 tags open"),
    ],
)
def test_html_that_was_cut_off_is_refused(page: str, said: str) -> None:
    with pytest.raises(Truncated, match=said):
        html(page)


def test_pages_have_numbers_and_the_headings_of_the_outline() -> None:
    structure = paged(["Intro text.", "", "Ports are 5433."], [(1, "Start", 1), (2, "Ports", 3)])
    found = [(one.page, one.headings, one.text.partition("\n\n")[2]) for one in chunks(structure, "book.pdf")]
    assert found == [(1, ("book.pdf", "Start"), "Intro text."), (3, ("book.pdf", "Start", "Ports"), "Ports are 5433.")]
    assert structure.notes == ("no text on pages 2: pictures are not read",)
