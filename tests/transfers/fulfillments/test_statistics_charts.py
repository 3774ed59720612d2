"""The picture of statistics: games summed up, days without orders, weeks, and strips with a rest."""

from tests.running import CATALOGUE
from tollhouse.http.local_formats import Formats
from tollhouse.kernel.clock import Timestamp
from tollhouse.transfers.fulfillments import statistics
from tollhouse.transfers.fulfillments.statistics import FulfillmentFigures, FulfillmentGroup, FulfillmentStatistics

ENGLISH = Formats("en")

PRODUCT = next(iter(CATALOGUE.products))


def group(key: str, units: int, cents: int = 0) -> FulfillmentGroup:
    cost = {"EUR": cents} if cents else {}
    return FulfillmentGroup(key=key, count=1, quantity_delivered=units, cost_minor=cost)


def of_days(start: str, to: str, *groups: FulfillmentGroup) -> FulfillmentStatistics:
    return FulfillmentStatistics(
        start=Timestamp(f"{start}.000Z"),
        to=Timestamp(f"{to}.000Z"),
        group_by="day",
        totals=FulfillmentFigures(),
        groups=list(groups),
        mode="test",
        livemode=False,
    )


def test_products_of_a_game_are_one() -> None:
    gone, game = statistics.sort_by_units(
        statistics.by_game([group(PRODUCT, 2, 50), group("gone:gold", 9), group(PRODUCT, 3, 75)], CATALOGUE)
    )
    assert (gone.key, gone.quantity_delivered) == ("gone:gold", 9)
    assert (game.key, game.quantity_delivered, game.count) == (CATALOGUE.products[PRODUCT].game, 5, 2)
    assert (game.cost, game.cost_minor) == ({"EUR": "1.25"}, {"EUR": 125})


def test_days_without_an_order_have_their_place() -> None:
    found = of_days("2026-11-01T00:00:00", "2026-11-05T00:00:00", group("2026-11-02", 4), group("2026-11-04", 2))
    drawn = statistics.by_day(found, ENGLISH)
    assert drawn
    assert [point.words for point in drawn.points] == ["1 Nov: 0", "2 Nov: 4", "3 Nov: 0", "4 Nov: 2"]
    until_noon = of_days("2026-11-01T00:00:00", "2026-11-05T12:00:00", group("2026-11-02", 4))
    drawn = statistics.by_day(until_noon, ENGLISH)
    assert drawn
    assert len(drawn.points) == 5


def test_a_long_time_is_drawn_by_the_week() -> None:
    found = of_days("2026-01-01T00:00:00", "2026-12-31T00:00:00", group("2026-01-07", 4), group("2026-01-08", 2))
    drawn = statistics.by_day(found, ENGLISH)
    assert drawn
    assert [point.words for point in drawn.points[:2]] == ["1 Jan: 4", "8 Jan: 2"]
    assert len(drawn.points) == 52


def test_nothing_is_no_picture() -> None:
    assert statistics.by_day(of_days("2026-11-01T00:00:00", "2026-11-05T00:00:00", group("2026-11-02", 0)), ENGLISH) is None
    assert statistics.by_day(of_days("2026-11-01T00:00:00", "2026-11-02T00:00:00", group("2026-11-01", 3)), ENGLISH) is None
    assert statistics.shares([group("a", 0)]) is None


def test_a_strip_has_a_piece_for_the_rest() -> None:
    strip = statistics.shares([group(str(number), 10) for number in range(8)])
    assert strip
    assert len(strip.segments) == 6
    assert sum(part.width for part in strip.segments) == strip.width
