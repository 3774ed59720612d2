"""Metrics of what is in the database: queues, checks, partitions, workers, reviews, statements and the ledger."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC
from pathlib import Path
from typing import NamedTuple

import asyncpg
from prometheus_client.core import GaugeMetricFamily, Metric

from tollhouse.http.services import Services
from tollhouse.instance.backup.wal_archive import newest_base_at
from tollhouse.instance.monitoring import store
from tollhouse.kernel import clock
from tollhouse.kernel.bank_codes import bank_days_between, before_bank_days
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.kernel.limits import EXPORTED_BANK_DAYS_MAX
from tollhouse.platform.database.errors import UNREACHABLE, reason_of
from tollhouse.platform.database.pool import Pool, Row
from tollhouse.platform.log.events import log
from tollhouse.webhooks.delivery.jobs import read_status

READ_EVERY_S, READ_LEDGER_EVERY_S = 10, 60
"""Scrapes within this time of the last reading get what it found."""
UNAVAILABLE = (*UNREACHABLE, asyncpg.PostgresError, TemporarilyUnavailable)
NO_RAIL = "none"
Sample = tuple[Sequence[str], float]


class Reading(NamedTuple):
    """A gauge of the rows of a statement: the number is in the column `value`; rows where it is null have no sample.

    Without a statement, it gets its samples in another way.
    """

    name: str
    meaning: str
    sql: str = ""
    value: str = ""
    labels: Sequence[str] = ()

    def metric(self, samples: Iterable[Sample]) -> Metric:
        """The gauge with these samples."""
        family = GaugeMetricFamily(f"tollhouse_{self.name}", self.meaning, labels=self.labels)
        for labels, number in samples:
            family.add_metric(labels, number)
        return family

    def of_rows(self, rows: Sequence[Row]) -> Metric:
        """The gauge with a sample for each row."""
        return self.metric(
            ([row[label] for label in self.labels], row[self.value]) for row in rows if row[self.value] is not None
        )


READINGS = (
    Reading("build_info", "The version and the last migration.", store.SERVER, "one", ["version", "migration"]),
    Reading("database_size_bytes", "Size of the database.", store.SIZE, "bytes"),
    Reading("workers_running", "Workers with a heartbeat in the last minute.", store.WORKERS, "running"),
    Reading("worker_last_heartbeat_timestamp_seconds", "The last heartbeat of any worker.", store.WORKERS, "last_seen_s"),
    Reading("invariants_checked_timestamp_seconds", "When a check finished.", store.INVARIANTS, "checked_s"),
    Reading("invariants_unfinished_timestamp_seconds", "When the last check failed.", store.INVARIANTS, "failed_s"),
    Reading("invariants_broken", "Broken invariants at the last check.", store.INVARIANTS, "broken"),
    Reading(
        "partitions_ahead_seconds",
        "Time until rows of a table would have no partition.",
        store.PARTITIONS,
        "ahead_s",
        ["table"],
    ),
    Reading(
        "wal_archive_receiving",
        "Whether the WAL archive receives WAL. Only where there is one.",
        store.WAL_ARCHIVE,
        "active",
    ),
    Reading(
        "wal_archive_lag_bytes", "WAL that may not be in the archive, by segments of 16 MiB.", store.WAL_ARCHIVE, "lag_bytes"
    ),
    Reading("undelivered_event_age_seconds", "Age of the oldest undelivered event.", store.OLDEST_UNDELIVERED, "age_s"),
    Reading(
        "webhook_destinations_failing",
        "Destinations of webhooks that have refused an event for over an hour.",
        store.DESTINATIONS_FAILING,
        "count",
    ),
    Reading(
        "email_overdue_seconds", "How long the oldest email has waited, since when none was sent.", store.MAILS, "overdue_s"
    ),
    Reading("waiting", "Objects that wait for an operator.", store.WAITING, "count", ["kind"]),
    Reading(
        "waiting_oldest_seconds",
        "How long the oldest object has waited for an operator.",
        store.WAITING,
        "oldest_s",
        ["kind"],
    ),
    Reading("payouts_paused", "Whether payouts are paused: no live money leaves.", store.PAYOUTS_PAUSED, "are_paused"),
    Reading("payouts_exported", "Exported payouts that no statement shows.", store.EXPORTED, "exported"),
    Reading("payouts_overdue", "Those of them that were exported over 3 bank days ago.", store.EXPORTED, "overdue"),
    Reading("payouts_exported_oldest_seconds", "Age of the oldest of them.", store.EXPORTED, "oldest_s"),
    Reading("bank_statement_imported_timestamp_seconds", "The last import of a statement.", store.STATEMENTS, "imported_s"),
    Reading(
        "bank_statement_last_day_timestamp_seconds",
        "The last day with an entry in a statement, at 0:00 UTC.",
        store.STATEMENTS,
        "last_day_s",
    ),
    Reading(
        "rail_difference",
        "What a rail has outside and nothing explains, in units of the currency; 0 if rounding explains it.",
        store.RAIL_DIFFERENCES,
        "difference",
        ["rail", "currency"],
    ),
    Reading(
        "rail_measured_timestamp_seconds",
        "When a rail was compared with the ledger; 0 if it never was.",
        store.RAIL_MEASUREMENTS,
        "measured_s",
        ["rail"],
    ),
)
UP = Reading("database_up", "Whether the database responded.")
STATEMENT_AGE = Reading("bank_days_without_statement", "Bank days since the last import of a statement.")
LANE_OLDEST = Reading(
    "delivery_lane_oldest_seconds", "How long the oldest delivery of a lane has been due.", labels=["lane"]
)
LANE_DESTINATIONS = Reading("delivery_lane_destinations", "Destinations of a lane with due deliveries.", labels=["lane"])
QUEUED = Reading(
    "deliveries_queued",
    "Deliveries that are due, scheduled for later, or held for a secret. Counted up to 1,001.",
    labels=["state"],
)
BASE_BACKUP = Reading(
    "base_backup_timestamp_seconds",
    "When the newest base backup was complete; 0 if there is none. Only where there is a WAL archive.",
)
LEDGER_BALANCE = Reading("ledger_balance", "Balances of all merchants.", labels=["mode", "currency", "account"])
ENTRY_LABELS = ["mode", "currency", "type", "rail"]
ENTRIES_AMOUNT = Reading(
    "ledger_entries_amount",
    "Sum of all entries of merchants, signed, by type and by the rail of the payment.",
    labels=ENTRY_LABELS,
)
ENTRIES_COUNT = Reading("ledger_entries_count", "Number of ledger transactions with such entries.", labels=ENTRY_LABELS)


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
                    base_backups = _base_backups(self._services.settings.wal_archive)
                    self._metrics = [*await read_metrics(self._services.db), base_backups]
                    self._read_at_s = now_s
                if now_s - self._ledger_read_at_s >= READ_LEDGER_EVERY_S:
                    self._ledger = await read_ledger(self._services.db, self._services.catalogue)
                    self._ledger_read_at_s = now_s
            except UNAVAILABLE as error:
                log.warning("metrics_not_read", error=type(error).__name__, reason=reason_of(error))
                return [UP.metric([((), 0)])]
            return [UP.metric([((), 1)]), *self._metrics, *self._ledger]


async def read_metrics(db: Pool) -> list[Metric]:
    """All but the ledger."""
    now = clock.now()
    parameters, metrics = (now, before_bank_days(now, EXPORTED_BANK_DAYS_MAX)), await _deliveries(db)
    rows = {sql: await db.fetch(sql, *parameters[: _parameters(sql)]) for sql in {reading.sql for reading in READINGS}}
    metrics += [reading.of_rows(rows[reading.sql]) for reading in READINGS]
    [statements] = rows[store.STATEMENTS]
    imported_on = statements["imported_on"]
    days = [] if imported_on is None else [bank_days_between(imported_on, now.astimezone(UTC).date())]
    return [*metrics, STATEMENT_AGE.metric(((), number) for number in days)]


def _parameters(sql: str) -> int:
    """How many parameters a statement has."""
    return ("$1" in sql) + ("$2" in sql)


async def _deliveries(db: Pool) -> list[Metric]:
    status = await read_status(db)
    counts = (("due", status.ready), ("later", status.later), ("held", status.held))
    return [
        LANE_OLDEST.metric(([lane.lane], lane.oldest_ms / 1000) for lane in status.lanes),
        LANE_DESTINATIONS.metric(([lane.lane], lane.destinations) for lane in status.lanes),
        QUEUED.metric(([state], count) for state, count in counts),
    ]


def _base_backups(archive: Path | None) -> Metric:
    """The base backups of the WAL archive."""
    if archive is None:
        return BASE_BACKUP.metric(())
    at = newest_base_at(archive)
    return BASE_BACKUP.metric([((), 0 if at is None else at.timestamp())])


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
        LEDGER_BALANCE.metric(
            ([row["mode"], row["currency"], row["code"]], amount) for row, amount in balances if amount is not None
        ),
        ENTRIES_AMOUNT.metric((labels, total[0]) for labels, total in totals.items()),
        ENTRIES_COUNT.metric((labels, total[1]) for labels, total in totals.items()),
    ]


def _amount(catalogue: Catalogue, row: Row, column: str = "amount_minor") -> float | None:
    currency = catalogue.currencies.get(row["currency"])
    return None if currency is None else float(row[column]) / 10**currency.decimals
