"""Lines of the access log as pages."""

from __future__ import annotations

import pytest

from agent_memory.ledger.reading import HOUR, PAGE_LINES, forgotten, found, opened, pages, received, shipped, sought
from agent_memory.models.errors import Corrupt
from agent_memory.ports.reading import ReadLine, ReadsWanted

LINE = ReadLine(7 * HOUR, "acme", "adá", "*", None, "python", "records.get", ('a"ä', "b"), 2, money=0.25)
MANY = [LINE._replace(at=LINE.at + n, ids=(f"i{n}",)) for n in range(PAGE_LINES + 5)]


def test_a_page_gives_its_lines_back() -> None:
    (page,) = pages([LINE, LINE._replace(why="INC-7", at=LINE.at + 5)])
    assert opened(page.lines) == [LINE, LINE._replace(why="INC-7", at=LINE.at + 5)]
    assert (page.first, page.last, page.tenant, page.reasons) == (LINE.at, LINE.at + 5, "acme", 1)


def test_a_page_is_short_and_about_one_hour() -> None:
    assert [len(opened(page.lines)) for page in pages(MANY)] == [PAGE_LINES, 5]
    assert len([*pages([LINE, LINE._replace(at=LINE.at + HOUR)])]) == 2


def test_what_is_sought_stands_in_the_page_as_it_is_spelled() -> None:
    wanted = ReadsWanted(id='a"ä', user="adá")
    (page,) = pages([LINE])
    asked = sought(wanted)
    assert asked["id"] in page.lines and asked["user"] in page.lines and asked["key"] is None


def test_lines_are_found_newest_first_and_no_more_pages_opened_than_needed() -> None:
    texts = [page.lines for page in pages(MANY)]
    assert found([*reversed(texts), "damaged"], ReadsWanted(), 7) == MANY[:-8:-1]
    assert found(reversed(texts), ReadsWanted(id="i3"), 7) == [MANY[3]]
    with pytest.raises(Corrupt, match="damaged"):
        found(["damaged"], ReadsWanted(), 7)


def test_reasons_go_line_by_line_and_all_of_a_damaged_page() -> None:
    told = [LINE._replace(why="one"), LINE._replace(ids=("c",), why="other")]
    (page,) = pages(told)
    count, left = forgotten(page.lines, {"c", "d"})
    assert (count, opened(left)) == (1, [told[0], told[1]._replace(why=None)])
    assert forgotten('[["what is the port', {"c"}) == (0, "[]")


def test_lines_are_shipped_one_by_one() -> None:
    theirs = LINE._replace(tenant="rival")
    rows = [*shipped(page.lines for lines in (MANY, [theirs]) for page in pages(lines))]
    assert [row[0] for row in rows] == [*range(1, len(MANY) + 2)] and rows[-1][8] == 'a"ä b'
    again = [*received(rows)]
    assert [number for number, _ in again] == [1, PAGE_LINES + 1, len(MANY) + 1]
    assert [*shipped(page.lines for _, page in again)] == rows
