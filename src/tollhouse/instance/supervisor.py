"""`tollhouse serve`: the embedded database, the migrations, the web and the worker in one place.

A part that ends is restarted, the database included. The parts end when the supervisor does, however it ends: they
hold the other end of a pipe that closes with it.
"""

import asyncio
import base64
import os
import secrets
import signal
import socket
import subprocess
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from pathlib import Path

import msgspec
from msgspec import Struct

from tollhouse.instance.backup import wal_archive, wal_receiver
from tollhouse.instance.backup.wal_receiver import BaseBackups, WalReceiver
from tollhouse.instance.database import data_folder, embedded
from tollhouse.instance.database.cluster import Cluster
from tollhouse.instance.forks import Process, Starter
from tollhouse.platform.database.migrations import migrate
from tollhouse.platform.log.events import log
from tollhouse.platform.server import listening
from tollhouse.platform.settings.config import FILE_SUFFIX, InvalidSettingsError, Settings
from tollhouse.platform.settings.values import KEY_BYTES, key_ring

PART_STOPS_WITHIN_S = 15
RESTART_AFTER_S = (0.1, 0.5, 1.0, 2.0, 5.0)
HEALTHY_AFTER_S = 30
WATCH_EVERY_S = 0.25
OWNER = "TOLLHOUSE_MIGRATION_DATABASE_URL"
START_ERRORS = (OSError, RuntimeError, subprocess.SubprocessError, embedded.EmbeddedError)
"""Temporary errors on start: no process, thread, descriptor or memory available, or a full disk."""


class Serve(Struct, frozen=True):
    """The bound socket to listen on, and the number of web processes."""

    listener: socket.socket
    workers: int


def with_keys(settings: Settings) -> Settings:
    """The settings with a key ring. With the embedded database it is created once in the data folder."""
    if settings.secret_keys:
        return settings
    file = settings.data_dir / data_folder.KEYS
    if not file.exists():
        if data_folder.has_database(settings.data_dir):
            lost = (
                f"The key ring {file} of this database is missing. Restore it from your backup. If it is lost, run "
                f"`tollhouse keys new > {file}` and follow docs/keys.md."
            )
            raise InvalidSettingsError([lost])
        data_folder.begin(settings.data_dir)
        write_keys(settings.data_dir, new_key("k1"))
    try:
        return msgspec.structs.replace(settings, secret_keys=key_ring(file.read_text().strip()))
    except ValueError as error:
        raise InvalidSettingsError([f"{file} {error}"]) from None


def write_keys(data_dir: Path, ring: str) -> None:
    """Write the key file of a data folder, unless there is one."""
    file = data_dir / data_folder.KEYS
    temporary = file.with_suffix(f".{secrets.token_hex(4)}")
    temporary.touch(mode=0o600)
    temporary.write_text(ring)
    with suppress(FileExistsError):
        os.link(temporary, file)  # the first of two writers wins, and no reader sees a partial file
    temporary.unlink()


def keys_text(settings: Settings) -> str:
    """The key ring in the format of its setting."""
    return ",".join(_format_key(name, key) for name, key in settings.secret_keys)


def new_key(name: str) -> str:
    """A new key in the format of the setting."""
    return _format_key(name, secrets.token_bytes(KEY_BYTES))


def _format_key(name: str, key: bytes) -> str:
    return f"{name}:{base64.urlsafe_b64encode(key).decode().rstrip('=')}"


async def serve(settings: Settings, how: Serve, starter: Starter) -> int:
    """Run everything until SIGINT or SIGTERM; the exit status.

    Raises `ListenError`, `EmbeddedError` or `OSError` when it cannot start.
    """
    stop = _stop_on_signals()
    async with AsyncExitStack() as stack:
        database = None
        if settings.database_url is None:
            stack.enter_context(embedded.sole_supervisor(settings.data_dir))
            settings = with_keys(settings)
            database, cluster = await _start_database(settings, stack)
            settings = cluster.settings(settings)
        elif settings.wal_archive is not None:
            raise InvalidSettingsError(
                ["TOLLHOUSE_WAL_ARCHIVE is for the embedded database. Unset it, or unset DATABASE_URL."]
            )
        if applied := await migrate(settings.database_url or "", settings.migration_database_url):
            log.info("migrations_applied", count=len(applied), detail=f"{applied[0]} to {applied[-1]}")
        if exit_status := await _verify(settings, starter):
            return exit_status
        listening.listen(how.listener)
        data_folder.record_address(settings.data_dir, settings.base_url)
        parts = [*_webs(how), _Part("worker", ["worker", "--supervised"])]
        tasks = [asyncio.create_task(part.keep(settings, starter, stop)) for part in parts]
        if database is not None:
            tasks.append(asyncio.create_task(database.keep(stop)))
        if settings.wal_archive is not None and settings.base_backup_days:
            writing = BaseBackups(settings.wal_archive.absolute(), timedelta(days=settings.base_backup_days))
            tasks.append(asyncio.create_task(writing.keep(stop)))
        log.info("serving", base_url=settings.base_url, port=how.listener.getsockname()[1], workers=how.workers)
        await _until_stopped(stop, tasks)
    return 0


async def _start_database(settings: Settings, stack: AsyncExitStack) -> "tuple[_Database, Cluster]":
    """Start the embedded database and its WAL archive, which the stack stops after the database."""
    archive = settings.wal_archive
    if archive is not None:
        wal_archive.claim(archive.absolute(), settings.data_dir)
    database = _Database(settings.data_dir)
    cluster = await database.start()
    receiver = None if archive is None else WalReceiver(cluster, archive.absolute())
    if receiver is not None:
        receiver.start()
        stack.push_async_callback(receiver.stop)
    stack.push_async_callback(database.stop)
    if receiver is not None:
        stack.callback(receiver.expect_end)
    elif wal_archive.was_claimed(settings.data_dir):
        await wal_receiver.end(cluster)
    return database, cluster


async def serve_web(settings: Settings, how: Serve, starter: Starter) -> int:
    """Run web processes only, on a configured database; the exit status."""
    stop = _stop_on_signals()
    if exit_status := await _verify(settings, starter):
        return exit_status
    listening.listen(how.listener)
    data_folder.record_address(settings.data_dir, settings.base_url)
    parts = _webs(how, "--serves-metrics")
    await _until_stopped(stop, [asyncio.create_task(part.keep(settings, starter, stop)) for part in parts])
    return 0


async def _verify(settings: Settings, starter: Starter) -> int:
    """Compare program and settings with the database in a process of its own, which prints what is wrong."""
    process = await starter.start("verify", ["verify"], part_environment(settings))
    return await process.wait() or 0


async def _until_stopped(stop: asyncio.Event, tasks: list[asyncio.Task[None]]) -> None:
    """Wait until `stop` is set or a task fails, then until all tasks have ended. Raises the error of a task."""
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({stopping, *tasks}, return_when=asyncio.FIRST_COMPLETED)
    stop.set()
    log.info("stopping")
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    for error in ended:
        if isinstance(error, BaseException):
            raise error


def _stop_on_signals() -> asyncio.Event:
    stop = asyncio.Event()
    for wish in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(wish, stop.set)
    return stop


def _webs(how: Serve, *of_first: str) -> "list[_Part]":
    """The web processes. The first one gets further arguments."""
    socket_fd = str(how.listener.fileno())
    return [
        _Part(
            f"web {number}", ["web", "--socket-fd", socket_fd, "--number", str(number), *(of_first if number == 1 else ())]
        )
        for number in range(1, how.workers + 1)
    ]


def part_environment(settings: Settings) -> dict[str, str]:
    """The settings that the supervisor has determined, for its children, which no longer read them from files.

    They do not get the password of the database's owner.
    """
    return {
        OWNER: "",
        f"{OWNER}{FILE_SUFFIX}": "",
        "DATABASE_URL": settings.database_url or "",
        f"DATABASE_URL{FILE_SUFFIX}": "",
        "TOLLHOUSE_SECRET_KEYS": keys_text(settings),
        f"TOLLHOUSE_SECRET_KEYS{FILE_SUFFIX}": "",
        "TOLLHOUSE_BASE_URL": settings.base_url,
        "TOLLHOUSE_METRICS_ADDRESS": listening.text(settings.metrics_address) if settings.metrics_address else "",
    }


class _Database:
    """The embedded database server, restarted when it ends."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._server: embedded.Server | None = None

    async def start(self) -> Cluster:
        self._server = await asyncio.to_thread(embedded.start, self._data_dir)
        return self._server.cluster

    async def keep(self, stop: asyncio.Event) -> None:
        failures = 0
        while not stop.is_set():
            try:
                if self._server is None or not self._server.alive:
                    log.error("part_ended", part="database")
                    await self.start()
                failures = 0
            except START_ERRORS as error:
                failures += 1
                await _wait_to_retry(stop, "database", error, failures)
            await _wait(stop, WATCH_EVERY_S)

    async def stop(self) -> None:
        if self._server is not None:
            await asyncio.to_thread(self._server.stop)


class _Part:
    """A child process, restarted when it ends, with growing delays."""

    def __init__(self, name: str, arguments: list[str]) -> None:
        self._name = name
        self._arguments = arguments

    async def keep(self, settings: Settings, starter: Starter, stop: asyncio.Event) -> None:
        failures = 0
        while not stop.is_set():
            began = asyncio.get_running_loop().time()
            try:
                child = await starter.start(self._name, self._arguments, part_environment(settings))
            except START_ERRORS as error:
                failures += 1
                await _wait_to_retry(stop, self._name, error, failures)
                continue
            died = asyncio.create_task(child.wait())
            stopping = asyncio.create_task(stop.wait())
            await asyncio.wait({died, stopping}, return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if stop.is_set():
                await _end(child, settings.drain_s + PART_STOPS_WITHIN_S)
                return
            failures = 0 if asyncio.get_running_loop().time() - began > HEALTHY_AFTER_S else failures + 1
            log.error("part_ended", part=self._name, exit_status=child.returncode)
            await _wait(stop, _restart_after_s(failures))


async def _end(child: Process, within_s: float) -> None:
    with suppress(ProcessLookupError):
        child.terminate()
    try:
        await asyncio.wait_for(child.wait(), within_s)
    except TimeoutError:
        child.kill()
        await child.wait()


def _restart_after_s(failures: int) -> float:
    return RESTART_AFTER_S[min(failures, len(RESTART_AFTER_S)) - 1] if failures else 0


async def _wait_to_retry(stop: asyncio.Event, part: str, error: Exception, failures: int) -> None:
    """Log that a part could not be started, and wait before the next attempt."""
    after_s = _restart_after_s(failures)
    log.error("part_start_failed", part=part, error=type(error).__name__, detail=str(error), retry_after_s=after_s)
    await _wait(stop, after_s)


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
