"""SQL of refunds paid out by bank."""

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.database.pool import Tx
from tollhouse.rails.bank.files.transfer import CURRENCY, NAME, Payout

# All merchants' refunds leave in one file.
LIST_ACCEPTED = """
    SELECT r.id, r.merchant_id, r.currency, r.amount_minor, o.receiver, o.receiver_name,
           split_part(t.rail_reference, '/', 1) AS reference
    FROM refunds r JOIN transactions t ON (t.merchant_id, t.mode, t.id) = (r.merchant_id, r.mode, r.transaction_id)
    JOIN outgoing_transfers o ON o.id = r.id AND o.released_at IS NOT NULL
    WHERE r.rail = $1 AND r.mode = 'live' AND r.currency = $2 AND r.status = 'pending' AND r.provider_reference IS NOT NULL
    ORDER BY r.created_at
"""


async def list_accepted(tx: Tx) -> list[Payout]:
    """Pending refunds that the rail has accepted, oldest first."""
    return [
        Payout(
            id=row["id"],
            env=MerchantEnv(MerchantId(row["merchant_id"]), "live"),
            currency=row["currency"],
            amount_minor=row["amount_minor"],
            receiver_iban=row["receiver"],
            receiver_name=row["receiver_name"],
            payment_reference=row["reference"],
            words=f"Refund {row['reference']}",
        )
        for row in await tx.fetch(LIST_ACCEPTED, NAME, CURRENCY)
    ]
