"""SQL of emails with receipts."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.database.pool import Pool, Tx

MAILS_MAX = 3
"""Emails for each payment, as the constraint of the table says too."""
RequestedBy = Literal["payer", "merchant"]
# Nothing can be sent before the payment is credited, so this one is always the first.
REQUEST = """
    INSERT INTO receipt_mails (transaction_id, ordinal, merchant_id, mode, requested_by, requested_at, next_attempt_at)
    VALUES ($3, 1, $1, $2, 'payment', $4, $4) ON CONFLICT DO NOTHING
"""
LIST_WAITING = """
    SELECT m.merchant_id, m.mode, m.transaction_id, coalesce(t.payer_language, 'en') AS language, m.attempts
    FROM receipt_mails m JOIN transactions t ON t.id = m.transaction_id
    WHERE m.handled_at IS NULL AND m.next_attempt_at <= $2 ORDER BY m.next_attempt_at LIMIT $1
"""
MARK_HANDLED = """
    UPDATE receipt_mails SET handled_at = $2, withheld = $3, next_attempt_at = NULL
    WHERE transaction_id = $1 AND requested_by = 'payment' AND handled_at IS NULL
"""
WITHHOLD = """
    UPDATE receipt_mails SET handled_at = $2, withheld = true, next_attempt_at = NULL
    WHERE handled_at IS NULL AND transaction_id IN (SELECT id FROM transactions WHERE payment_link_id = ANY ($1::uuid[]))
"""
SCHEDULE_RETRY = """
    UPDATE receipt_mails SET attempts = $2 + 1, next_attempt_at = $3
    WHERE transaction_id = $1 AND requested_by = 'payment' AND handled_at IS NULL AND attempts = $2
"""
LOCK_RECEIPT = "SELECT transaction_id FROM receipts WHERE transaction_id = $1 FOR UPDATE"
INSERT = """
    INSERT INTO receipt_mails (transaction_id, ordinal, merchant_id, mode, requested_by, requested_at, handled_at)
    SELECT $3, coalesce(max(ordinal), 0) + 1, $1, $2, $4, $5, $5 FROM receipt_mails WHERE transaction_id = $3
    HAVING count(*) < $6
"""
LIST = """
    SELECT requested_by, requested_at, withheld FROM receipt_mails
    WHERE transaction_id = $1 AND handled_at IS NOT NULL ORDER BY ordinal
"""
FIND_VERIFIED_ADDRESS = """
    SELECT email FROM users WHERE merchant_id = $1 AND email_key = $2 AND verified_at IS NOT NULL
"""


class WaitingMail(Struct, frozen=True):
    """A receipt that the worker has to send, the language of the customer, and how often it could not be made."""

    env: MerchantEnv
    transaction_id: UUID
    language: str
    attempts: int


class ReceiptMail(Struct, frozen=True):
    """An email with a receipt that was sent or withheld."""

    requested_by: Literal["payment", "payer", "merchant"]
    requested_at: datetime
    withheld: bool


async def request(tx: Tx, env: MerchantEnv, transaction_id: UUID, now: datetime) -> None:
    """Have the worker send the receipt of a payment that is being credited. A second time it has no effect."""
    await tx.defer(REQUEST, env.merchant_id, env.mode, transaction_id, now)


async def list_waiting(db: Pool, limit: int, now: datetime) -> list[WaitingMail]:
    """The receipts to send, the longest due first."""
    return [
        WaitingMail(
            MerchantEnv(MerchantId(row["merchant_id"]), row["mode"]), row["transaction_id"], row["language"], row["attempts"]
        )
        for row in await db.fetch(LIST_WAITING, limit, now)
    ]


async def schedule_retry(db: Pool, waiting: WaitingMail, at: datetime) -> None:
    """Try to make this receipt again then."""
    await db.execute(SCHEDULE_RETRY, waiting.transaction_id, waiting.attempts, at)


async def mark_handled(tx: Tx, transaction_id: UUID, now: datetime, *, withheld: bool) -> bool:
    """Mark the receipt as handled; False if somebody else did."""
    return await tx.execute(MARK_HANDLED, transaction_id, now, withheld) == 1


async def withhold(tx: Tx, link_ids: Sequence[UUID], now: datetime) -> None:
    """Withhold the receipts of these links that are still to be sent. Waits for one that is being enqueued."""
    await tx.execute(WITHHOLD, list(link_ids), now)


async def insert(tx: Tx, env: MerchantEnv, transaction_id: UUID, requested_by: RequestedBy, now: datetime) -> bool:
    """Count an email that is sent now; False if there were `MAILS_MAX`."""
    await tx.fetchrow(LOCK_RECEIPT, transaction_id)
    return await tx.execute(INSERT, env.merchant_id, env.mode, transaction_id, requested_by, now, MAILS_MAX) == 1


async def list_mails(db: Pool, transaction_id: UUID) -> list[ReceiptMail]:
    """The emails of a payment's receipt, oldest first."""
    rows = await db.fetch(LIST, transaction_id)
    return [ReceiptMail(row["requested_by"], row["requested_at"], row["withheld"]) for row in rows]


async def find_verified_address(db: Pool | Tx, env: MerchantEnv, email_key: str) -> str | None:
    """The verified address of a user of the merchant as it was verified; None if there is none."""
    row = await db.fetchrow(FIND_VERIFIED_ADDRESS, env.merchant_id, email_key)
    return None if row is None else row["email"]
