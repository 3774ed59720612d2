"""SQL of the hash chain: its last block, rows that no block covers yet, new blocks, and its invariants."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tollhouse.ledger.hash_chain.model import ROWS_MAX, Block, CoveredRow
from tollhouse.platform.database.invariants import Invariant
from tollhouse.platform.database.pool import Tx

# No snapshot is taken before the lock is held, so the snapshot of the transaction sees the last block.
LOCK = "LOCK TABLE hash_chain_blocks IN SHARE ROW EXCLUSIVE MODE"
HERE = """
    SELECT pg_current_snapshot()::text AS visible, (SELECT system_identifier FROM pg_control_system()) AS cluster,
           coalesce((SELECT max(xact) FROM row_digests) >= pg_snapshot_xmax(pg_current_snapshot()), false)
               AS has_foreign_rows
"""
# The snapshot of a block means nothing in another cluster, nor if it is of the future: the database was restored.
LAST = """
    SELECT b.number, b.hash, b.created_at, CASE WHEN b.cluster = $1 AND NOT b.has_foreign_rows AND
           pg_snapshot_xmax(b.visible) <= pg_snapshot_xmax($2::text::pg_snapshot) THEN b.visible::text END AS visible
    FROM hash_chain_blocks b ORDER BY b.number DESC LIMIT 1
"""
NEW = """
    SELECT kind, id FROM row_digests
    WHERE kind IN ('ledger', 'operator_action') AND xact >= pg_snapshot_xmin($1::text::pg_snapshot)
      AND NOT pg_visible_in_snapshot(xact, $1::text::pg_snapshot)
    ORDER BY xact, kind, id
"""
UNCOVERED = """
    SELECT d.kind, d.id FROM row_digests d
    LEFT JOIN (SELECT unnest(ledger_transactions || operator_actions) AS id FROM hash_chain_blocks) AS covered USING (id)
    WHERE d.kind IN ('ledger', 'operator_action') AND covered.id IS NULL
    ORDER BY d.xact, d.kind, d.id
"""
HASH = "SELECT hash_chain_hash($1, $2, $3, $4, $5)"
INSERT = """
    INSERT INTO hash_chain_blocks (number, ledger_transactions, operator_actions, hash, public_key, signature, cluster,
                                   visible, has_foreign_rows, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8::text::pg_snapshot, $9, $10)
"""
SIGNED = """
    SELECT number, hash, public_key, signature, created_at FROM hash_chain_blocks
    WHERE created_at >= $1 ORDER BY number
"""
LAST_SIGNED = """
    SELECT number, hash, public_key, signature, created_at FROM hash_chain_blocks ORDER BY number DESC LIMIT 1
"""
HASHES = "SELECT number, hash, created_at FROM hash_chain_blocks WHERE number = ANY ($1::bigint[])"
I25_BLOCKS = """
    SELECT format('block %s does not match its rows', b.number) AS line
    FROM (SELECT c.*, lag(c.hash) OVER (ORDER BY c.number) AS previous FROM hash_chain_blocks AS c) AS b
    WHERE b.hash <> hash_chain_hash(b.previous, b.number, b.created_at, b.ledger_transactions, b.operator_actions)
    ORDER BY b.number
"""
# The first of the eleven says only what the hash before the others is.
I25_LATEST_BLOCKS = """
    SELECT format('block %s does not match its rows', b.number) AS line
    FROM (SELECT c.*, lag(c.hash) OVER (ORDER BY c.number) AS previous
          FROM (SELECT * FROM hash_chain_blocks ORDER BY number DESC LIMIT 11) AS c) AS b
    WHERE (b.number = 1 OR b.previous IS NOT NULL)
      AND b.hash <> hash_chain_hash(b.previous, b.number, b.created_at, b.ledger_transactions, b.operator_actions)
    ORDER BY b.number
"""
I25_NUMBERS = """
    SELECT format('block %s follows block %s', number, before) AS line
    FROM (SELECT number, coalesce(lag(number) OVER (ORDER BY number), 0) AS before FROM hash_chain_blocks) AS b
    WHERE number <> before + 1 ORDER BY number
"""
I25_COVERED = """
    SELECT format('%s %s is in no block', d.kind, d.id) AS line
    FROM (SELECT cluster, visible FROM hash_chain_blocks ORDER BY number DESC LIMIT 1) AS last
    JOIN pg_control_system() AS here ON here.system_identifier = last.cluster
    JOIN row_digests d ON d.kind IN ('ledger', 'operator_action') AND pg_visible_in_snapshot(d.xact, last.visible)
    LEFT JOIN (SELECT unnest(ledger_transactions || operator_actions) AS id FROM hash_chain_blocks) AS covered USING (id)
    WHERE covered.id IS NULL
"""
INVARIANTS: tuple[Invariant, ...] = (
    Invariant("I25", "the latest blocks of the hash chain match their rows", I25_LATEST_BLOCKS),
    Invariant("I25", "every block of the hash chain matches its rows", I25_BLOCKS, costly=True),
    Invariant("I25", "no block of the hash chain is missing", I25_NUMBERS, costly=True),
    Invariant("I25", "the hash chain covers the ledger and operators' actions", I25_COVERED, costly=True),
)


class Snapshot(Struct, frozen=True):
    """The snapshot of this transaction, the database cluster, and whether rows have transactions that are still to come."""

    visible: str
    cluster: int
    has_foreign_rows: bool


class LastBlock(Struct, frozen=True):
    """The last block. `visible` is its snapshot, if that tells what is new."""

    block: Block
    visible: str | None


class SignedBlock(Struct, frozen=True):
    """A block with its Ed25519 signature."""

    block: Block
    public_key: bytes
    signature: bytes


async def lock(tx: Tx) -> Snapshot:
    """Lock against other writers until the transaction ends; call it first."""
    await tx.execute(LOCK)
    row = await tx.fetchrow(HERE)
    if row is None:
        raise AssertionError("a statement without FROM returns one row")
    return Snapshot(**dict(row))


async def last(tx: Tx, snapshot: Snapshot) -> LastBlock | None:
    """The last block, if there is one."""
    row = await tx.fetchrow(LAST, snapshot.cluster, snapshot.visible)
    return None if row is None else LastBlock(Block(row["number"], row["hash"], row["created_at"]), row["visible"])


async def new_rows(tx: Tx, since: str | None) -> AsyncIterator[list[CoveredRow]]:
    """Rows that the snapshot `since` did not see, or that are in no block, in parts of one block each."""
    cursor = await (tx.raw.cursor(UNCOVERED) if since is None else tx.raw.cursor(NEW, since))
    while rows := await cursor.fetch(ROWS_MAX):
        yield [CoveredRow(row["kind"], row["id"]) for row in rows]


async def insert(tx: Tx, signed: SignedBlock, rows: tuple[Sequence[UUID], Sequence[UUID]], snapshot: Snapshot) -> None:
    """Add a block of these ledger transactions and operator actions."""
    block = signed.block
    place = (snapshot.cluster, snapshot.visible, snapshot.has_foreign_rows)
    await tx.execute(INSERT, block.number, *rows, block.hash, signed.public_key, signed.signature, *place, block.created_at)


async def hash_of(
    tx: Tx, previous: bytes | None, number: int, at: datetime, rows: tuple[Sequence[UUID], Sequence[UUID]]
) -> bytes:
    """The hash of a block after the one whose hash is `previous`."""
    return bytes(await tx.fetchval(HASH, previous, number, at, *rows))


async def signed_blocks(tx: Tx, since: datetime | None) -> list[SignedBlock]:
    """The blocks since a time, or the last one, in order."""
    rows = await (tx.fetch(LAST_SIGNED) if since is None else tx.fetch(SIGNED, since))
    return [
        SignedBlock(Block(row["number"], row["hash"], row["created_at"]), row["public_key"], row["signature"])
        for row in rows
    ]


async def blocks(tx: Tx, numbers: Sequence[int]) -> dict[int, Block]:
    """The blocks with these numbers."""
    return {row["number"]: Block(**dict(row)) for row in await tx.fetch(HASHES, numbers)}
