"""How a chain is followed, whatever the network: one worker looks at it, and all processes keep in mind what it measured.

Addresses are derived by the worker ahead of time, given to attempts, and verified.
"""

import asyncio
import time
from datetime import datetime
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

from msgspec import Struct

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.rails.chain import ChainNetwork
from tollhouse.platform.log.events import log
from tollhouse.rails.chains import store
from tollhouse.rails.chains.model import HOLDER, LEASE, Cursor, LeaseLostError

FREE_MIN = 200
"""Addresses that are derived ahead."""
VERIFIED_AT_ONCE = 200


REFRESH_EVERY_S = 2
N_contra = TypeVar("N_contra", bound=ChainNetwork, contravariant=True)
N = TypeVar("N", bound=ChainNetwork)


class Progress(Struct):
    """What this process remembers of a rail: when it looks again, and which address it verifies next."""

    next_look: int = 0
    next_verified: int = 0


_PROGRESS: "WeakKeyDictionary[ChainNetwork, Progress]" = WeakKeyDictionary()


class Look(Protocol[N_contra]):
    """One look at a network."""

    async def __call__(
        self, services: Services, network: N_contra, cursor: Cursor | None, first_verified: int, now: datetime, /
    ) -> tuple[str | None, dict[str, Any], int]:
        """Why the rail is unavailable, None if it is available; what was measured; and which address is verified next.

        Raises `LeaseLostError`.
        """
        ...


class Deriver(Protocol):
    """Derives the addresses of a rail."""

    def address(self, index: int) -> str:
        """The address of this index."""
        ...


async def watch(services: Services, network: N, look: Look[N], every_s: int) -> None:
    """Look at a network if it is its turn, unless another worker does."""
    progress = _PROGRESS.setdefault(network, Progress())
    if time.monotonic() >= progress.next_look:
        progress.next_look = int(time.monotonic()) + every_s
        await watch_once(services, network, look, clock.now())


async def watch_once(services: Services, network: N, look: Look[N], now: datetime) -> None:
    """Look at a network once, unless another worker does, and store its health."""
    is_ours, cursor = await store.lease(services.db, network.name, network.mode, HOLDER, now, LEASE)
    if not is_ours:
        return
    progress = _PROGRESS.setdefault(network, Progress())
    try:
        reason, facts, progress.next_verified = await look(services, network, cursor, progress.next_verified, now)
    except LeaseLostError:
        return
    if reason is not None:
        log.error("rail_unavailable", part=network.name, detail=reason)
    await store.save_health(services.db, network.name, network.mode, reason, facts, now)


async def refresh(services: Services) -> None:
    """Read what the workers of the rails measured last."""
    for network in services.rails.of(ChainNetwork):
        network.measured = await store.get_health(services.db, network.name, network.mode) or network.measured
        network.payouts_measured = await store.get_payout_health(services.db, network.name, network.mode)


async def keep_refreshed(services: Services) -> None:
    """Refresh until cancelled."""
    while True:
        try:
            await refresh(services)
        except Exception as error:  # noqa: BLE001 - what is not measured again expires
            log.warning("rail_health_unknown", exc_info=error)
        await asyncio.sleep(REFRESH_EVERY_S)


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
