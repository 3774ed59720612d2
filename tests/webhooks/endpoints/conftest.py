"""A service where saved addresses still work, on a database of its own, and a harness that records events of a merchant."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack

import pytest

from tests.cast import Actor, sign_up
from tests.running import Service, settings_for
from tests.webhooks.events.harness import Harness
from tollhouse.instance.database import embedded
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode, parse_id

Open = Callable[..., Awaitable[Harness]]


@pytest.fixture(scope="package")
def compatible(server: embedded.Server) -> Iterator[Service]:
    """NOTIFY_DEPRECATED_WH=true."""
    with Service(settings_for(server.cluster.dsn, fresh=True, NOTIFY_DEPRECATED_WH="true")) as running:
        yield running


@pytest.fixture(scope="package")
def limited(server: embedded.Server) -> Iterator[Service]:
    """Two webhook tests a minute, and a source address of its own."""
    settings = settings_for(
        server.cluster.dsn,
        fresh=True,
        TOLLHOUSE_RATE_LIMITS="on",
        TOLLHOUSE_RATE_WEBHOOK_TEST="2",
        TOLLHOUSE_WEBHOOK_SOURCE_IP="127.0.0.1",
    )
    with Service(settings) as running:
        yield running


@pytest.fixture
async def dora(compatible: Service) -> AsyncIterator[Actor]:
    """Dora sells, and still has a saved address."""
    async with sign_up(compatible, "dora", "Dora's Dolls") as actor:
        yield actor


@pytest.fixture
async def harness_of() -> AsyncIterator[Open]:
    """Desks that record events for a merchant of a running service, whose worker delivers them."""
    async with AsyncExitStack() as stack:

        async def make(actor: Actor, mode: Mode = "test") -> Harness:
            services = actor.service.create_services(connections=2)
            stack.push_async_callback(services.db.close)
            merchant_id = parse_id(actor.merchant_id)
            assert merchant_id is not None
            return Harness(services, MerchantEnv(MerchantId(merchant_id), mode))

        yield make
