"""What a short command needs: a house for one deed, on the set database or on the embedded one, lent for a while."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import asyncpg
import msgspec

from tollhouse import main as root
from tollhouse import supervisor
from tollhouse.kernel.refusals import TemporarilyUnavailable
from tollhouse.platform import config, embedded
from tollhouse.web.house import House

CONNECTIONS = 1
T = TypeVar("T")


class NoHouseError(Exception):
    """The database is not there, not of this version, or too busy."""


def in_house(deed: Callable[[House], Awaitable[T]]) -> T:
    """Do one deed; what came of it. Raises `NoHouseError` with a sentence for whoever typed the command."""
    try:
        with database() as settings:
            return asyncio.run(_do(settings, deed))
    except (asyncpg.UndefinedTableError, asyncpg.InsufficientPrivilegeError):
        raise NoHouseError("The database is not of this version: run `tollhouse migrate`.") from None
    except (asyncpg.LockNotAvailableError, asyncpg.QueryCanceledError):
        raise NoHouseError("The database is busy: run it again.") from None
    except TemporarilyUnavailable:
        raise NoHouseError("The database cannot be reached.") from None


async def _do(settings: config.Settings, deed: Callable[[House], Awaitable[T]]) -> T:
    house = root.open_house(settings, connections=CONNECTIONS)
    try:
        return await deed(house)
    finally:
        await house.db.close()


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
