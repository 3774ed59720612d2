"""The ground a history stands on: a service with a database of its own and no worker, and a fresh merchant for each."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from tests.money_model.counter import Counter
from tests.money_model.payments import Fee, Policy
from tests.running import Service
from tollhouse import main
from tollhouse.catalogue import payment_settings
from tollhouse.catalogue.methods import METHODS, Fees
from tollhouse.catalogue.payment_settings import PaymentSettings
from tollhouse.kernel import clock, tokens
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.kernel.scopes import API
from tollhouse.web.house import House

AT_ONCE = 100
FEES = {
    "EUR": Fee(fixed=25, bps=140, dispute=1_500),
    "JPY": Fee(bps=333, minimum=3, maximum=500, dispute=7),
    "BTC": Fee(),
}
"""What payments cost here, so that fees are in the books too."""

# No people: a merchant is asked for nothing but its API key here, and passwords are slow on purpose.
OPEN_SHOPS = """
    WITH shops AS (
        INSERT INTO merchants (id, business_name, created_at)
        SELECT id, 'Shop', now() FROM unnest($1::uuid[]) AS id
    ), keys AS (
        INSERT INTO api_keys (id, merchant_id, mode, name, key_hash, scope_mask, hint, created_at)
        SELECT uuidv7(), id, 'test', 'Key', key_hash, $3, 'th_test', now()
        FROM unnest($1::uuid[], $2::bytea[]) AS s (id, key_hash)
    )
    INSERT INTO projects (id, merchant_id, mode, name, status, created_at, updated_at)
    SELECT uuidv7(), id, 'test', 'Default', 'approved', now(), now() FROM unnest($1::uuid[]) AS id
"""


class Merchant(NamedTuple):
    """A merchant that nothing happened to yet."""

    merchant_id: MerchantId
    api_key: str


class Ground:
    """The service, its database, and merchants made in advance."""

    def __init__(self, service: Service, runner: asyncio.Runner) -> None:
        self.counter = Counter(service)
        self._runner = runner
        self._house = main.open_house(service.settings, connections=2)
        self._pool = self._house.db
        self._waiting: deque[Merchant] = deque()

    def merchant(self) -> Merchant:
        """A fresh one."""
        if not self._waiting:
            self._runner.run(self._open_shops())
        return self._waiting.popleft()

    def set_policy(self, merchant: Merchant, policy: Policy) -> None:
        """What the merchant wants done with amounts that do not fit."""
        new = PaymentSettings(
            underpayment_tolerance_bps=policy.tolerance_bps,
            overpayment=policy.overpayment,
            late_payments=policy.late_payments,
        )
        env = MerchantEnv(merchant.merchant_id, "test")
        self._runner.run(self._house.db.transact(lambda tx: payment_settings.save(tx, env, new, clock.now())))

    def work(self, job: Callable[[House], Awaitable[None]]) -> None:
        """Let the worker do one of its jobs."""

        async def once() -> None:
            await job(self._house)

        self._runner.run(once())

    def broken_invariants(self) -> list[str]:
        """As `tollhouse check` finds them."""
        return self._runner.run(main.broken_invariants(self._pool))

    def close(self) -> None:
        """Let go of the service and the database."""
        self.counter.close()
        self._runner.run(self._pool.close())

    async def _open_shops(self) -> None:
        made = [Merchant(MerchantId(new_id()), tokens.mint("th_test")) for _ in range(AT_ONCE)]
        hashes = [tokens.digest(one.api_key) for one in made]
        await self._pool.execute(OPEN_SHOPS, [one.merchant_id for one in made], hashes, API.mask)
        self._waiting.extend(made)


@contextmanager
def ground(service: Service) -> Iterator[Ground]:
    """The ground below the histories; the service must be in this process, since fees are changed in it."""
    kept = dict(METHODS)
    METHODS.update(
        {
            f"sandbox:{code}": msgspec.structs.replace(METHODS[f"sandbox:{code}"], fees=_fees(fee))
            for code, fee in FEES.items()
        }
    )
    with asyncio.Runner() as runner:
        here = Ground(service, runner)
        try:
            yield here
        finally:
            here.close()
            METHODS.update(kept)


def _fees(fee: Fee) -> Fees:
    return Fees(fee.fixed, fee.bps, fee.minimum, fee.maximum, fee.dispute)
