"""What a short command needs: a house for one deed, on the set database or on the embedded one, lent for a while."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import asyncpg
import msgspec

from tollhouse import main as root
from tollhouse import supervisor
from tollhouse.http.services import Services
from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.platform import config, embedded

CONNECTIONS = 1
T = TypeVar("T")


class NoDatabaseError(Exception):
    """The database is not there, not of this version, or too busy."""


def in_house(action: Callable[[Services], Awaitable[T]]) -> T:
    """Do one deed; what came of it. Raises `NoDatabaseError` with a sentence for whoever typed the command."""
    try:
        with database() as settings:
            return asyncio.run(_do(settings, action))
    except (asyncpg.UndefinedTableError, asyncpg.InsufficientPrivilegeError):
        raise NoDatabaseError("The database is not of this version: run `tollhouse migrate`.") from None
    except (asyncpg.LockNotAvailableError, asyncpg.QueryCanceledError):
        raise NoDatabaseError("The database is busy: run it again.") from None
    except TemporarilyUnavailable:
        raise NoDatabaseError("The database cannot be reached.") from None


async def _do(settings: config.Settings, action: Callable[[Services], Awaitable[T]]) -> T:
    services = root.create_services(settings, connections=CONNECTIONS)
    try:
        return await action(services)
    finally:
        await services.db.close()


@contextmanager
def database() -> Iterator[config.Settings]:
    """The settings with the catalogue read and a database."""
    settings = config.load()
    if settings.database_url is not None:
        yield settings
        return
    settings = supervisor.with_keys(settings)
    with embedded.borrowed(settings.data_dir) as cluster:
        yield msgspec.structs.replace(settings, database_url=cluster.application_dsn, migration_database_url=cluster.dsn)
