"""Health: whether the process lives (no database asked), and whether it can serve."""

from typing import Literal

from msgspec import Struct

from tollhouse.http.operations import Operations, Surface
from tollhouse.identity.guards import anyone
from tollhouse.platform.db import Pool
from tollhouse.platform.health import reach
from tollhouse.platform.log import lost_lines

OPERATIONS = Operations(Surface("health", "", cors=False, html=False))


class Health(Struct, frozen=True):
    """What a probe gets."""

    status: Literal["ok"]


class Readiness(Struct, frozen=True):
    """What a probe gets of a process that can serve. `log_lines_lost` counts since the process began."""

    status: Literal["ok"]
    log_lines_lost: int


@OPERATIONS.add("GET", "/healthz", guard=anyone)
async def alive() -> Health:
    """The process answers."""
    return Health("ok")


@OPERATIONS.add("GET", "/readyz", guard=anyone)
async def ready(db: Pool) -> Readiness:
    """The database answers too; 503 where it does not."""
    await reach(db)
    return Readiness("ok", lost_lines())
