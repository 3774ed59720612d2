"""Liveness (without database) and readiness probes."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Struct

from tollhouse.accounts.identity.guards import anyone
from tollhouse.http.operations import Operations, Surface
from tollhouse.http.services import Services
from tollhouse.instance.api.health_store import ReadinessParts, read_parts
from tollhouse.kernel.errors import TemporarilyUnavailable
from tollhouse.kernel.examples import example
from tollhouse.platform.database.migrations import MigrationsDisagreeError, require_applied
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.log.events import lost_lines
from tollhouse.platform.server.listening import DRAINING

OPERATIONS = Operations(Surface("health", "", cors=False, html=False))


class Liveness(Struct, frozen=True):
    """The response of the liveness probe."""

    status: Literal["ok"]
    """The process is running."""


class Readiness(Struct, frozen=True):
    """The response of the readiness probe. `log_lines_lost` counts since the process started."""

    status: Literal["ok"]
    """The instance answers requests."""
    log_lines_lost: Annotated[int, example(0)]
    """Log lines that could not be written since this process started."""
    parts: ReadinessParts
    """State of everything that the instance needs."""


@OPERATIONS.add("GET", "/healthz", guard=anyone)
async def alive() -> Liveness:
    """Check liveness. Returns 200 while the process responds."""
    return Liveness("ok")


@OPERATIONS.add("GET", "/readyz", guard=anyone)
async def ready(services: Services, now: datetime) -> Readiness:
    """Check readiness. Returns 200 while the database responds too and has at least this version's schema, else 503.

    `parts` says more, and does not change the status: a web process takes requests while no worker runs.
    """
    await require_ready(services.db)
    return Readiness("ok", lost_lines(), await read_parts(services.db, services.keys, now, services.settings.data_dir))


async def require_ready(db: Pool) -> None:
    """Raises connection errors, and `TemporarilyUnavailable` if the process stops or the schema is not that of this version.

    A newer schema is accepted: migrations work beside the version before them, and an upgrade applies them first.
    """
    if DRAINING.has_begun:
        raise TemporarilyUnavailable(detail="the process is stopping")
    try:
        await require_applied(db)
    except MigrationsDisagreeError as error:
        raise TemporarilyUnavailable(detail=str(error)) from None
