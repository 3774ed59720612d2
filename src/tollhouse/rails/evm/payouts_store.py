"""SQL of payouts on chains, also of those that are signed on a machine without network."""

from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.platform.database.records import Record
from tollhouse.rails.batches.store import TRANSFER_COLUMNS, list_shown
from tollhouse.rails.evm.payouts_model import (
    ChainFee,
    ChainPayout,
    ChainTransaction,
    MinedTransfer,
    NewChainPayout,
    OpenChainPayout,
    WaitsFor,
)
from tollhouse.rails.evm.signer.messages import GasTerms, SignedTransfer
from tollhouse.transfers.gate.model import OUTGOING_TRANSFER, OutgoingTransfer

OPEN_MAX = 1_000
PAYOUT = Record(ChainPayout, "chain_payouts")
COLUMNS = PAYOUT.columns_of("p")
TRANSACTION = Record(ChainTransaction, "chain_transactions")
INSERT = """
    INSERT INTO chain_payouts (id, kind, rail, mode, chain_id, currency, contract, receiver, amount_units,
                               deposit_index, status, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'waiting', $11, $11) ON CONFLICT (id) DO NOTHING
"""
GET = f"SELECT {COLUMNS} FROM chain_payouts p WHERE p.id = $1"
LOCK = f"SELECT {COLUMNS} FROM chain_payouts p WHERE p.id = $1 FOR NO KEY UPDATE"
LEASE_DUE = f"""
    UPDATE chain_payouts p SET check_at = $3::timestamptz + $4::interval
    FROM (SELECT id FROM chain_payouts WHERE rail = $1 AND mode = $2 AND check_at <= $3
          ORDER BY check_at LIMIT $5 FOR NO KEY UPDATE SKIP LOCKED) due
    WHERE p.id = due.id
    RETURNING {COLUMNS}
"""
WAIT = "UPDATE chain_payouts SET reason = $2, waits_for = $3, updated_at = $4 WHERE id = $1 AND status = 'waiting'"
IS_ANOTHER_RESERVED = """
    SELECT EXISTS (SELECT FROM chain_payouts
                   WHERE rail = $1 AND mode = $2 AND status = 'reserved' AND kind <> 'sweep' AND id <> $3) AS is_reserved
"""
# The row of the wallet is locked, so that orders get their nonces one after the other.
TAKE_NONCE = """
    INSERT INTO chain_wallets (rail, mode, address, next_nonce) VALUES ($1, $2, $3, $4::bigint + 1)
    ON CONFLICT (rail, mode, address) DO UPDATE SET next_nonce = greatest(chain_wallets.next_nonce, $4) + 1
    RETURNING next_nonce - 1 AS nonce
"""
SKIP_NONCES = """
    INSERT INTO chain_wallets (rail, mode, address, next_nonce) VALUES ($1, $2, $3, $4)
    ON CONFLICT (rail, mode, address) DO UPDATE SET next_nonce = greatest(chain_wallets.next_nonce, $4)
"""
GIVE_NONCE_BACK = """
    UPDATE chain_wallets SET next_nonce = $4 WHERE rail = $1 AND mode = $2 AND address = $3 AND next_nonce = $4::bigint + 1
"""
RESERVE = """
    UPDATE chain_payouts SET status = 'reserved', reason = NULL, waits_for = NULL, wallet = $2, nonce = $3,
        gas = $4, fee_per_gas = $5, tip_per_gas = $6, updated_at = $7, check_at = $8
    WHERE id = $1 AND status = 'waiting'
"""
RELEASE = """
    UPDATE chain_payouts SET status = 'waiting', reason = $2, wallet = NULL, nonce = NULL, gas = NULL, fee_per_gas = NULL,
        tip_per_gas = NULL, updated_at = $3, check_at = NULL
    WHERE id = $1 AND status = 'reserved'
"""
ADD_TRANSACTION = """
    INSERT INTO chain_transactions (payout_id, number, tx_hash, raw, gas, fee_per_gas, tip_per_gas, signed_at)
    SELECT $1, coalesce(max(number), 0) + 1, $2, $3, $4, $5, $6, $7 FROM chain_transactions WHERE payout_id = $1
    ON CONFLICT (tx_hash) DO NOTHING
"""
SIGNED = """
    UPDATE chain_payouts SET status = 'signed', updated_at = $2, check_at = $2 WHERE id = $1 AND status = 'reserved'
"""
TRANSACTIONS = f"""
    SELECT {TRANSACTION.columns} FROM chain_transactions
    WHERE payout_id = $1 ORDER BY fee_per_gas, number
"""
SENT = "UPDATE chain_transactions SET sent_at = $3 WHERE payout_id = $1 AND number = $2"
CHECK_LATER = (
    "UPDATE chain_payouts SET check_at = $2, reason = $3 WHERE id = $1 AND status IN ('reserved', 'signed', 'mined')"
)
MINE = """
    UPDATE chain_payouts SET status = $2, tx_hash = $3, block_number = $4, block_hash = $5, fee_wei = $6, reason = $7,
        updated_at = $8, check_at = $9, fee_currency = $10, fee_minor = $11
    WHERE id = $1 AND status IN ('signed', 'mined')
"""
UNMINE = """
    UPDATE chain_payouts SET status = 'signed', tx_hash = NULL, block_number = NULL, block_hash = NULL,
        fee_wei = NULL, updated_at = $2
    WHERE id = $1 AND status = 'mined'
"""
MARK_REFUSED = "UPDATE chain_payouts SET refused_by_action_id = $2, updated_at = $3 WHERE id = $1 AND status = 'waiting'"
UNMARK_REFUSED = "UPDATE chain_payouts SET refused_by_action_id = NULL WHERE id = $1 AND refused_by_action_id IS NOT NULL"
FAIL_WAITING = """
    UPDATE chain_payouts SET status = 'failed', reason = $2, waits_for = NULL, updated_at = $3
    WHERE id = $1 AND status = 'waiting'
"""
LIST_TO_REFUSE = """
    SELECT p.id, a.operator, a.reason FROM chain_payouts p JOIN operator_actions a ON a.id = p.refused_by_action_id
    WHERE p.status = 'waiting' ORDER BY p.created_at, p.id LIMIT $1
"""
# The newest signed transaction of each is the one that a node has.
LIST_OPEN = """
    SELECT p.id, p.rail, p.kind, p.status, o.amount_minor, p.currency, p.receiver, p.nonce, p.reason, p.created_at,
           (SELECT c.tx_hash FROM chain_transactions c WHERE c.payout_id = p.id ORDER BY c.number DESC LIMIT 1) AS tx_hash
    FROM chain_payouts p JOIN outgoing_transfers o ON o.id = p.id
    WHERE p.status IN ('waiting', 'reserved', 'signed', 'mined') ORDER BY p.created_at, p.id LIMIT $1
"""
ENV_OF = "SELECT merchant_id, mode FROM outgoing_transfers WHERE id = $1"
COUNT_WAITING = """
    SELECT currency, waits_for, count(*) AS payouts FROM chain_payouts
    WHERE rail = $1 AND mode = $2 AND status = 'waiting' AND deposit_index IS NULL GROUP BY currency, waits_for
"""
# What has a nonce and is in no block yet is not missing from the wallet's balance.
COMMITTED = """
    SELECT coalesce(sum(amount_units) FILTER (WHERE contract IS NOT DISTINCT FROM $4), 0) AS amount_units,
           coalesce(sum(gas::numeric * fee_per_gas), 0) AS fees_wei
    FROM chain_payouts WHERE rail = $1 AND mode = $2 AND wallet = $3 AND status IN ('reserved', 'signed')
"""
LATEST_GAS = """
    SELECT contract, ceil(avg(gas))::bigint AS gas
    FROM (SELECT contract, gas FROM chain_payouts WHERE rail = $1 AND mode = $2 AND wallet = $3
          ORDER BY nonce DESC LIMIT 50) latest
    GROUP BY contract
"""
FIRST_UNMINED = """
    SELECT id FROM chain_payouts WHERE rail = $1 AND mode = $2 AND wallet = $3 AND status IN ('reserved', 'signed')
    ORDER BY nonce LIMIT 1
"""
WAITING = f"""
    SELECT {TRANSFER_COLUMNS} FROM outgoing_transfers o JOIN chain_payouts p ON p.id = o.id
    WHERE p.status = 'waiting' AND p.refused_by_action_id IS NULL
"""
LIST_WAITING = f"{WAITING} AND p.rail = $1 AND p.mode = $2 ORDER BY p.created_at, p.id LIMIT $3"
LOCK_WAITING = f"{WAITING} AND p.id = ANY ($1::uuid[]) ORDER BY p.created_at, p.id FOR NO KEY UPDATE OF o, p"
MARK_EXPORTED = """
    UPDATE chain_payouts SET exported_at = $2, check_at = NULL, reason = 'exported, and not imported yet'
    WHERE id = $1 AND status = 'reserved' AND exported_at IS NULL
"""
# Exported ones that are not signed, or not with the terms that were exported last.
LIST_UNSIGNED = f"""
    SELECT {COLUMNS} FROM chain_payouts p
    WHERE p.rail = $1 AND p.mode = $2 AND p.exported_at IS NOT NULL AND p.status IN ('reserved', 'signed')
      AND p.fee_per_gas > coalesce((SELECT max(c.fee_per_gas) FROM chain_transactions c WHERE c.payout_id = p.id), 0)
    ORDER BY p.nonce
"""
LIST_TOO_CHEAP = f"""
    SELECT {COLUMNS} FROM chain_payouts p
    WHERE p.rail = $1 AND p.mode = $2 AND p.exported_at IS NOT NULL AND p.status IN ('reserved', 'signed')
      AND p.fee_per_gas < $3
    ORDER BY p.nonce
"""
RAISE_FEE = """
    UPDATE chain_payouts SET fee_per_gas = $3, tip_per_gas = $4, updated_at = $5
    WHERE id = $1 AND fee_per_gas = $2 AND status IN ('reserved', 'signed')
"""
# Each counts with the highest fee that was signed for it, and one that is being signed with its terms.
USED_BY_REFUNDS = """
    SELECT coalesce(sum(greatest(p.gas::numeric * p.fee_per_gas, s.cost)), 0)::text AS used
    FROM outgoing_transfers mine
    JOIN outgoing_transfers o ON (o.merchant_id, o.mode) = (mine.merchant_id, mine.mode) AND o.kind = 'refund'
    JOIN chain_payouts p ON p.id = o.id AND p.rail = $2 AND p.nonce IS NOT NULL
    CROSS JOIN LATERAL (SELECT max(c.gas::numeric * c.fee_per_gas) AS cost, max(c.signed_at) AS signed_at
                        FROM chain_transactions c WHERE c.payout_id = p.id) s
    WHERE mine.id = $1 AND p.id <> $1 AND (s.signed_at > $3 OR p.status = 'reserved')
"""


class PayoutToRefuse(Struct, frozen=True):
    """The operator who wants a payout refused, and why."""

    payout_id: UUID
    operator: str
    reason: str


async def insert(db: Pool | Tx, new: NewChainPayout, now: datetime) -> None:
    """Insert an order that waits; one that is there already stays as it is."""
    facts = (new.id, new.kind, new.rail, new.mode, new.chain_id, new.currency, new.contract, new.receiver)
    await db.execute(INSERT, *facts, Decimal(new.amount_units), new.deposit_index, now)


async def get(db: Pool | Tx, payout_id: UUID) -> ChainPayout | None:
    """The payout of an order; None where it never came to its rail."""
    return await PAYOUT.find(db, GET, payout_id)


async def lock(tx: Tx, payout_id: UUID) -> ChainPayout | None:
    """The payout of an order, locked until the transaction ends."""
    return await PAYOUT.find(tx, LOCK, payout_id)


async def lease_due(db: Pool, rail: str, mode: Mode, now: datetime, lease: timedelta, limit: int) -> list[ChainPayout]:
    """Payouts of a rail that are due to be continued or looked up, leased to this caller."""
    return await PAYOUT.find_all(db, LEASE_DUE, rail, mode, now, lease, limit)


async def wait(db: Pool | Tx, payout_id: UUID, reason: str, waits_for: WaitsFor, now: datetime) -> None:
    """Record why a payout without a nonce waits."""
    await db.execute(WAIT, payout_id, reason, waits_for, now)


async def is_another_reserved(db: Pool, payout: ChainPayout) -> bool:
    """Whether another payout of the wallet that pays is between its nonce and its signature."""
    [row] = await db.fetch(IS_ANOTHER_RESERVED, payout.rail, payout.mode, payout.id)
    return row["is_reserved"]


async def reserve(
    tx: Tx, payout: ChainPayout, wallet: str, nonce_min: int, terms: GasTerms, now: datetime, check_at: datetime
) -> None:
    """Give a waiting payout, which is locked, the wallet's next nonce, at least this one.

    Raises `asyncpg.UniqueViolationError` while another payout is between its nonce and its signature.
    """
    row = await tx.fetchrow(TAKE_NONCE, payout.rail, payout.mode, wallet, nonce_min)
    if row is None:
        raise AssertionError("an upsert returns its row")
    await tx.execute(RESERVE, payout.id, wallet, row["nonce"], *_terms_values(terms), now, check_at)


async def adopt(tx: Tx, payout: ChainPayout, signed: SignedTransfer, now: datetime, check_at: datetime) -> None:
    """Give a waiting payout the nonce that it was signed with before this database was restored."""
    await tx.execute(SKIP_NONCES, payout.rail, payout.mode, signed.wallet, signed.nonce + 1)
    await tx.execute(UNMARK_REFUSED, payout.id)
    await tx.execute(RESERVE, payout.id, signed.wallet, signed.nonce, *_terms_values(signed.terms), now, check_at)


async def mark_refused(tx: Tx, payout_id: UUID, action_id: UUID, now: datetime) -> None:
    """Record that an operator wants a payout refused, which waits and is locked. It is not signed from now on."""
    await tx.execute(MARK_REFUSED, payout_id, action_id, now)


async def list_to_refuse(db: Pool, limit: int) -> list[PayoutToRefuse]:
    """The requests that the worker has not carried out."""
    return [PayoutToRefuse(row["id"], row["operator"], row["reason"]) for row in await db.fetch(LIST_TO_REFUSE, limit)]


async def release(tx: Tx, payout: ChainPayout, reason: str, now: datetime) -> None:
    """Take the nonce back from a payout for which nothing was signed."""
    if await tx.execute(RELEASE, payout.id, reason, now) == 1:
        await tx.execute(GIVE_NONCE_BACK, payout.rail, payout.mode, payout.wallet, payout.nonce)


async def add_transaction(tx: Tx, payout_id: UUID, signed: SignedTransfer, now: datetime) -> None:
    """Store signed bytes; the same again changes nothing."""
    await tx.execute(ADD_TRANSACTION, payout_id, signed.tx_hash, signed.raw, *_terms_values(signed.terms), now)
    await tx.execute(SIGNED, payout_id, now)


async def list_transactions(db: Pool | Tx, payout_id: UUID) -> list[ChainTransaction]:
    """The signed bytes of a payout, the ones that replace the others last."""
    return await TRANSACTION.find_all(db, TRANSACTIONS, payout_id)


async def record_sent(db: Pool, payout_id: UUID, number: int, now: datetime) -> None:
    """Record that a node took these bytes."""
    await db.execute(SENT, payout_id, number, now)


async def check_later(db: Pool | Tx, payout_id: UUID, at: datetime, reason: str | None = None) -> None:
    """Look at an open payout again at this time."""
    await db.execute(CHECK_LATER, payout_id, at, reason)


async def record_mined(
    db: Pool | Tx, payout_id: UUID, mined: MinedTransfer, now: datetime, check_at: datetime, reason: str | None = None
) -> bool:
    """Record the block of a payout, and why it is not completed. False where it has ended."""
    return await _mine(db, payout_id, "mined", mined, reason, now, check_at)


async def complete(tx: Tx, payout_id: UUID, mined: MinedTransfer, fee: ChainFee, now: datetime) -> bool:
    """Complete a payout whose block is final. False where it is final already."""
    return await _mine(tx, payout_id, "completed", mined, None, now, None, fee)


async def fail(tx: Tx, payout_id: UUID, mined: MinedTransfer, fee: ChainFee, reason: str, now: datetime) -> bool:
    """Fail a payout whose transaction is final and has moved nothing. False where it is final already."""
    return await _mine(tx, payout_id, "failed", mined, reason, now, None, fee)


async def unmine(db: Pool, payout_id: UUID, now: datetime) -> None:
    """Record that the block of a payout has left the chain."""
    await db.execute(UNMINE, payout_id, now)


async def fail_waiting(db: Pool | Tx, payout_id: UUID, reason: str, now: datetime) -> bool:
    """Fail a payout that has no nonce, and so was never signed. False where it has one, or has ended."""
    return await db.execute(FAIL_WAITING, payout_id, reason, now) == 1


async def count_waiting(db: Pool, rail: str, mode: Mode) -> dict[tuple[str, WaitsFor | None], int]:
    """How many payouts wait, by currency and what for."""
    rows = await db.fetch(COUNT_WAITING, rail, mode)
    return {(row["currency"], row["waits_for"]): row["payouts"] for row in rows}


async def list_open(db: Pool, catalogue: Catalogue, limit: int = OPEN_MAX) -> list[OpenChainPayout]:
    """Payouts that have not ended, oldest first."""
    return await list_shown(db, OpenChainPayout, catalogue, LIST_OPEN, limit)


async def get_env(tx: Tx, payout_id: UUID) -> MerchantEnv:
    """The merchant environment that a payout belongs to. Raises `NotFound`."""
    row = await tx.fetchrow(ENV_OF, payout_id)
    if row is None:
        raise NotFound
    return MerchantEnv(MerchantId(row["merchant_id"]), row["mode"])


async def committed(db: Pool | Tx, rail: str, mode: Mode, wallet: str, contract: str | None) -> tuple[int, int]:
    """What payouts that are in no block yet take from the wallet: of this asset, and of the coin for fees at most."""
    row = await db.fetchrow(COMMITTED, rail, mode, wallet, contract)
    return (0, 0) if row is None else (int(row["amount_units"]), int(row["fees_wei"]))


async def latest_gas(db: Pool, rail: str, mode: Mode, wallet: str) -> dict[str | None, int]:
    """By contract, None for the coin: what the last transfers of a wallet were allowed in gas, on average."""
    return {row["contract"]: row["gas"] for row in await db.fetch(LATEST_GAS, rail, mode, wallet)}


async def first_unmined(db: Pool | Tx, payout: ChainPayout) -> UUID | None:
    """The payout of the same wallet with the lowest nonce that is in no block: the others wait for it."""
    row = await db.fetchrow(FIRST_UNMINED, payout.rail, payout.mode, payout.wallet)
    return None if row is None else row["id"]


async def _mine(
    db: Pool | Tx,
    payout_id: UUID,
    status: str,
    mined: MinedTransfer,
    reason: str | None,
    now: datetime,
    check_at: datetime | None,
    fee: ChainFee | None = None,
) -> bool:
    block = (mined.tx_hash, mined.block_number, mined.block_hash, Decimal(mined.fee_wei))
    in_ledger = (None, None) if fee is None else (fee.currency, fee.amount_minor)
    return await db.execute(MINE, payout_id, status, *block, reason, now, check_at, *in_ledger) == 1


def _terms_values(terms: GasTerms) -> tuple[int, int, int]:
    return terms.gas, terms.fee_per_gas, terms.tip_per_gas


async def list_waiting(tx: Tx, rail: str, mode: Mode, limit: int) -> list[OutgoingTransfer]:
    """The transfers of payouts that have no nonce, oldest first."""
    return await OUTGOING_TRANSFER.find_all(tx, LIST_WAITING, rail, mode, limit)


async def lock_waiting(tx: Tx, payout_ids: list[UUID]) -> list[OutgoingTransfer]:
    """Those of these payouts that still have no nonce, locked, oldest first."""
    return await OUTGOING_TRANSFER.find_all(tx, LOCK_WAITING, payout_ids)


async def mark_exported(tx: Tx, payout: ChainPayout, now: datetime) -> None:
    """Record that the nonce of a payout is given out in a file. From now on it may be signed."""
    await tx.execute(MARK_EXPORTED, payout.id, now)


async def list_unsigned(db: Pool | Tx, rail: str, mode: Mode) -> list[ChainPayout]:
    """Exported payouts of which the signed bytes are missing, by nonce."""
    return await PAYOUT.find_all(db, LIST_UNSIGNED, rail, mode)


async def list_too_cheap(tx: Tx, rail: str, mode: Mode, fee_per_gas: int) -> list[ChainPayout]:
    """Exported payouts in no block that pay less than this for gas, by nonce."""
    return await PAYOUT.find_all(tx, LIST_TOO_CHEAP, rail, mode, fee_per_gas)


async def raise_fee(tx: Tx, payout: ChainPayout, terms: GasTerms, now: datetime) -> None:
    """Let an exported payout pay more, unless another export did so meanwhile."""
    before = 0 if payout.terms is None else payout.terms.fee_per_gas
    await tx.execute(RAISE_FEE, payout.id, before, terms.fee_per_gas, terms.tip_per_gas, now)


async def used_wei(db: Pool | Tx, payout: ChainPayout, since: datetime) -> int:
    """What the other refunds of its merchant by this rail can have cost since then, in wei."""
    [row] = await db.fetch(USED_BY_REFUNDS, payout.id, payout.rail, since)
    return int(row["used"])
