"""How a folder of `rails/` describes its rail: as `RAIL` in its `slice.py`. `rails/configured.py` lists the folders."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from tollhouse.http.services import Services
from tollhouse.http.slice import Slice
from tollhouse.kernel.rails.provider import OutsideBalances, Provider
from tollhouse.platform.database.pool import Tx
from tollhouse.platform.settings.config import Settings
from tollhouse.rails.settings import RailSettings

S = TypeVar("S", bound=RailSettings)
R = TypeVar("R", bound=Provider)


class Table(Struct, Generic[S], frozen=True):
    """A kind of table of the rails file, and how a rail is built from its name and its settings."""

    settings: type[S]
    build: Callable[[str, S], Provider]


class RailReading(Protocol):
    """A rail while it is measured: what is outside and what the database knows are read by turns, until they fit."""

    changed: str
    """Why they never fit."""

    async def read_outside(self) -> None:
        """Read what has to be read before the database. Raises `CannotMeasureError` and `NodeError`."""
        ...

    async def read_books(self, tx: Tx) -> None:
        """Read what the database knows, in the snapshot in which the ledger is read. Raises `CannotMeasureError`."""
        ...

    async def find_balances(self, booked_minor: Mapping[str, int]) -> OutsideBalances | None:
        """The balances as of the moment at which the database was read; None if something has changed meanwhile.

        `booked_minor` is what the ledger has, by currency. Raises `CannotMeasureError` and `NodeError`.
        """
        ...


class Measurement(Struct, Generic[R], frozen=True):
    """How rails of this class are asked what they have, to compare it with the ledger (`balances`)."""

    of: type[R]
    begin: Callable[[Services, R, datetime], AbstractAsyncContextManager[RailReading]]


class Rail(Struct, frozen=True, kw_only=True):
    """What a folder adds to the service.

    The rail is described by tables of the rails file, or else `built_in` finds it in the settings: None if it is not set up.
    """

    slice: Slice
    table: Table[Any] | None = None
    built_in: Callable[[Settings], Provider | None] | None = None
    measurement: Measurement[Any] | None = None
