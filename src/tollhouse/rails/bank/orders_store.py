"""SQL of what the bank carries out: refunds and withdrawals; and of payouts of card providers to the bank account."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.kernel.bank_codes import parse_bic, read_address
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.rails.bank.files.transfer import CURRENCY, NAME, Payout

# All merchants' refunds leave in one file.
REFUNDS = """
    SELECT r.id, r.merchant_id, r.currency, r.amount_minor, o.receiver, o.receiver_name,
           split_part(t.rail_reference, '/', 1) AS reference
    FROM refunds r JOIN transactions t ON (t.merchant_id, t.mode, t.id) = (r.merchant_id, r.mode, r.transaction_id)
    JOIN outgoing_transfers o ON o.id = r.id AND o.released_at IS NOT NULL
    WHERE r.rail = $1 AND r.mode = 'live' AND r.currency = $2 AND r.status = 'pending' AND r.provider_reference IS NOT NULL
    ORDER BY r.created_at
"""
# Across merchants: they leave in one file. Each was approved before it was submitted to the rail.
WITHDRAWALS = """
    SELECT w.id, w.merchant_id, w.currency, w.receive_minor, o.receiver, o.receiver_name, w.provider_fields
    FROM withdrawals w JOIN outgoing_transfers o ON o.id = w.id AND o.released_at IS NOT NULL
    WHERE w.rail = $1 AND w.mode = 'live' AND w.currency = $2 AND w.status = 'processing' AND w.submission = 'accepted'
    ORDER BY w.created_at
"""
# One that failed came back to the balance at the provider, by a balance transaction of the same payout.
PROVIDER_PAYOUTS = """
    SELECT b.id, b.rail, b.source, b.created_at FROM provider_balance_transactions b
    WHERE b.kind = 'payout' AND b.mode = 'live' AND b.settled_at IS NOT NULL
      AND (b.currency, b.amount_minor) = ($1, -$2::bigint)
      AND b.source IS NOT NULL AND ($3::text IS NULL OR b.source = $3)
      AND NOT EXISTS (SELECT FROM bank_entry_parts p WHERE p.provider_payout_id = b.id)
      AND NOT EXISTS (SELECT FROM provider_balance_transactions r
                      WHERE r.kind = 'payout' AND (r.currency, r.amount_minor) = (b.currency, -b.amount_minor)
                        AND (r.rail, r.mode, r.source) = (b.rail, b.mode, b.source))
    ORDER BY b.created_at, b.id LIMIT 5
"""
LOCK_PROVIDER_PAYOUT = "SELECT id FROM provider_balance_transactions WHERE id = $1 FOR NO KEY UPDATE"


async def list_refunds(tx: Tx) -> list[Payout]:
    """Pending refunds that the rail has accepted, oldest first."""
    return [
        Payout(
            id=row["id"],
            kind="refund",
            env=MerchantEnv(MerchantId(row["merchant_id"]), "live"),
            currency=row["currency"],
            amount_minor=row["amount_minor"],
            receiver_iban=row["receiver"],
            receiver_name=row["receiver_name"],
            payment_reference=row["reference"],
            words=f"Refund {row['reference']}",
        )
        for row in await tx.fetch(REFUNDS, NAME, CURRENCY)
    ]


async def list_withdrawals(tx: Tx) -> list[Payout]:
    """Withdrawals that the rail has accepted and whose outcome is open, oldest first."""
    return [_withdrawal(row) for row in await tx.fetch(WITHDRAWALS, NAME, CURRENCY)]


def _withdrawal(row: Row) -> Payout:
    fields = msgspec.json.decode(row["provider_fields"], type=dict[str, Any])
    reference, bic = fields.get("reference"), fields.get("bic")
    return Payout(
        id=row["id"],
        kind="withdrawal",
        env=MerchantEnv(MerchantId(row["merchant_id"]), "live"),
        currency=row["currency"],
        amount_minor=row["receive_minor"],
        receiver_iban=row["receiver"],
        receiver_name=row["receiver_name"],
        receiver_bic=parse_bic(bic) if isinstance(bic, str) else None,
        receiver_address=read_address(fields.get("address")),
        words=reference if isinstance(reference, str) and reference else f"Withdrawal {row['id']}",
    )


class ProviderPayout(Struct, frozen=True):
    """A payout of a provider. `source` is its ID there."""

    id: UUID
    rail: str
    source: str
    created_at: datetime


async def list_provider_payouts(
    db: Pool | Tx, currency: str, amount_minor: int, source: str | None = None
) -> list[ProviderPayout]:
    """The payouts of this amount that no statement shows yet, oldest first: only the one with this ID, if it is given."""
    return [ProviderPayout(*row.values()) for row in await db.fetch(PROVIDER_PAYOUTS, currency, amount_minor, source)]


async def lock_provider_payout(tx: Tx, payout_id: UUID) -> None:
    """Lock a payout, so that one transfer at a time brings it."""
    await tx.fetchrow(LOCK_PROVIDER_PAYOUT, payout_id)
