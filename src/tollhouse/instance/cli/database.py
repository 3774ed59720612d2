"""Settings and services for a command, on the configured database or on the embedded one, started for the command."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import asyncpg
import msgspec

from tollhouse.http.services import Services
from tollhouse.instance import main as root
from tollhouse.instance import supervisor
from tollhouse.instance.database import data_folder, embedded
from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.platform.settings import config

CONNECTIONS = 1
T = TypeVar("T")


class NoDatabaseError(Exception):
    """The database cannot be reached, has another schema version, or is busy."""


def run_with_services(action: Callable[[Services], Awaitable[T]]) -> T:
    """Run one action and return its result. Raises `NoDatabaseError` with a message for the operator."""
    try:
        with database() as settings:
            return asyncio.run(_run(settings, action))
    except (asyncpg.UndefinedTableError, asyncpg.InsufficientPrivilegeError):
        raise NoDatabaseError(
            "The database has a different schema version than this program. Run `tollhouse migrate`."
        ) from None
    except (asyncpg.LockNotAvailableError, asyncpg.QueryCanceledError):
        raise NoDatabaseError("The database is busy. Run the command again.") from None
    except TemporarilyUnavailable:
        raise NoDatabaseError("The database cannot be reached.") from None


async def _run(settings: config.Settings, action: Callable[[Services], Awaitable[T]]) -> T:
    services = root.create_services(settings, connections=CONNECTIONS)
    try:
        return await action(services)
    finally:
        await services.close()


@contextmanager
def database() -> Iterator[config.Settings]:
    """The settings with a database URL; starts the embedded database if none is configured and it is not running."""
    settings = data_folder.load_for_command()
    if settings.database_url is not None:
        yield settings
        return
    settings = supervisor.with_keys(settings)  # a new data folder gets its keys before its database
    with embedded.borrowed(settings.data_dir) as cluster:
        yield msgspec.structs.replace(settings, database_url=cluster.application_dsn, migration_database_url=cluster.dsn)
