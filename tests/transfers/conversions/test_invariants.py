"""That conversions were told is known for ever, though the events themselves are dropped after some months."""

import pytest

from tests.cast import Actor
from tests.invariants import broken_without_events
from tests.transfers.conversions.steps import convert, fund
from tollhouse.platform.database import invariants
from tollhouse.transfers.conversions import store as conversions_store
from tollhouse.webhooks.events import invariants_store as events_store

INVARIANTS = (
    *conversions_store.INVARIANTS,
    *(invariant for invariant in events_store.INVARIANTS if invariant.number == "I14"),
)
NEVER_REPORTED = [
    (
        "I14 every balance change",
        "DELETE FROM webhook_event_keys WHERE source_id IN (SELECT id FROM ledger_entries WHERE merchant_id = $1)",
    ),
    (
        "I14 every conversion",
        "DELETE FROM webhook_event_keys WHERE source_id IN (SELECT id FROM conversions WHERE merchant_id = $1)",
    ),
]


@pytest.mark.parametrize(("expected", "spoil"), NEVER_REPORTED, ids=["changes", "conversions"])
async def test_what_was_reported_may_be_deleted_and_what_was_not_is_found(shop: Actor, expected: str, spoil: str) -> None:
    await fund(shop)
    (await convert(shop)).ok(201)
    found = await broken_without_events(shop, lambda tx: invariants.find_all_violations(tx, INVARIANTS), spoil)
    assert found
    assert all(line.startswith(expected) for line in found), found
