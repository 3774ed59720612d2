"""One look at Bitcoin: node and wallet are verified, addresses derived, and deposits stored and reported."""

from datetime import datetime
from typing import Any

from tollhouse.http.services import Services
from tollhouse.platform.log.events import log
from tollhouse.rails.bitcoin import batches_store
from tollhouse.rails.bitcoin.network import keys
from tollhouse.rails.bitcoin.network.keys import AccountKey, InvalidKeyError
from tollhouse.rails.bitcoin.network.node import BitcoinNode, ChainState
from tollhouse.rails.bitcoin.network.provider import BitcoinNetwork
from tollhouse.rails.bitcoin.watcher import BitcoinWatcher
from tollhouse.rails.chains import addresses, store
from tollhouse.rails.chains.model import ChainMismatchError, Cursor
from tollhouse.rails.json_rpc import NodeError
from tollhouse.rails.settings import current_secret

VERIFIED_AT_ONCE = 50
"""Addresses that a look verifies. To derive one takes almost a millisecond."""

WATCHED_AHEAD = 1_000
"""By how many addresses the wallet watches more than are needed, when it does not watch enough."""

CHANGE_AHEAD_MIN = 20
"""How many change addresses that no batch has yet the wallet watches at least."""

BEHIND_MAX = 2
"""Blocks that the node may be behind the headers that it knows."""


class AccountDeriver:
    """Derives the addresses of an account, some at once, which is faster."""

    def __init__(self, account: AccountKey) -> None:
        self._account = account
        self._derived: dict[int, str] = {}

    def address(self, index: int) -> str:
        """The deposit address of this index."""
        if index not in self._derived:
            indexes = range(index, index + VERIFIED_AT_ONCE)
            self._derived |= zip(indexes, keys.addresses(self._account, keys.DEPOSITS, indexes), strict=True)
        return self._derived[index]


async def look(
    services: Services, network: BitcoinNetwork, cursor: Cursor | None, first_verified: int, now: datetime
) -> tuple[str | None, dict[str, Any], int]:
    """Why the rail is unavailable, None if it is available; what was measured; and which address is verified next.

    Raises `LeaseLostError`.
    """
    url = current_secret(network.settings.node_url, network.settings.node_url_file)
    if url is None or network.settings.xpub is None:
        return "node_url and xpub are needed by the worker", {}, first_verified
    try:
        account = network.account()
    except InvalidKeyError as error:
        log.error("account_key_invalid", part=network.name, detail=str(error))
        return "the extended public key cannot be used", {}, first_verified
    deriver = AccountDeriver(account)
    is_same, next_verified = await addresses.verify(services, network, deriver, first_verified, VERIFIED_AT_ONCE)
    if not is_same:  # read again until it is right
        return "a deposit address was changed", {}, first_verified
    facts = dict[str, Any]()
    try:
        async with BitcoinNode(url, network.settings.wallet) as node:
            state = await node.state()
            facts |= {"tip": state.blocks, "headers": state.headers, "tip_age_s": max(int(now.timestamp()) - state.time, 0)}
            _verify_chain(network, state)
            await _watch(services, network, node, account)
            facts["free_addresses"] = await addresses.refill(services, network, deriver, now)
            looked_at = await _last_look(services, network)
            await BitcoinWatcher(services, network, node, now, looked_at).follow(cursor, state)
    except (NodeError, ChainMismatchError) as error:
        return str(error), facts, next_verified
    return _tip_error(network, facts), facts, next_verified


def _verify_chain(network: BitcoinNetwork, state: ChainState) -> None:
    """Raises `ChainMismatchError`."""
    if state.chain != network.settings.network:
        raise ChainMismatchError("the node is part of another network")
    if state.initialblockdownload:
        raise ChainMismatchError("the node has not downloaded the chain")


async def _watch(services: Services, network: BitcoinNetwork, node: BitcoinNode, account: AccountKey) -> None:
    """Have the wallet watch all addresses that exist or will be derived now. Raises `NodeError` and `ChainMismatchError`.

    A wallet that does not watch addresses of payments has missed what was sent to them. Only operators can have it read old
    blocks, because that can take hours, and a pruned node cannot.
    """
    await node.open_wallet()
    if await node.is_scanning():
        raise ChainMismatchError("the wallet of the node reads old blocks")
    descriptor = keys.descriptor(account, keys.DEPOSITS)
    watched = await node.watched_up_to(descriptor)
    if watched < await store.last_given_index(services.db, network.name, network.mode):
        raise ChainMismatchError("the wallet of the node does not watch all addresses that were given out")
    needed = await store.next_index(services.db, network.name, network.mode) + addresses.FREE_MIN
    if watched < needed:
        await node.watch(descriptor, needed + WATCHED_AHEAD)
    if network.pays_out:
        change_needed = await batches_store.next_change_index(services.db, network.name, network.mode) + CHANGE_AHEAD_MIN
        change = keys.descriptor(account, keys.CHANGE)
        if await node.watched_up_to(change) < change_needed:
            await node.watch(change, change_needed + WATCHED_AHEAD)


async def _last_look(services: Services, network: BitcoinNetwork) -> datetime | None:
    """When the last look found the rail available, with a node that had all blocks it knew of; None if it did not."""
    found = await store.get_health(services.db, network.name, network.mode)
    if found is None:
        return None
    available, facts, checked_at = found
    return checked_at if available and facts.get("headers") == facts.get("tip") else None


def _tip_error(network: BitcoinNetwork, facts: dict[str, Any]) -> str | None:
    if facts["headers"] - facts["tip"] > BEHIND_MAX:
        return "the node is behind the chain"
    return "the newest block is too old" if facts["tip_age_s"] > network.settings.tip_age_max_s else None
