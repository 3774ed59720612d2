"""A status at a moment: the functions of the database and of the program agree."""

from datetime import timedelta
from itertools import product
from typing import get_args
from uuid import UUID

import msgspec

from tests.cast import Actor
from tests.payments.bank import sell
from tollhouse.kernel import clock
from tollhouse.kernel.clock import status_at
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.payments.links.model import LinkStatus
from tollhouse.payments.transactions import store
from tollhouse.payments.transactions.model import TransactionStatus
from tollhouse.transfers.balance_payments.model import BalancePaymentStatus

MOMENTS = [timedelta(microseconds=number) for number in (-1, 0, 1)]
"""Of the expiry, beside the moment that is asked for."""
CASES = [("active", status) for status in get_args(LinkStatus)] + [
    ("reserved", status) for status in get_args(BalancePaymentStatus)
]


async def test_what_expires_does_so_in_the_database_and_in_the_program(alice: Actor) -> None:
    now = clock.now()
    for (open_status, status), expires_at in product(CASES, [None, *(now + moment for moment in MOMENTS)]):
        [row] = await alice.sql("SELECT status_at($1, $2, $3, $4) AS status", status, open_status, expires_at, now)
        assert row["status"] == status_at(status, open_status, expires_at, now)


async def test_an_attempt_without_money_expires_with_its_link(alice: Actor) -> None:
    services = alice.service.create_services()
    env, now = MerchantEnv(MerchantId(UUID(alice.merchant_id)), "test"), clock.now()
    sold = await store.get(services.db, env, UUID((await sell(alice))["id"]))
    await services.db.close()
    assert sold is not None
    for status, received_minor, link_status, moment in product(
        get_args(TransactionStatus), (0, 1), get_args(LinkStatus), MOMENTS
    ):
        attempt = msgspec.structs.replace(
            sold, status=status, received_minor=received_minor, link_status=link_status, link_expires_at=now + moment
        )
        values = (status, received_minor, link_status, now + moment, now)
        [row] = await alice.sql("SELECT payment_status_at($1, $2, $3, $4, $5) AS status", *values)
        assert row["status"] == attempt.status_at(now), values
