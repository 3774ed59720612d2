"""SQL of the approvals of decisions that two operators make."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from tollhouse.accounts.approvals.model import Decision, DecisionKind, GivenApproval, OperatorContext
from tollhouse.accounts.identity.credentials import email_key
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.ids import new_id
from tollhouse.platform.database.pool import Pool, Tx

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
