"""SQL of bank payouts and their batches."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from uuid import UUID

import msgspec

from tollhouse.accounts.approvals.model import OperatorContext
from tollhouse.kernel.bank_codes import OUTSIDE_EEA, PostalAddress, bank_days_between, before_bank_days, parse_address
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.ids import MerchantId
from tollhouse.kernel.limits import EXPORTED_BANK_DAYS_MAX
from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.platform.database.records import Record
from tollhouse.rails.bank.files.batch import NOT_PROVIDED, Batch, Transfer, missing_details
from tollhouse.rails.bank.files.transfer import CURRENCY, BankAccount, Payout
from tollhouse.rails.bank.model import ListedBatch, ListedPayout, OverduePayout, ShownPayout, StoredPayout
from tollhouse.rails.batches.store import TRANSFER_COLUMNS, read_shown
from tollhouse.transfers.gate.model import OUTGOING_TRANSFER, OutgoingTransfer

PREPARE = """
    INSERT INTO bank_payouts (id, kind, merchant_id, mode, currency, amount_minor, receiver_iban, receiver_name, words,
                              status, prepared_at, updated_at, receiver_bic, receiver_address)
    VALUES ($1, $2, $3, $4, $5, $6, $7, coalesce($8, $11), $9, 'prepared', $10, $10, $12, $13)
    ON CONFLICT (id) DO NOTHING
"""
PREPARED = f"""
    SELECT {TRANSFER_COLUMNS} FROM outgoing_transfers o JOIN bank_payouts p ON p.id = o.id
    WHERE p.status = 'prepared' AND ($1::uuid[] IS NULL OR o.id = ANY ($1)) ORDER BY o.id
"""
# Rows, and then merchants, are locked in the order of their IDs.
LOCK_PREPARED = f"{PREPARED} FOR NO KEY UPDATE OF o, p"
COUNT_INCOMPLETE = """
    SELECT count(*) FROM bank_payouts
    WHERE status = 'prepared' AND left(receiver_iban, 2) = ANY ($1::text[])
      AND (receiver_bic IS NULL OR receiver_address IS NULL)
"""
# The transfer that has paid, if it came from this account.
PAYER = """
    SELECT other_bic, other_address FROM bank_entry_parts
    WHERE outcome = 'payment' AND reference = $1 AND upper(replace(other_iban, ' ', '')) = $2 ORDER BY id DESC LIMIT 1
"""
FIND_STORED = "SELECT id FROM bank_payouts WHERE id = ANY ($1::uuid[])"
PAYOUT_COLUMNS = """p.id, p.kind, p.status, p.amount_minor, p.currency, p.receiver_iban, p.receiver_name, p.merchant_id,
           m.business_name, p.batch_id, p.prepared_at, p.ended_because AS ended_reason, p.receiver_bic, p.receiver_address"""
LIST = f"""
    SELECT {PAYOUT_COLUMNS}
    FROM bank_payouts p JOIN merchants m ON m.id = p.merchant_id
    WHERE $1::text IS NULL OR p.status = $1 ORDER BY p.prepared_at DESC, p.id DESC LIMIT $2 OFFSET $3
"""
OVERDUE = f"""
    SELECT {PAYOUT_COLUMNS}, b.exported_at
    FROM bank_payouts p JOIN merchants m ON m.id = p.merchant_id JOIN bank_batches b ON b.id = p.batch_id
    WHERE p.status = 'exported' AND b.exported_at < $1 ORDER BY b.exported_at, p.id LIMIT $2
"""
COUNT_OVERDUE = """
    SELECT count(*) FROM bank_payouts p JOIN bank_batches b ON b.id = p.batch_id
    WHERE p.status = 'exported' AND b.exported_at < $1
"""
LIST_OF_BATCH = f"""
    SELECT {PAYOUT_COLUMNS}
    FROM bank_payouts p JOIN merchants m ON m.id = p.merchant_id
    WHERE p.batch_id = $1 ORDER BY p.id LIMIT $2 OFFSET $3
"""
PAYOUT = f"""
    SELECT {PAYOUT_COLUMNS}, p.words, b.exported_at, p.debited_at, p.ended_by,
           p.updated_at
    FROM bank_payouts p JOIN merchants m ON m.id = p.merchant_id LEFT JOIN bank_batches b ON b.id = p.batch_id
    WHERE p.id = $1
"""
# All batches, or the one with this id. Ids are in order of time.
BATCHES = """
    SELECT b.id, b.iban, b.exported_by, b.exported_at, its.payouts, its.amount_minor, its.exported, its.confirmed,
           its.returned, its.refused
    FROM (SELECT id, iban, exported_by, exported_at FROM bank_batches
          WHERE $1::uuid IS NULL OR id = $1 ORDER BY id DESC LIMIT $2 OFFSET $3) b
    CROSS JOIN LATERAL (
        SELECT count(*) AS payouts, sum(p.amount_minor)::bigint AS amount_minor,
               count(*) FILTER (WHERE p.status = 'exported') AS exported,
               count(*) FILTER (WHERE p.status = 'confirmed') AS confirmed,
               count(*) FILTER (WHERE p.status = 'returned') AS returned,
               count(*) FILTER (WHERE p.status = 'refused') AS refused
        FROM bank_payouts p WHERE p.batch_id = b.id
    ) its
    ORDER BY b.id DESC
"""
KEEP_BATCH = """
    INSERT INTO bank_batches (id, iban, bic, holder, exported_by, exported_at, address)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
"""
EXPORT = """
    UPDATE bank_payouts SET status = 'exported', batch_id = $1, updated_at = $3
    WHERE status = 'prepared' AND id = ANY ($2::uuid[])
"""
BATCH = """
    SELECT b.id AS batch_id, b.iban, b.bic, b.holder, b.address, b.exported_at, p.id, p.amount_minor, p.receiver_iban,
           p.receiver_name, p.words, p.receiver_bic, p.receiver_address
    FROM bank_batches b LEFT JOIN bank_payouts p ON p.batch_id = b.id AND p.status <> 'refused'
    WHERE b.id = $1 ORDER BY p.id
"""
SUSPENDED_IN = """
    SELECT p.id FROM bank_payouts p JOIN merchants m ON m.id = p.merchant_id AND m.suspended_at IS NOT NULL
    WHERE p.batch_id = $1 AND p.status = 'exported' ORDER BY p.id
"""
STORED = Record(StoredPayout, "bank_payouts")
LOCK = f"SELECT {STORED.columns} FROM bank_payouts WHERE id = $1 FOR NO KEY UPDATE"
LOCK_BATCH = f"SELECT {STORED.columns} FROM bank_payouts WHERE batch_id = $1 ORDER BY id FOR NO KEY UPDATE"
CONFIRM = """
    UPDATE bank_payouts SET status = CASE status WHEN 'exported' THEN 'confirmed' ELSE status END, debited_at = $2,
        updated_at = $2
    WHERE id = $1 AND status IN ('exported', 'returned') AND debited_at IS NULL
"""
CONFIRM_LOST = """
    UPDATE bank_payouts SET status = 'confirmed', is_export_lost = true, debited_at = $2, updated_at = $2
    WHERE id = $1 AND status = 'prepared'
"""
RETURN = """
    UPDATE bank_payouts SET status = 'returned', ended_because = $2, updated_at = $3
    WHERE id = $1 AND status IN ('exported', 'confirmed')
"""
# Exported ones whose money went back to their merchant: the bank can have paid them all the same.
SUM_REFUSED = """
    SELECT coalesce(sum(amount_minor), 0)::bigint FROM bank_payouts
    WHERE merchant_id = $1 AND status = 'refused' AND batch_id IS NOT NULL AND currency = $2 AND updated_at > $3
"""
REFUSE = """
    UPDATE bank_payouts SET status = 'refused', ended_because = $2, ended_by = $3, updated_at = $4
    WHERE id = $1 AND status IN ('prepared', 'exported')
"""


async def lock_prepared(tx: Tx, payout_ids: Collection[UUID] | None) -> list[OutgoingTransfer]:
    """Lock the prepared payouts, or those of these IDs."""
    return await OUTGOING_TRANSFER.find_all(tx, LOCK_PREPARED, None if payout_ids is None else list(payout_ids))


async def list_prepared(tx: Tx) -> list[OutgoingTransfer]:
    """The prepared payouts, without a lock."""
    return await OUTGOING_TRANSFER.find_all(tx, PREPARED, None)


async def find_stored(tx: Tx, payout_ids: Sequence[UUID]) -> set[UUID]:
    """Which of these payouts exist."""
    return {row["id"] for row in await tx.fetch(FIND_STORED, payout_ids)}


async def prepare(tx: Tx, payout: Payout, receiver_iban: str, now: datetime) -> None:
    """Insert a payout unless it exists."""
    env = payout.env
    what = (payout.currency, payout.amount_minor, receiver_iban, payout.receiver_name, payout.words)
    address = None if payout.receiver_address is None else msgspec.json.encode(payout.receiver_address).decode()
    bank = (payout.receiver_bic, address)
    await tx.execute(PREPARE, payout.id, payout.kind, env.merchant_id, env.mode, *what, now, NOT_PROVIDED, *bank)


async def find_payer(tx: Tx, payment_reference: str, iban: str) -> tuple[str | None, PostalAddress | None]:
    """The BIC and the address that a statement has of the account that paid this payment, as far as it has them."""
    row = await tx.fetchrow(PAYER, payment_reference, iban)
    return (None, None) if row is None else (row["other_bic"], _read_address(row["other_address"]))


async def listed(
    db: Pool | Tx, status: str | None, catalogue: Catalogue, limit: int | None = None, offset: int = 0
) -> list[ListedPayout]:
    """Payouts with this status, newest first."""
    return [_listed(row, catalogue) for row in await db.fetch(LIST, status, limit, offset)]


async def list_overdue(db: Pool, now: datetime, limit: int, catalogue: Catalogue) -> list[OverduePayout]:
    """Overdue payouts, oldest first."""
    rows = await db.fetch(OVERDUE, before_bank_days(now, EXPORTED_BANK_DAYS_MAX), limit)
    today = now.astimezone(UTC).date()
    return [
        OverduePayout(
            _listed(row, catalogue),
            stamp(row["exported_at"]),
            bank_days_between(row["exported_at"].astimezone(UTC).date(), today),
        )
        for row in rows
    ]


async def count_overdue(db: Pool, now: datetime) -> int:
    """The number of overdue payouts."""
    row = await db.fetchrow(COUNT_OVERDUE, before_bank_days(now, EXPORTED_BANK_DAYS_MAX))
    return 0 if row is None else row["count"]


async def count_incomplete(db: Pool) -> int:
    """The number of prepared payouts that a bank can reject: outside the EEA, without a BIC or an address."""
    row = await db.fetchrow(COUNT_INCOMPLETE, sorted(OUTSIDE_EEA))
    return 0 if row is None else row["count"]


async def of_batch(db: Pool, batch_id: UUID, limit: int, offset: int, catalogue: Catalogue) -> list[ListedPayout]:
    """The payouts of a batch, in file order."""
    return [_listed(row, catalogue) for row in await db.fetch(LIST_OF_BATCH, batch_id, limit, offset)]


async def payout(db: Pool, payout_id: UUID, catalogue: Catalogue) -> ShownPayout | None:
    """One payout."""
    row = await db.fetchrow(PAYOUT, payout_id)
    if row is None:
        return None
    return read_shown(ShownPayout, row, catalogue, listed=_listed(row, catalogue))


async def batches(db: Pool, limit: int, offset: int, catalogue: Catalogue) -> list[ListedBatch]:
    """The batches, newest first."""
    return [_batch(row, catalogue) for row in await db.fetch(BATCHES, None, limit, offset)]


async def listed_batch(db: Pool, batch_id: UUID, catalogue: Catalogue) -> ListedBatch | None:
    """One batch for the list."""
    row = await db.fetchrow(BATCHES, batch_id, 1, 0)
    return None if row is None else _batch(row, catalogue)


async def export(tx: Tx, batch_id: UUID, account: BankAccount, payout_ids: Sequence[UUID], context: OperatorContext) -> None:
    """Assign these payouts, which are prepared and locked, to a new batch."""
    address = None if account.address is None else str(account.address)
    await tx.execute(KEEP_BATCH, batch_id, account.iban, account.bic, account.holder, context.operator, context.at, address)
    await tx.execute(EXPORT, batch_id, payout_ids, context.at)


async def batch(db: Pool | Tx, batch_id: UUID) -> Batch | None:
    """A batch with its transfers, as exported."""
    rows = await db.fetch(BATCH, batch_id)
    if not rows:
        return None
    first = rows[0]
    return Batch(
        first["batch_id"],
        BankAccount(first["iban"], first["holder"], first["bic"], parse_address(first["address"] or "")),
        first["exported_at"],
        tuple(
            Transfer(
                row["id"].hex,
                row["amount_minor"],
                row["receiver_iban"],
                row["receiver_name"],
                row["words"],
                row["receiver_bic"],
                _read_address(row["receiver_address"]),
            )
            for row in rows
            if row["id"] is not None
        ),
    )


async def batch_for_bank(db: Pool, batch_id: UUID) -> Batch:
    """A batch that exists: they are never deleted."""
    found = await batch(db, batch_id)
    if found is None:
        raise AssertionError("batches are never deleted")
    return found


async def suspended_in(db: Pool | Tx, batch_id: UUID) -> list[UUID]:
    """The exported payouts of a batch whose merchant is suspended."""
    return [row["id"] for row in await db.fetch(SUSPENDED_IN, batch_id)]


async def lock(tx: Tx, payout_id: UUID) -> StoredPayout | None:
    """Lock a payout."""
    return await STORED.find(tx, LOCK, payout_id)


async def lock_batch(tx: Tx, batch_id: UUID) -> list[StoredPayout]:
    """Lock all payouts of a batch."""
    return await STORED.find_all(tx, LOCK_BATCH, batch_id)


async def confirm(tx: Tx, payout_id: UUID, now: datetime) -> bool:
    """Confirm a payout that a statement shows; False if one did before."""
    return await tx.execute(CONFIRM, payout_id, now) == 1


async def confirm_lost(tx: Tx, payout_id: UUID, now: datetime) -> bool:
    """Confirm a prepared payout whose export is unknown; False if it is not prepared."""
    return await tx.execute(CONFIRM_LOST, payout_id, now) == 1


async def record_return(tx: Tx, payout_id: UUID, reason: str, now: datetime) -> bool:
    """Mark a payout as returned; False if it was not confirmed or was returned before."""
    return await tx.execute(RETURN, payout_id, reason, now) == 1


async def sum_refused(tx: Tx, merchant_id: MerchantId, currency: str, since: datetime) -> int:
    """The sum of a merchant's payouts that were exported, and refused since then."""
    return await tx.fetchval(SUM_REFUSED, merchant_id, currency, since)


async def refuse(tx: Tx, payout_id: UUID, context: OperatorContext) -> bool:
    """Refuse a payout; False if it has left."""
    return await tx.execute(REFUSE, payout_id, context.reason or "", context.operator, context.at) == 1


def _read_address(stored: str | None) -> PostalAddress | None:
    return None if stored is None else msgspec.json.decode(stored, type=PostalAddress)


def _listed(row: Row, catalogue: Catalogue) -> ListedPayout:
    bic, address = row["receiver_bic"], _read_address(row["receiver_address"])
    missing = missing_details(row["receiver_iban"], bic, address)
    line = None if address is None else address.line
    return read_shown(ListedPayout, row, catalogue, receiver_address=line, missing_details=missing)


def _batch(row: Row, catalogue: Catalogue) -> ListedBatch:
    return read_shown(ListedBatch, row, catalogue, currency=CURRENCY)
