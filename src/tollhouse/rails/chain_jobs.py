"""The background jobs of chain rails: one worker follows each chain, all keep in mind what it measured."""

import time
from datetime import datetime
from typing import Any
from weakref import WeakKeyDictionary

from msgspec import Struct

from tollhouse.http.services import Services
from tollhouse.kernel import clock
from tollhouse.kernel.rails.registry import Rails
from tollhouse.platform.log.events import log
from tollhouse.rails.bitcoin import looks as bitcoin_looks
from tollhouse.rails.bitcoin.network.provider import BitcoinNetwork
from tollhouse.rails.chains import addresses, store
from tollhouse.rails.chains.model import HOLDER, LEASE, ChainMismatchError, Cursor, LeaseLostError
from tollhouse.rails.evm.network.blocks import BlockReader
from tollhouse.rails.evm.network.node import EvmNode
from tollhouse.rails.evm.network.provider import EvmNetwork
from tollhouse.rails.evm.reports import Reporter
from tollhouse.rails.evm.watcher import Watcher
from tollhouse.rails.json_rpc import NodeError
from tollhouse.rails.settings import current_secret

FollowedNetwork = EvmNetwork | BitcoinNetwork


class Progress(Struct):
    """What this process remembers of a rail: when it looks again, and which address it verifies next."""

    next_look: int = 0
    next_verified: int = 0


_PROGRESS: "WeakKeyDictionary[FollowedNetwork, Progress]" = WeakKeyDictionary()


async def watch(services: Services) -> None:
    """Follow each chain whose turn it is, unless another worker does."""
    for network in following(services.rails):
        progress = _PROGRESS.setdefault(network, Progress())
        if time.monotonic() >= progress.next_look:
            progress.next_look = int(time.monotonic()) + network.settings.poll_interval_s
            await watch_once(services, network, clock.now())


async def watch_once(services: Services, network: FollowedNetwork, now: datetime) -> None:
    """Follow a chain once, unless another worker does, and store its health."""
    is_ours, cursor = await store.lease(services.db, network.name, network.mode, HOLDER, now, LEASE)
    if not is_ours:
        return
    try:
        if isinstance(network, BitcoinNetwork):
            reason, facts = await _follow_wallet(services, network, cursor, now)
        else:
            reason, facts = await _follow(services, network, cursor, now)
    except LeaseLostError:
        return
    if reason is not None:
        log.error("rail_unavailable", part=network.name, detail=reason)
    await store.save_health(services.db, network.name, network.mode, reason, facts, now)


async def _follow_wallet(
    services: Services, network: BitcoinNetwork, cursor: Cursor | None, now: datetime
) -> tuple[str | None, dict[str, Any]]:
    progress = _PROGRESS.setdefault(network, Progress())
    reason, facts, progress.next_verified = await bitcoin_looks.look(services, network, cursor, progress.next_verified, now)
    return reason, facts


async def _follow(
    services: Services, network: EvmNetwork, cursor: Cursor | None, now: datetime
) -> tuple[str | None, dict[str, Any]]:
    """Why the rail is unavailable, None if it is available, and what was measured."""
    from tollhouse.rails.evm.network.derivation import AddressDeriver  # noqa: PLC0415 - a worker without such a rail needs none

    settings, progress = network.settings, _PROGRESS.setdefault(network, Progress())
    url = current_secret(settings.node_url, settings.node_url_file)
    if url is None or settings.xpub is None:
        return "node_url and xpub are needed by the worker", {}
    deriver = AddressDeriver(settings.xpub)
    is_same, following = await addresses.verify(services, network, deriver, progress.next_verified)
    if not is_same:  # read again until it is right
        return "a deposit address was changed", {}
    progress.next_verified = following
    facts: dict[str, Any] = {"free_addresses": await addresses.refill(services, network, deriver, now)}
    try:
        async with EvmNode(url) as node:
            reader = BlockReader(node, network.assets)
            if await reader.chain_id() != settings.chain_id:
                return "the node is part of another network", facts
            tip, moved = await Watcher(services, network, reader, deriver, now).follow(cursor)
    except (NodeError, ChainMismatchError) as error:
        return str(error), facts
    await Reporter(services, network, tip, moved, now).report()
    age_s = max(int((now - tip.head.at).total_seconds()), 0)
    facts |= {"tip": tip.head.height, "tip_age_s": age_s, "final": moved.block.number}
    return ("the newest block is too old" if age_s > settings.tip_age_max_s else None), facts


def following(rails: Rails) -> list[FollowedNetwork]:
    """The rails of block chains, which have an address for each payment and are followed by the worker."""
    return [*rails.of(EvmNetwork), *rails.of(BitcoinNetwork)]
