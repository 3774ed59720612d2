"""The parts of the service, which `serve` starts, or which run by themselves: the web server and the worker."""

import asyncio
import os
import signal
import socket
import threading
from functools import partial
from typing import Annotated

from cyclopts import Parameter

from tollhouse import main as root
from tollhouse import supervisor
from tollhouse.cli.options import Host, Port, Workers, bind_metrics, log_warnings, require_database, settings_for
from tollhouse.cli.supervised import run_supervised
from tollhouse.events import delivery_metrics
from tollhouse.platform import config, http_server, listening, metrics
from tollhouse.worker import run, work

Hidden = Parameter(show=False)


def web(
    *,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Workers = 1,
    socket_fd: Annotated[int | None, Hidden] = None,
    number: Annotated[int, Hidden] = 1,
    metrics_fd: Annotated[int | None, Hidden] = None,
) -> int:
    """Run the web server. Requires DATABASE_URL."""
    settings = require_database(settings_for(port))
    metrics.use_row(number)
    if socket_fd is not None:
        _stop_with_parent()
        with listening.inherited_socket(socket_fd) as listener:
            return _serve_requests(settings, listener, _inherited(metrics_fd))
    log_warnings(settings)
    with listening.bind(host, port) as listener:
        metrics_listener = bind_metrics(settings)
        if workers > 1:
            how = supervisor.Serve(listener, workers, metrics_listener)
            return run_supervised(partial(supervisor.serve_web, settings, how), *how.descriptors)
        asyncio.run(root.verify(settings))
        return _serve_requests(settings, listener, metrics_listener)


def _inherited(descriptor: int | None) -> socket.socket | None:
    return None if descriptor is None else listening.inherited_socket(descriptor)


def _serve_requests(settings: config.Settings, listener: socket.socket, metrics_listener: socket.socket | None) -> int:
    tracing = root.start_tracing(settings)
    server = http_server.make(
        root.build(root.create_services(settings, tracing=tracing), metrics_listener, tracing), settings
    )
    server.run([listener])
    return 0 if server.started else 1


def worker(*, supervised: Annotated[bool, Hidden] = False, metrics_fd: Annotated[int | None, Hidden] = None) -> None:
    """Run the worker: deliver webhooks and run periodic jobs. Requires DATABASE_URL."""
    settings = require_database(config.load())
    if supervised:
        _stop_with_parent()
        metrics_listener = _inherited(metrics_fd)
    else:
        log_warnings(settings)
        metrics_listener = bind_metrics(settings)
        asyncio.run(root.verify(settings))
    run(_work(settings, metrics_listener))


def verify() -> None:
    """Compare program and settings with the database. Requires DATABASE_URL."""
    asyncio.run(root.verify(require_database(config.load())))


async def _work(settings: config.Settings, metrics_listener: socket.socket | None) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    services = root.create_services(settings)
    beside = [] if metrics_listener is None else [root.serve_metrics(services, metrics_listener, with_database=True)]
    tracing = root.start_tracing(settings)
    if tracing is not None:
        delivery_metrics.observers.append(tracing.record_attempt)
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
