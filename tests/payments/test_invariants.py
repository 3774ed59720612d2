"""The invariants of payments notice what neither the rules nor the constraints would have let happen."""

from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from tests.cast import Actor
from tests.invariants import ours
from tests.payments.bank import play, refund, sell
from tollhouse.ledger.books import invariants as ledger_invariants
from tollhouse.payments.transactions import invariants_store as transactions_store
from tollhouse.platform.database import invariants
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.webhooks.events import invariants_store as events_store

INVARIANTS = (
    *transactions_store.INVARIANTS,
    *(invariant for invariant in events_store.INVARIANTS if invariant.number == "I14"),
)
PAST_ALL_RULES = "SET LOCAL session_replication_role = replica"  # triggers and foreign keys sleep in this transaction
SPOILS = [
    ("I7 received amounts", "UPDATE rail_observations SET amount_minor = amount_minor + 1 WHERE merchant_id = $1"),
    ("I7 credited amounts", "UPDATE transactions SET fee_minor = 1 WHERE credited_minor > 0 AND merchant_id = $1"),
    ("I7 returned amounts", "UPDATE refunds SET amount_minor = amount_minor + 1 WHERE merchant_id = $1"),
    ("I7 returned amounts", "UPDATE chargebacks SET amount_minor = amount_minor - 1 WHERE merchant_id = $1"),
    ("I7 disputed amounts", "UPDATE chargebacks SET fee_minor = fee_minor + 1 WHERE merchant_id = $1"),
    ("I7 a link counts", "UPDATE payment_links SET payments_count = 0 WHERE merchant_id = $1"),
    ("I7 a pending refund", "UPDATE ledger_holds SET amount = amount + 1 WHERE merchant_id = $1"),
    (
        "I14 every balance change",
        (
            "DELETE FROM webhook_event_keys WHERE type = 'balance.updated'"
            " AND source_id IN (SELECT id FROM ledger_entries WHERE merchant_id = $1)"
        ),
    ),
    (
        "I14 every status change",
        (
            "DELETE FROM webhook_event_keys WHERE type = 'payment.chargeback'"
            " AND source_id IN (SELECT id FROM transactions WHERE merchant_id = $1)"
        ),
    ),
    ("I15 the ledger agrees", "UPDATE rail_observations SET amount_minor = amount_minor + 1 WHERE merchant_id = $1"),
    (
        "I15 unapplied money",
        (
            "UPDATE transactions SET unapplied_minor = unapplied_minor + 1, received_minor = received_minor + 1"
            " WHERE unapplied_minor > 0 AND merchant_id = $1"
        ),
    ),
]


@pytest.fixture
async def tx(alice: Actor) -> AsyncIterator[Tx]:
    """A transaction whose work is thrown away, after a history that has everything in it."""
    disputed, paid = await sell(alice), await sell(alice)
    await sell(alice, "late")
    (await refund(alice, paid, "3.00")).ok(201)
    (await play(alice, disputed, "chargeback")).ok()
    pool = Pool(alice.service.dsn, 1)
    async with pool.connection() as spoilt:
        work = spoilt.raw.transaction()
        await work.start()
        yield spoilt
        await work.rollback()
    await pool.close()


@pytest.mark.parametrize(("expected", "spoil"), SPOILS, ids=[f"{name}-{n}" for n, (name, _) in enumerate(SPOILS)])
async def test_a_spoilt_history_is_noticed(alice: Actor, tx: Tx, expected: str, spoil: str) -> None:
    assert await invariants.find_all_violations(tx, INVARIANTS) == []
    await tx.raw.execute(PAST_ALL_RULES)
    assert await tx.execute(spoil, UUID(alice.merchant_id)) >= 1
    found = await invariants.find_all_violations(tx, INVARIANTS)
    assert any(line.startswith(expected) for line in found), found


async def test_an_adjustment_that_nobody_was_reported_of_is_noticed(alice: Actor, tx: Tx) -> None:
    await tx.execute(
        "SELECT ledger_post(gen_random_uuid(), 'test', 'adjustment', 'adjustment', gen_random_uuid(), 0, now(),"
        " '{adjustment}', '{EUR}', '{5}', ARRAY[NULL::uuid], '{equity:adjustment}', ARRAY[$1::uuid], '{available}',"
        " ARRAY[gen_random_uuid(), gen_random_uuid()])",
        UUID(alice.merchant_id),
    )
    assert ours(await ledger_invariants.broken(tx)) == []
    [line] = await invariants.find_all_violations(tx, INVARIANTS)
    assert line.startswith("I14 every balance change has one event")
