"""The channel to the bank: its folders and program, and SQL of files to send and of when it was last asked for new ones."""

from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.clock import Timestamp, stamp_or_none
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.platform.settings.config import Settings

INSERT = "INSERT INTO bank_sendings (batch_id, next_try_at) VALUES ($1, $2)"
LEASE = """
    UPDATE bank_sendings SET tries = tries + 1, leased_until = $1::timestamptz + $2::interval,
        next_try_at = $1::timestamptz + $2::interval
    WHERE batch_id = (SELECT batch_id FROM bank_sendings WHERE next_try_at <= $1 AND NOT payouts_are_paused()
                      ORDER BY next_try_at LIMIT 1
                      FOR NO KEY UPDATE SKIP LOCKED)
    RETURNING batch_id, tries
"""
SENT = """
    UPDATE bank_sendings SET sent_at = $2, next_try_at = NULL, leased_until = NULL, error = NULL
    WHERE batch_id = $1 AND sent_at IS NULL
"""
FAILED = """
    UPDATE bank_sendings SET leased_until = NULL, error = $3, next_try_at = $4
    WHERE batch_id = $1 AND tries = $2 AND sent_at IS NULL
"""
# Against a worker that begins to send it now.
LOCK_SENDING = """
    SELECT leased_until > $2 AS is_being_sent FROM bank_sendings WHERE batch_id = $1 FOR NO KEY UPDATE
"""
FIND = "SELECT tries, next_try_at, error, sent_at FROM bank_sendings WHERE batch_id = $1"
# One that a statement shows, even in part: the bank has the file.
IS_AT_BANK = "SELECT EXISTS (SELECT FROM bank_payouts WHERE batch_id = $1 AND debited_at IS NOT NULL) AS is_at_bank"
LEASE_FETCH = """
    UPDATE bank_fetches SET leased_until = $1::timestamptz + $2::interval
    WHERE next_at <= $1 AND (leased_until IS NULL OR leased_until <= $1) RETURNING true
"""
FETCHED = """
    UPDATE bank_fetches SET leased_until = NULL, next_at = $2, error = $3,
        failed_since = CASE WHEN $3::text IS NOT NULL THEN coalesce(failed_since, $1) END,
        fetched_at = CASE WHEN $3::text IS NULL THEN $1 ELSE fetched_at END
"""
FETCHES = "SELECT fetched_at, error, failed_since FROM bank_fetches"


class Channel(Struct, frozen=True):
    """The folders, and the program that fetches and sends. Without any, operators carry the files."""

    inbox: Path | None
    outbox: Path | None
    program: Path | None

    @property
    def sends(self) -> bool:
        """Whether exported batches are sent."""
        return self.outbox is not None or self.program is not None


class Leased(Struct, frozen=True):
    """A batch that this worker is sending, and how often that was tried, this time included."""

    batch_id: UUID
    tries: int


class Sending(Struct, frozen=True):
    """How sending a batch went. Without `sent_at` and `next_try_at` nothing of it was left to send."""

    tries: int
    next_try_at: Timestamp | None
    error: str | None
    sent_at: Timestamp | None


class Fetches(Struct, frozen=True):
    """When files were last fetched, and since when that fails."""

    fetched_at: Timestamp | None
    error: str | None
    failed_since: Timestamp | None


def channel_of(settings: Settings) -> Channel:
    """The channel that these settings describe."""
    return Channel(settings.bank_inbox, settings.bank_outbox, settings.bank_program)


async def insert(tx: Tx, batch_id: UUID, now: datetime) -> None:
    """Insert a batch to send, in the transaction that exports it."""
    await tx.execute(INSERT, batch_id, now)


async def lease(db: Pool | Tx, now: datetime, lasting: timedelta) -> Leased | None:
    """Lease a batch that is due; None if none is, or payouts are paused."""
    row = await db.fetchrow(LEASE, now, lasting)
    return None if row is None else Leased(row["batch_id"], row["tries"])


async def is_at_bank(db: Pool, batch_id: UUID) -> bool:
    """Whether a statement shows that the bank has the batch."""
    row = await db.fetchrow(IS_AT_BANK, batch_id)
    return row is not None and bool(row["is_at_bank"])


async def record_sent(db: Pool, batch_id: UUID, now: datetime) -> None:
    """Record that the bank has the file."""
    await db.execute(SENT, batch_id, now)


async def record_failure(db: Pool, leased: Leased, error: str, next_try_at: datetime | None) -> None:
    """Record that it is not known to be sent, and when to try again; None: never."""
    await db.execute(FAILED, leased.batch_id, leased.tries, error, next_try_at)


async def lock_being_sent(tx: Tx, batch_id: UUID, now: datetime) -> bool:
    """Whether a worker is sending this batch. Until the end of the transaction none begins to."""
    row = await tx.fetchrow(LOCK_SENDING, batch_id, now)
    return row is not None and bool(row["is_being_sent"])


async def find(db: Pool, batch_id: UUID) -> Sending | None:
    """How sending a batch went; None if it was exported to be taken to the bank by hand."""
    row = await db.fetchrow(FIND, batch_id)
    if row is None:
        return None
    return Sending(row["tries"], stamp_or_none(row["next_try_at"]), row["error"], stamp_or_none(row["sent_at"]))


async def lease_fetch(db: Pool, now: datetime, lasting: timedelta) -> bool:
    """Lease fetching, if it is due and no other worker does it."""
    return await db.fetchrow(LEASE_FETCH, now, lasting) is not None


async def record_fetch(db: Pool, now: datetime, next_at: datetime, error: str | None) -> None:
    """Record a fetch; None: it succeeded."""
    await db.execute(FETCHED, now, next_at, error)


async def fetches(db: Pool) -> Fetches:
    """How fetching goes."""
    row = await db.fetchrow(FETCHES)
    if row is None:
        raise AssertionError("the row is inserted by the migration")
    return Fetches(stamp_or_none(row["fetched_at"]), row["error"], stamp_or_none(row["failed_since"]))
