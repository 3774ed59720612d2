"""SQL of operators' actions, of the rules of approvals, and of decisions that wait for a second operator."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from tollhouse.accounts.approvals.model import Decision, DecisionKind, GivenApproval, OperatorAction, OperatorContext
from tollhouse.accounts.identity.credentials import email_key
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.platform.database.pool import Pool, Tx

# Also by an address before.
CAN_ENTER = """
    SELECT EXISTS (
        SELECT FROM members m JOIN users u ON u.id = m.user_id
        WHERE m.merchant_id = $1 AND m.removed_at IS NULL AND (u.email_key = $2 OR EXISTS (
            SELECT FROM address_changes c WHERE c.user_id = u.id AND c.old_key = $2 AND c.confirmed_at IS NOT NULL)))
"""
LAST_RESET = """
    SELECT max(u.password_reset_at) FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.merchant_id = $1 AND m.removed_at IS NULL
"""
# A suspension waits for this transaction, and this transaction for a suspension in progress.
LOCK_ACTIVE = "SELECT id FROM merchants WHERE id = $1 AND suspended_at IS NULL FOR SHARE"
OPERATOR = "SELECT email FROM operators WHERE email_key = $1 AND closed_at IS NULL"
INSERT_ACTION = """
    INSERT INTO operator_actions
        (id, operator, action, merchant_id, mode, subject_id, reason, currency, amount_minor, at, client_id,
         on_command_line, single_operator)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
"""

LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
LIST_OPEN = """
    SELECT terms, operator, reason, given_at FROM operator_approvals
    WHERE kind = $1 AND subject_id = $2 AND ($3::text IS NULL OR terms = $3) AND used_at IS NULL ORDER BY given_at, id
"""
DELETE_BEFORE = """
    DELETE FROM operator_approvals WHERE kind = $1 AND subject_id = $2 AND used_at IS NULL AND given_at <= $3
"""
INSERT = """
    INSERT INTO operator_approvals (id, kind, subject_id, terms, operator, operator_key, reason, single_operator, given_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
"""
USE = """
    UPDATE operator_approvals SET used_at = $4 WHERE kind = $1 AND subject_id = $2 AND terms = $3 AND used_at IS NULL
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


async def lock(tx: Tx, kind: DecisionKind, subject_id: UUID) -> None:
    """Wait for other decisions about the same subject, until the transaction ends."""
    await tx.execute(LOCK, f"{kind} {subject_id}")


async def list_open(
    db: Pool | Tx, kind: DecisionKind, subject_id: UUID, terms: str | None = None
) -> Sequence[GivenApproval]:
    """The approvals that wait for another one, oldest first: of these terms, or of all."""
    rows = await db.fetch(LIST_OPEN, kind, subject_id, terms)
    return [GivenApproval(row["terms"], row["operator"], row["reason"], stamp(row["given_at"])) for row in rows]


async def delete_before(tx: Tx, decision: Decision, moment: datetime) -> None:
    """Delete unused approvals that are as old as this or older."""
    await tx.execute(DELETE_BEFORE, decision.kind, decision.subject_id, moment)


async def insert(tx: Tx, decision: Decision, context: OperatorContext, *, single_operator: bool) -> None:
    """Insert an approval."""
    who = (context.operator, email_key(context.operator), context.reason)
    what = (decision.kind, decision.subject_id, decision.terms)
    await tx.execute(INSERT, new_id(), *what, *who, single_operator, context.at)


async def use(tx: Tx, decision: Decision, now: datetime) -> None:
    """Use the approvals of a decision that is carried out."""
    await tx.execute(USE, decision.kind, decision.subject_id, decision.terms, now)
