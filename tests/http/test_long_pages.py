"""Pages of long lists: by number at the beginning, by position behind it."""

from datetime import UTC, datetime
from uuid import UUID

import msgspec
import pytest

from tests.cast import Actor
from tollhouse.http.lists import EARLIEST, NEWEST, LongPageQuery, PageLinks, Position, Window

LAST = Position(datetime(2026, 11, 1, 12, 30, 15, 123456, tzinfo=UTC), UUID("01a1b2c3-0000-7000-8000-000000000001"))


def test_the_first_rows_are_found_by_the_number_of_their_page() -> None:
    query = LongPageQuery(page=3, limit=20)
    assert query.window == Window(EARLIEST, NEWEST.at, NEWEST.id, 21, 40)
    assert query.links([LAST], more=True) == PageLinks(3, "?page=2", "?page=4")
    assert query.links([LAST], more=False) == PageLinks(3, "?page=2", "")
    assert LongPageQuery().links([], more=False) == PageLinks(1, "", "")


def test_the_rows_behind_them_are_found_by_position() -> None:
    deepest = LongPageQuery(page=100, limit=100)
    assert deepest.window.offset == 9_900
    links = deepest.links([LAST], more=True)
    assert links.newer == "?limit=100&page=99"
    assert links.older.startswith("?limit=100&page=101&after=")
    behind = msgspec.convert({"page": 101, "limit": 100, "after": links.older.rpartition("=")[2]}, LongPageQuery)
    assert behind.window == Window(EARLIEST, LAST.at, LAST.id, 101, 0)
    assert behind.links([LAST], more=True) == PageLinks(101, "?limit=100&page=100", links.older.replace("=101", "=102"))
    assert behind.links([LAST], more=False).older == ""


def test_a_page_behind_them_has_no_rows_without_its_position() -> None:
    assert LongPageQuery(page=501).window.fetch == 0
    assert LongPageQuery(page=501, after="f" + "_" * 31).window.fetch == 0


@pytest.mark.parametrize("after", ["", "x", "%C3%A4", "/" * 32, "f" + "_" * 31])
async def test_what_is_no_position_finds_no_rows(alice: Actor, after: str) -> None:
    answer = await alice.send("GET", f"/test/withdrawals?page=501&after={after}")
    assert "Page 501 has no entries." in answer.ok().text


async def test_a_position_has_32_characters(alice: Actor) -> None:
    (await alice.send("GET", f"/test/withdrawals?page=501&after={'A' * 33}")).ok(422)


async def test_the_list_continues_after_a_position(alice: Actor) -> None:
    (await alice.send("GET", f"/test/withdrawals?page=501&after={'A' * 32}")).ok()
    assert "Page 501 has no entries." in (await alice.send("GET", "/test/withdrawals?page=501")).ok().text
