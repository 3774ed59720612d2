"""A service that takes cards, without a worker: tests run the jobs themselves."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.cast import Actor
from tests.invariants import broken_invariants, last_id
from tests.payments.shop import approve_project
from tests.rails.cards.provider import CardProvider
from tests.rails.cards.steps import Shop
from tests.running import Service, settings_for
from tollhouse.http.services import Services
from tollhouse.instance.database import embedded
from tollhouse.kernel.rails.registry import Rails
from tollhouse.rails.cards.stripe.cards import StripeCards
from tollhouse.rails.sandbox.provider import SANDBOX

METHODS = """
[methods."card:EUR"]
name = "Card"
type = "card"
rail = "card"
minimum_minor = 50
push = false
confirmation = "instant"
"""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one process run the tests that need the provider, so that it is started once."""
    for item in items:
        if "provider" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("cards"))


@pytest.fixture(scope="package")
async def provider() -> AsyncIterator[CardProvider]:
    """The card provider."""
    async with CardProvider() as running:
        yield running


@pytest.fixture(scope="package")
def service(server: embedded.Server, provider: CardProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of their own."""
    yield from run_service(server, provider, tmp_path_factory)


def run_service(
    server: embedded.Server, provider: CardProvider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """A service that takes cards by this provider."""
    catalogue = tmp_path_factory.mktemp("cards") / "catalogue.toml"
    catalogue.write_text(METHODS)
    changes = {"TOLLHOUSE_CATALOGUE_FILE": str(catalogue)}
    running = Service(settings_for(server.cluster.dsn, fresh=True, **changes), worker=False)
    running.rails = Rails([SANDBOX, StripeCards(provider.account)])
    with running:
        yield running


@pytest.fixture
async def shop(service: Service, services: Services, provider: CardProvider, alice: Actor) -> AsyncIterator[Shop]:
    """Alice, who takes cards. The invariants hold after each test."""
    first_id = last_id()
    await approve_project(alice, "live")
    yield Shop(alice, services, provider)
    provider.is_down, provider.lose_answers = False, 0
    assert await broken_invariants(service.dsn, first_id) == []
