"""A proxy before the service, which loses responses; clients are closed after each test."""

from collections.abc import AsyncIterator

import pytest

from tests.running import Service
from tests.sdk.driven import OPEN
from tests.sdk.proxy import Proxy
from tollhouse_sdk import Tollhouse


@pytest.fixture
def feed() -> None:
    """Skips where the service has no event feed."""
    if not hasattr(Tollhouse, "read_feed"):
        pytest.skip("this service has no event feed yet")


@pytest.fixture
async def proxy(service: Service) -> AsyncIterator[Proxy]:
    """A proxy before the service."""
    async with Proxy(service.url) as one:
        yield one


@pytest.fixture(autouse=True)
async def closing(anyio_backend: object) -> AsyncIterator[None]:  # noqa: ARG001 - it runs on the loop of the test
    """Close what the test has opened."""
    yield
    while OPEN:
        await OPEN.pop().close()
