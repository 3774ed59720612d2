"""How a folder of `rails/` describes its rail: as `RAIL` in its `slice.py`. `rails/configured.py` lists the folders."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from msgspec import Struct

from tollhouse.http.slice import Slice
from tollhouse.kernel.rails.provider import Provider
from tollhouse.platform.settings.config import Settings
from tollhouse.rails.settings import RailSettings

S = TypeVar("S", bound=RailSettings)


class Table(Struct, Generic[S], frozen=True):
    """A kind of table of the rails file, and how a rail is built from its name and its settings."""

    settings: type[S]
    build: Callable[[str, S], Provider]


class Rail(Struct, frozen=True, kw_only=True):
    """What a folder adds to the service.

    The rail is described by tables of the rails file, or else `built_in` finds it in the settings: None if it is not set up.
    """

    slice: Slice
    table: Table[Any] | None = None
    built_in: Callable[[Settings], Provider | None] | None = None
