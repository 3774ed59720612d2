"""The address book of a chain: addresses are derived by the worker ahead of time, given to attempts, and verified."""

from datetime import datetime
from typing import Protocol
from uuid import UUID

from tollhouse.http.services import Services
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.rails.chain import ChainNetwork
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.log.events import log
from tollhouse.rails.chains import store

FREE_MIN = 200
"""Addresses that are derived ahead."""
VERIFIED_AT_ONCE = 200


class Deriver(Protocol):
    """Derives the addresses of a rail."""

    def address(self, index: int) -> str:
        """The address of this index."""
        ...


async def take(db: Pool, rail: str, mode: Mode, attempt_id: UUID, now: datetime) -> str | None:
    """An address of its own for an attempt; None if no free one is left."""
    return await store.take_address(db, rail, mode, attempt_id, now)


async def release(db: Pool, rail: str, mode: Mode, attempt_id: UUID) -> None:
    """Take back the address of an attempt that did not begin. Nobody has seen it."""
    await store.release_address(db, rail, mode, attempt_id)


async def refill(services: Services, network: ChainNetwork, deriver: Deriver, now: datetime) -> int:
    """Derive addresses until enough are free. Returns how many are free."""
    free = await store.count_free(services.db, network.name, network.mode)
    if free >= FREE_MIN:
        return free
    first = await store.next_index(services.db, network.name, network.mode)
    fresh = [deriver.address(index) for index in range(first, first + FREE_MIN - free)]
    await store.add_addresses(services.db, network.name, network.mode, first, fresh, now)
    return FREE_MIN


async def verify(
    services: Services, network: ChainNetwork, deriver: Deriver, first: int, limit: int = VERIFIED_AT_ONCE
) -> tuple[bool, int]:
    """Compare `limit` addresses, from this index on, with the extended public key, and what their payments show with them.

    Returns whether they are the same, and the index to go on with: 0 after the last one.
    """
    rows = await store.list_addresses(services.db, network.name, network.mode, first, limit)
    wrong = [
        row for row in rows if row.address != deriver.address(row.derivation_index) or row.shown not in {None, row.address}
    ]
    for row in wrong:
        log.error("deposit_address_changed", part=network.name, detail=f"index {row.derivation_index}: {row.address}")
    return not wrong, rows[-1].derivation_index + 1 if len(rows) == limit else 0
