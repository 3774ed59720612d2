"""SQL of open chargebacks, and of notes that merchants wrote about them before disputes had evidence."""

from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.kernel.clock import Timestamp, stamp, stamp_or_none
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.platform.database.pool import Pool, Tx

NOTES = "SELECT author, note, created_at FROM chargeback_notes WHERE chargeback_id = $1 ORDER BY created_at, id LIMIT $2"
LIST_OPEN = """
    SELECT id, mode, transaction_id, currency, amount_minor, reason, opened_at, respond_by,
           CASE response WHEN 'submitted' THEN evidence ELSE '{}' END AS evidence
    FROM chargebacks
    WHERE merchant_id = $1 AND status = 'open' ORDER BY opened_at DESC LIMIT $2
"""
NOTES_MAX = 50


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
