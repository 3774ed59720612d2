"""SQL of merchants' responses to chargebacks: evidence, submission or acceptance, and their delivery to the rail.

And of open chargebacks, and notes that merchants wrote about them before disputes had evidence.
"""

from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.kernel.clock import Timestamp, stamp, stamp_or_none
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.kernel.rails.disputes import DisputeOrder, Evidence, encode
from tollhouse.platform.database.pool import Pool, Row, Tx

ChargebackResponse = Literal["needed", "submitted", "accepted", "expired", "none"]
"""`none`: the chargeback takes no response."""
# Compare-and-set: an open dispute, without a response, in time.
SAVE_EVIDENCE = """
    UPDATE chargebacks c SET evidence = $5::jsonb, evidence_saved_at = $4
    WHERE c.merchant_id = $1 AND c.mode = $2 AND c.id = $3 AND c.status = 'open' AND c.response = 'needed'
      AND (c.respond_by IS NULL OR c.respond_by > time_of_environment($1, $2, $4))
"""
REPLACE_EVIDENCE = """
    UPDATE chargebacks SET evidence = $5::jsonb, evidence_saved_at = CASE WHEN $5::jsonb <> '{}' THEN $6::timestamptz END
    WHERE merchant_id = $1 AND mode = $2 AND transaction_id = $3 AND status = 'open' AND response = 'needed'
      AND evidence = $4::jsonb
"""
LOCK_EVIDENCE = """
    SELECT evidence_saved_at FROM chargebacks WHERE merchant_id = $1 AND mode = $2 AND id = $3 FOR NO KEY UPDATE
"""
RESPOND = """
    UPDATE chargebacks c SET response = $5, responded_at = $4, next_delivery_at = $4
    WHERE c.merchant_id = $1 AND c.mode = $2 AND c.id = $3 AND c.status = 'open' AND c.response = 'needed'
      AND ($5 <> 'submitted' OR c.evidence <> '{}')
      AND (c.respond_by IS NULL OR c.respond_by > time_of_environment($1, $2, $4))
"""
# Leased by moving next_delivery_at: if the worker dies, another one takes over.
LEASE_RESPONSES = """
    UPDATE chargebacks c SET next_delivery_at = $1::timestamptz + $2::interval
    FROM (SELECT id FROM chargebacks WHERE next_delivery_at <= $1
          ORDER BY next_delivery_at LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED) due, transactions t
    WHERE c.id = due.id AND (t.merchant_id, t.mode, t.id) = (c.merchant_id, c.mode, c.transaction_id)
    RETURNING c.merchant_id, c.mode, c.id, c.transaction_id, c.currency, c.amount_minor, c.response, c.evidence,
              c.provider_reference, c.responded_at, t.rail, t.rail_reference
"""
SCHEDULE_DELIVERY = """
    UPDATE chargebacks SET next_delivery_at = $4
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'open' AND next_delivery_at IS NOT NULL
"""
NOTES = "SELECT author, note, created_at FROM chargeback_notes WHERE chargeback_id = $1 ORDER BY created_at, id LIMIT $2"
LIST_OPEN = """
    SELECT id, mode, transaction_id, currency, amount_minor, reason, opened_at, respond_by,
           CASE response WHEN 'submitted' THEN evidence ELSE '{}' END AS evidence
    FROM chargebacks
    WHERE merchant_id = $1 AND status = 'open' ORDER BY opened_at DESC LIMIT $2
"""
NOTES_MAX = 50


class LockedEvidence(Struct, frozen=True):
    """When the draft of the evidence was saved; None if it was not."""

    evidence_saved_at: datetime | None


class DueResponse(Struct, frozen=True):
    """A response that the worker gives to the rail."""

    env: MerchantEnv
    transaction_id: UUID
    rail: str
    response: ChargebackResponse
    order: DisputeOrder


async def save_evidence(tx: Tx, env: MerchantEnv, dispute_id: UUID, evidence: Evidence, now: datetime) -> bool:
    """Save a draft of the evidence. False if the dispute takes no response."""
    saved = await tx.execute(SAVE_EVIDENCE, env.merchant_id, env.mode, dispute_id, now, encode(evidence))
    return saved == 1


async def replace_evidence(
    tx: Tx, env: MerchantEnv, transaction_id: UUID, was: Evidence, becomes: Evidence, now: datetime
) -> None:
    """Replace this draft of the evidence of a payment's open disputes. One that the merchant has changed stays."""
    await tx.execute(REPLACE_EVIDENCE, env.merchant_id, env.mode, transaction_id, encode(was), encode(becomes), now)


async def lock_evidence(tx: Tx, env: MerchantEnv, dispute_id: UUID) -> LockedEvidence | None:
    """Lock the evidence of a dispute until the transaction ends. None if there is no such dispute."""
    row = await tx.fetchrow(LOCK_EVIDENCE, env.merchant_id, env.mode, dispute_id)
    return None if row is None else LockedEvidence(row["evidence_saved_at"])


async def respond(tx: Tx, env: MerchantEnv, dispute_id: UUID, response: str, now: datetime) -> bool:
    """Record the response, which the worker delivers. False if the dispute takes none, or has no evidence to submit."""
    return await tx.execute(RESPOND, env.merchant_id, env.mode, dispute_id, now, response) == 1


async def lease_responses(db: Pool, now: datetime, lease: timedelta, limit: int) -> list[DueResponse]:
    """Lease responses that are due."""
    return [_due(row) for row in await db.fetch(LEASE_RESPONSES, now, lease, limit)]


async def schedule_delivery(db: Pool | Tx, due: DueResponse, at: datetime | None) -> None:
    """Schedule the next delivery. None: it was delivered."""
    await db.execute(SCHEDULE_DELIVERY, due.env.merchant_id, due.env.mode, due.order.id, at)


def _due(row: Row) -> DueResponse:
    env = MerchantEnv(MerchantId(row["merchant_id"]), row["mode"])
    order = DisputeOrder(
        id=row["id"],
        provider_reference=row["provider_reference"],
        reference=row["rail_reference"],
        currency=row["currency"],
        amount_minor=row["amount_minor"],
        evidence=msgspec.json.decode(row["evidence"], type=Evidence),
        responded_at=row["responded_at"],
    )
    return DueResponse(env, row["transaction_id"], row["rail"], row["response"], order)


class ChargebackNote(Struct, frozen=True):
    """What the merchant noted as evidence."""

    author: str
    note: str
    created_at: Timestamp


class OpenChargeback(Struct, frozen=True, kw_only=True):
    """An open chargeback with the merchant's notes and submitted evidence, by its members. Nobody else reads a draft."""

    id: UUID
    mode: Mode
    transaction_id: UUID
    currency: str
    amount_minor: int
    reason: str
    opened_at: Timestamp
    respond_by: Timestamp | None
    notes: list[ChargebackNote]
    evidence: dict[str, str]


async def list_notes(db: Pool | Tx, chargeback_id: UUID) -> list[ChargebackNote]:
    """The notes about a chargeback, oldest first."""
    rows = await db.fetch(NOTES, chargeback_id, NOTES_MAX)
    return [ChargebackNote(row["author"], row["note"], stamp(row["created_at"])) for row in rows]


async def list_open(db: Pool, merchant_id: MerchantId, limit: int) -> list[OpenChargeback]:
    """The open chargebacks of a merchant with their notes, newest first."""
    return [
        OpenChargeback(
            id=row["id"],
            mode=row["mode"],
            transaction_id=row["transaction_id"],
            currency=row["currency"],
            amount_minor=row["amount_minor"],
            reason=row["reason"],
            opened_at=stamp(row["opened_at"]),
            respond_by=stamp_or_none(row["respond_by"]),
            notes=await list_notes(db, row["id"]),
            evidence=msgspec.json.decode(row["evidence"], type=dict[str, str]),
        )
        for row in await db.fetch(LIST_OPEN, merchant_id, limit)
    ]
