"""Metrics in Prometheus' text format or OpenMetrics, whichever the scraper asks for."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from tollhouse.instance.monitoring.process_usage import usage_of
from tollhouse.instance.worker import JOB_FAILURES, JOB_RUNS
from tollhouse.platform.disk import disk_of
from tollhouse.platform.log.metrics import INSTANCE, LATENCY_BOUNDS_US, US, Counter, Durations, Gauge

BOUNDS = [*(f"{bound / US:g}" for bound in LATENCY_BOUNDS_US), "+Inf"]


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
                yield _counter(metric)
            case Durations():
                yield _histogram(metric)
            case Gauge():
                yield _gauge(metric)
            case _:
                raise AssertionError("there is no other kind of metric")
    yield from _processes()
    yield from _jobs()


def _counter(metric: Counter) -> Metric:
    family = CounterMetricFamily(metric.name, metric.meaning, labels=metric.labels)
    for labels, total in metric.totals():
        family.add_metric(labels, total)
    return family


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


def _gauge(metric: Gauge) -> Metric:
    family = GaugeMetricFamily(metric.name, metric.meaning, labels=["process"])
    for process, number in metric.by_process():
        family.add_metric([process], number)
    return family


def _processes() -> Iterator[Metric]:
    """Processor time and memory of the running processes."""
    cpu = CounterMetricFamily("tollhouse_process_cpu_seconds", "Processor time of a process.", labels=["process"])
    memory = GaugeMetricFamily(
        "tollhouse_process_memory_bytes", "Resident memory of a process, with what it shares.", labels=["process"]
    )
    for process in INSTANCE.processes():
        usage = usage_of(process.pid)
        if usage is not None:
            cpu.add_metric([process.name], usage.cpu_s)
            memory.add_metric([process.name], usage.memory_bytes)
    yield cpu
    yield memory


def disk_metrics(folders: Mapping[str, Path | None]) -> Iterator[Metric]:
    """Room on the disks of these folders, by their names."""
    free = GaugeMetricFamily("tollhouse_disk_free_bytes", "Free bytes on the disk of a folder.", labels=["folder"])
    size = GaugeMetricFamily("tollhouse_disk_size_bytes", "Size of the disk of a folder.", labels=["folder"])
    for name, folder in folders.items():
        disk = None if folder is None else disk_of(folder)
        if disk is not None:
            free.add_metric([name], disk.free_bytes)
            size.add_metric([name], disk.total_bytes)
    yield free
    yield size


def _jobs() -> Iterator[Metric]:
    runs = CounterMetricFamily("tollhouse_job_runs", "Runs of a job of the worker.", labels=["job_name"])
    failures = CounterMetricFamily("tollhouse_job_failures", "Runs of a job of the worker that failed.", labels=["job_name"])
    for job, count in sorted(JOB_RUNS.items()):
        runs.add_metric([job], count)
        failures.add_metric([job], JOB_FAILURES[job])
    yield runs
    yield failures
