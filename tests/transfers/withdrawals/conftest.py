"""A service without a worker, so that nothing happens but what the test does; a bank of live mode; the books looked at."""

from collections.abc import AsyncIterator, Iterator
from uuid import UUID

import pytest

from tests.cast import Actor, sign_up
from tests.running import CATALOGUE, Service, settings_for
from tests.transfers.withdrawals.rails import Line, PaperBank
from tollhouse.accounts.approvals.model import OperatorContext
from tollhouse.http.services import Services
from tollhouse.instance.database import embedded
from tollhouse.kernel import clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.pages.console import actions


@pytest.fixture(scope="package")
def still(server: embedded.Server) -> Iterator[Service]:
    """A service of their own for these tests, without a worker."""
    with Service(settings_for(server.cluster.dsn, fresh=True), worker=False) as running:
        yield running


@pytest.fixture
async def shop(still: Service) -> AsyncIterator[Actor]:
    """A merchant there."""
    async with sign_up(still, "shop", "The Shop") as actor:
        yield actor


@pytest.fixture
async def neighbour(still: Service) -> AsyncIterator[Actor]:
    """Another merchant there."""
    async with sign_up(still, "neighbour", "The Other Shop") as actor:
        yield actor


@pytest.fixture(scope="module")
async def services(still: Service) -> AsyncIterator[Services]:
    """Services there, on connections that the tests of a file share."""
    opened = still.create_services(connections=4)
    yield opened
    await opened.db.close()


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch, still: Service) -> Line:
    """The bank rail of live mode, at the end of a line."""
    line = Line(PaperBank())
    monkeypatch.setitem(still.rails.providers, ("bank", "live"), line)
    return line


@pytest.fixture
def bank(line: Line) -> PaperBank:
    """What is at its other end."""
    assert isinstance(line.rail, PaperBank)
    return line.rail


@pytest.fixture
async def rich(shop: Actor, services: Services) -> Actor:
    """The same merchant, with 100 EUR in live mode."""
    env, context = (
        MerchantEnv(MerchantId(UUID(shop.merchant_id)), "live"),
        OperatorContext("olga", clock.now(), "Opening balance"),
    )
    await services.transact(lambda work: actions.adjust(work, env, CATALOGUE.currencies["EUR"], 10_000, context), context.at)
    return shop
