"""The database: clock, durability, schema, key ring, workers, ways to it, rails, and what the service recorded."""

from datetime import datetime, timedelta
from importlib.metadata import version
from ipaddress import ip_address

import asyncpg

from tollhouse.accounts.approvals.model import TWO
from tollhouse.accounts.identity.webauthn_model import RelyingParty
from tollhouse.instance import start_checks
from tollhouse.instance.api.health_store import RUNNING_WITHIN, read_parts
from tollhouse.instance.backup.wal_receiver import SLOT
from tollhouse.instance.doctor import store
from tollhouse.instance.doctor.model import Finding
from tollhouse.kernel import clock
from tollhouse.kernel.bank_codes import before_bank_days
from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.kernel.limits import EXPORTED_BANK_DAYS_MAX
from tollhouse.kernel.rails.chain import HEALTH_EXPIRES_AFTER
from tollhouse.pages.console.overview_store import MeasuredRail, list_measured
from tollhouse.platform.database.connections import require_role_settings
from tollhouse.platform.database.errors import UNREACHABLE
from tollhouse.platform.database.migrations import (
    DatabaseTooOldError,
    MigrationsDisagreeError,
    UnsupportedServerError,
    require_current,
)
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.database.replica import Replica
from tollhouse.platform.database.transaction import Row
from tollhouse.platform.encryption import KeyRing
from tollhouse.platform.settings.config import InvalidSettingsError, Settings
from tollhouse.rails import configured
from tollhouse.rails.settings import NodeSettings

VERSION = version("tollhouse")
CLOCK_WARNING, CLOCK_FAILURE = timedelta(seconds=2), timedelta(seconds=30)
"""Authorization codes live for minutes; parts of an instance on several hosts compare times."""
CHECKED_WITHIN = timedelta(hours=1)
IMPORTED_WITHIN = timedelta(days=5)
"""Banks send statements on banking days: this covers a weekend with holidays beside it."""
SIGN_INS_WITHIN = timedelta(days=1)
SIGN_INS_MIN = 5
"""So many people at one private address are probably a proxy."""
STANDBY_ADVICE = "Check that it runs, and TOLLHOUSE_REPLICA_DATABASE_URL: host, port, name and password."
STANDBY = {
    "behind": (
        "The standby is behind the primary.",
        "Look at its load, its network and pg_stat_replication of the primary.",
    ),
    "other": ("The server at TOLLHOUSE_REPLICA_DATABASE_URL is no standby of this database.", STANDBY_ADVICE),
}
SEE = "See the page Rails of the console and docs/rails.md."


async def examine_database(settings: Settings) -> list[Finding]:
    """Everything that the database tells. Writes nothing."""
    pool = Pool(settings.database_url or "", 1)
    try:
        before = clock.now()
        server = await store.read_server(pool)
        findings = [
            Finding("database", "ok", "The database responds."),
            compare_clocks(before, server["now"], clock.now()),
            _durability(server),
        ]
        schema = await _schema(pool)
        findings.append(schema)
        if schema.status == "ok":
            findings += await _examine_instance(settings, pool)
            findings += [*await examine_pooler(settings), *await examine_standby(settings, pool)]
    except (*UNREACHABLE, asyncpg.PostgresError, TemporarilyUnavailable) as error:
        reason = type(error.__cause__ or error).__name__
        advice = "Check that the server runs, and DATABASE_URL: host, port, name and password."
        return [Finding("database", "failure", f"The database cannot be used: {reason}.", advice)]
    finally:
        await pool.close()
    return findings


def compare_clocks(before: datetime, server: datetime, after: datetime) -> Finding:
    """The clock of this machine, read before and after, and that of the database."""
    offset = max(before - server, server - after, timedelta())
    message = f"The clocks of this machine and of the database differ by {offset.total_seconds():.1f} seconds."
    advice = "Synchronize both machines by NTP, such as chrony or systemd-timesyncd."
    if offset >= CLOCK_FAILURE:
        return Finding("clock", "failure", message, advice)
    if offset >= CLOCK_WARNING:
        return Finding("clock", "warning", message, advice)
    return Finding("clock", "ok", "The clocks of this machine and of the database agree.")


def _durability(server: Row) -> Finding:
    """Payments are acknowledged when they are committed. With these settings off, a crash would lose them."""
    names = {"syncs": "fsync", "writes_full_pages": "full_page_writes", "commits_synchronously": "synchronous_commit"}
    off = [name for column, name in names.items() if not server[column]]
    if not off:
        return Finding("durability", "ok", "Commits are durable.")
    message = f"A crash of the database can lose payments: {', '.join(off)} is off."
    return Finding("durability", "failure", message, f"Turn {' and '.join(off)} on in PostgreSQL.")


async def _schema(pool: Pool) -> Finding:
    try:
        await require_current(pool)
    except UnsupportedServerError as error:
        return Finding("schema", "failure", f"PostgreSQL is too old: {error}.", "Upgrade PostgreSQL.")
    except DatabaseTooOldError as error:
        return Finding(
            "schema", "failure", f"The schema is too old: {error}.", "Install that version first (docs/operations.md)."
        )
    except MigrationsDisagreeError as error:
        return Finding("schema", "failure", f"The schema is not that of this version: {error}.", "Run `tollhouse migrate`.")
    return Finding("schema", "ok", "The schema is that of this version.")


async def _examine_instance(settings: Settings, pool: Pool) -> list[Finding]:
    now = clock.now()
    keys = KeyRing(settings.secret_keys)
    parts = await read_parts(pool, keys, now, settings.data_dir)
    return [
        *await _key_ring(pool, keys),
        _partitions(is_complete=parts.partitions == "ok"),
        _worker(await store.read_workers(pool, now, RUNNING_WITHIN)),
        _invariants(await store.read_invariants(pool), now),
        *_operators(settings, await store.count_operators(pool)),
        *await _passkeys(settings, pool),
        _proxy(settings, await store.read_addresses(pool, now - SIGN_INS_WITHIN)),
        _bank(settings, await store.read_bank(pool, before_bank_days(now, EXPORTED_BANK_DAYS_MAX)), now),
        *await examine_rails(settings, pool, now),
        *_archive(await store.read_archive(pool)),
        *([] if settings.wal_archive is None else [_receiver(is_active=await store.is_received(pool, SLOT))]),
    ]


async def _key_ring(pool: Pool, keys: KeyRing) -> list[Finding]:
    field_errors, _ = await start_checks.compare(pool, keys)
    if field_errors:
        return [Finding("key_ring", "failure", line, "See docs/keys.md.") for line in field_errors]
    return [Finding("key_ring", "ok", "The key ring is the one that this database is used with.")]


def _partitions(*, is_complete: bool) -> Finding:
    if is_complete:
        return Finding("partitions", "ok", "Rows of the next hour have partitions.")
    return Finding("partitions", "failure", "Partitions of the next hour are missing.", "Start a worker; it creates them.")


def _worker(workers: Row) -> Finding:
    if not workers["count"]:
        advice = "Start `tollhouse serve`, or `tollhouse worker`: without it nothing is delivered."
        return Finding("worker", "failure", "No worker is running.", advice)
    others = [running for running in workers["versions"] if running != VERSION]
    if others:
        message = f"Workers run version {', '.join(others)}; this program is {VERSION}."
        return Finding("worker", "warning", message, "Restart them with this version.")
    return Finding("worker", "ok", f"{workers['count']} running.")


def _invariants(last: Row | None, now: datetime) -> Finding:
    advice = "Run `tollhouse check`, and see docs/ledger.md before you change anything."
    if last is not None and last["broken"]:
        return Finding("ledger", "failure", f"{last['broken']} invariants are broken.", advice)
    if last is None or last["looked_at"] is None or now - last["looked_at"] > CHECKED_WITHIN:
        message = "The worker has not finished a check of the ledger within an hour."
        return Finding(
            "ledger", "warning", message, "Wait 15 minutes after the start of a worker, or run `tollhouse check`."
        )
    return Finding("ledger", "ok", "All invariants held when they were last checked.")


def _operators(settings: Settings, count: int) -> list[Finding]:
    """In live use, large amounts need two operators with a second factor, or the setting for a single one."""
    if not settings.is_live_use:
        return []
    if count >= TWO or not settings.two_operators:
        return [Finding("operators", "ok", f"Operators with two-factor authentication: {count}.")]
    message = f"Operators with two-factor authentication: {count}. What needs two operators cannot be approved."
    advice = (
        "Invite another with `tollhouse operator users create --email ADDRESS`; each sets it up under /operator/security. "
        "If you are a single operator, set TOLLHOUSE_TWO_OPERATORS=off."
    )
    return [Finding("operators", "warning", message, advice)]


async def _passkeys(settings: Settings, db: Pool) -> list[Finding]:
    """A passkey works only at the host of the base URL when it was created."""
    party = RelyingParty.of(settings)
    host = "" if party is None else party.id
    count = await store.count_passkeys_elsewhere(db, host)
    if count == 0:
        return []
    message = f"{count} passkeys were added at another host than that of TOLLHOUSE_BASE_URL and do not work now."
    advice = "Restore the host, or ask their owners to sign in with password and code, and to add new ones."
    return [Finding("passkeys", "warning", message, advice)]


def _proxy(settings: Settings, people: Row) -> Finding:
    """Limits of sign-ins and the audit log depend on the addresses that the proxy passes on."""
    address = people["address"]
    is_suspicious = people["count"] >= SIGN_INS_MIN and people["addresses"] == 1 and ip_address(address).is_private
    if not is_suspicious or settings.is_local:
        return Finding("proxy", "ok", "Nothing suggests that the addresses of clients are lost.")
    message = f"All {people['count']} sign-ins of the last day seem to come from {address}, a private address."
    advice = (
        "If that is your proxy, let it set X-Forwarded-For and X-Forwarded-Proto, and add its address to "
        "TOLLHOUSE_TRUSTED_PROXIES."
    )
    return Finding("proxy", "warning", message, advice)


def _bank(settings: Settings, bank: Row, now: datetime) -> Finding:
    if bank["are_paused"]:
        message = "Payouts are paused."
        return Finding("bank", "warning", message, "See `tollhouse operator payouts` and docs/backup.md.")
    if settings.bank_iban is None:
        return Finding("bank", "ok", "No bank account is configured: live mode takes no bank transfers.")
    if bank["fetch_error"] is not None or bank["unsent"]:
        message = "Files cannot be exchanged with the bank."
        return Finding(
            "bank", "warning", message, "See the pages Statements and Batches, and the log for bank_channel_failed."
        )
    if bank["imported_at"] is None or now - bank["imported_at"] > IMPORTED_WITHIN:
        message = "No bank statement was imported in the last 5 days: payments that arrived are not known."
        return Finding("bank", "warning", message, "Import statements with `tollhouse operator statements import`.")
    if bank["overdue"]:
        message = f"{bank['overdue']} exported payouts are not on a statement after {EXPORTED_BANK_DAYS_MAX} bank days."
        return Finding("bank", "warning", message, "Import the newest statements, or ask the bank: see the page Payouts.")
    return Finding("bank", "ok", f"The last statement was imported on {bank['imported_at']:%Y-%m-%d}.")


def _receiver(*, is_active: bool) -> Finding:
    if is_active:
        return Finding("archive", "ok", "The WAL archive receives what is written.")
    advice = "See the log for wal_archive_failed, and whether the disk of the archive is full or its folder is missing."
    return Finding("archive", "failure", "The WAL archive receives nothing: a point in time from now on is lost.", advice)


def _archive(archive: Row) -> list[Finding]:
    """Only where PostgreSQL archives its WAL. Backups of `tollhouse backup` are files that nothing here knows of."""
    if not archive["is_on"]:
        return []
    archived_at, failed_at = archive["archived_at"], archive["failed_at"]
    if failed_at is not None and (archived_at is None or failed_at > archived_at):
        message = f"The WAL archive has failed since {failed_at:%Y-%m-%d %H:%M} UTC."
        return [Finding("archive", "failure", message, "See the log of PostgreSQL: without the archive the disk fills up.")]
    when = "nothing yet" if archived_at is None else f"{archived_at:%Y-%m-%d %H:%M} UTC"
    return [Finding("archive", "ok", f"WAL is archived; last: {when}.")]


async def examine_pooler(settings: Settings) -> list[Finding]:
    """Whether requests get through the pooler, with the time limits that its sessions need."""
    url = settings.pooler_database_url
    if url is None:
        return []
    pool = Pool(url, 1, pooled=True)
    try:
        await require_role_settings(pool, url)
        async with pool.connection() as tx:
            is_named = tx.connection is not None and tx.connection.names_statements
    except InvalidSettingsError as error:
        reason, *statements = error.field_errors
        return [Finding("pooler", "failure", reason.partition(". ")[0] + ".", " ".join(statements))]
    except (*UNREACHABLE, asyncpg.PostgresError, TemporarilyUnavailable) as error:
        message = f"The pooler cannot be used: {type(error.__cause__ or error).__name__}."
        advice = "Check that it runs, and TOLLHOUSE_POOLER_DATABASE_URL: host, port, name and password."
        return [Finding("pooler", "failure", message, advice)]
    finally:
        await pool.close()
    if is_named:
        return [Finding("pooler", "ok", "The pooler responds, and keeps prepared statements.")]
    message = "The pooler responds. It keeps no prepared statements, so each one is parsed again."
    return [Finding("pooler", "ok", message)]


async def examine_standby(settings: Settings, primary: Pool) -> list[Finding]:
    """Whether reports can be read from the standby. Otherwise the primary serves them, so nothing fails."""
    if settings.replica_database_url is None:
        return []
    standby = Pool(settings.replica_database_url, 1, only_reads=True)
    try:
        obstacle = await Replica(standby).catch_up(primary)
    finally:
        await standby.close()
    if not obstacle:
        return [Finding("standby", "ok", "The standby has everything that is committed.")]
    message, advice = STANDBY.get(obstacle, (f"The standby cannot be used: {obstacle}.", STANDBY_ADVICE))
    return [Finding("standby", "warning", f"{message} Reports are read from the primary.", advice)]


async def examine_rails(settings: Settings, pool: Pool, now: datetime) -> list[Finding]:
    """A finding for each rail of the rails file that is followed by the worker. Raises `InvalidSettingsError`."""
    described = configured.load(settings.rails_file)
    names = [name for name, rail in described.items() if isinstance(rail, NodeSettings)]
    measured = await list_measured(pool) if names else {}
    return [_finding(name, measured.get(name), now) for name in names]


def _finding(name: str, measured: MeasuredRail | None, now: datetime) -> Finding:
    check = f"rail {name}"
    if measured is None or measured.checked_at is None or now - measured.checked_at > HEALTH_EXPIRES_AFTER:
        advice = "Start a worker with TOLLHOUSE_RAILS_FILE, and read its log."
        return Finding(check, "failure", "No worker measures it, so it takes no payments.", advice)
    if measured.reason is not None:
        return Finding(check, "failure", f"It takes no payments: {measured.reason}.", SEE)
    if measured.payout_reason is not None:
        return Finding(check, "warning", f"Payouts wait: {measured.payout_reason}.", SEE)
    if measured.currencies_down:
        return Finding(check, "warning", f"The wallet has too little {', '.join(sorted(measured.currencies_down))}.", SEE)
    return Finding(check, "ok", f"Measured at block {measured.facts.get('tip')}.")
