"""What several tests of payments share."""

import pytest

from tests.payments.courier import COURIER, Courier
from tests.running import CATALOGUE, Service


@pytest.fixture
def courier(monkeypatch: pytest.MonkeyPatch, service: Service) -> Courier:
    """A rail of live mode."""
    courier = Courier()
    monkeypatch.setitem(service.rails.providers, (courier.name, courier.mode), courier)
    monkeypatch.setitem(CATALOGUE.methods, COURIER.method_id, COURIER)
    return courier
