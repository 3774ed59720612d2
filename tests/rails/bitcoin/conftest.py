"""A rail of Bitcoin on a node of its own for each test."""

from collections.abc import AsyncIterator

import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.rails.bitcoin.core import Core, serving
from tests.rails.bitcoin.paying import BitcoinPayer
from tests.rails.bitcoin.receiving import BitcoinReceiver
from tollhouse.http.services import Services
from tollhouse.rails.bitcoin import watching
from tollhouse.rails.chains import following


@pytest.fixture(autouse=True)
def few_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few addresses are derived ahead and verified, for each takes a millisecond."""
    monkeypatch.setattr(following, "FREE_MIN", 8)
    monkeypatch.setattr(watching, "VERIFIED_AT_ONCE", 4)
    monkeypatch.setattr(watching, "WATCHED_AHEAD", 50)


@pytest.fixture
async def receiver(alice: Actor, services: Services, request: pytest.FixtureRequest) -> AsyncIterator[BitcoinReceiver]:
    """A rail that was seen once."""
    since = last_id()
    core = Core()
    async with serving(core) as url:
        made = BitcoinReceiver(alice, services, core, url, **getattr(request, "param", {}))
        await made.look()
        yield made
    assert await broken_invariants(alice.service.dsn, since) == []


@pytest.fixture
async def payer(alice: Actor, services: Services) -> AsyncIterator[BitcoinPayer]:
    """A rail that pays out. Alice has 0.005 BTC of three payments, which is what the wallet has."""
    since = last_id()
    core = Core()
    async with serving(core) as url:
        made = BitcoinPayer(alice, services, core, url)
        await made.look()
        await made.paid("0.00100000", "0.00150000", "0.00250000")
        assert await made.measure() is None
        yield made
    assert await broken_invariants(alice.service.dsn, since) == []
