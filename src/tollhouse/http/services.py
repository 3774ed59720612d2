"""The services of the instance, and the unit of work that actions take."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol, TypeVar
from uuid import UUID

from msgspec import Struct

from tollhouse.http.templates import Templates
from tollhouse.kernel.actor import SYSTEM, Actor
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.connections import ChangedConnection
from tollhouse.kernel.rails.registry import Rails
from tollhouse.kernel.text import Translatable
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.platform.database.replica import Replica
from tollhouse.platform.encryption import KeyRing
from tollhouse.platform.log import changed_objects
from tollhouse.platform.settings.config import Settings

T = TypeVar("T")


class ConnectionWebhooks(Protocol):
    """What applications hear of their connections: events of their own, which are delivered as those of merchants."""

    async def announce(
        self,
        work: "Work",
        event_type: Literal["connection.ended", "connection.changed"],
        connections: Sequence[ChangedConnection],
        reason: str,
    ) -> None:
        """Record an event for each connection whose application has an address for them, with its delivery."""
        ...

    async def replace_secret(self, work: "Work", sender_id: UUID) -> str:
        """Create the signing secret of an application in place of the one before."""
        ...

    async def turn(self, work: "Work", sender_id: UUID, *, on: bool) -> None:
        """Turn the delivery of an application's events on or off. Off, what waits is canceled."""
        ...

    def url_error(self, url: str, settings: Settings) -> Translatable | None:
        """Why events cannot be sent to this address; None if they can."""
        ...


class Services(Struct, frozen=True):
    """Settings, database, key ring, templates, rails and catalogue: built once by `main.create_services`.

    `event_examples` are the `data` of each event type in the API reference.
    A handler that has a parameter of this name gets them.
    """

    settings: Settings
    db: Pool
    keys: KeyRing
    templates: Templates
    rails: Rails
    catalogue: Catalogue
    connection_webhooks: ConnectionWebhooks
    event_examples: Callable[[], Mapping[str, Mapping[str, Any]]] = dict
    replica: Replica | None = None

    async def reports_db(self) -> Pool:
        """Where reports, exports and home pages are read: a standby that has everything committed, or the primary."""
        return self.db if self.replica is None else await self.replica.choose(self.db)

    async def close(self) -> None:
        """Close the database connections."""
        await self.db.close()
        if self.replica is not None:
            await self.replica.db.close()

    async def transact(self, action: "Callable[[Work], Awaitable[T]]", now: datetime, actor: Actor = SYSTEM) -> T:
        """Run `action` in a transaction. It runs again after a deadlock or a serialization failure."""
        before = len(changed_objects.noted())

        async def run(tx: Tx) -> T:
            changed_objects.keep_first(before)
            return await action(Work(tx, self, now, actor))

        try:
            return await self.db.transact(run)
        except BaseException:
            changed_objects.keep_first(before)
            raise


class Work(Struct, frozen=True):
    """A unit of work: a transaction, the services, the time of every check and write in it, and who performs it."""

    tx: Tx
    services: Services
    now: datetime
    actor: Actor = SYSTEM
