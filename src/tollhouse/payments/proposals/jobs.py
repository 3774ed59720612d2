"""Storing that proposals have ended without a decision, and deleting those that moved nothing, long after their end."""

from datetime import timedelta

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.limits import PROPOSAL_KEPT_S
from tollhouse.payments.proposals import store
from tollhouse.platform.database.cleanup import delete_in_batches

BATCH_SIZE = 200


async def store_ended(services: Services) -> None:
    """Store the end of proposals that do not wait any more. Nothing depends on it."""
    while await store.store_ended(services.db, clock.now(), BATCH_SIZE) == BATCH_SIZE:
        pass


async def delete_old(services: Services) -> None:
    """Delete proposals that ended without moving anything 90 days ago."""
    await delete_in_batches(services.db, store.DELETE_OLD, clock.now() - timedelta(seconds=PROPOSAL_KEPT_S))
