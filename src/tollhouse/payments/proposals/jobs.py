"""Storing that proposals have expired, or were canceled with their connection or key."""

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.payments.proposals import store

BATCH_SIZE = 200


async def store_ended(services: Services) -> None:
    """Store the end of proposals that do not wait any more. Nothing depends on it."""
    while await store.store_ended(services.db, clock.now(), BATCH_SIZE) == BATCH_SIZE:
        pass
