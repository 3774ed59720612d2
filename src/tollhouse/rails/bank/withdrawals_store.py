"""The SQL statement that finds the withdrawals that leave by bank transfer."""

from typing import Any

import msgspec

from tollhouse.kernel.bank_codes import parse_bic, read_address
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.database.pool import Row, Tx
from tollhouse.rails.bank.files.transfer import CURRENCY, NAME, Payout

# Across merchants: they leave in one file. Each was approved before it was submitted to the rail.
LIST_PENDING = """
    SELECT w.id, w.merchant_id, w.currency, w.receive_minor, o.receiver, o.receiver_name, w.provider_fields
    FROM withdrawals w JOIN outgoing_transfers o ON o.id = w.id AND o.released_at IS NOT NULL
    WHERE w.rail = $1 AND w.mode = 'live' AND w.currency = $2 AND w.status = 'processing' AND w.submission = 'accepted'
    ORDER BY w.created_at
"""


async def list_pending(tx: Tx) -> list[Payout]:
    """Withdrawals that the rail has accepted and whose outcome is open, oldest first."""
    return [_payout(row) for row in await tx.fetch(LIST_PENDING, NAME, CURRENCY)]


def _payout(row: Row) -> Payout:
    fields = msgspec.json.decode(row["provider_fields"], type=dict[str, Any])
    reference, bic = fields.get("reference"), fields.get("bic")
    return Payout(
        id=row["id"],
        env=MerchantEnv(MerchantId(row["merchant_id"]), "live"),
        currency=row["currency"],
        amount_minor=row["receive_minor"],
        receiver_iban=row["receiver"],
        receiver_name=row["receiver_name"],
        receiver_bic=parse_bic(bic) if isinstance(bic, str) else None,
        receiver_address=read_address(fields.get("address")),
        words=reference if isinstance(reference, str) and reference else f"Withdrawal {row['id']}",
    )
