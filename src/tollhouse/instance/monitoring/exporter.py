"""`GET /metrics` on an address of its own, in the text format of Prometheus or OpenMetrics, as the scraper asks."""

import asyncio
import hmac
import os
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from tollhouse.http.services import Services
from tollhouse.instance.monitoring.database_metrics import DatabaseMetrics
from tollhouse.instance.worker import JOB_FAILURES, JOB_RUNS
from tollhouse.platform.log.events import log
from tollhouse.platform.log.metrics import INSTANCE, LATENCY_BOUNDS_US, US, Counter, Durations, Gauge
from tollhouse.platform.machine import disk_of
from tollhouse.platform.server import listening
from tollhouse.platform.server import server as http_server

PATH = "/metrics"
CHANGE = "--metrics-port {port}"
RETRY_AFTER_S = 15
CHALLENGE = {"WWW-Authenticate": "Bearer"}
BOUNDS = [*(f"{bound / US:g}" for bound in LATENCY_BOUNDS_US), "+Inf"]
USER_TIME, SYSTEM_TIME, RESIDENT_PAGES = 11, 12, 21
"""Fields of /proc/PID/stat after the name."""
Numbers = Iterable[tuple[str, float]]
"""Of a metric with one label: its value, and the number."""


class Exporter:
    """Serves the metrics of this instance; `with_database` also those of the database, for one process of an instance."""

    def __init__(self, services: Services, *, with_database: bool) -> None:
        token = services.settings.metrics_token
        self._settings = services.settings
        self._authorization = None if token is None else f"Bearer {token}".encode()
        self._database = DatabaseMetrics(services) if with_database else None

    async def serve(self) -> None:
        """Serve until cancelled. A failure is logged: metrics must not end what they observe."""
        if self._settings.metrics_address is None:
            return
        listener = await listen(*self._settings.metrics_address)
        server = http_server.make_within(self, self._settings)
        try:
            await server.serve([listener])
        except Exception as error:  # noqa: BLE001 - as said above
            log.error("metrics_not_served", exc_info=error)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        response = await self._response(scope)
        await response(scope, receive, send)

    async def _response(self, scope: Scope) -> Response:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if scope["path"] != PATH:
            return PlainTextResponse("Not found. The metrics are at /metrics.\n", 404)
        if scope["method"] not in {"GET", "HEAD"}:
            return PlainTextResponse("Method not allowed.\n", 405, {"Allow": "GET, HEAD"})
        if self._authorization is not None and not hmac.compare_digest(
            headers.get(b"authorization", b""), self._authorization
        ):
            return PlainTextResponse("The token is missing or wrong.\n", 401, CHALLENGE)
        folders = {"data": self._settings.data_dir, "wal_archive": self._settings.wal_archive}
        metrics = [*disk_metrics(folders), *([] if self._database is None else await self._database.read())]
        accept = headers.get(b"accept", b"").decode("latin-1")
        # In a thread, so that the requests of this process wait only a few milliseconds at a time.
        text, media_type = await asyncio.to_thread(exposition, metrics, accept)
        return Response(text, headers={"Content-Type": media_type})


async def listen(host: str, port: int) -> socket.socket:
    """A listening socket. While the address is taken, this is logged once and tried again."""
    is_logged = False
    while True:
        try:
            listener = listening.open_listening(host, port, CHANGE)
        except listening.ListenError as error:
            if not is_logged:
                log.warning("metrics_not_served", detail=str(error), retry_after_s=RETRY_AFTER_S)
                is_logged = True
            await asyncio.sleep(RETRY_AFTER_S)
        else:
            if is_logged:
                log.info("metrics_served", detail=listening.text((host, port)))
            return listener


class _Collected(Collector):
    """Metrics that were collected for one scrape."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Sequence[Metric]:
        return self._metrics


def exposition(metrics: Sequence[Metric], accept: str) -> tuple[bytes, str]:
    """These metrics and those of the processes as text, and its media type."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected([*instance_metrics(), *metrics]))
    encode, media_type = choose_encoder(accept)
    return encode(registry), media_type


def instance_metrics() -> Iterator[Metric]:
    """What the processes of this instance counted."""
    for metric in INSTANCE.metrics:
        match metric:
            case Counter():
                yield _labelled(CounterMetricFamily, metric.name, metric.meaning, metric.labels, metric.totals())
            case Durations():
                yield _histogram(metric)
            case Gauge():
                yield _family(GaugeMetricFamily, metric.name, metric.meaning, "process", metric.by_process())
            case _:
                raise AssertionError("there is no other kind of metric")
    yield from _processes()
    yield from _jobs()


def _histogram(metric: Durations) -> Metric:
    family = HistogramMetricFamily(metric.name, metric.meaning, labels=metric.labels)
    for labels, counts, sum_us in metric.totals():
        buckets: list[tuple[str, float]] = []
        below = 0
        for bound, count in zip(BOUNDS, counts, strict=True):
            below += count
            buckets.append((bound, below))
        family.add_metric(labels, buckets, sum_us / US)
    return family


def _family(
    kind: type[CounterMetricFamily | GaugeMetricFamily], name: str, meaning: str, label: str, numbers: Numbers
) -> Metric:
    """A metric with one label."""
    return _labelled(kind, name, meaning, [label], (([value], number) for value, number in numbers))


def _labelled(
    kind: type[CounterMetricFamily | GaugeMetricFamily],
    name: str,
    meaning: str,
    labels: Sequence[str],
    numbers: Iterable[tuple[Sequence[str], float]],
) -> Metric:
    family = kind(name, meaning, labels=labels)
    for values, number in numbers:
        family.add_metric(values, number)
    return family


def _processes() -> Iterator[Metric]:
    """Processor time and memory of the running processes, where the system has /proc."""
    usages = [(process.name, usage) for process in INSTANCE.processes() if (usage := _usage_of(process.pid)) is not None]
    cpu, memory = "Processor time of a process.", "Resident memory of a process, with what it shares."
    times, sizes = [(name, cpu_s) for name, (cpu_s, _) in usages], [(name, size) for name, (_, size) in usages]
    yield _family(CounterMetricFamily, "tollhouse_process_cpu_seconds", cpu, "process", times)
    yield _family(GaugeMetricFamily, "tollhouse_process_memory_bytes", memory, "process", sizes)


def disk_metrics(folders: Mapping[str, Path | None]) -> Iterator[Metric]:
    """Room on the disks of these folders, by their names."""
    disks = [
        (name, disk) for name, folder in folders.items() if folder is not None and (disk := disk_of(folder)) is not None
    ]
    free, size = [(name, disk.free_bytes) for name, disk in disks], [(name, disk.total_bytes) for name, disk in disks]
    yield _family(GaugeMetricFamily, "tollhouse_disk_free_bytes", "Free bytes on the disk of a folder.", "folder", free)
    yield _family(GaugeMetricFamily, "tollhouse_disk_size_bytes", "Size of the disk of a folder.", "folder", size)


def _jobs() -> Iterator[Metric]:
    runs, failures = sorted(JOB_RUNS.items()), [(job, JOB_FAILURES[job]) for job in sorted(JOB_RUNS)]
    yield _family(CounterMetricFamily, "tollhouse_job_runs", "Runs of a job of the worker.", "job_name", runs)
    failed = "Runs of a job of the worker that failed."
    yield _family(CounterMetricFamily, "tollhouse_job_failures", failed, "job_name", failures)


def _usage_of(pid: int) -> tuple[float, int] | None:
    """Seconds of processor time and bytes of memory of a process; None if it has ended or the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    ticks = int(fields[USER_TIME]) + int(fields[SYSTEM_TIME])
    return ticks / os.sysconf("SC_CLK_TCK"), int(fields[RESIDENT_PAGES]) * os.sysconf("SC_PAGE_SIZE")
