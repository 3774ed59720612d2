"""What a deposit of tokens is worth: what the balance rose by, which a fee on transfers makes less than its event says.

What a sweep took from the address in the same block is not missing from it.
"""

from collections.abc import Mapping, Sequence

import msgspec

from tollhouse.platform.log.events import log
from tollhouse.rails.chains.model import Deposit
from tollhouse.rails.evm.network.blocks import BlockReader, Header
from tollhouse.rails.evm.network.provider import Asset
from tollhouse.rails.json_rpc import NodeCallError


async def credited_units(
    reader: BlockReader,
    header: Header,
    deposits: Sequence[Deposit],
    assets: dict[str, Asset],
    swept: Mapping[tuple[str, str], int],
) -> list[Deposit]:
    """The deposits of a final block with what arrived: those of one address share what its balance rose by, in order.

    `swept` is what our own transfers took away in this block, by address and currency.
    """
    left: dict[tuple[str, str], int] = {}
    credited: list[Deposit] = []
    for one in deposits:
        asset = assets[one.currency]
        if asset.contract is None:
            credited.append(one)
            continue
        key = (one.address, one.currency)
        if key not in left:
            left[key] = await _rise(reader, header, one.address, asset, swept.get(key, 0))
        units = min(one.units, left[key])
        left[key] -= units
        credited.append(msgspec.structs.replace(one, units=units))
    return credited


async def _rise(reader: BlockReader, header: Header, address: str, asset: Asset, swept: int) -> int:
    """What the balance of an address rose by in a block. A node that forgot that state is asked for the balance now."""
    try:
        after = await reader.balance(address, asset, header.hash)
        before = await reader.balance(address, asset, header.parent_hash)
    except NodeCallError as error:
        log.warning("balance_unknown", part=asset.currency, detail=f"block {header.height}: {error}")
        try:
            return await reader.balance(address, asset, None)
        except NodeCallError:
            return 0
    return max(after - before + swept, 0)
