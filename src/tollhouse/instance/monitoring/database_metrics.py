"""Metrics of what is in the database: queues, checks, partitions, workers, reviews, statements and the ledger."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day
from importlib.metadata import version
from pathlib import Path

import asyncpg
from prometheus_client.core import GaugeMetricFamily, Metric

from tollhouse.http.services import Services
from tollhouse.instance.backup.wal_archive import newest_base_at
from tollhouse.instance.backup.wal_receiver import SLOT
from tollhouse.instance.monitoring import store
from tollhouse.kernel import clock
from tollhouse.kernel.bank_codes import bank_days_between, before_bank_days
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.kernel.limits import EXPORTED_BANK_DAYS_MAX, WORKER_SILENT_AFTER_S
from tollhouse.platform.database.errors import UNREACHABLE, reason_of
from tollhouse.platform.database.pool import Pool, Row
from tollhouse.platform.log.events import log
from tollhouse.webhooks.delivery.jobs import read_status

READ_EVERY_S, READ_LEDGER_EVERY_S = 10, 60
"""Scrapes within this time of the last reading get what it found."""
RUNNING_WITHIN = timedelta(seconds=WORKER_SILENT_AFTER_S)
VERSION = version("tollhouse")
UNAVAILABLE = (*UNREACHABLE, asyncpg.PostgresError, TemporarilyUnavailable)
FAILING_AFTER = timedelta(hours=1)
NO_RAIL = "none"
Labels = Mapping[str, str]
Sample = tuple[Labels, float]


class DatabaseMetrics:
    """Reads the metrics from the database, at most every `READ_EVERY_S`."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._reading = asyncio.Lock()
        self._read_at_s = self._ledger_read_at_s = -float("inf")
        self._metrics: list[Metric] = []
        self._ledger: list[Metric] = []

    async def read(self) -> list[Metric]:
        """The metrics. Only `tollhouse_database_up` while the database does not respond."""
        async with self._reading:
            now_s = time.monotonic()
            try:
                if now_s - self._read_at_s >= READ_EVERY_S:
                    archive = _read_archive(self._services.settings.wal_archive)
                    self._metrics = [*await read_metrics(self._services.db), archive]
                    self._read_at_s = now_s
                if now_s - self._ledger_read_at_s >= READ_LEDGER_EVERY_S:
                    self._ledger = await read_ledger(self._services.db, self._services.catalogue)
                    self._ledger_read_at_s = now_s
            except UNAVAILABLE as error:
                log.warning("metrics_not_read", error=type(error).__name__, reason=reason_of(error))
                return [_up(available=False)]
            return [_up(available=True), *self._metrics, *self._ledger]


async def read_metrics(db: Pool) -> list[Metric]:
    """All but the ledger."""
    now = clock.now()
    return [
        *await _read_instance(db, now),
        *await _read_queues(db, now),
        *await _read_operations(db, now),
        *await _read_rails(db, now),
    ]


async def _read_instance(db: Pool, now: datetime) -> list[Metric]:
    """The database, its partitions and checks, and the workers."""
    server = await _row(db, store.SERVER)
    invariants = await db.fetchrow(store.INVARIANTS)
    workers = await _row(db, store.WORKERS, now, RUNNING_WITHIN)
    partitions = await db.fetch(store.PARTITIONS, now)
    archive = await db.fetchrow(store.WAL_ARCHIVE, SLOT)
    receiving: list[Sample] = [] if archive is None else [({}, int(archive["active"]))]
    lag: list[Sample] = [] if archive is None or archive["lag_bytes"] is None else [({}, archive["lag_bytes"])]
    return [
        _gauge(
            "build_info", "The version and the last migration.", ({"version": VERSION, "migration": server["migration"]}, 1)
        ),
        _gauge("database_size_bytes", "Size of the database.", ({}, server["bytes"])),
        _gauge("workers_running", "Workers with a heartbeat in the last minute.", ({}, workers["running"])),
        _time("worker_last_heartbeat_timestamp_seconds", "The last heartbeat of any worker.", workers["last_seen_at"]),
        _time("invariants_checked_timestamp_seconds", "When a check finished.", _get(invariants, "looked_at")),
        _time("invariants_unfinished_timestamp_seconds", "When the last check failed.", _get(invariants, "failed_at")),
        _gauge("invariants_broken", "Broken invariants at the last check.", ({}, invariants["broken"] if invariants else 0)),
        _gauge(
            "partitions_ahead_seconds",
            "Time until rows of a table would have no partition.",
            *(({"table": row["name"]}, row["ahead_s"]) for row in partitions),
        ),
        _gauge(
            "wal_archive_receiving",
            "Whether the WAL archive receives WAL. Only where there is one.",
            *receiving,
        ),
        _gauge(
            "wal_archive_lag_bytes",
            "WAL that may not be in the archive, by segments of 16 MiB.",
            *lag,
        ),
    ]


def _read_archive(archive: Path | None) -> Metric:
    """The base backups of the WAL archive."""
    at = None if archive is None else newest_base_at(archive)
    samples: list[Sample] = [] if archive is None else [({}, 0 if at is None else at.timestamp())]
    meaning = "When the newest base backup was complete; 0 if there is none. Only where there is a WAL archive."
    return _gauge("base_backup_timestamp_seconds", meaning, *samples)


async def _read_queues(db: Pool, now: datetime) -> list[Metric]:
    """Deliveries and emails."""
    deliveries = await read_status(db)
    oldest = await _row(db, store.OLDEST_UNDELIVERED)
    mails = await _row(db, store.MAILS)
    failing = await _row(db, store.DESTINATIONS_FAILING, now - FAILING_AFTER)
    return [
        _gauge(
            "delivery_lane_oldest_seconds",
            "How long the oldest delivery of a lane has been due.",
            *(({"lane": lane.lane}, lane.oldest_ms / 1000) for lane in deliveries.lanes),
        ),
        _gauge(
            "delivery_lane_destinations",
            "Destinations of a lane with due deliveries.",
            *(({"lane": lane.lane}, lane.destinations) for lane in deliveries.lanes),
        ),
        _gauge(
            "deliveries_queued",
            "Deliveries that are due, scheduled for later, or held for a secret. Counted up to 1,001.",
            ({"state": "due"}, deliveries.ready),
            ({"state": "later"}, deliveries.later),
            ({"state": "held"}, deliveries.held),
        ),
        _gauge(
            "undelivered_event_age_seconds", "Age of the oldest undelivered event.", ({}, _age_s(oldest["created_at"], now))
        ),
        _gauge(
            "webhook_destinations_failing",
            "Destinations of webhooks that have refused an event for over an hour.",
            ({}, failing["count"]),
        ),
        _gauge(
            "email_overdue_seconds",
            "How long the oldest email has waited, since when none was sent.",
            ({}, _age_s(mails["waits_since"], now)),
        ),
    ]


async def _read_operations(db: Pool, now: datetime) -> list[Metric]:
    """What operators do: reviews and bank statements."""
    waiting = await db.fetch(store.WAITING)
    statements = await _row(db, store.STATEMENTS)
    exported = await _row(db, store.EXPORTED, before_bank_days(now, EXPORTED_BANK_DAYS_MAX))
    paused = await _row(db, store.PAYOUTS_PAUSED)
    imported_at: datetime | None = statements["imported_at"]
    without: list[Sample] = []
    if imported_at is not None:
        without = [({}, bank_days_between(imported_at.astimezone(UTC).date(), now.astimezone(UTC).date()))]
    last_on = None if statements["last_on"] is None else datetime.combine(statements["last_on"], time_of_day.min, UTC)
    return [
        _gauge(
            "waiting",
            "Objects that wait for an operator.",
            *(({"kind": row["kind"]}, row["count"]) for row in waiting),
        ),
        _gauge(
            "waiting_oldest_seconds",
            "How long the oldest object has waited for an operator.",
            *(({"kind": row["kind"]}, _age_s(row["oldest_at"], now)) for row in waiting),
        ),
        _gauge("payouts_paused", "Whether payouts are paused: no live money leaves.", ({}, int(paused["are_paused"]))),
        _gauge("bank_days_without_statement", "Bank days since the last import of a statement.", *without),
        _gauge("payouts_exported", "Exported payouts that no statement shows.", ({}, exported["exported"])),
        _gauge("payouts_overdue", "Those of them that were exported over 3 bank days ago.", ({}, exported["overdue"])),
        _gauge("payouts_exported_oldest_seconds", "Age of the oldest of them.", ({}, _age_s(exported["oldest_at"], now))),
        _time("bank_statement_imported_timestamp_seconds", "The last import of a statement.", statements["imported_at"]),
        _time(
            "bank_statement_last_day_timestamp_seconds", "The last day with an entry in a statement, at 0:00 UTC.", last_on
        ),
    ]


async def _read_rails(db: Pool, now: datetime) -> list[Metric]:
    """What rails have outside of the ledger."""
    return [
        _gauge(
            "rail_difference",
            "What a rail has outside and nothing explains, in units of the currency; 0 if rounding explains it.",
            *(
                ({"rail": row["rail"], "currency": row["currency"]}, row["difference"])
                for row in await db.fetch(store.RAIL_DIFFERENCES, now)
            ),
        ),
        _gauge(
            "rail_measured_timestamp_seconds",
            "When a rail was compared with the ledger; 0 if it never was.",
            *(({"rail": row["rail"]}, row["measured_s"]) for row in await db.fetch(store.RAIL_MEASUREMENTS, now)),
        ),
    ]


async def read_ledger(db: Pool, catalogue: Catalogue) -> list[Metric]:
    """Sums over merchants, in units of the currency. A currency that was removed from the catalogue is left out."""
    totals: defaultdict[tuple[str, str, str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for row in await db.fetch(store.ENTRIES):
        amount = _amount(catalogue, row)
        method = catalogue.methods.get(row["method_id"])
        if amount is not None:
            total = totals[row["mode"], row["currency"], row["type"], NO_RAIL if method is None else method.rail]
            total[0], total[1] = total[0] + amount, total[1] + row["count"]
    balances = [(row, _amount(catalogue, row, "balance_minor")) for row in await db.fetch(store.BALANCES)]
    return [
        _gauge(
            "ledger_balance",
            "Balances of all merchants.",
            *(
                ({"mode": row["mode"], "currency": row["currency"], "account": row["code"]}, amount)
                for row, amount in balances
                if amount is not None
            ),
        ),
        _gauge(
            "ledger_entries_amount",
            "Sum of all entries of merchants, signed, by type and by the rail of the payment.",
            *((_labels(labels), total[0]) for labels, total in totals.items()),
        ),
        _gauge(
            "ledger_entries_count",
            "Number of ledger transactions with such entries.",
            *((_labels(labels), total[1]) for labels, total in totals.items()),
        ),
    ]


def _labels(values: tuple[str, str, str, str]) -> Labels:
    mode, currency, entry_type, rail = values
    return {"mode": mode, "currency": currency, "type": entry_type, "rail": rail}


def _amount(catalogue: Catalogue, row: Row, column: str = "amount_minor") -> float | None:
    currency = catalogue.currencies.get(row["currency"])
    return None if currency is None else float(row[column]) / 10**currency.decimals


async def _row(db: Pool, sql: str, *args: object) -> Row:
    row = await db.fetchrow(sql, *args)
    if row is None:
        raise AssertionError("the statement returns one row")
    return row


def _age_s(at: datetime | None, now: datetime) -> float:
    return 0.0 if at is None else max(0.0, (now - at).total_seconds())


def _get(row: Row | None, column: str) -> datetime | None:
    return None if row is None else row[column]


def _up(*, available: bool) -> Metric:
    return _gauge("database_up", "Whether the database responded.", ({}, int(available)))


def _time(name: str, meaning: str, at: datetime | None) -> Metric:
    """A time; without a sample if there is none."""
    samples: list[Sample] = [] if at is None else [({}, at.timestamp())]
    return _gauge(name, meaning, *samples)


def _gauge(name: str, meaning: str, *samples: Sample) -> Metric:
    labels = list(samples[0][0]) if samples else []
    family = GaugeMetricFamily(f"tollhouse_{name}", meaning, labels=labels)
    for values, number in samples:
        family.add_metric(list(values.values()), number)
    return family
