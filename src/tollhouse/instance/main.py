"""The composition root, which alone knows all packages: builds the services and the web application from the settings."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from tollhouse.accounts.idempotency.claims import DatabaseIdempotencyStore
from tollhouse.accounts.identity.guards import recognize
from tollhouse.http.asgi import AsgiApplication
from tollhouse.http.operations import Operation
from tollhouse.http.request_metrics import RequestMetrics
from tollhouse.http.services import Services
from tollhouse.http.slice import HOURLY_S, Job
from tollhouse.http.templates import Templates
from tollhouse.instance import catalogue_file, start_checks, worker
from tollhouse.instance.api import OPERATIONS
from tollhouse.instance.api.reference import event_examples
from tollhouse.instance.checks.run import CheckUnfinishedError, Scope, check
from tollhouse.instance.slices import SLICES
from tollhouse.kernel import clock
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.rails.chain import ChainNetwork
from tollhouse.kernel.rails.registry import Rails
from tollhouse.pages.console import jobs as operator_jobs
from tollhouse.platform import passwords
from tollhouse.platform.database import partitions
from tollhouse.platform.database.connections import application_name, require_role_settings
from tollhouse.platform.database.migrations import require_current
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.database.replica import Replica
from tollhouse.platform.encryption import KeyRing
from tollhouse.platform.log.events import log
from tollhouse.platform.settings.config import Settings
from tollhouse.rails import configured
from tollhouse.rails.chains import following
from tollhouse.transfers.gate import gate
from tollhouse.webhooks.events import connection_events
from tollhouse.webhooks.request_log.recorder import Recorder

if TYPE_CHECKING:
    from tollhouse.instance.tracing.spans import Tracing

WATCH_EVERY_S = 900
REPLICA_CONNECTIONS = 4
REQUEST_METRICS = RequestMetrics(OPERATIONS)


def start_tracing(settings: Settings) -> "Tracing | None":
    """Start to trace, if the settings say where to. Called in each process, after it was forked."""
    if settings.traces_url is None:
        return None
    from tollhouse.instance.tracing.spans import Tracing  # noqa: PLC0415 - most installations do without

    return Tracing(settings.traces_url)


def create_services(
    settings: Settings,
    *,
    connections: int | None = None,
    rails: Rails | None = None,
    catalogue: Catalogue | None = None,
    tracing: "Tracing | None" = None,
) -> Services:
    """The services for these settings, with the connections, rails and catalogue that they describe unless others are given.

    Opens no connection.
    """
    if settings.database_url is None:
        raise ValueError("services need a database URL; the supervisor sets that of the embedded database")
    keys = KeyRing(settings.secret_keys)
    make_pool = Pool if tracing is None else tracing.pool
    pool = make_pool(
        settings.pooler_database_url or settings.database_url,
        connections or settings.database_connections,
        application_name(keys),
        partitions=partitions.Partitions(),
        pooled=settings.pooler_database_url is not None,
    )
    return Services(
        settings,
        pool,
        keys,
        Templates(),
        rails or configured.build(settings),
        catalogue or catalogue_file.load(settings.catalogue_file),
        connection_events,
        partial(event_examples, settings),
        replica=None
        if settings.replica_database_url is None
        else Replica(make_pool(settings.replica_database_url, REPLICA_CONNECTIONS, only_reads=True)),
    )


async def verify(settings: Settings) -> None:
    """Compare program and settings with the database: its pooler, its schema, its keys, the decimals that money counts in.

    Pauses payouts if the database is a copy of another one. Raises `MigrationsDisagreeError` and `InvalidSettingsError`,
    with what to do.
    """
    services = create_services(settings, connections=1)
    try:
        if settings.pooler_database_url is not None:
            await require_role_settings(services.db, settings.pooler_database_url)
        await require_current(services.db)
        await services.db.transact(lambda tx: gate.pause_if_copied(tx, clock.now()))
        await start_checks.verify(services.db, services.keys)
        await start_checks.verify_scales(services.db, services.catalogue)
    finally:
        await services.close()


def build(services: Services, tracing: "Tracing | None" = None, *, serves_metrics: bool = False) -> ASGIApp:
    """The web application. Can serve the metrics of this instance too, if they have an address."""
    recorder = Recorder(services)
    has_metrics = services.settings.metrics_address is not None
    watching: list[asyncio.Task[None]] = []

    async def after_start() -> None:
        await partitions.create_missing(services.db)
        passwords.common()
        recorder.start()
        if services.rails.of(ChainNetwork):
            await following.refresh(services)
            watching.append(asyncio.create_task(following.keep_refreshed(services)))
        if has_metrics:
            watching.append(asyncio.create_task(worker.sample_pools((services.db,))))
        if serves_metrics and has_metrics:
            watching.append(asyncio.create_task(serve_metrics(services, with_database=False)))

    async def before_stop() -> None:
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
        await recorder.stop()
        await services.close()
        if tracing is not None:
            await tracing.close()

    recorders = [recorder, *([REQUEST_METRICS] if has_metrics else ()), *([tracing] if tracing is not None else ())]
    application = AsgiApplication(
        services,
        OPERATIONS,
        idempotency=DatabaseIdempotencyStore(),
        recognize=recognize,
        recorders=recorders,
        after_start=after_start,
        before_stop=before_stop,
    )
    return application if tracing is None else tracing.application(application)


async def serve_metrics(services: Services, *, with_database: bool) -> None:
    """Serve the metrics until cancelled. What formats them is imported here: most installations do without."""
    from tollhouse.instance.monitoring.exporter import Exporter  # noqa: PLC0415 - as said above

    await Exporter(services, with_database=with_database).serve()


def route_table(operations: Sequence[Operation]) -> str:
    """A line for each route: method, path, surface, guard, idempotency, handler."""
    rows = [
        (
            operation.method,
            operation.full_path,
            operation.surface.name,
            operation.guard_label,
            "" if operation.idempotency == "no" else f"key {operation.idempotency}",
            f"{operation.handler.__module__.removeprefix('tollhouse.')}.{operation.handler.__name__}",
        )
        for operation in operations
    ]
    rows.sort(key=lambda row: (row[2], row[1], row[0]))
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n" for row in rows
    )


async def watch_invariants(services: Services) -> None:
    """Run a partial check unless another worker does; log and record what is broken."""
    try:
        report = await check(services.settings.database_url or "", Scope(), wait=False)
    except CheckUnfinishedError as error:
        log.error("check_unfinished", detail=str(error))
        await operator_jobs.record_failed_check(services, str(error))
        return
    if report is not None:
        for line in report.broken:
            log.error("invariant_broken", detail=line)
        await operator_jobs.record_check(services, report.broken)


async def create_partitions(services: Services) -> None:
    """Create the partitions that will be needed next."""
    await partitions.create_missing(services.db)


JOBS: Sequence[Job] = (
    Job(HOURLY_S, create_partitions),
    *(job for part in SLICES for job in part.jobs),
    Job(WATCH_EVERY_S, watch_invariants),
)
"""The jobs of the worker beside delivery."""
