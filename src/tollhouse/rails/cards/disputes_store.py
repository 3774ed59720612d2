"""SQL of disputes at the provider."""

from collections.abc import Sequence

from tollhouse.kernel.ids import Mode
from tollhouse.platform.database.pool import Pool
from tollhouse.rails.cards.stripe.disputes import closed, due_at
from tollhouse.rails.cards.stripe.objects import StripeDispute

# Disputes of confirmed payments that are not known here, have ended otherwise, or have another deadline. A reversal
# without a chargeback took nothing from the merchant, so that nothing is left to be decided.
LIST_CHANGED = """
    SELECT d.id, t.rail_reference
    FROM unnest($3::text[], $4::text[], $5::text[], $6::timestamptz[]) AS d (id, intent, closed, due_at)
    JOIN rail_observations o
        ON (o.rail, o.mode, o.external_ref, o.outcome) = ($1, $2, d.intent, 'confirmed')
    JOIN transactions t ON (t.merchant_id, t.mode, t.id) = (o.merchant_id, o.mode, o.transaction_id)
    LEFT JOIN payment_reversals v
        ON (v.merchant_id, v.mode, v.rail, v.external_ref, v.reversal_ref) = (o.merchant_id, o.mode, $1, d.intent, d.id)
    LEFT JOIN chargebacks c ON (c.merchant_id, c.mode, c.id) = (v.merchant_id, v.mode, v.chargeback_id)
    WHERE v.id IS NULL
       OR CASE d.closed WHEN 'won' THEN v.status <> 'reinstated' WHEN 'lost' THEN c.status = 'open'
          ELSE c.status = 'open' AND c.respond_by <> d.due_at END
"""


async def list_changed(db: Pool, rail: str, mode: Mode, disputes: Sequence[StripeDispute]) -> list[tuple[str, str]]:
    """The IDs of those of these disputes that say something new, each with the reference of its payment."""
    known = [one for one in disputes if one.payment_intent is not None]
    columns = (
        [one.id for one in known],
        [one.payment_intent for one in known],
        [closed(one) for one in known],
        [due_at(one) for one in known],
    )
    return [(row["id"], row["rail_reference"]) for row in await db.fetch(LIST_CHANGED, rail, mode, *columns)]
