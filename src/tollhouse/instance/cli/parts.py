"""The parts of the service, which `serve` starts, or which run by themselves: the web server and the worker."""

import asyncio
import os
import signal
import socket
import threading
from functools import partial
from typing import Annotated

from cyclopts import Parameter

from tollhouse.instance import main as root
from tollhouse.instance import supervisor
from tollhouse.instance.cli.options import (
    Host,
    MetricsPort,
    Port,
    Workers,
    give_up_rights,
    log_needless_owner,
    log_warnings,
    require_database,
    settings_for,
)
from tollhouse.instance.forks import run_supervised
from tollhouse.instance.worker import run, work
from tollhouse.platform.log import metrics
from tollhouse.platform.machine import set_process_title
from tollhouse.platform.server import listening
from tollhouse.platform.server import server as http_server
from tollhouse.platform.settings import config
from tollhouse.webhooks.delivery import attempt_metrics

Hidden = Parameter(show=False)
ServesMetrics = Annotated[bool, Hidden]
"""Whether a part of a supervisor serves the metrics of all parts."""


def web(
    *,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Workers = 1,
    metrics_port: MetricsPort = None,
    socket_fd: Annotated[int | None, Hidden] = None,
    number: Annotated[int, Hidden] = 1,
    serves_metrics: ServesMetrics = False,
) -> int:
    """Run the web server. Requires DATABASE_URL."""
    settings = require_database(settings_for(port, metrics_port))
    metrics.use_row(number)
    if socket_fd is not None or workers == 1:
        set_process_title(f"web {number}")
    if socket_fd is not None:
        _stop_with_parent()
        with listening.inherited_socket(socket_fd) as listener:
            return _serve_requests(settings, listener, serves_metrics=serves_metrics)
    log_warnings(settings)
    log_needless_owner(settings)
    with listening.bind(host, port) as listener:
        give_up_rights(settings)
        if workers > 1:
            how = supervisor.Serve(listener, workers)
            return run_supervised(partial(supervisor.serve_web, settings, how), listener.fileno())
        asyncio.run(root.verify(settings))
        return _serve_requests(settings, listener, serves_metrics=True)


def _serve_requests(settings: config.Settings, listener: socket.socket, *, serves_metrics: bool) -> int:
    tracing = root.start_tracing(settings)
    services = root.create_services(settings, tracing=tracing)
    server = http_server.make(root.build(services, tracing, serves_metrics=serves_metrics), settings)
    server.run([listener])
    return 0 if server.started else 1


def worker(*, metrics_port: MetricsPort = None, supervised: Annotated[bool, Hidden] = False) -> None:
    """Run the worker: deliver webhooks and run periodic jobs. Requires DATABASE_URL."""
    settings = require_database(settings_for(None, metrics_port))
    set_process_title("worker")
    if supervised:
        _stop_with_parent()
    else:
        log_warnings(settings)
        log_needless_owner(settings)
        give_up_rights(settings)
        asyncio.run(root.verify(settings))
    run(_work(settings))


def verify() -> None:
    """Compare program and settings with the database. Requires DATABASE_URL."""
    asyncio.run(root.verify(require_database(config.load())))


async def _work(settings: config.Settings) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    services = root.create_services(settings)
    beside = [] if settings.metrics_address is None else [root.serve_metrics(services, with_database=True)]
    tracing = root.start_tracing(settings)
    if tracing is not None:
        attempt_metrics.observers.append(tracing.record_attempt)
    await work(services, stop, root.JOBS, beside)
    if tracing is not None:
        await tracing.close()


def _stop_with_parent() -> None:
    """Stop when the supervisor ends, which closes the other end of standard input."""

    def watch() -> None:
        while os.read(0, 1):  # not a buffered reader, which would hold its lock while the process ends
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True, name="parent-watch").start()
