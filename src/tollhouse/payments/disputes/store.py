"""SQL of disputes: what merchants read of chargebacks and their responses. `refunds` writes them."""

from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.lists import Position, Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.kernel.rails.disputes import Evidence
from tollhouse.payments.disputes.model import Dispute, DueDispute
from tollhouse.platform.database.pool import Pool, Row, Tx

# `$3` is the time of the status.
DISPUTES = """
    SELECT c.id, c.merchant_id, c.mode, c.transaction_id, t.payment_link_id, l.external_id, t.method_id, t.rail,
           c.amount_minor, c.fee_minor, c.currency, c.reason, c.status AS decision, c.response, c.evidence,
           c.respond_by, c.evidence_saved_at, c.responded_at, c.opened_at, c.closed_at, s.status
    FROM chargebacks c
    JOIN transactions t ON (t.merchant_id, t.mode, t.id) = (c.merchant_id, c.mode, c.transaction_id)
    JOIN payment_links l ON (l.merchant_id, l.mode, l.id) = (t.merchant_id, t.mode, t.payment_link_id)
    CROSS JOIN time_of_environment($1, $2, $3) AS e (present)
    CROSS JOIN LATERAL dispute_status(c.status, c.response, c.respond_by, e.present) AS s (status)
    WHERE c.merchant_id = $1 AND c.mode = $2
"""
GET = f"{DISPUTES} AND c.id = $4"
LIST = f"""{DISPUTES}
      AND ($4::uuid IS NULL OR c.transaction_id = $4) AND ($5::text[] IS NULL OR s.status = ANY($5))
      AND ($6::text IS NULL OR c.currency = $6) AND ($7::text IS NULL OR l.external_id = $7)
      AND c.opened_at >= $8 AND (c.opened_at, c.id) < ($9, $10)
    ORDER BY c.opened_at DESC, c.id DESC LIMIT $11 OFFSET $12
"""
COUNT_TO_RESPOND = """
    SELECT count(*) AS disputes, min(respond_by) AS respond_by FROM (
        SELECT c.respond_by FROM chargebacks c
        WHERE c.merchant_id = $1 AND c.mode = $2 AND c.status = 'open' AND c.response = 'needed'
          AND (c.respond_by IS NULL OR c.respond_by > time_of_environment($1, $2, $3)) LIMIT $4) waiting
"""
# Of one rail of test mode. Each part is limited among its own: disputes that other rails close do not stand in their way.
LIST_EXPIRED = """
    (SELECT d.merchant_id, d.mode, d.id, d.transaction_id FROM chargebacks d
     JOIN transactions t ON (t.merchant_id, t.mode, t.id) = (d.merchant_id, d.mode, d.transaction_id) AND t.rail = $1
     WHERE d.mode = 'test' AND d.status = 'open' AND d.response = 'needed' AND d.respond_by <= $2
     ORDER BY d.respond_by LIMIT $3)
    UNION
    SELECT e.merchant_id, e.mode, e.id, e.transaction_id FROM test_clocks k
    CROSS JOIN LATERAL (
        SELECT d.merchant_id, d.mode, d.id, d.transaction_id FROM chargebacks d
        JOIN transactions t ON (t.merchant_id, t.mode, t.id) = (d.merchant_id, d.mode, d.transaction_id) AND t.rail = $1
        WHERE (d.merchant_id, d.mode) = (k.merchant_id, k.mode) AND d.status = 'open' AND d.response = 'needed'
          AND d.respond_by <= $2::timestamptz + k.ahead LIMIT $3) e
    LIMIT $3
"""


class DisputeFilter(Struct, frozen=True):
    """Filters; None means any. The order is that of the statement's parameters."""

    transaction_id: UUID | None = None
    status: list[str] | None = None
    currency: str | None = None
    external_id: str | None = None


async def get(db: Pool | Tx, env: MerchantEnv, dispute_id: UUID, now: datetime) -> Dispute | None:
    """The dispute of this ID with its status at `now`."""
    row = await db.fetchrow(GET, env.merchant_id, env.mode, now, dispute_id)
    return None if row is None else _dispute(row)


async def list_disputes(db: Pool, env: MerchantEnv, filters: DisputeFilter, now: datetime, window: Window) -> list[Dispute]:
    """A page of disputes with their status at `now`, newest first."""
    rows = await db.fetch_custom_plan(
        LIST, env.merchant_id, env.mode, now, *msgspec.structs.astuple(filters), *msgspec.structs.astuple(window)
    )
    return [_dispute(row) for row in rows]


async def count_to_respond(db: Pool, env: MerchantEnv, now: datetime, limit: int) -> int:
    """How many disputes wait for a response, at most `limit`."""
    row = await db.fetchrow(COUNT_TO_RESPOND, env.merchant_id, env.mode, now, limit)
    return 0 if row is None else row["disputes"]


async def find_to_respond(db: Pool | Tx, env: MerchantEnv, now: datetime, limit: int) -> tuple[int, datetime | None]:
    """How many disputes wait for a response, at most `limit`, and until when the first one does."""
    row = await db.fetchrow(COUNT_TO_RESPOND, env.merchant_id, env.mode, now, limit)
    return (0, None) if row is None else (row["disputes"], row["respond_by"])


async def list_expired(db: Pool, rail: str, now: datetime, limit: int) -> list[DueDispute]:
    """Open disputes of a rail of test mode whose time to respond is over."""
    return [
        DueDispute(_env(row), row["id"], row["transaction_id"]) for row in await db.fetch(LIST_EXPIRED, rail, now, limit)
    ]


def position_of(dispute: Dispute) -> Position:
    """Its position in the list."""
    return Position(dispute.opened_at, dispute.id)


def _env(row: Row) -> MerchantEnv:
    return MerchantEnv(MerchantId(row["merchant_id"]), row["mode"])


def _dispute(row: Row) -> Dispute:
    return Dispute(
        id=row["id"],
        env=_env(row),
        transaction_id=row["transaction_id"],
        payment_link_id=row["payment_link_id"],
        external_id=row["external_id"],
        method_id=row["method_id"],
        rail=row["rail"],
        amount_minor=row["amount_minor"],
        fee_minor=row["fee_minor"],
        currency=row["currency"],
        reason=row["reason"],
        status=row["status"],
        decision=row["decision"],
        response=row["response"],
        evidence=msgspec.json.decode(row["evidence"], type=Evidence),
        evidence_due_at=row["respond_by"],
        evidence_saved_at=row["evidence_saved_at"],
        responded_at=row["responded_at"],
        opened_at=row["opened_at"],
        closed_at=row["closed_at"],
    )
