"""A service without a worker, so that deliveries happen when a test says so, and a merchant there."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.cast import sign_up
from tests.invariants import broken_invariants, last_id
from tests.payments.killing import fused_services
from tests.receiver import Receiver
from tests.running import CATALOGUE, Service, settings_for
from tests.transfers.fulfillments.depot import GOLD, SECRET, Depot
from tollhouse.http.services import Services
from tollhouse.instance.database import embedded
from tollhouse.kernel.catalogue.products import GameServer


@pytest.fixture(scope="package")
def still(server: embedded.Server) -> Iterator[Service]:
    """A service whose worker is played by the tests."""
    with Service(settings_for(server.cluster.dsn, fresh=True), worker=False) as running:
        yield running


@pytest.fixture
async def services(still: Service) -> AsyncIterator[Services]:
    """A house whose connections can be cut."""
    async with fused_services(still) as services:
        yield services


@pytest.fixture
async def depot(still: Service, services: Services) -> AsyncIterator[Depot]:
    """A merchant there; after each history the books are in order."""
    began = last_id()
    async with sign_up(still, "alice", "Alice's Games") as actor:
        depot = Depot(actor, services)
        await depot.fund("test")
        await depot.fund("live")
        yield depot
        await actor.sql("UPDATE fulfillments SET next_look_at = 'infinity' WHERE next_look_at IS NOT NULL")
    assert await broken_invariants(still.dsn, began) == []


@pytest.fixture
async def quest(receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Receiver:
    """A game server of the live environment, and its product."""
    (tmp_path / "secret").write_bytes(SECRET + b"\n")
    monkeypatch.setitem(CATALOGUE.game_servers, "quest", GameServer(receiver.url, str(tmp_path / "secret")))
    monkeypatch.setitem(CATALOGUE.products, "quest:gold", GOLD)
    return receiver
