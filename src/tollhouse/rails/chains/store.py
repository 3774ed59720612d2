"""SQL of deposit addresses, cursors and health of rails."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from tollhouse.kernel.ids import Mode
from tollhouse.kernel.rails.chain import Measured, PayoutsMeasured
from tollhouse.platform.database.invariants import Invariant
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.rails.chains.model import AddressRow, Cursor

TAKE_ADDRESS = """
    UPDATE deposit_addresses SET attempt_id = $3, given_at = $4
    WHERE rail = $1 AND mode = $2 AND attempt_id IS NULL AND derivation_index = (
        SELECT derivation_index FROM deposit_addresses WHERE rail = $1 AND mode = $2 AND attempt_id IS NULL
        ORDER BY derivation_index LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING address
"""
RELEASE_ADDRESS = """
    UPDATE deposit_addresses SET attempt_id = NULL, given_at = NULL WHERE rail = $1 AND mode = $2 AND attempt_id = $3
"""
ADD_ADDRESSES = """
    INSERT INTO deposit_addresses (rail, mode, derivation_index, address, created_at)
    SELECT $1, $2, n.derivation_index, n.address, $5 FROM unnest($3::bigint[], $4::text[]) AS n (derivation_index, address)
    ON CONFLICT (rail, mode, derivation_index) DO NOTHING
"""
COUNT_FREE = "SELECT count(*) FROM deposit_addresses WHERE rail = $1 AND mode = $2 AND attempt_id IS NULL"
NEXT_INDEX = "SELECT coalesce(max(derivation_index) + 1, 0) FROM deposit_addresses WHERE rail = $1 AND mode = $2"
LAST_GIVEN = """
    SELECT max(derivation_index) AS last FROM deposit_addresses WHERE rail = $1 AND mode = $2 AND attempt_id IS NOT NULL
"""
LIST_ADDRESSES = """
    SELECT d.derivation_index, d.address, t.instructions ->> 'address' AS shown
    FROM deposit_addresses d LEFT JOIN transactions t ON t.id = d.attempt_id
    WHERE d.rail = $1 AND d.mode = $2 AND d.derivation_index >= $3 ORDER BY d.derivation_index LIMIT $4
"""
FIND_OURS = """
    SELECT lower(address) AS address, address AS reference, derivation_index FROM deposit_addresses
    WHERE rail = $1 AND mode = $2 AND lower(address) = ANY ($3::text[])
"""
# Of open attempts, and those at which ether from contracts was lost by a reorganisation, unless they were swept.
LIST_OPEN_ADDRESSES = """
    SELECT t.rail_reference AS address FROM transactions t
    WHERE t.rail = $1 AND t.mode = $2 AND t.currency = $3 AND t.method_type = 'crypto'
      AND t.status IN ('pending', 'processing') AND t.rail_reference > $4
    UNION
    SELECT a.address FROM chain_deposits d
    JOIN deposit_addresses a ON (a.rail, a.mode, lower(a.address)) = (d.rail, d.mode, d.address)
    WHERE d.rail = $1 AND d.mode = $2 AND d.currency = $3 AND d.tx_hash LIKE 'internal:%'
      AND d.status IN ('lost', 'reversed') AND a.address > $4
      AND NOT EXISTS (SELECT FROM chain_payouts p
                      WHERE (p.rail, p.mode, p.deposit_index) = (a.rail, a.mode, a.derivation_index))
    ORDER BY address LIMIT $5
"""
# The worker that has the lease prolongs it; another one gets it when it ended.
LEASE = """
    INSERT INTO rail_cursors AS c (rail, mode, leased_by, leased_until) VALUES ($1, $2, $3, $4::timestamptz + $5::interval)
    ON CONFLICT (rail, mode) DO UPDATE SET leased_by = excluded.leased_by, leased_until = excluded.leased_until
    WHERE c.leased_by IS NOT DISTINCT FROM $3 OR c.leased_until < $4
    RETURNING cursor
"""
MOVE_CURSOR = "UPDATE rail_cursors SET cursor = $4, updated_at = $5 WHERE rail = $1 AND mode = $2 AND leased_by = $3"
# Locks the lease, so that another worker gets it only after this transaction.
HOLDS_LEASE = "SELECT FROM rail_cursors WHERE rail = $1 AND mode = $2 AND leased_by = $3 FOR SHARE"
SAVE_HEALTH = """
    INSERT INTO rail_health AS h (rail, mode, available, reason, facts, checked_at) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (rail, mode) DO UPDATE
    SET available = excluded.available, reason = excluded.reason, facts = h.facts || excluded.facts,
        checked_at = excluded.checked_at
"""
GET_HEALTH = "SELECT available, facts, checked_at FROM rail_health WHERE rail = $1 AND mode = $2"
SAVE_PAYOUT_HEALTH = """
    INSERT INTO chain_payout_health (rail, mode, reason, currencies_down, facts, checked_at) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (rail, mode) DO UPDATE SET reason = excluded.reason, currencies_down = excluded.currencies_down,
        facts = excluded.facts, checked_at = excluded.checked_at
"""
GET_PAYOUT_HEALTH = (
    "SELECT reason, currencies_down, facts, checked_at FROM chain_payout_health WHERE rail = $1 AND mode = $2"
)

# An unmatched payment has the reference of the payment beside it, and an addition.
I31_ADDRESSES = """
    SELECT format('transaction %s shows the address %s; its deposit address is %s', t.id, t.instructions ->> 'address',
                  coalesce(d.address, 'missing')) AS line
    FROM transactions t
    LEFT JOIN deposit_addresses d ON d.attempt_id = t.id AND (d.rail, d.mode) = (t.rail, t.mode)
    WHERE t.id = ANY ($1::uuid[]) AND t.method_type = 'crypto' AND strpos(t.rail_reference, '/') = 0
      AND (d.address IS NULL OR (d.address, d.address) IS DISTINCT FROM (t.instructions ->> 'address', t.rail_reference))
"""

INVARIANTS = (Invariant("I31", "a payment on a block chain shows its deposit address", I31_ADDRESSES, "payment"),)


async def take_address(db: Pool, rail: str, mode: Mode, attempt_id: UUID, now: datetime) -> str | None:
    """Give a free address to an attempt; None if there is none."""
    row = await db.fetchrow(TAKE_ADDRESS, rail, mode, attempt_id, now)
    return None if row is None else row["address"]


async def release_address(db: Pool, rail: str, mode: Mode, attempt_id: UUID) -> None:
    """Take the address back from an attempt that did not begin."""
    await db.execute(RELEASE_ADDRESS, rail, mode, attempt_id)


async def add_addresses(db: Pool, rail: str, mode: Mode, first: int, addresses: Sequence[str], now: datetime) -> None:
    """Add addresses with consecutive indexes."""
    await db.execute(ADD_ADDRESSES, rail, mode, list(range(first, first + len(addresses))), list(addresses), now)


async def count_free(db: Pool, rail: str, mode: Mode) -> int:
    """The number of addresses that no attempt has."""
    row = await db.fetchrow(COUNT_FREE, rail, mode)
    return 0 if row is None else row[0]


async def next_index(db: Pool, rail: str, mode: Mode) -> int:
    """The index of the next address."""
    row = await db.fetchrow(NEXT_INDEX, rail, mode)
    return 0 if row is None else row[0]


async def last_given_index(db: Pool, rail: str, mode: Mode) -> int:
    """The highest index of the addresses that attempts have; -1 if none has one."""
    row = await db.fetchrow(LAST_GIVEN, rail, mode)
    return -1 if row is None or row["last"] is None else row["last"]


async def list_addresses(db: Pool, rail: str, mode: Mode, first: int, limit: int) -> list[AddressRow]:
    """Addresses from this index on."""
    rows = await db.fetch(LIST_ADDRESSES, rail, mode, first, limit)
    return [AddressRow(row["derivation_index"], row["address"], row["shown"]) for row in rows]


async def find_ours(db: Pool | Tx, rail: str, mode: Mode, addresses: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Those of these addresses, in lower case, that are deposit addresses: reference and index by address."""
    rows = await db.fetch(FIND_OURS, rail, mode, list(addresses))
    return {row["address"]: (row["reference"], row["derivation_index"]) for row in rows}


async def list_open_addresses(db: Pool, rail: str, mode: Mode, currency: str, after: str, limit: int) -> list[str]:
    """Addresses of open attempts in this currency, and of missing deposits, in their order, after this one."""
    return [row["address"] for row in await db.fetch(LIST_OPEN_ADDRESSES, rail, mode, currency, after, limit)]


async def lease(
    db: Pool, rail: str, mode: Mode, holder: UUID, now: datetime, duration: timedelta
) -> tuple[bool, Cursor | None]:
    """Whether this worker follows the rail now, and where it is; None at the beginning."""
    row = await db.fetchrow(LEASE, rail, mode, holder, now, duration)
    if row is None or row["cursor"] is None:
        return row is not None, None
    return True, msgspec.json.decode(row["cursor"], type=Cursor)


async def move_cursor(tx: Tx, rail: str, mode: Mode, holder: UUID, cursor: Cursor, now: datetime) -> bool:
    """Store the cursor. False if another worker follows the rail now."""
    return await tx.execute(MOVE_CURSOR, rail, mode, holder, msgspec.json.encode(cursor).decode(), now) == 1


async def holds_lease(tx: Tx, rail: str, mode: Mode, holder: UUID) -> bool:
    """Whether this worker follows the rail, and does until the end of the transaction."""
    return await tx.fetchrow(HOLDS_LEASE, rail, mode, holder) is not None


async def save_health(db: Pool, rail: str, mode: Mode, reason: str | None, facts: dict[str, Any], now: datetime) -> None:
    """Store what was measured: available without a reason. Facts that are not named stay."""
    await db.execute(SAVE_HEALTH, rail, mode, reason is None, reason, msgspec.json.encode(facts).decode(), now)


async def get_health(db: Pool, rail: str, mode: Mode) -> Measured | None:
    """What was measured last; None where nothing was."""
    row = await db.fetchrow(GET_HEALTH, rail, mode)
    return None if row is None else Measured(row["available"], row["checked_at"], msgspec.json.decode(row["facts"]))


async def save_payout_health(
    db: Pool, rail: str, mode: Mode, reason: str | None, down: Sequence[str], facts: dict[str, Any], now: datetime
) -> None:
    """Store what was measured of the payouts of a rail."""
    await db.execute(SAVE_PAYOUT_HEALTH, rail, mode, reason, list(down), msgspec.json.encode(facts).decode(), now)


async def get_payout_health(db: Pool, rail: str, mode: Mode) -> PayoutsMeasured | None:
    """What was measured last; None where nothing was."""
    row = await db.fetchrow(GET_PAYOUT_HEALTH, rail, mode)
    if row is None:
        return None
    facts = msgspec.json.decode(row["facts"], type=dict[str, Any])
    return PayoutsMeasured(row["reason"], frozenset(row["currencies_down"]), row["checked_at"], facts)
