"""That conversions were told is known for ever, though the events themselves are dropped after some months."""

from uuid import UUID

import pytest

from tests.cast import Actor
from tests.conversions.desk import convert, fund
from tollhouse.conversions import invariants
from tollhouse.platform.db import Pool

NEVER_TOLD = [
    (
        "I14 every change",
        "DELETE FROM webhook_event_keys WHERE source_id IN (SELECT id FROM ledger_entries WHERE merchant_id = $1)",
    ),
    (
        "I14 every conversion",
        "DELETE FROM webhook_event_keys WHERE source_id IN (SELECT id FROM conversions WHERE merchant_id = $1)",
    ),
]


@pytest.mark.parametrize(("expected", "spoil"), NEVER_TOLD, ids=["changes", "conversions"])
async def test_what_was_told_may_be_forgotten_and_what_was_not_is_found(shop: Actor, expected: str, spoil: str) -> None:
    await fund(shop)
    (await convert(shop)).ok(201)
    whose = UUID(shop.merchant_id)
    pool = Pool(shop.service.dsn, 1)
    async with pool.connection() as tx:
        work = tx.raw.transaction()
        await work.start()
        assert await tx.execute("DELETE FROM webhook_events WHERE merchant_id = $1", whose) >= 1
        assert await invariants.broken(tx) == []
        assert await tx.execute(spoil, whose) >= 1
        found = await invariants.broken(tx)
        await work.rollback()
    await pool.close()
    assert found
    assert all(line.startswith(expected) for line in found), found
