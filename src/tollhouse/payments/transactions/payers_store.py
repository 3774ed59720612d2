"""The transfers of a payment as its rail reported them: who paid, from which account, and in which transaction."""

import re
from uuid import UUID

from msgspec import Struct

from tollhouse.platform.database.pool import Pool

# The last report of each transfer: reports of the same one have the same reference up to what follows a sign.
LIST = """
    SELECT external_ref, outcome, amount_minor, payer_account, payer_name FROM rail_observations
    WHERE transaction_id = $1 AND outcome IN ('seen', 'confirmed', 'vanished')
    ORDER BY at DESC, outcome, confirmations DESC LIMIT $2
"""
TRANSFERS_READ_MAX = 500
TRANSFERS_SHOWN = 20
NETWORK_HASH = re.compile(r"(?:0x)?[0-9a-f]{64}(?=$|[:/@])")
"""How a reference begins that names the transaction of a block chain."""


class ObservedTransfer(Struct, frozen=True):
    """A transfer. `tx_hash` is set on networks, account and name where the rail reports them."""

    amount_minor: int
    account: str | None
    name: str | None
    tx_hash: str | None


async def list_transfers(db: Pool, transaction_id: UUID) -> list[ObservedTransfer]:
    """The transfers of a payment, newest first."""
    found: dict[str, ObservedTransfer | None] = {}
    for row in await db.fetch(LIST, transaction_id, TRANSFERS_READ_MAX):
        reference = row["external_ref"]
        named = NETWORK_HASH.match(reference)
        tx_hash = named[0] if named else None
        transfer = ObservedTransfer(row["amount_minor"], row["payer_account"], row["payer_name"], tx_hash)
        found.setdefault(re.split("[@/]", reference)[0], None if row["outcome"] == "vanished" else transfer)
    return [transfer for transfer in found.values() if transfer is not None][:TRANSFERS_SHOWN]
