"""Prices from a source: what is read, what is rejected, and that one worker reads it."""

from collections.abc import AsyncIterator
from decimal import Decimal
from fractions import Fraction

import pytest
from aiohttp import web

from tests.receiver import Receiver
from tests.running import Service, migrated_database, settings_for
from tollhouse.http.services import Services
from tollhouse.instance.database import embedded
from tollhouse.kernel import clock
from tollhouse.kernel.catalogue.conversion_pairs import PriceFeed
from tollhouse.transfers.conversions import prices, prices_store
from tollhouse.transfers.conversions.prices import FeedError, read_prices, rejection

FEED = PriceFeed(url="https://rates.example/latest", check_url="https://other.example/latest")
CODES = ["USD", "ETH", "BTC"]


def test_numbers_are_read_as_they_are_written() -> None:
    document = b'{"data": {"a/b": {"USD": 1.0842, "ETH": "3.4102e-4", "BTC": 0.00001187000000000000004, "JPY": 1}}}'
    assert read_prices(document, "/data/a~1b", CODES) == {
        "USD": Fraction("1.0842"),
        "ETH": Fraction("0.00034102"),
        "BTC": Fraction("0.00001187"),
    }


@pytest.mark.parametrize("price", ["0", "-1", '"1e-19"', "1e60", "true", "null", "[1]", '"1,5"', '" 1"', '"NaN"'])
def test_what_is_no_price_is_left_out(price: str) -> None:
    assert read_prices(b'{"rates": {"USD": %s}}' % price.encode(), "/rates", CODES) == {}


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (b"", "bad_response"), (b'{"rates": {"USD": NaN}}', "bad_response"), (b"[" * 100_000, "bad_response"),
        (b"[]", "bad_response"), (b'{"rates": [1]}', "bad_response"), (b'{"rates": {"USD"', "bad_response"),
        (b'{"x":' * 50_000, "bad_response"), (b"{}", "bad_response"),
    ],
)  # fmt: skip
def test_what_is_no_document_is_an_error(document: bytes, code: str) -> None:
    with pytest.raises(FeedError, match=code):
        read_prices(document, "/rates", CODES)


def test_bounds_of_difference_and_change() -> None:
    one = Fraction(1)
    assert rejection(FEED, one, Fraction("1.01"), None) is None
    assert rejection(FEED, one, Fraction("1.0101"), None) == "sources_differ"
    assert rejection(FEED, one, None, Fraction("1.1")) is None
    assert rejection(FEED, one, one, Fraction("1.11")) == "price_jump"


@pytest.fixture
async def fresh(server: embedded.Server) -> AsyncIterator[Services]:
    """A database of its own: prices of live mode are those of all merchants."""
    dsn = await migrated_database(server.cluster.dsn)
    opened = Service(settings_for(dsn)).create_services(connections=2)
    yield opened
    await opened.db.close()


class Sources:
    """Two sources on one receiver. `read` reads them once more, and returns the prices in use."""

    def __init__(self, services: Services, receiver: Receiver) -> None:
        self.services, self.documents = services, dict[str, str]()
        self.feed = PriceFeed(url=f"{receiver.url}/one", check_url=f"{receiver.url}/two")
        receiver.answer = self.answer

    async def answer(self, request: web.Request) -> web.Response:
        assert request.method == "GET"
        return web.Response(text=self.documents[request.path], content_type="application/json")

    async def read(self, one: str, two: str, feed: PriceFeed | None = None) -> dict[str, str]:
        self.documents = {"/hook/one": one, "/hook/two": two}
        await self.services.db.execute("UPDATE price_feed SET next_at = read_at")
        now = clock.now()
        await prices.read_feed(self.services, feed or self.feed, now)
        known = await prices.list_prices(self.services.db, "live", frozenset({"ETH", "USD"}), now)
        return {code: f"{one.source} {Decimal(one.per_euro.numerator) / one.per_euro.denominator}"
                for code, one in sorted(known.items()) if code != "EUR"}  # fmt: skip


async def test_prices_are_read_compared_and_posted(fresh: Services, receiver: Receiver) -> None:
    sources = Sources(fresh, receiver)
    one, two = '{"rates": {"ETH": 0.00034, "USD": 1.08, "GBP": 0.8}}', '{"rates": {"ETH": 0.00034, "USD": 1.085}}'
    assert await sources.read(one, two) == {"ETH": "feed 0.00034", "USD": "feed 1.08"}
    assert len(await prices_store.latest(fresh.db)) == 2  # of the pound only one source has a price
    await prices.read_feed(fresh, sources.feed, clock.now())  # another worker: it is not due
    assert len(receiver.received) == 2

    assert await sources.read(one, two.replace("1.085", "1.1")) == {"ETH": "feed 0.00034"}
    assert await prices_store.list_rejections(fresh.db) == {"USD": "sources_differ"}
    await fresh.db.transact(lambda tx: prices.post(tx, {"USD": "1.09"}, "olga", clock.now()))
    assert await sources.read(one, two.replace("1.085", "1.1")) == {"ETH": "feed 0.00034", "USD": "operator 1.09"}
    assert await sources.read(one, two) == {"ETH": "feed 0.00034", "USD": "feed 1.08"}

    assert await sources.read(one.replace("0.00034", "0.0005"), two.replace("0.00034", "0.0005")) == {"USD": "feed 1.08"}
    assert await prices_store.list_rejections(fresh.db) == {"ETH": "price_jump"}


async def test_a_source_that_does_not_answer_changes_nothing(fresh: Services, receiver: Receiver) -> None:
    sources = Sources(fresh, receiver)
    one = '{"rates": {"USD": 1.08}}'
    assert await sources.read(one, one) == {"USD": "feed 1.08"}
    assert await sources.read(one, "<html>") == {"USD": "feed 1.08"}
    found = await prices_store.get_feed(fresh.db)
    assert found is not None
    assert found["error"] == "bad_response"
    missing = PriceFeed(url=f"{receiver.url}/none")
    assert await sources.read(one, one, missing) == {"USD": "feed 1.08"}
    found = await prices_store.get_feed(fresh.db)
    assert found is not None
    assert found["error"] == "http_500"
    assert await sources.read(one, one) == {"USD": "feed 1.08"}
    assert (await prices_store.get_feed(fresh.db) or {})["error"] is None
