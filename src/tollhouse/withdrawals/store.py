"""Every SQL statement about withdrawals and the amounts of a day."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.http.paging import Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.db import Pool, Row, Tx
from tollhouse.withdrawals.model import Withdrawal

INSERT = """
    INSERT INTO withdrawals (id, merchant_id, mode, method_id, rail, currency, amount_minor, network_fee_mode,
                             system_fee_minor, network_fee_minor, debit_minor, receive_minor, receiver, provider_fields,
                             quote_id, hold_id, status, webhook_url, external_id, description, metadata, next_look_at,
                             created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $23)
    ON CONFLICT (merchant_id, mode, external_id) DO NOTHING
"""
ID_OF_EXTERNAL = "SELECT id FROM withdrawals WHERE merchant_id = $1 AND mode = $2 AND external_id = $3"
ID_OF_QUOTE = "SELECT id FROM withdrawals WHERE merchant_id = $1 AND mode = $2 AND quote_id = $3"
ONE = "SELECT * FROM whole_withdrawals WHERE merchant_id = $1 AND mode = $2 AND id = $3"
LOCK = "SELECT * FROM whole_withdrawals WHERE merchant_id = $1 AND mode = $2 AND id = $3 FOR NO KEY UPDATE"
LIST = """
    SELECT * FROM whole_withdrawals
    WHERE merchant_id = $1 AND mode = $2 AND ($3::text[] IS NULL OR status = ANY($3))
      AND ($4::text IS NULL OR currency = $4)
      AND ($5::text IS NULL OR method_id = $5) AND ($6::text IS NULL OR external_id = $6)
      AND created_at >= $7 AND (created_at, id) < ($8, $9)
    ORDER BY created_at DESC, id DESC LIMIT $10 OFFSET $11
"""
# Taken for a while by moving the next look: a worker that dies leaves it to the next one.
TAKE_DUE = """
    UPDATE withdrawals w SET next_look_at = $1::timestamptz + $2::interval
    FROM (SELECT id FROM withdrawals WHERE next_look_at <= $1
          ORDER BY next_look_at LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED) due, outgoing_transfers o
    WHERE w.id = due.id AND o.id = w.id
    RETURNING w.id, w.merchant_id, w.mode, w.method_id, w.rail, w.currency, w.amount_minor, w.network_fee_mode,
              w.system_fee_minor, w.network_fee_minor, w.debit_minor, w.receive_minor, w.receiver, w.provider_fields,
              w.quote_id, w.hold_id, w.status, w.submission, w.provider_reference, w.tx_hash, w.network_paid_minor,
              w.failure_code, w.webhook_url, w.external_id, w.description, w.metadata, w.version, w.next_look_at,
              w.created_at, w.updated_at, w.processing_at, w.completed_at, o.approvals_needed, o.approvals, o.reviewed_at,
              o.review_note
"""
LOOK_AGAIN = """
    UPDATE withdrawals SET next_look_at = $4 WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = 'processing'
"""
# One change at a time: of the state and version that was read, whatever held it meanwhile.
CHANGE = """
    UPDATE withdrawals
    SET status = $6, submission = $7, provider_reference = $8, tx_hash = $9, network_paid_minor = $10, failure_code = $11,
        next_look_at = $12, processing_at = $13, completed_at = $14, updated_at = $15, version = version + 1
    WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND status = $4 AND version = $5
"""


class WithdrawalFilter(Struct, frozen=True):
    """Which withdrawals to list; None leaves a filter out."""

    status: Sequence[str] | None = None
    currency: str | None = None
    method_id: str | None = None
    external_id: str | None = None


async def insert(tx: Tx, new: Withdrawal) -> bool:
    """Keep a new withdrawal; False where one has its external id."""
    what = (new.method_id, new.rail, new.currency)
    terms = (new.amount_minor, new.network_fee_mode, new.system_fee_minor, new.network_fee_minor)
    money = (*terms, new.debit_minor, new.receive_minor)
    whom = (new.receiver, _json(new.provider_fields), new.quote_id, new.hold_id)
    said = (new.webhook_url, new.external_id, new.description, _json(new.metadata))
    state = (new.status, *said, new.next_look_at, new.created_at)
    return await tx.execute(INSERT, new.id, new.env.merchant_id, new.env.mode, *what, *money, *whom, *state) == 1


async def id_of_external(tx: Tx, env: MerchantEnv, external_id: str) -> UUID | None:
    """The withdrawal with this external id."""
    return await tx.fetchval(ID_OF_EXTERNAL, env.merchant_id, env.mode, external_id)


async def id_of_quote(db: Pool | Tx, env: MerchantEnv, quote_id: UUID) -> UUID | None:
    """The withdrawal that was made with this quote."""
    row = await db.fetchrow(ID_OF_QUOTE, env.merchant_id, env.mode, quote_id)
    return None if row is None else row["id"]


async def one(db: Pool | Tx, env: MerchantEnv, withdrawal_id: UUID) -> Withdrawal | None:
    """This withdrawal of this merchant and mode."""
    row = await db.fetchrow(ONE, env.merchant_id, env.mode, withdrawal_id)
    return None if row is None else withdrawal_of(row)


async def lock(tx: Tx, env: MerchantEnv, withdrawal_id: UUID) -> Withdrawal | None:
    """The same, which nobody else changes until this transaction ends."""
    row = await tx.fetchrow(LOCK, env.merchant_id, env.mode, withdrawal_id)
    return None if row is None else withdrawal_of(row)


async def listed(db: Pool, env: MerchantEnv, wanted: WithdrawalFilter, window: Window) -> list[Withdrawal]:
    """A page of withdrawals, newest first."""
    which = (wanted.status, wanted.currency, wanted.method_id, wanted.external_id)
    rows = await db.fetch_fresh(LIST, env.merchant_id, env.mode, *which, *msgspec.structs.astuple(window))
    return [withdrawal_of(row) for row in rows]


async def take_due(db: Pool, now: datetime, patience: object, limit: int) -> list[Withdrawal]:
    """Withdrawals whose time to be sent or asked about has come, each for this caller alone until its patience ends."""
    return [withdrawal_of(row) for row in await db.fetch(TAKE_DUE, now, patience, limit)]


async def look_again(db: Pool, withdrawal: Withdrawal, at: datetime) -> None:
    """Ask the rail about it again at this time."""
    await db.execute(LOOK_AGAIN, withdrawal.env.merchant_id, withdrawal.env.mode, withdrawal.id, at)


async def change(tx: Tx, current: Withdrawal, new: Withdrawal, now: datetime) -> bool:
    """Write the state that a withdrawal comes into; False where it is not any more what was read."""
    whose = (current.env.merchant_id, current.env.mode, current.id, current.status, current.version)
    sent = (new.submission, new.provider_reference, new.tx_hash, new.network_paid_minor, new.failure_code)
    when = (new.next_look_at, new.processing_at, new.completed_at, now)
    return await tx.execute(CHANGE, *whose, new.status, *sent, *when) == 1


def withdrawal_of(row: Row) -> Withdrawal:
    """A row of the table; its columns are named like the members."""
    facts = dict(row)
    return Withdrawal(
        env=MerchantEnv(MerchantId(facts.pop("merchant_id")), facts.pop("mode")),
        provider_fields=msgspec.json.decode(facts.pop("provider_fields")),
        metadata=msgspec.json.decode(facts.pop("metadata"), type=dict[str, str]),
        approvals=tuple(facts.pop("approvals")),
        **facts,
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
