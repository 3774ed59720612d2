"""What histories run on: the services on a database of their own, prices, the rail, and merchants made in advance."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple, TypeVar, cast
from uuid import UUID

import uvloop

from tests.adversary_model.market import Market
from tests.adversary_model.quay import METHODS, NAME, PAIR_FEE_BPS, WITHDRAWAL_METHODS, Quay
from tests.invariants import broken_in
from tests.running import CATALOGUE, Service
from tollhouse.http.services import Services, Work
from tollhouse.kernel import tokens
from tollhouse.kernel.catalogue.conversion_pairs import ConversionPair
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import ClientId, MerchantId, new_id
from tollhouse.kernel.scopes import API
from tollhouse.transfers.conversions import prices_store

T = TypeVar("T")
AT_ONCE = 100
CODES = ("EUR", "BTC", "USD")

OPEN_SHOPS = """
    WITH shops AS (
        INSERT INTO merchants (id, business_name, created_at) SELECT id, 'Shop', now() FROM unnest($1::uuid[]) AS id
    ), projects AS (
        INSERT INTO projects (id, merchant_id, mode, name, status, created_at, updated_at)
        SELECT uuidv7(), id, mode, 'Default', 'approved', now(), now()
        FROM unnest($1::uuid[]) AS id CROSS JOIN (VALUES ('live'), ('test')) AS m (mode)
    )
    INSERT INTO oauth_clients (id, merchant_id, client_type, secret_hash, name, description, redirect_uris,
                               scope_mask, status, created_at, updated_at)
    SELECT client_id, s.id, 'confidential', sha256(''), 'Till', 'Charges a partner', '{https://till.example/callback}', $3,
           'enabled', now(), now()
    FROM unnest($1::uuid[], $2::text[]) AS s (id, client_id)
"""


class Merchant(NamedTuple):
    """A merchant to whom nothing has happened yet, and its application."""

    merchant_id: MerchantId
    client_id: ClientId

    @property
    def live(self) -> MerchantEnv:
        """Its live mode."""
        return MerchantEnv(self.merchant_id, "live")


class Yard:
    """The services, the prices, the rail and the merchants."""

    def __init__(self, service: Service, runner: asyncio.Runner) -> None:
        self.services: Services = service.create_services(connections=2)
        self.quay = Quay()
        service.rails.providers[NAME, "live"] = self.quay
        self._runner = runner
        self._waiting: deque[tuple[Merchant, Merchant]] = deque()
        self.market = Market(self._publish)

    def partners(self) -> tuple[Merchant, Merchant]:
        """Two fresh ones."""
        if not self._waiting:
            ids = [MerchantId(new_id()) for _ in range(2 * AT_ONCE)]
            client_ids = [tokens.public_name("thc") for _ in ids]
            self.run(self.services.db.execute(OPEN_SHOPS, ids, client_ids, API.mask))
            made = [Merchant(one, ClientId(client_id)) for one, client_id in zip(ids, client_ids, strict=True)]
            self._waiting.extend(zip(made[::2], made[1::2], strict=True))
        return self._waiting.popleft()

    def run(self, action: Coroutine[Any, Any, T]) -> T:
        """Do it, and wait for it."""
        return self._runner.run(action)

    def do(self, action: Callable[[Work], Awaitable[T]], at: datetime | None = None) -> T:
        """One action, at the time of the history."""
        return self.run(self.services.transact(action, at or self.market.now))

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """Look into the database."""
        return self.run(self.services.db.fetch(statement, *values))

    def broken_invariants(self, after: UUID) -> list[str]:
        """As `tollhouse check` finds them, of rows with later ids."""
        return self.run(broken_in(self.services.db, after))

    def _publish(self, per_euro: dict[str, str], at: datetime) -> None:
        posted = [new_id() for _ in per_euro]
        self.run(
            self.services.db.execute(
                prices_store.POST, posted, list(per_euro), list(per_euro.values()), "olga", "operator", at
            )
        )


@contextmanager
def yard(service: Service) -> Iterator[Yard]:
    """The yard. The catalogue of the process is as before afterwards."""
    kept: list[tuple[dict[str, Any], dict[str, Any]]] = []
    pairs = {
        f"{code}:{other}": ConversionPair(pair_id=f"{code}:{other}", fee_basis_points=PAIR_FEE_BPS)
        for code in CODES
        for other in CODES
        if code != other
    }
    for catalogue, own in (
        (CATALOGUE.methods, METHODS),
        (CATALOGUE.withdrawal_methods, WITHDRAWAL_METHODS),
        (CATALOGUE.conversion_pairs, pairs),
    ):
        changed = cast("dict[str, Any]", catalogue)
        kept.append((changed, dict(changed)))
        changed.update(own)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        here = Yard(service, runner)
        try:
            yield here
        finally:
            here.run(here.services.close())
            for changed, before in kept:
                changed.clear()
                changed.update(before)
