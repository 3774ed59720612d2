"""The SQL statement that compares the uses of limits with what was withdrawn, refunded, paid, converted and ordered."""

from tollhouse.platform.database.invariants import Invariant

# A withdrawal or refund gives everything back when its transfer is closed; what was held by a hold, what that released.
I35_USES = """
    SELECT format('%s of %s count %s and gave back %s; %s was asked for, of which %s came back', u.kind, u.source_id,
                  u.amount_minor, u.given_back_minor, coalesce(asked.amount_minor::text, 'nothing'),
                  coalesce(asked.back_minor::text, 'nothing')) AS line
    FROM limit_uses u
    LEFT JOIN LATERAL (
        SELECT w.merchant_id, w.mode, w.currency, w.credential_id, w.debit_minor AS amount_minor,
               CASE WHEN o.closed_at IS NULL THEN 0 ELSE w.debit_minor END AS back_minor
        FROM withdrawals w JOIN outgoing_transfers o ON o.id = w.id WHERE u.kind = 'withdrawals' AND w.id = u.source_id
        UNION ALL
        SELECT r.merchant_id, r.mode, r.currency, r.credential_id, r.amount_minor + r.network_fee_minor,
               CASE WHEN o.closed_at IS NULL THEN 0 ELSE r.amount_minor + r.network_fee_minor END
        FROM refunds r JOIN outgoing_transfers o ON o.id = r.id
        WHERE u.kind IN ('refunds', 'withdrawals') AND r.id = u.source_id
        UNION ALL
        SELECT b.merchant_id, b.mode, b.currency, b.credential_id, b.amount_minor, coalesce(h.released, 0)
        FROM balance_payments b LEFT JOIN ledger_holds h ON h.id = b.hold_id
        WHERE u.kind = 'balance_payments' AND b.id = u.source_id
        UNION ALL
        SELECT c.merchant_id, c.mode, c.from_currency, c.credential_id, c.from_amount_minor, 0
        FROM conversions c WHERE u.kind = 'conversions' AND c.id = u.source_id
        UNION ALL
        SELECT f.merchant_id, f.mode, f.currency, f.credential_id, f.cost_minor, h.released
        FROM fulfillments f JOIN ledger_holds h ON h.id = f.hold_id WHERE u.kind = 'fulfillments' AND f.id = u.source_id
    ) asked ON true
    WHERE (u.merchant_id, u.mode, u.currency, u.credential_id, u.amount_minor, u.given_back_minor)
          IS DISTINCT FROM
          (asked.merchant_id, asked.mode, asked.currency, asked.credential_id, asked.amount_minor, asked.back_minor)
"""
INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I35", "what counts towards limits is what was asked for", I35_USES, costly=True),
)
