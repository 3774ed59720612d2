"""That withdrawals were told is known for ever, though the events themselves are dropped after some months."""

import pytest

from tests.cast import Actor
from tests.invariants import broken_without_events
from tests.transfers.withdrawals.steps import asked, fund, play
from tollhouse.platform.database import invariants
from tollhouse.transfers.withdrawals import invariants_store as withdrawals_store
from tollhouse.webhooks.events import invariants_store as events_store

INVARIANTS = (
    *withdrawals_store.INVARIANTS,
    *(invariant for invariant in events_store.INVARIANTS if invariant.number == "I14"),
)
NEVER_REPORTED = [
    (
        "I14 every balance change",
        "DELETE FROM webhook_event_keys WHERE source_id IN (SELECT id FROM ledger_entries WHERE merchant_id = $1)",
    ),
    (
        "I14 every status change",
        "DELETE FROM webhook_event_keys WHERE source_id IN (SELECT id FROM withdrawals WHERE merchant_id = $1)",
    ),
]


@pytest.fixture
async def sent(shop: Actor) -> Actor:
    """A merchant of whose withdrawals one arrived, one failed and one came back."""
    await fund(shop)
    for outcome in ("complete", "fail", "return"):
        (await play(shop, await asked(shop), outcome)).ok()
    return shop


@pytest.mark.parametrize(("expected", "spoil"), NEVER_REPORTED, ids=["changes", "states"])
async def test_what_was_reported_may_be_deleted_and_what_was_not_is_found(sent: Actor, expected: str, spoil: str) -> None:
    found = await broken_without_events(sent, lambda tx: invariants.find_all_violations(tx, INVARIANTS), spoil)
    assert found
    assert all(line.startswith(expected) for line in found), found
