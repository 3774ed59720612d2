"""SQL of the rules of approvals."""

from datetime import datetime

from tollhouse.accounts.approvals.model import OperatorAction
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.database.pool import Pool, Tx

CAN_ENTER = "SELECT EXISTS (SELECT FROM users WHERE merchant_id = $1 AND email_key = $2)"
LAST_RESET = "SELECT max(password_reset_at) FROM users WHERE merchant_id = $1"
# A suspension waits for this transaction, and this transaction for a suspension in progress.
LOCK_ACTIVE = "SELECT id FROM merchants WHERE id = $1 AND suspended_at IS NULL FOR SHARE"
OPERATOR = "SELECT email FROM operators WHERE email_key = $1 AND closed_at IS NULL"
INSERT_ACTION = """
    INSERT INTO operator_actions
        (id, operator, action, merchant_id, mode, subject_id, reason, currency, amount_minor, at, client_id,
         on_command_line, single_operator)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
"""


async def can_enter(tx: Tx, merchant_id: MerchantId, email_key: str) -> bool:
    """Whether a user of the merchant has this normalized email address."""
    return bool(await tx.fetchval(CAN_ENTER, merchant_id, email_key))


async def last_reset(tx: Tx, merchant_id: MerchantId) -> datetime | None:
    """The last time a user of the merchant reset a password by a mailed link."""
    return await tx.fetchval(LAST_RESET, merchant_id)


async def lock_active(tx: Tx, merchant_id: MerchantId) -> bool:
    """Lock the merchant against suspension; False if it is suspended."""
    return await tx.fetchrow(LOCK_ACTIVE, merchant_id) is not None


async def operator(db: Pool | Tx, email_key: str) -> str | None:
    """The email address of the open operator account with this normalized address; None if there is none."""
    row = await db.fetchrow(OPERATOR, email_key)
    return None if row is None else row["email"]


async def insert_action(tx: Tx, action: OperatorAction, now: datetime) -> None:
    """Insert an action into the history."""
    subject = (action.merchant_id, action.mode, action.subject_id)
    details = (action.reason, action.currency, action.amount_minor)
    rest = (now, action.client_id, action.on_command_line, action.single_operator)
    await tx.execute(INSERT_ACTION, action.action_id, action.operator, action.action, *subject, *details, *rest)
